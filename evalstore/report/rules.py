"""Renders the catalogue of rules, as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalstore.report.text_layout import format_columns
from evalstore.text import make_excerpt

if TYPE_CHECKING:
    from evalstore.catalogue import RuleCatalogue
    from evalstore.diff.change import ChangeRule

_ONE_WAY = frozenset({"none", "stricter", "looser", "either"})
_SHORT = 35  # characters of a message, so that a line has no more than 100
_HEAD = ("", "RULE", "OF", "NEEDS", "MOVES", "")


def text(catalogue: RuleCatalogue) -> str:
    """Return a line a rule, and the number of the set."""
    rows = [_HEAD, *map(_rule_row, catalogue.rules)]
    count = f"{len(catalogue.rules)} rules, set {catalogue.rule_set}; * less where a decider proves it"
    return f"{format_columns(rows)}\n\n{count}; evalstore explain RULE tells all of one"


def document(catalogue: RuleCatalogue) -> Any:
    """Return the JSON document."""
    return {"rule_set": catalogue.rule_set, "rules": [document_rule(rule) for rule in catalogue.rules]}


def document_rule(rule: ChangeRule) -> dict[str, Any]:
    """Return the JSON of one row."""
    return {
        "id": rule.id,
        "number": rule.number,
        "artifact": rule.artifact,
        "since": rule.since,
        "level": str(rule.level),
        "headline": {"level": str(rule.headline.level), "only": rule.headline.only} if rule.headline else None,
        "direction": rule.direction.words,
        "moves": str(rule.scope),
        "certainty": str(rule.certainty),
        "mirror": rule.mirror,
        "deciders": [decider.__name__ for decider in rule.deciders],
        "message": rule.message,
        "reason": rule.reason,
        "example": rule.example,
        "instead": rule.instead or None,
    }


def _rule_row(rule: ChangeRule) -> tuple[str, ...]:
    from evalstore.catalogue import render_template

    level = f"{rule.level}*" if rule.deciders else str(rule.level)
    moves = rule.direction.words if rule.direction.words in _ONE_WAY else "as told"
    return (rule.number, rule.id, rule.artifact, level, moves, make_excerpt(render_template(rule.message), _SHORT))
