"""regex: the output has a match of the pattern; a pattern that takes too many steps is unscored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evalstore.checks.context import CheckContext, CheckProblem, GradeFunction
from evalstore.checks.kinds import CheckKind
from evalstore.languages.patterns import (
    LIMIT_HINT,
    PatternMatcher,
    compile_matcher,
    find_dialect_difference,
    name_engine,
)
from evalstore.model import Grade, Sample
from evalstore.model.outcome import grade_binary, grade_error


def prepare_grading(params: Mapping[str, Any], _: CheckContext) -> GradeFunction:
    """Look for a match where `mode` allows one; a pattern that does not compile is unscored."""
    matcher = _compile(params)
    if isinstance(matcher, str):
        broken = grade_error(matcher)
        return lambda _: broken
    answers = {
        True: grade_binary(True, "a match is found", name_engine()),
        False: grade_binary(False, "no match is found", name_engine()),
    }

    def grade(sample: Sample) -> Grade:
        found = matcher.is_found(sample.text)
        if found is None:
            return grade_error(f"the pattern {matcher.describe_excess(sample.text)}", name_engine())
        return answers[found]

    return grade


def find_problems(params: Mapping[str, Any]) -> Iterator[CheckProblem]:
    """Yield why the pattern does not compile, or where its meaning differs from Python's `re`."""
    matcher = _compile(params)
    if isinstance(matcher, str):
        yield CheckProblem(
            ("pattern",), matcher, "write it in the syntax of Python's re", blocks=True
        )
        return
    if other := find_dialect_difference(params["pattern"], _read_flags(params)):
        yield CheckProblem(("pattern",), other, "write it so that both read it alike")
    if limit := matcher.limit_problem:
        yield CheckProblem(("pattern",), limit, LIMIT_HINT)


def _compile(params: Mapping[str, Any]) -> PatternMatcher | str:
    return compile_matcher(params["pattern"], _read_flags(params), params.get("mode", "search"))


def _read_flags(params: Mapping[str, Any]) -> str:
    return "".join(sorted(set("".join(params.get("flags", "")))))


KIND = CheckKind(
    prepare_grading=prepare_grading,
    find_problems=find_problems,
    word="pattern",
    is_binary=True,
    other_words={
        "(must_|should_)?match(es)?(_regex|_pattern)?|pattern": "did you mean regex?",
        "(must_|should_)?(not?|never)_match(es)?(_regex|_pattern)?": (
            "write it as regex with `negate: true`"
        ),
    },
)
