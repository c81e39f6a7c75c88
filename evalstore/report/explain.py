"""Renders the explanation of a rule, a kind, a key or a change."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from evalstore.catalogue.schema_topics import TopicSort
from evalstore.documents import write_yaml
from evalstore.model import Kind
from evalstore.report.diff import format_finding
from evalstore.report.json_values import select_json_keys, write_json_value
from evalstore.report.text_layout import PAPER, Part, Screen, join_blocks, join_names
from evalstore.text import count_noun, make_printable
from evalstore.versions import Bump

if TYPE_CHECKING:
    from evalstore.catalogue import Explanation, FoundChange
    from evalstore.catalogue.rule_catalogue import ExplainedRule
    from evalstore.catalogue.schema_topics import SchemaTopic
    from evalstore.diff.change import ChangeRule


_LABEL = 10
_TOPICS, _PLACES = 3, 4  # blocks for keys of the same name, and the places that a block names
_FILES = {
    **{str(kind): f"{kind.folder}/<id>.yaml" for kind in Kind},
    "settings": "evalstore.yaml",
    "accepted": ".evalstore/accepted.yaml",
}
_COMMANDS = {"change": "diff", "file": "validate", "release": "verify", "version": "status"}
_NEVER = "no score"
_ARTICLES = {"any": "any artifact", **{str(kind): f"a {kind}" for kind in Kind}}
_OTHER = {Bump.MAJOR: Bump.MINOR, Bump.MINOR: Bump.PATCH, Bump.PATCH: Bump.MINOR}


def text(explanation: Explanation, screen: Screen = PAPER) -> str:
    """Return a block for the change, for each rule, and for topics that say the same."""
    shown = explanation.topics if screen.whole else explanation.topics[:_TOPICS]
    more = len(explanation.topics) - len(shown)
    return join_blocks(
        _format_change(explanation.change, screen) if explanation.change else "",
        *(_format_rule(rule, screen) for rule in explanation.rules),
        *(_format_topics(topics, screen) for topics in shown),
        f"and {count_noun(more, 'more key')} of that name: --verbose explains all" if more else "",
    )


def _format_change(found: FoundChange, screen: Screen) -> Iterator[str]:
    yield screen.paint(Part.HEAD, f"a change of {found.ref}")
    yield from format_finding(found.finding, screen, can_accept=True)


def document(explanation: Explanation) -> Any:
    """Return the JSON document."""
    found = explanation.change
    return {
        "name": explanation.name,
        "rules": [_rule_document(rule) for rule in explanation.rules],
        "topics": [_topic_document(topic) for topics in explanation.topics for topic in topics],
        "change": found and select_json_keys(found, "ref finding"),
    }


def _topic_document(topic: SchemaTopic) -> dict[str, Any]:
    return {
        "path": topic.path,
        "of": str(topic.sort),
        "says": topic.description,
        "shape": topic.shape,
        "required": topic.required,
        "default": None if topic.default is None else json.loads(topic.default),
        "keys": [key.name for key in topic.keys],
        "example": format_example(topic),
    }


def format_example(topic: SchemaTopic) -> str:
    """Return the example of a topic in YAML: the part of a file that shows it."""
    return write_yaml(dict(topic.document))


def _format_topics(topics: Sequence[SchemaTopic], screen: Screen) -> Iterator[str]:
    first = topics[0]
    yield from screen.wrap(_name_topics(topics), part=Part.HEAD)
    yield from _format_labelled(_topic_lines(first), screen)
    yield from _format_keys(first, screen)
    lines = format_example(first).rstrip("\n").split("\n")
    for number, line in enumerate(lines):
        yield f"  {('example' if not number else '').ljust(_LABEL)}{make_printable(line)}".rstrip()


def _name_topics(topics: Sequence[SchemaTopic]) -> str:
    first = topics[0]
    if first.sort is TopicSort.KIND:
        return f"{first.path}, a kind of check in a rubric"
    if first.sort is TopicSort.FILE:
        return f"{first.path}, a file: {_FILES[first.path]}"
    places = join_names((topic.path.rpartition(".")[0] for topic in topics), _PLACES)
    return f"{first.name}, a key of {places}"


def _topic_lines(topic: SchemaTopic) -> Iterator[tuple[str, str]]:
    yield "says", topic.description
    if topic.sort is not TopicSort.KEY:
        return
    yield "is", topic.shape + (", required" if topic.required else "")
    yield "default", _format_default(topic.default)


def _format_default(default: str | None) -> str:
    return (
        write_yaml([json.loads(default, parse_float=Decimal)]).strip().removeprefix("- ")
        if default
        else ""
    )


def _format_keys(topic: SchemaTopic, screen: Screen) -> Iterator[str]:
    width = max((len(key.name) for key in topic.keys), default=0)
    for number, key in enumerate(topic.keys):
        lead = f"  {('' if number else 'keys').ljust(_LABEL)}{key.name.ljust(width)}  "
        words = f"{key.sentence} (required)" if key.required else key.sentence
        yield from screen.wrap(words, lead=lead, inner=" " * len(lead))


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
        "row": write_json_value(rule.row),
    }


def _format_rule(rule: ExplainedRule, screen: Screen) -> Iterator[str]:
    yield screen.paint(Part.HEAD, f"{rule.id}, a rule of evalstore {_COMMANDS[rule.subject]}")
    yield from _format_labelled(_rule_lines(rule), screen)


def _format_labelled(sentences: Iterable[tuple[str, str]], screen: Screen) -> Iterator[str]:
    """Yield each sentence with its label, if it says more than the label."""
    for label, sentence in sentences:
        lead = f"  {label.ljust(_LABEL)}"
        yield from screen.wrap(sentence, lead=lead, inner=" " * len(lead))


def _rule_lines(rule: ExplainedRule) -> Iterator[tuple[str, str]]:
    yield "says", rule.message
    yield "why", rule.why
    if row := rule.row:
        yield from _row_lines(row)
        yield "bad", row.example
        yield "good", row.instead or ("needs at most a patch bump" if row.headline is None else "")
        yield "accept", _advise_on_acceptance(rule)
    else:
        yield "level", rule.level
        yield "bad", rule.example
        yield "do", rule.hint
    yield "setting", _advise_on_setting(rule)


def _row_lines(row: ChangeRule) -> Iterator[tuple[str, str]]:
    from evalstore.diff.deciders.claims import CLAIMS, name_decider

    headline = ""
    if row.headline:
        of = f" for {row.headline.only}" if row.headline.only else ""
        headline = f"; under the profile headline {row.headline.level}{of}"
    yield (
        "needs",
        f"{row.level} (since rule set {row.since}, for {_ARTICLES[row.artifact]}){headline}",
    )
    yield (
        "moves",
        _NEVER if row.direction.words == "none" else f"{row.scope}: {row.direction.words}",
    )
    for decider in row.deciders:
        yield "less if", CLAIMS[name_decider(decider)]
    yield "mirror", row.mirror if row.mirror != row.id else ""


def _advise_on_acceptance(rule: ExplainedRule) -> str:
    row = rule.row
    if row is None or (row.level is Bump.PATCH and row.headline is None):
        return ""
    return (
        'evalstore diff REF shows the fingerprint; then evalstore accept FINGERPRINT --reason "…"'
    )


def _advise_on_setting(rule: ExplainedRule) -> str:
    if rule.row:
        other = _OTHER[rule.row.level]
        directions = (
            ""
            if rule.row.direction.words == "none"
            else f"; with :stricter, :looser or :either after {rule.id} for some"
        )
        return (
            f"rules: {{{rule.id}: {other}}} in evalstore.yaml overrides the level{directions}; "
            "every report shows it"
        )
    if rule.is_fixed:
        return "no setting changes it"
    return (
        f'rules: {{{rule.id}: "off"}} in evalstore.yaml silences it; info, warning or error set '
        "how severe it is"
    )
