"""The file of accepted changes, .evalstore/accepted.yaml: read strictly, written in order; and what holds on a day."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from evalstore.diff import AcceptedLevel, ComparisonSettings, Profile, read_comparison_settings
from evalstore.documents import Document, read_yaml
from evalstore.errors import LoadError
from evalstore.store import ArtifactStore
from evalstore.store.objects import find_file
from evalstore.store.settings import read_root_file
from evalstore.store.working_files import is_blob
from evalstore.validation import ACCEPTED, RULES
from evalstore.validation.acceptances import form_notes
from evalstore.versions import Bump, Version, parse_version


@dataclass(frozen=True, slots=True)
class Acceptance:
    """One entry: which change (artifact, the release it changes since, fingerprint), and what people say of it."""

    artifact: str
    since: Version
    fingerprint: str
    rule: str
    change: str
    accepted: AcceptedLevel


@dataclass(frozen=True, slots=True)
class ChangePolicy:
    """What a store says of changes on a day: its terms, and what its people accepted.

    `today` None is no day at all: then what was accepted until some day does not hold.
    """

    terms: ComparisonSettings
    acceptances: tuple[Acceptance, ...]
    today: date | None

    def for_change(self, artifact: str, since: Version) -> ComparisonSettings:
        """Return the terms for one artifact's change since one release; an acceptance of any other is not in them."""
        mine = (one for one in self.acceptances if one.artifact == artifact and one.since == since)
        return replace(self.terms, accepted={one.fingerprint: one.accepted for one in mine if self._is_valid(one)})

    def _is_valid(self, acceptance: Acceptance) -> bool:
        until = acceptance.accepted.until
        return until is None or (self.today is not None and self.today <= until)


def read_change_policy(store: ArtifactStore, today: date | None, profile: Profile | None = None) -> ChangePolicy:
    """Read what a store says of changes; `LoadError` for a word, or an entry, that cannot be taken as it stands."""
    return ChangePolicy(read_base_settings(store, profile), read_acceptances(store), today)


def read_base_settings(store: ArtifactStore, profile: Profile | None = None) -> ComparisonSettings:
    """Read what a store says of changes beside what was accepted, which is not looked at."""
    return replace(read_comparison_settings(store.settings, profile), locked=frozenset(store.lock.refs))


def read_acceptances(store: ArtifactStore) -> tuple[Acceptance, ...]:
    """Return the entries of the file; `LoadError` at the first place that is not as its schema says."""
    document = read_accepted_file(store)
    return tuple(map(_parse_acceptance, document.value["accepted"])) if document else ()


def find_uncommitted_acceptances(store: ArtifactStore, tip: str | None) -> frozenset[tuple[str, str]]:
    """Return what the file accepts (artifact, release), where it is not committed as it stands."""
    blob = find_file(store.objects, tip, store.prefix + ACCEPTED) if tip else None
    if blob and store.root and os.path.lexists(store.root / ACCEPTED) and is_blob(store.root, ACCEPTED, blob):
        return frozenset()
    return frozenset((one.artifact, str(one.since)) for one in read_acceptances(store))


def read_accepted_file(store: ArtifactStore) -> Document | None:
    data = read_root_file(store.repository, store.objects, root=store.root, prefix=store.prefix, name=ACCEPTED)
    if data is None:
        return None
    document = read_yaml(data, ACCEPTED)
    for note in form_notes(document.value):
        place = document.locate(note.pointer, of_key=note.of_key)
        rule = RULES[note.rule]
        raise LoadError(rule.message.format(**note.facts), place=place, hint=rule.hint.format(**note.facts) or None)
    return document


def _parse_acceptance(entry: Mapping[str, Any]) -> Acceptance:
    until = entry.get("until")
    return Acceptance(
        artifact=entry["artifact"],
        since=parse_version(entry["since"]),
        fingerprint=entry["fingerprint"],
        rule=entry["rule"],
        change=entry.get("change", ""),
        accepted=AcceptedLevel(
            level=Bump(entry["level"]),
            was=Bump(entry["was"]),
            reason=entry["reason"],
            by=entry["by"],
            day=date.fromisoformat(entry["day"]),
            until=date.fromisoformat(until) if until else None,
        ),
    )
