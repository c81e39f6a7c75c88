"""The rules of validation, by their ids: what is found in a file, how bad it is, and why."""

from evalstore.lint.rules.artifacts import ARTIFACT_RULES
from evalstore.lint.rules.documents import DOCUMENT_RULES
from evalstore.lint.rules.rule import ValidationRule

__all__ = ["VALIDATION_RULES", "ValidationRule"]

VALIDATION_RULES = {rule.id: rule for rule in (*DOCUMENT_RULES, *ARTIFACT_RULES)}
