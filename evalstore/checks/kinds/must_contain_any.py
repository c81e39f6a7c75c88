"""must_contain_any: at least `min_matches` of the values are substrings of the output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache
from typing import Any

from evalstore.checks.context import CheckContext, CheckProblem, GradeFunction
from evalstore.checks.kinds import CheckKind
from evalstore.checks.phrases import find_excess, read_phrase
from evalstore.model import Grade, Sample
from evalstore.model.outcome import grade_binary, grade_error

_VERBS = "(must_|should_)?(i?contains?|includes?|mentions?|has)"
_BLANKS = " \t\xa0"  # a line break may be searched for on purpose


def prepare_grading(params: Mapping[str, Any], _: CheckContext) -> GradeFunction:
    """Count the values found, each once however often it is listed.

    Nothing is trimmed or normalised.
    """
    written, needed = dict.fromkeys(params["values"]), params.get("min_matches", 1)
    exact = params.get("case_sensitive", False)
    values = tuple(written if exact else (value.lower() for value in written))

    # One value for each count: a dataset has the same few again and again.
    @cache
    def answer(count: int) -> Grade:
        return grade_binary(
            count >= needed, f"{count} of {len(values)} values found, {needed} needed"
        )

    def grade(sample: Sample) -> Grade:
        text = sample.text if exact else sample.lowercase_text
        if excess := find_excess(values, text):
            return grade_error(excess)
        return answer(sum(value in text for value in values))

    return grade


def find_problems(params: Mapping[str, Any]) -> Iterator[CheckProblem]:
    """Yield what makes the check impossible to pass, and values that nearly every output has."""
    for index, value in enumerate(params["values"]):
        if value and not value.strip(_BLANKS):
            message = "this value is only white space, which nearly every output contains"
            yield CheckProblem(("values", index), message, "write the text, or remove it")
    different, needed = len(set(params["values"])), params.get("min_matches", 1)
    if needed > different:
        message = (
            f"min_matches is {needed} but there are only {different} different values, so nothing "
            "passes"
        )
        yield CheckProblem(("min_matches",), message, f"lower it to {different} or add values")


KIND = CheckKind(
    prepare_grading=prepare_grading,
    find_problems=find_problems,
    word="contains",
    is_binary=True,
    item_lists=frozenset({"values"}),
    read_phrase=read_phrase,
    idle_score=Fraction(0),
    other_words={
        f"{_VERBS}_all(_of)?": (
            "write it as must_contain_any with `min_matches`: the number of its values"
        ),
        f"{_VERBS}|{_VERBS}_(any|some|one)(_of)?": (
            "write it as must_contain_any; its `min_matches` says how many of its values"
        ),
    },
)
