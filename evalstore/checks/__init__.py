"""One rubric over one output: `evaluate`, and the table of the check kinds that it grades with."""

from evalstore.checks.context import NO_CONTEXT, CheckContext, GradeFunction
from evalstore.checks.evaluate import combine_results, evaluate, prepare_check, prepare_rubric
from evalstore.checks.kinds import KINDS, KindModule

__all__ = [
    "KINDS",
    "NO_CONTEXT",
    "CheckContext",
    "GradeFunction",
    "KindModule",
    "combine_results",
    "evaluate",
    "prepare_check",
    "prepare_rubric",
]
