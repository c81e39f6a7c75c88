"""Explains what people write and meet: every rule, every kind of artifact and check, every key; and begins files."""

from evalstore.catalogue.explanation import (
    ExplainedRule,
    Explanation,
    RuleCatalogue,
    RuleSubject,
    explain_name,
    find_rules,
    list_rules,
    render_template,
)
from evalstore.diff.rules import RULES as CHANGES
from evalstore.lint import VALIDATION_RULES as FILES
from evalstore.release.integrity_rules import RULES as RELEASES
from evalstore.release.status_values import RULES as VERSIONS

__all__ = [
    "CHANGES",
    "FILES",
    "RELEASES",
    "VERSIONS",
    "ExplainedRule",
    "Explanation",
    "RuleCatalogue",
    "RuleSubject",
    "explain_name",
    "find_rules",
    "list_rules",
    "render_template",
]
