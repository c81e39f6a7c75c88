"""A composite taken apart: the checks of the inner rubric in its place, as they score the same, or nearly."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

from tests.diff.fuzz.pair import Value


def inlined(random: Random, value: Value, refs: Mapping[str, Value]) -> None:
    """Put the checks of an inner rubric in the place of a composite, with its share of the weight, or nearly."""
    checks, outer = value["checks"], value["scoring"]
    at = next(
        (index for index, one in enumerate(checks) if one["kind"] == "composite" and one["rubric_ref"] in refs), None
    )
    if at is None or len([one for one in checks if "id" in one]) < len(checks):
        return
    inner = copy.deepcopy(refs[checks[at]["rubric_ref"]])
    gone, weights = checks[at]["id"], outer.get("weights", {})
    named = inner["scoring"].get("weights", {})
    parts = {one.get("id", ""): _exact(named.get(one.get("id", ""), 1)) for one in inner["checks"]}
    whole = _exact(weights.get(gone, 1))
    total = sum(parts.values()) or Fraction(1)
    for index, one in enumerate(inner["checks"]):
        weight = whole * parts[one.get("id", "")] / total if random.random() < 0.9 else Fraction(1)
        one["id"] = f"in{index}"
        weights[one["id"]] = _decimal(weight)
    weights.pop(gone, None)
    outer["weights"] = weights
    outer["required"] = [name for name in outer.get("required", []) if name != gone]
    if random.random() < 0.7:
        outer["combine"] = inner["scoring"]["combine"]
    checks[at : at + 1] = inner["checks"]


def likened(random: Random, outer: Value, inner: Value) -> None:
    """Make both rubrics combine alike, more often than not, and put the inner one into the outer as a composite."""
    scoring, within = outer["scoring"], inner["scoring"]
    for name in ("combine", "missing", "errors"):
        if random.random() < 0.85:
            scoring.pop(name, None)
            scoring.update({name: within[name]} if name in within else {})
    if random.random() < 0.7:
        within.pop("required", None)
    composite = {"id": "inner", "kind": "composite", "rubric_ref": "rubric/inner@1.0.0"}
    if random.random() < 0.2:
        composite["threshold"] = random.choice([0, Decimal("0.5"), 1])
    outer["checks"] = [composite, *(one for one in outer["checks"][:2] if one["kind"] != "composite" and "id" in one)]
    if random.random() < 0.5:
        scoring.setdefault("weights", {})["inner"] = random.choice([0, 1, 3, Decimal("0.5")])


def _exact(number: Any) -> Fraction:
    return Fraction(number)


def _decimal(number: Fraction) -> Decimal | int:
    return number.numerator if number.denominator == 1 else Decimal(number.numerator) / Decimal(number.denominator)
