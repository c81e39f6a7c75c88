"""The rules of validation, by id: what is found in a file, how bad it is, and why."""

from evalstore.lint.rules.artifacts import ARTIFACT_RULES
from evalstore.lint.rules.documents import DOCUMENT_RULES

VALIDATION_RULES = {rule.id: rule for rule in (*DOCUMENT_RULES, *ARTIFACT_RULES)}
