"""Reads .evalstore/accepted.yaml strictly, and says at which level changes count on a day."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from evalstore.diff import AcceptedLevel, ComparisonSettings, Profile, read_comparison_settings
from evalstore.documents import Document, read_yaml
from evalstore.errors import EvalstoreError, LoadError
from evalstore.lint import ACCEPTED, VALIDATION_RULES
from evalstore.lint.notes import Note
from evalstore.model.lock import LIMIT as LOCK_LIMIT
from evalstore.model.lock import LOCK_FILE, read_lock
from evalstore.places import SETTINGS_FILE
from evalstore.store import ArtifactStore
from evalstore.store.repository.objects import expect_folder, find_file
from evalstore.store.working_files import is_blob
from evalstore.versions import Bump, Version, parse_version


@dataclass(frozen=True, slots=True)
class Acceptance:
    """One entry: which change is accepted, at which level, by whom and why.

    A change is identified by its artifact, the release before it and its fingerprint.
    """

    artifact: str
    since: Version
    fingerprint: str
    rule: str
    change: str
    accepted: AcceptedLevel


@dataclass(frozen=True, slots=True)
class ChangePolicy:
    """How a store judges changes on a day: by its settings, and by acceptances.

    Without `today`, an acceptance with an end date does not count.
    """

    settings: ComparisonSettings
    acceptances: tuple[Acceptance, ...]
    today: date | None

    def restrict_to_change(self, artifact: str, since: Version) -> ComparisonSettings:
        """Return the settings for one artifact's changes since one release.

        They include only the acceptances of these changes.
        """
        mine = [one for one in self.acceptances if (one.artifact, one.since) == (artifact, since)]
        accepted = {one.fingerprint: one.accepted for one in mine if self._is_valid(one)}
        return replace(self.settings, accepted=accepted)

    def _is_valid(self, acceptance: Acceptance) -> bool:
        until = acceptance.accepted.until
        return until is None or (self.today is not None and self.today <= until)


def read_change_policy(
    store: ArtifactStore, today: date | None, profile: Profile | None = None
) -> ChangePolicy:
    """Read how a store judges changes.

    Raises `LoadError` for an invalid setting or acceptance.
    """
    _check_settings(store)
    return ChangePolicy(read_base_settings(store, profile), read_acceptances(store), today)


def read_change_policy_at(
    store: ArtifactStore, commit: str, today: date | None, profile: Profile | None = None
) -> ChangePolicy:
    """Read how a store judged changes at a commit: by its settings, lock and acceptances.

    Raises like `read_change_policy`.
    """
    locked = store.read_file_at(commit, LOCK_FILE, LOCK_LIMIT)
    refs = read_lock(locked).refs if locked else {}
    settings = replace(
        read_comparison_settings(read_settings_at(store, commit), profile), locked=frozenset(refs)
    )
    data = store.read_file_at(commit, ACCEPTED)
    accepted = None if data is None else _read_accepted(data, f"git:{commit[:12]}:{ACCEPTED}")
    return ChangePolicy(settings, _parse_document(accepted), today)


def find_policy_blobs(
    store: ArtifactStore, commits: Iterable[str]
) -> dict[str, tuple[str | None, ...]]:
    """Return by commit the blobs that decide `read_change_policy_at`.

    Equal blobs mean equal policies. Commits that git cannot read are left out.
    """
    asked = list(dict.fromkeys(commits))
    expect_folder(store.objects, asked, store.prefix + ACCEPTED.rpartition("/")[0])
    found = {}
    for commit in asked:
        with suppress(EvalstoreError):
            found[commit] = tuple(
                store.find_file_at(commit, name) for name in (SETTINGS_FILE, LOCK_FILE, ACCEPTED)
            )
    return found


def _check_settings(store: ArtifactStore) -> None:
    """Refuse settings that violate their schema.

    A word that is skipped could be the one that asks for more.
    """
    if not store.settings:
        return
    from evalstore.lint.shapes import SETTINGS, lint_shape

    for note in lint_shape(SETTINGS, store.settings):
        # A rename that names no dataset declares nothing, which asks for more, not less; `validate`
        # reports it.
        if note.pointer[:1] == ("renames",):
            continue
        raise _build_note_error(store.read_settings(), _find_level_note(store, note))


def _find_level_note(store: ArtifactStore, note: Note) -> Note:
    """Return what a rule itself says about its level, and any other note as it is."""
    from evalstore.diff.rules import RULES
    from evalstore.lint.settings import is_level_note, lint_rule_levels

    if not is_level_note(note):
        return note
    return next(lint_rule_levels(store.settings["rules"], RULES), note)


def read_settings_at(store: ArtifactStore, commit: str) -> Mapping[str, Any]:
    """Read the settings of a store as of a commit; none if it had no such file."""
    return store.read_settings_at(commit).value or {}


def read_base_settings(store: ArtifactStore, profile: Profile | None = None) -> ComparisonSettings:
    """Read the settings by which a store compares, without acceptances."""
    return replace(
        read_comparison_settings(store.settings, profile), locked=frozenset(store.lock.refs)
    )


def read_rules_policy(store: ArtifactStore) -> ChangePolicy:
    """Read how changes count by the rules and the store's declarations alone.

    Overrides and acceptances are ignored.
    """
    return ChangePolicy(read_base_settings(store).without_opinions, (), None)


def read_acceptances(store: ArtifactStore) -> tuple[Acceptance, ...]:
    """Return the entries of the file.

    Raises `LoadError` at the first place that violates its schema.
    """
    return _parse_document(read_accepted_file(store))


def _parse_document(document: Document | None) -> tuple[Acceptance, ...]:
    return tuple(map(_parse_acceptance, document.value["accepted"])) if document else ()


def find_uncommitted_acceptances(
    store: ArtifactStore, tip: str | None
) -> frozenset[tuple[str, str]]:
    """Return the changes that an uncommitted file accepts, as artifact and release.

    There are none if the file is committed as it is.
    """
    blob = find_file(store.objects, tip, store.prefix + ACCEPTED) if tip else None
    if (
        blob
        and store.root
        and os.path.lexists(store.root / ACCEPTED)
        and is_blob(store.root, ACCEPTED, blob)
    ):
        return frozenset()
    return frozenset(
        (acceptance.artifact, str(acceptance.since)) for acceptance in read_acceptances(store)
    )


def read_accepted_file(store: ArtifactStore) -> Document | None:
    """Return the file as a document, or None if there is none.

    Raises `LoadError` at the first place that violates its schema.
    """
    data = store.read_root_file(ACCEPTED)
    return None if data is None else _read_accepted(data, ACCEPTED)


def _read_accepted(data: bytes, file: str) -> Document:
    from evalstore.lint.acceptances import lint_acceptance_form

    document = read_yaml(data, file)
    for note in lint_acceptance_form(document.value):
        raise _build_note_error(document, note)
    return document


def _build_note_error(document: Document, note: Note) -> LoadError:
    rule, place = VALIDATION_RULES[note.rule], document.locate(note.pointer, of_key=note.of_key)
    return LoadError(
        rule.message.format(**note.facts), place=place, hint=rule.hint.format(**note.facts) or None
    )


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
