"""Texts in proofs: their lengths and patterns."""

from __future__ import annotations

import math
from typing import Any

from evalstore.diff.deciders.json_schema.domain import Domain
from evalstore.diff.deciders.json_schema.patterns import ANY


def types(_: Any, some: Domain, known: frozenset[str]) -> frozenset[str]:
    """Return the types without texts where no length is left."""
    least, most = lengths(some)
    return known - {"string"} if least > most else known


def lengths(some: Domain) -> tuple[float, float]:
    """Return the least and the greatest length of the texts of a domain."""
    return max(some.all("minLength"), default=0), min(some.all("maxLength"), default=math.inf)


RULES: dict[str, Any] = {
    "minLength": lambda _, some, least: lengths(some)[0] >= least,
    "maxLength": lambda _, some, most: lengths(some)[1] <= most,
    "pattern": lambda prover, some, wide: any(prover.implies(mine, wide) for mine in some.all("pattern") or [ANY]),
}
