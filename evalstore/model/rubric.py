"""The rubric as scoring reads it: checks with exact thresholds, and how scores are combined."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from itertools import count
from typing import Any

from evalstore.model.check_schemas import list_check_kinds, load_check_schema

DETERMINISTIC_THRESHOLD = Fraction(1)
JUDGED_THRESHOLD = Fraction(7, 10)
RUBRIC_THRESHOLD = Fraction(7, 10)
# What an unscored check counts as, by the reason why it is unscored.
POLICIES = {"missing": ("skip", "zero"), "errors": ("skip", "zero", "fail")}


class Combine(StrEnum):
    """How the checks' results become the rubric's result."""

    ALL_PASS = "all_pass"
    ANY_PASS = "any_pass"
    WEIGHTED_AVG = "weighted_avg"
    MIN = "min"
    MAX = "max"
    MEDIAN = "median"


class VerdictRule(StrEnum):
    """What decides a rubric's verdict: its score, or the verdicts of all checks with weight."""

    SCORE = "score"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Check:
    """One check: `params` is the mapping as written.

    `threshold` is None if its kind finds it elsewhere.
    """

    id: str
    kind: str
    params: Mapping[str, Any]
    threshold: Fraction | None
    negate: bool = False


@dataclass(frozen=True, slots=True)
class Scoring:
    """How checks are combined; weights are by check id, 1 by default."""

    combine: Combine
    weights: Mapping[str, Fraction]
    required: frozenset[str] = frozenset()
    threshold: Fraction = RUBRIC_THRESHOLD
    missing: str = "skip"
    errors: str = "skip"
    verdict: VerdictRule = VerdictRule.SCORE

    def has_weight(self, id_: str) -> bool:
        """Whether a check counts: in a weighted average, one with weight 0 does not."""
        return self.combine is not Combine.WEIGHTED_AVG or self.weights.get(id_, 1) > 0


@dataclass(frozen=True, slots=True)
class Rubric:
    """The checks of a rubric and their scoring, ready to grade outputs."""

    id: str
    version: str
    checks: tuple[Check, ...]
    scoring: Scoring


def read_rubric(value: Mapping[str, Any]) -> Rubric:
    """Read a rubric from its mapping; raises `ValueError` if it could not grade anything."""
    scoring = value["scoring"]
    ids = list_check_ids(value["checks"])
    if len(set(ids)) < len(ids):
        raise ValueError("two checks have the same id")
    return Rubric(
        id=str(value.get("id", "")),
        version=str(value.get("version", "")),
        checks=tuple(
            _read_check(id_, check) for id_, check in zip(ids, value["checks"], strict=True)
        ),
        scoring=Scoring(
            combine=Combine(scoring["combine"]),
            weights=_read_weights(scoring),
            required=frozenset(_require_type("required", scoring.get("required", []), list)),
            threshold=_read_number("threshold", scoring.get("threshold", RUBRIC_THRESHOLD)),
            missing=_read_policy("missing", scoring),
            errors=_read_policy("errors", scoring),
            verdict=VerdictRule(scoring.get("verdict", VerdictRule.SCORE)),
        ),
    )


def list_check_ids(checks: list[Mapping[str, Any]]) -> list[str]:
    """Return the checks' ids in order: as written, else `<kind>`, `<kind>_2` and so on."""
    used_ids = {check["id"] for check in checks if "id" in check}
    names: dict[str, Iterator[str]] = {}
    ids: list[str] = []
    for check in checks:
        id_ = check.get("id")
        if id_ is None:
            # One iterator per kind: counting from 1 for every check would make a long rubric cubic.
            candidates = names.setdefault(check["kind"], _number_names(check["kind"]))
            id_ = next(name for name in candidates if name not in used_ids)
            used_ids.add(id_)
        ids.append(id_)
    return ids


def _number_names(kind: str) -> Iterator[str]:
    return (kind if n == 1 else f"{kind}_{n}" for n in count(1))


def parse_fraction(number: Decimal | Fraction | float | str) -> Fraction:
    """Return the exact value of a number's decimal literal (for a float, its shortest form)."""
    # `Fraction(0.1)` would be the binary value, not the 1/10 that was written.
    return Fraction(str(number)) if isinstance(number, float) else Fraction(number)


def find_default_threshold(kind: str) -> Fraction | None:
    """Return the default in a kind's schema; None if the kind finds its threshold elsewhere."""
    if kind not in list_check_kinds():
        return DETERMINISTIC_THRESHOLD
    default = load_check_schema(kind)["properties"]["threshold"].get("default")
    return None if default is None else parse_fraction(default)


def _read_check(id_: str, value: Mapping[str, Any]) -> Check:
    written, default = value.get("threshold"), find_default_threshold(value["kind"])
    return Check(
        id=_require_type("id", id_, str),
        kind=_require_type("kind", value["kind"], str),
        params=value,
        threshold=_read_number("threshold", written) if "threshold" in value else default,
        negate=_require_type("negate", value.get("negate", False), bool),
    )


def _require_type(name: str, value: Any, type_: type) -> Any:
    if not isinstance(value, type_):
        # A bad file raises one error type, whatever the types of its values.
        raise ValueError(f"{name} is {value!r}, which is not a {type_.__name__}")  # noqa: TRY004
    return value


def _read_weights(scoring: Mapping[str, Any]) -> dict[str, Fraction]:
    weights = scoring.get("weights", {})
    return {id_: _read_number("a weight", weight) for id_, weight in weights.items()}


def _read_number(name: str, value: Any) -> Fraction:
    if isinstance(value, bool | str) or (number := parse_fraction(value)) < 0:
        raise ValueError(f"{name} is {value!r}, which is not a number of 0 or more")
    return number


def _read_policy(name: str, scoring: Mapping[str, Any]) -> str:
    word = scoring.get(name, "skip")
    if word not in POLICIES[name]:
        raise ValueError(f"{name} is {word!r}, not one of {', '.join(POLICIES[name])}")
    return _require_type(name, word, str)  # type: ignore[no-any-return]  # checked there
