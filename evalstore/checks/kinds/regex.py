"""regex: a match of the pattern is found in the output; a pattern that outruns its time is unscored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evalstore.checks.context import CheckContext, CheckProblem, GradeFunction
from evalstore.checks.pattern_time import USED_UP
from evalstore.model import Grade, Sample
from evalstore.model.outcome import grade_binary, grade_error
from evalstore.patterns.engine import compile_pattern, find_dialect_difference, name_engine


def prepare_grading(params: Mapping[str, Any], context: CheckContext) -> GradeFunction:
    """Look for a match where `mode` allows one; a pattern that does not compile is unscored, too."""
    compiled, mode = compile_pattern(params["pattern"], _read_flags(params)), params.get("mode", "search")

    if isinstance(compiled, str):
        broken = grade_error(compiled)
        return lambda _: broken
    answers = {
        True: grade_binary(True, "a match is found", name_engine()),
        False: grade_binary(False, "no match is found", name_engine()),
    }

    def grade(sample: Sample) -> Grade:
        found = context.pattern_time.match(compiled, mode, sample.text)
        if not isinstance(found, str):
            return answers[found]
        return grade_error(f"the pattern {found}{'' if found == USED_UP else ' on this output'}", name_engine())

    return grade


def find_problems(params: Mapping[str, Any]) -> Iterator[CheckProblem]:
    """Yield why the pattern does not compile, or where it means another thing than in Python's `re`."""
    compiled = compile_pattern(params["pattern"], _read_flags(params))
    if isinstance(compiled, str):
        yield CheckProblem(("pattern",), compiled, "write it in the syntax of Python's re", blocks=True)
    elif other := find_dialect_difference(params["pattern"], _read_flags(params)):
        yield CheckProblem(("pattern",), other, "write it so that both read it alike")


def _read_flags(params: Mapping[str, Any]) -> str:
    return "".join(sorted(set("".join(params.get("flags", "")))))
