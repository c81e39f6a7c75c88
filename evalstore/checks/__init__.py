"""One rubric over one output: `evaluate`, and the table of the check kinds that it grades with."""

from evalstore.checks.combine import combine
from evalstore.checks.evaluate import evaluate, prepare, prepare_check
from evalstore.checks.kinds import KINDS, KindModule
from evalstore.checks.reach import NOWHERE, Grade, Reach

__all__ = ["KINDS", "NOWHERE", "Grade", "KindModule", "Reach", "combine", "evaluate", "prepare", "prepare_check"]
