"""Lists the rules of every area, and explains each in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from string import Formatter

from evalstore.diff.change import ChangeRule
from evalstore.diff.rules import RULES as CHANGES
from evalstore.diff.settings import RULE_SETS
from evalstore.lint import VALIDATION_RULES
from evalstore.model import Severity
from evalstore.model.findings import ValidationRule
from evalstore.release.changes.version_rules import RULES as VERSIONS
from evalstore.release.integrity_rules import RULES as RELEASES

_WHOLE = frozenset({"{message}", "{hint}"})


class RuleSubject(StrEnum):
    """What a rule judges, by the command that runs it: diff, validate, verify, status."""

    CHANGE = "change"
    FILE = "file"
    RELEASE = "release"
    VERSION = "version"


@dataclass(frozen=True, slots=True)
class RuleCatalogue:
    """The rules for changes in order, and the number of their set."""

    rule_set: int
    rules: tuple[ChangeRule, ...]


@dataclass(frozen=True, slots=True)
class ExplainedRule:
    """One rule in words.

    `level` is a bump or a severity; `row` is the whole row of a rule for changes.
    """

    id: str
    subject: RuleSubject
    level: str
    message: str
    why: str
    hint: str
    row: ChangeRule | None = None
    example: str = ""

    @property
    def is_fixed(self) -> bool:
        """Whether no setting can change its level."""
        return self.subject in {RuleSubject.RELEASE, RuleSubject.VERSION} or (
            self.subject is RuleSubject.FILE and self.level == Severity.ERROR
        )


def list_rules() -> RuleCatalogue:
    """Return the rules for changes."""
    return RuleCatalogue(RULE_SETS[-1], tuple(CHANGES.values()))


def find_rules(name: str) -> tuple[ExplainedRule, ...]:
    """Return the rules with a name: an id, perhaps as `<id>:<direction>`.

    A rule for changes and one for files may have the same id.
    """
    return tuple(_find_explained(name.partition(":")[0]))


def list_rule_names() -> list[str]:
    """Return the ids of all rules."""
    return [*CHANGES, *VALIDATION_RULES, *RELEASES, *VERSIONS]


def render_template(template: str) -> str:
    """Return a message template with `<name>` for each fact; "" if it is only a fact."""
    parts = [text + (f"<{name}>" if name else "") for text, name, *_ in Formatter().parse(template)]
    return "" if template in _WHOLE else "".join(parts)


def _find_explained(id_: str) -> Iterator[ExplainedRule]:
    if row := CHANGES.get(id_):
        message = render_template(row.message)
        yield ExplainedRule(
            id_, RuleSubject.CHANGE, str(row.level), message, row.reason, row.instead, row
        )
    for subject, rules in (
        (RuleSubject.FILE, VALIDATION_RULES),
        (RuleSubject.RELEASE, RELEASES),
        (RuleSubject.VERSION, VERSIONS),
    ):
        if rule := rules.get(id_):
            message, hint = render_template(rule.message), render_template(rule.hint)
            example = rule.example if isinstance(rule, ValidationRule) else ""
            why = rule.why.removesuffix(".")
            yield ExplainedRule(
                id_, subject, str(rule.severity), message, why, hint, example=example
            )
