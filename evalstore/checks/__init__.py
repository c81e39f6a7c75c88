"""One rubric over one output: `evaluate`, and the table of the check kinds that it grades with."""

from evalstore.checks.context import NO_CONTEXT, CheckContext, GradeFunction
from evalstore.checks.evaluate import combine_results, evaluate, prepare_check, prepare_rubric
from evalstore.checks.kinds import KINDS, CheckKind, find_check_kind, find_inner_ref

__all__ = [
    "KINDS",
    "NO_CONTEXT",
    "CheckContext",
    "CheckKind",
    "GradeFunction",
    "combine_results",
    "evaluate",
    "find_check_kind",
    "find_inner_ref",
    "prepare_check",
    "prepare_rubric",
]
