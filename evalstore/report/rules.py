"""Renders the catalogue of rules, as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalstore.report.text_layout import format_columns
from evalstore.text import make_excerpt

if TYPE_CHECKING:
    from evalstore.catalogue import RuleCatalogue
    from evalstore.diff.change import ChangeRule

_ONE_WAY = frozenset({"none", "stricter", "looser", "either"})
_SHORT = 35  # characters of a message, so that a line has no more than 100
_HEAD = ("RULE", "OF", "NEEDS", "MOVES", "")


def text(catalogue: RuleCatalogue) -> str:
    """Return a line a rule, and the number of the set."""
    rows = [_HEAD, *map(_rule_row, catalogue.rules)]
    count = f"{len(catalogue.rules)} rules, set {catalogue.rule_set}; * less where a decider proves it"
    return f"{format_columns(rows)}\n\n{count}; evalstore explain RULE tells all of one"


def _rule_row(rule: ChangeRule) -> tuple[str, ...]:
    from evalstore.catalogue import render_template

    level = f"{rule.level}*" if rule.deciders else str(rule.level)
    moves = rule.direction.words if rule.direction.words in _ONE_WAY else "as told"
    return (rule.id, rule.artifact, level, moves, make_excerpt(render_template(rule.message), _SHORT))
