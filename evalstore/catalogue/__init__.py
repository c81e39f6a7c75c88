"""Explains what people write and meet: rules, kinds of artifacts and checks, keys, fingerprints."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from evalstore.catalogue.rule_catalogue import ExplainedRule, find_rules, list_rule_names
from evalstore.catalogue.schema_topics import FILES, SchemaTopic, TopicSort, load_topics
from evalstore.checks.kinds import find_other_words
from evalstore.errors import RefError
from evalstore.model.check_schemas import list_check_kinds
from evalstore.text import find_nearest, make_excerpt

if TYPE_CHECKING:
    from evalstore.diff import DiffFinding
    from evalstore.store import ArtifactStore

FINGERPRINT = re.compile(r"[0-9a-f]{16}")
# Words that a place in a file begins with, and that are in no path of a topic.
_LEADS = frozenset({*FILES, "checks", "evalstore"})


@dataclass(frozen=True, slots=True)
class FoundChange:
    """A change in a store, with its fingerprint and its artifact (`<kind>/<id>`)."""

    ref: str
    finding: DiffFinding


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a name means: its rules and topics, or the change with that fingerprint.

    Topics that say the same form a group: `threshold` is one key of ten kinds.
    """

    name: str
    rules: tuple[ExplainedRule, ...] = ()
    topics: tuple[tuple[SchemaTopic, ...], ...] = ()
    change: FoundChange | None = None


@dataclass(frozen=True, slots=True)
class TopicList:
    """What can be explained: the kinds of file and check, and how many keys and rules."""

    topics: tuple[SchemaTopic, ...]
    keys: int
    rules: int


def list_topics() -> TopicList:
    """Return what can be explained."""
    topics = load_topics().values()
    keys = {topic.name for topic in topics if topic.sort is TopicSort.KEY}
    named = sorted(
        (topic for topic in topics if topic.sort is not TopicSort.KEY), key=lambda topic: topic.sort
    )
    return TopicList(tuple(named), len(keys), len(list_rule_names()))


def explain_name(name: str) -> Explanation:
    """Return what a rule, kind or key means.

    A key may also be named by a path: `threshold`, `scoring.missing`, `/checks/0/values`.

    Raises `RefError` for an unknown name; its hint is the nearest one.
    """
    rules, topics = find_rules(name), find_topics(name)
    if not rules and not topics:
        guess = next((known for known in list_names() if name and known.startswith(name)), None)
        guess = guess or find_nearest(name, list_names())
        lists = "list them: evalstore explain"
        hint = find_other_words(name) or (f"did you mean {guess}?" if guess else lists)
        raise RefError(f"unknown rule, kind or key {make_excerpt(name)}", hint=hint)
    shown = rules[0].id if rules and not topics else name
    return Explanation(shown, rules, tuple(_group_topics(topics)))


def explain_change(store: ArtifactStore, fingerprint: str, today: date) -> Explanation:
    """Return what a change of the working tree since a last release means, by its fingerprint.

    Raises `RefError` if no change has it.
    """
    for change in list_changes(store, today):
        if change.finding.fingerprint == fingerprint:
            return Explanation(fingerprint, find_rules(change.finding.rule), change=change)
    raise RefError(
        f"no change since a last release has the fingerprint {fingerprint}",
        hint="list the fingerprints: evalstore diff",
    )


def list_changes(store: ArtifactStore, today: date) -> Iterator[FoundChange]:
    """Yield every change of the working tree since the last releases, with its parts."""
    from evalstore.diff import Detail
    from evalstore.release.changes.acceptances import read_change_policy
    from evalstore.release.changes.status import survey_store

    survey = survey_store(store, read_change_policy(store, today), detail=Detail.WITNESSES)
    for status in survey.artifacts:
        yield from (FoundChange(status.ref, finding) for finding in _list_findings(status.findings))


def _list_findings(findings: Sequence[DiffFinding]) -> Iterator[DiffFinding]:
    for finding in findings:
        yield finding
        yield from _list_findings(finding.children)


def find_topics(name: str) -> tuple[SchemaTopic, ...]:
    """Return the topics of a path, or of its end; none if nothing has that name."""
    topics = load_topics()
    words = [word for word in re.split(r"[./]|\[\d+\]", name) if word and not word.isdigit()]
    while words:
        path = ".".join(words)
        if path in topics:
            return (topics[path],)
        found = [topic for topic in topics.values() if topic.path.endswith(f".{path}")]
        if found:
            # A key of a check comes before one with the same name nested in another.
            return tuple(sorted(found, key=lambda topic: topic.path.count(".")))
        if words[0] not in _LEADS:
            return ()
        words = words[1:]
    return ()


def list_names() -> list[str]:
    """Return every name that can be explained: rules, files, kinds, keys and their paths."""
    topics = load_topics()
    keys = dict.fromkeys(topic.name for topic in topics.values() if topic.sort is TopicSort.KEY)
    return [*dict.fromkeys([*FILES, *list_check_kinds(), *keys, *topics, *list_rule_names()])]


def _group_topics(topics: Sequence[SchemaTopic]) -> Iterator[tuple[SchemaTopic, ...]]:
    groups: dict[tuple[str, str, str | None], list[SchemaTopic]] = {}
    for topic in topics:
        groups.setdefault((topic.description, topic.shape, topic.default), []).append(topic)
    yield from map(tuple, groups.values())
