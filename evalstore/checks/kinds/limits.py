"""limits: numbers that the run recorded about the output are within the check's limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from evalstore.checks.context import CheckContext, CheckProblem, GradeFunction
from evalstore.checks.kinds import CheckKind
from evalstore.model import Grade, Sample
from evalstore.model.measures import MEASURES
from evalstore.model.outcome import grade_binary, grade_missing

_ZERO = Decimal(0)


class Bounds(NamedTuple):
    """The lowest and the highest value of a number, both included; no number is below 0."""

    least: Decimal = _ZERO
    most: Decimal = Decimal("Infinity")

    def is_within(self, other: Bounds) -> bool:
        """Whether every number between these is also between the others."""
        return self.is_empty or (other.least <= self.least and self.most <= other.most)

    @property
    def is_empty(self) -> bool:
        """Whether there is no number in between."""
        return self.least > self.most

    def __str__(self) -> str:
        words = [f"at least {self.least}"] if self.least else []
        return " and ".join([*words, *([f"at most {self.most}"] if self.most.is_finite() else [])])


def read_bounds(limit: Mapping[str, Any]) -> Bounds:
    """Return the limits of one number as exact decimals."""
    least, most = (None if limit.get(key) is None else _read(limit[key]) for key in ("min", "max"))
    return Bounds(max(_ZERO, least or _ZERO), Bounds().most if most is None else most)


def _read(number: Any) -> Decimal:
    return Decimal(str(number))


def prepare_grading(params: Mapping[str, Any], _: CheckContext) -> GradeFunction:
    """Pass if every named number is within its limits, both ends included.

    A number that was not recorded leaves the check unscored (missing), whatever the others are.
    """
    bounds = {name: read_bounds(params[name]) for name in MEASURES if name in params}

    def grade(sample: Sample) -> Grade:
        recorded = sample.output.measures.recorded
        missing = [name for name in bounds if name not in recorded]
        if missing:
            names = " and no usable ".join(missing)
            return grade_missing(f"no usable {names} was recorded with the output")
        for name, wanted in bounds.items():
            if not wanted.least <= recorded[name] <= wanted.most:
                return grade_binary(False, f"{name} is {recorded[name]}, and not {wanted}")
        shown = ", ".join(f"{name} {recorded[name]}" for name in bounds)
        return grade_binary(True, f"within the limits: {shown}")

    return grade


def find_problems(params: Mapping[str, Any]) -> Iterator[CheckProblem]:
    """Yield limits with no number in between."""
    for name in filter(params.__contains__, MEASURES):
        limit = params[name]
        if read_bounds(limit).is_empty:
            message = f"min is {limit['min']} and max {limit['max']}, so nothing passes"
            yield CheckProblem((name, "min"), message, "swap or correct them")


KIND = CheckKind(
    prepare_grading=prepare_grading,
    find_problems=find_problems,
    reads_text=False,
    reads_measures=True,
    word="limit",
    is_binary=True,
)
