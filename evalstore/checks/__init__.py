"""One rubric over one output: `evaluate`, and the table of the check kinds that it grades with."""

from evalstore.checks.combine import combine
from evalstore.checks.evaluate import evaluate
from evalstore.checks.kinds import KINDS, PENDING, KindModule

__all__ = ["KINDS", "PENDING", "KindModule", "combine", "evaluate"]
