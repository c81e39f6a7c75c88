"""Renders the explanation of a rule, as text and JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from evalstore.model import Kind
from evalstore.report.rules import document_rule
from evalstore.report.text_layout import wrap_lines
from evalstore.versions import Bump

if TYPE_CHECKING:
    from evalstore.catalogue import ExplainedRule, Explanation
    from evalstore.diff.change import ChangeRule

_LABEL = 10
_COMMANDS = {"change": "diff", "file": "validate", "release": "verify", "version": "status"}
_NEVER = "no score"
_ARTICLES = {"any": "any artifact", **{str(kind): f"a {kind}" for kind in Kind}}
_OTHER = {Bump.MAJOR: Bump.MINOR, Bump.MINOR: Bump.PATCH, Bump.PATCH: Bump.MINOR}


def text(explanation: Explanation) -> str:
    """Return a block for each rule of the name."""
    return "\n\n".join("\n".join(_format_rule(rule)) for rule in explanation.explained)


def document(explanation: Explanation) -> Any:
    """Return the JSON document."""
    return {"rule": explanation.rule, "explained": [_rule_document(rule) for rule in explanation.explained]}


def _rule_document(rule: ExplainedRule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "of": str(rule.subject),
        "level": rule.level,
        "says": rule.message,
        "why": rule.why,
        "instead": rule.hint or None,
        "accept": _advise_on_acceptance(rule) or None,
        "setting": _advise_on_setting(rule),
        "row": document_rule(rule.row) if rule.row else None,
    }


def _format_rule(rule: ExplainedRule) -> Iterator[str]:
    yield f"{rule.id}, a rule of evalstore {_COMMANDS[rule.subject]}"
    for label, sentence in _rule_lines(rule):
        if sentence:
            lead = f"  {label.ljust(_LABEL)}"
            yield from wrap_lines(sentence, lead=lead, inner=" " * len(lead))


def _rule_lines(rule: ExplainedRule) -> Iterator[tuple[str, str]]:
    yield "says", rule.message
    yield "why", rule.why
    if row := rule.row:
        yield from _row_lines(row)
        yield "bad", row.example
        yield "good", row.instead or ("this needs no more than a patch" if row.headline is None else "")
        yield "accept", _advise_on_acceptance(rule)
    else:
        yield "level", rule.level
        yield "do", rule.hint
    yield "setting", _advise_on_setting(rule)


def _row_lines(row: ChangeRule) -> Iterator[tuple[str, str]]:
    headline = ""
    if row.headline:
        of = f" for {row.headline.only}" if row.headline.only else ""
        headline = f"; under the profile headline {row.headline.level}{of}"
    yield "needs", f"{row.level} (rule {row.number} of set {row.since}, for {_ARTICLES[row.artifact]}){headline}"
    yield "moves", _NEVER if row.direction.words == "none" else f"{row.scope}: {row.direction.words}"
    for decider in row.deciders:
        yield "less if", _decider_claim(decider)
    yield "mirror", row.mirror if row.mirror != row.id else ""


def _decider_claim(decider: Callable[..., Any]) -> str:
    """Return what a decider proves, taken from the first line of its docstring."""
    claim = (decider.__doc__ or decider.__name__.strip("_").replace("_", " ")).partition("\n")[0]
    return claim.removeprefix("Prove that ").removeprefix("Show that ").rstrip(".")


def _advise_on_acceptance(rule: ExplainedRule) -> str:
    row = rule.row
    if row is None or (row.level is Bump.PATCH and row.headline is None):
        return ""
    return 'evalstore diff REF shows the fingerprint; then evalstore accept FINGERPRINT --reason "…"'


def _advise_on_setting(rule: ExplainedRule) -> str:
    if rule.row:
        other = _OTHER[rule.row.level]
        directions = (
            ""
            if rule.row.direction.words == "none"
            else f"; with :stricter, :looser or :either behind {rule.id} for some"
        )
        return f"rules: {{{rule.id}: {other}}} in evalstore.yaml overrides the level{directions}; every report shows it"
    if rule.is_fixed:
        return "no setting changes it"
    return f'rules: {{{rule.id}: "off"}} in evalstore.yaml silences it; info, warning or error set how severe it is'
