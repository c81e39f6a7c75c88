"""Renders what `explain` lists (rules, topics and schemas), and a single schema as it is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from evalstore.report.text_layout import LEVELS, PAPER, Part, Screen, wrap_columns

if TYPE_CHECKING:
    from evalstore.catalogue import TopicList
    from evalstore.catalogue.rule_catalogue import RuleCatalogue
    from evalstore.catalogue.schema_topics import SchemaTopic
    from evalstore.catalogue.schemas import SchemaFile, SchemaListing
    from evalstore.diff.change import ChangeRule

_ONE_WAY = frozenset({"none", "stricter", "looser", "either"})
_LEVELS = {**LEVELS, **{f"{level}*": part for level, part in LEVELS.items()}}
_HEAD = ("RULE", "OF", "NEEDS", "MOVES", "")
_SORTS = {"file": "Files", "kind": "Kinds of check"}


def text_rules(catalogue: RuleCatalogue, screen: Screen = PAPER) -> str:
    """Return a line per rule, and the number of the rule set."""
    head, *lines = wrap_columns([_HEAD, *map(_rule_row, catalogue.rules)], screen.width)
    table = "\n".join(
        [screen.paint(Part.QUIET, head), *(screen.paint_words(line, _LEVELS) for line in lines)]
    )
    count = f"{len(catalogue.rules)} rules, set {catalogue.rule_set}; * less if a decider proves it"
    return f"{table}\n\n{count}; see one: evalstore explain RULE"


def _rule_row(rule: ChangeRule) -> tuple[str, ...]:
    from evalstore.catalogue.rule_catalogue import render_template

    level = f"{rule.level}*" if rule.deciders else str(rule.level)
    moves = rule.direction.words if rule.direction.words in _ONE_WAY else "as told"
    return (rule.id, rule.artifact, level, moves, render_template(rule.message))


def text_schema(file: SchemaFile) -> str:
    """Return the schema as JSON, as editors read it."""
    return json.dumps(file.document, indent=2)


def document_schema(file: SchemaFile) -> Any:
    """Return the schema itself."""
    return file.document


def text_topics(listed: TopicList, screen: Screen = PAPER) -> str:
    """Return a line for each kind of file and check, and how to find the rest."""
    lines: list[str] = []
    for sort, title in _SORTS.items():
        topics = [topic for topic in listed.topics if topic.sort == sort]
        rows = [(f"  {topic.path}", _cut_sentence(topic.description)) for topic in topics]
        lines += [screen.paint(Part.HEAD, title), *wrap_columns(rows, screen.width), ""]
    lines += [
        (
            f"evalstore explain NAME explains one of these, or one of {listed.keys} keys and "
            f"{listed.rules} rules"
        ),
        (
            "evalstore explain --rules lists the rules of changes, evalstore explain --schema "
            "the JSON Schemas"
        ),
    ]
    return "\n".join(lines)


def document_topics(listed: TopicList) -> Any:
    """Return the JSON document."""
    topics = list(map(_write_topic, listed.topics))
    return {"topics": topics, "keys": listed.keys, "rules": listed.rules}


def _write_topic(topic: SchemaTopic) -> dict[str, str]:
    says = _cut_sentence(topic.description)
    return {"name": topic.path, "sort": str(topic.sort), "says": says}


def text_schemas(listing: SchemaListing, screen: Screen = PAPER) -> str:
    """Return a line for each schema, and how to print one."""
    rows = [(file.name, _first_sentence(file.document)) for file in listing.schemas]
    how = "evalstore explain --schema NAME prints one; evalstore explain NAME explains it"
    return "\n".join([*wrap_columns(rows, screen.width), "", how])


def document_schemas(listing: SchemaListing) -> Any:
    """Return the JSON document."""
    return {
        "schemas": [
            {"name": file.name, "says": _first_sentence(file.document)} for file in listing.schemas
        ]
    }


def _first_sentence(schema: Any) -> str:
    return _cut_sentence(str(schema["description"]))


def _cut_sentence(description: str) -> str:
    return description.partition(". ")[0].rstrip(".")
