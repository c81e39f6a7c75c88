"""target_match: the output, as `on` leaves it, is a target: as text, or as a near number."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from evalstore.checks.context import CheckContext, CheckProblem, GradeFunction, grade_always
from evalstore.checks.kinds import CheckKind
from evalstore.checks.phrases import find_excess
from evalstore.checks.steps import STEPS_KEY, apply_respelling
from evalstore.documents import write_canonical
from evalstore.errors import LimitError
from evalstore.model import Grade, Question, Sample
from evalstore.model.outcome import grade_binary, grade_error, grade_missing
from evalstore.model.question_params import is_empty
from evalstore.model.rubric import parse_fraction
from evalstore.text import EXCERPT, make_excerpt

_KEY, _REFERENCE = "expected", "reference"
_NUMBER = re.compile(r"\s*([-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,6})?)\s*")
# Limits a target, so that its bounds are exact fractions of a few thousand digits; an output's
# number may have as many as the output.
_TARGET_DIGITS, _TARGET_EXPONENT = 1_000, 1_000
_ONE_TARGET = 1


class TargetRange(NamedTuple):
    """The numbers within the tolerance of a target, both ends included."""

    low: Fraction
    high: Fraction


def prepare_grading(params: Mapping[str, Any], _: CheckContext) -> GradeFunction:
    """Compare with the check's targets, else the question's `expected`; without either, missing.

    Targets are rewritten by those steps of `on` that only respell, like the output. As numbers,
    both are decimals, ignoring white space around them; an output that is not a number fails.
    """
    if params.get("targets"):
        return _compare_with(params["targets"], params, "targets")

    def grade(sample: Sample) -> Grade:
        question = sample.question
        targets = list_expected_targets(question.row if question else {})
        if not targets:
            slip = _explain_absence(question) if question else ""
            return grade_missing(f"the question says nothing under expected{slip}")
        where = question.place if question else ""
        return _compare_with(targets, params, f"the question's expected{where}")(sample)

    return grade


def list_expected_targets(row: Mapping[str, Any]) -> Sequence[Any]:
    """Return what a question expects: its `expected`, one or many, or a mapping's `reference`."""
    expected = row.get(_KEY)
    if isinstance(expected, Mapping):
        expected = expected.get(_REFERENCE)
    if is_empty(expected):
        return ()
    return expected if isinstance(expected, list | tuple) else (expected,)


def find_problems(params: Mapping[str, Any]) -> Iterator[CheckProblem]:
    """Yield targets that cannot be read as the mode asks, and a tolerance that is not used."""
    numeric = params.get("mode") == "number"
    for index, target in enumerate(params.get("targets", ())):
        try:
            text = read_target(target, params)
        except (LimitError, TypeError) as misfit:
            yield CheckProblem(("targets", index), str(misfit), "write it another way", blocks=True)
            continue
        if numeric and read_range(text, params) is None:
            message = f"'{make_excerpt(text)}' is not a number, and mode is number"
            yield CheckProblem(("targets", index), message, "write a decimal", blocks=True)
    for name in ("tolerance", "relative"):
        if name in params and not numeric:
            message = f"{name} is for numbers, and mode is exact, so it is never read"
            yield CheckProblem((name,), message, f"add mode: number, or remove {name}")


def read_target(target: Any, params: Mapping[str, Any]) -> str:
    """Return a target as it is compared with a text.

    Raises `TypeError` if it is neither text nor number.
    """
    if isinstance(target, bool) or not isinstance(target, str | int | float | Decimal):
        raise TypeError("a target is not a text or a number")
    text = target if isinstance(target, str) else write_canonical(target)
    return apply_respelling(text, params.get(STEPS_KEY, ()))


def read_range(target: str, params: Mapping[str, Any]) -> TargetRange | None:
    """Return the numbers that count as this target.

    Returns None if it is not a number or has too many digits.
    """
    number = read_number(target)
    if number is None or len(target) > _TARGET_DIGITS or abs(number.adjusted()) > _TARGET_EXPONENT:
        return None
    value = Fraction(number)
    relative = parse_fraction(params.get("relative", 0)) * abs(value)
    tolerance = max(parse_fraction(params.get("tolerance", 0)), relative)
    return TargetRange(value - tolerance, value + tolerance)


def read_number(text: str) -> Decimal | None:
    """Return the decimal that a text is, with an exponent of at most six digits.

    Returns None for other texts.
    """
    found = _NUMBER.fullmatch(text)
    return Decimal(found[1]) if found else None


def _compare_with(targets: Sequence[Any], params: Mapping[str, Any], where: str) -> GradeFunction:
    try:
        texts = [read_target(target, params) for target in targets]
    except (LimitError, TypeError) as misfit:
        return grade_always(grade_error(f"{where} cannot be read: {misfit}"))
    if params.get("mode") != "number":
        return _compare_texts(texts)
    ranges = [read_range(text, params) for text in texts]
    readable = [one for one in ranges if one is not None]
    if len(readable) < len(ranges):
        broken = make_excerpt(texts[ranges.index(None)], EXCERPT)
        return grade_always(grade_error(f"{where} cannot be read: {broken!r} is not a number"))
    return _compare_numbers(texts, readable)


def _compare_texts(targets: Sequence[str]) -> GradeFunction:
    known, wanted = frozenset(targets), _name_targets(targets)

    def grade(sample: Sample) -> Grade:
        shown = make_excerpt(sample.text, EXCERPT)
        if sample.text in known:
            return grade_binary(True, f"{shown!r} is a target")
        return grade_binary(False, f"{shown!r} is not {wanted}")

    return grade


def _compare_numbers(targets: Sequence[str], ranges: Sequence[TargetRange]) -> GradeFunction:
    wanted = _name_targets(targets)

    def grade(sample: Sample) -> Grade:
        shown = make_excerpt(sample.text, EXCERPT)
        if excess := find_excess(ranges, sample.text):
            return grade_error(excess)
        number = read_number(sample.text)
        if number is None:
            return grade_binary(False, f"{shown!r} is not a number")
        for target, (low, high) in zip(targets, ranges, strict=True):
            if low <= number <= high:
                return grade_binary(True, f"{shown} is within the tolerance of {target}")
        return grade_binary(False, f"{shown} is not within the tolerance of {wanted}")

    return grade


def _name_targets(targets: Sequence[str]) -> str:
    first = repr(make_excerpt(targets[0], EXCERPT))
    more = len(targets) - _ONE_TARGET
    return first if not more else f"{first} or {more} more"


def _explain_absence(question: Question) -> str:
    return question.explain_absence(_KEY) or question.explain_absence(_REFERENCE, within=_KEY)


KIND = CheckKind(
    prepare_grading=prepare_grading,
    find_problems=find_problems,
    word="target",
    is_binary=True,
    item_lists=frozenset({"targets"}),
    idle_score=Fraction(0),
)
