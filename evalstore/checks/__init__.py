"""One rubric over one output: `evaluate`, and the table of the check kinds that it grades with."""

from evalstore.checks.combine import combine_results
from evalstore.checks.evaluate import evaluate, prepare, prepare_check
from evalstore.checks.kinds import KINDS, KindModule
from evalstore.checks.reach import NO_CONTEXT, GradeFunction, CheckContext

__all__ = ["KINDS", "NO_CONTEXT", "GradeFunction", "KindModule", "CheckContext", "combine_results", "evaluate", "prepare", "prepare_check"]
