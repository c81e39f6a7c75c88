"""must_not_contain: none of the values is a substring of the output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evalstore.checks.context import CheckContext, CheckProblem, GradeFunction
from evalstore.checks.kinds import CheckKind
from evalstore.checks.phrases import find_excess, read_phrase
from evalstore.model import Grade, Sample
from evalstore.model.outcome import grade_binary, grade_error
from evalstore.text import make_excerpt


def prepare_grading(params: Mapping[str, Any], _: CheckContext) -> GradeFunction:
    """Look for the first value that is in the output; nothing is trimmed or normalised."""
    exact = params.get("case_sensitive", False)
    values = [
        (value if exact else value.lower(), value) for value in dict.fromkeys(params["values"])
    ]
    clean = grade_binary(True, "none of the values found")

    def grade(sample: Sample) -> Grade:
        text = sample.text if exact else sample.lowercase_text
        if excess := find_excess(values, text):
            return grade_error(excess)
        for value, written in values:
            if value in text:
                return grade_binary(False, f"found {make_excerpt(written)!r}")
        return clean

    return grade


def find_problems(params: Mapping[str, Any]) -> Iterator[CheckProblem]:
    """Yield the values that every output contains."""
    for index, value in enumerate(params["values"]):
        if value == "":
            yield CheckProblem(
                ("values", index),
                "every output contains the empty string, so nothing passes",
                "remove the empty value",
            )


KIND = CheckKind(
    prepare_grading=prepare_grading,
    find_problems=find_problems,
    word="excludes",
    is_binary=True,
    quotes_found=True,
    item_lists=frozenset({"values"}),
    read_phrase=read_phrase,
    other_words={
        "(must_|should_|does_)?(not?|never)_(i?contains?|include|mention|have)(_any(_of)?)?s?": (
            "did you mean must_not_contain?"
        ),
        "(must_|should_)?(avoid|exclude|forbid|ban)s?(_.*)?": "did you mean must_not_contain?",
    },
)
