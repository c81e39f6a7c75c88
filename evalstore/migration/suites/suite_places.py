"""Finds each suite's place in the store: the artifact that represents it, even after a move."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import PurePosixPath
from posixpath import commonpath
from typing import Any

from evalstore.migration.merging.stored_artifacts import (
    StoredArtifact,
    StoredArtifacts,
    list_inputs,
    list_words,
)
from evalstore.migration.suites.suite_names import SuiteFacts, choose_suite_ids
from evalstore.model import Kind

_TAIL = 6  # parts of a path
# Suites with one key whose questions are compared: comparing all would be quadratic.
_FEW = 8
SuiteKey = Callable[[SuiteFacts], Any]


@dataclass(frozen=True, slots=True)
class SuiteIdentity:
    """A suite's place in the store: its artifact's `id`, and the `key`.

    The key is what its artifacts call their `suite`. `stored` is that artifact, if the suite was
    migrated before; `moved` says where the suite has gone since, `note` why a new one is not named
    after its name.
    """

    id: str
    key: str
    stored: StoredArtifact | None = None
    moved: str = ""
    note: str = ""

    @property
    def run(self) -> str:
        """The path of the run that it was migrated to, or empty.

        If the suite has another name now, it is under its old one.
        """
        return self.stored.origin.run if self.stored and not self.moved else ""


@dataclass
class _StoredSuite:
    """A suite in the store during the search: its facts, and its inputs, read when needed."""

    artifact: StoredArtifact
    facts: SuiteFacts
    store: StoredArtifacts
    is_gone: bool
    is_missing: bool

    @cached_property
    def words(self) -> frozenset[int]:
        value: Mapping[str, Any] = self.store.read_value(self.artifact) or {}
        return list_words(value.get("questions") or ())

    @property
    def may_have_moved(self) -> bool:
        """Whether its file is not where it was."""
        return self.is_gone or self.is_missing

    @property
    def is_certain(self) -> bool:
        """Whether its file is below the store.

        Outside, files in several folders can have the same recorded name.
        """
        return (self.store.root / self.facts.file).is_file()

    @cached_property
    def inputs(self) -> frozenset[int]:
        value: Mapping[str, Any] = self.store.read_value(self.artifact) or {}
        return list_inputs(value.get("questions") or ())


def place_suites(
    suites: Sequence[SuiteFacts],
    store: StoredArtifacts,
    is_gone: Callable[[str], bool],
    is_missing: Callable[[str], bool],
) -> tuple[dict[str, SuiteIdentity], list[StoredArtifact]]:
    """Return the place of each suite by its file, and the artifacts of suites that are gone.

    `is_gone` says whether this migration would have found a recorded file, and did not;
    `is_missing`, whether an otherwise equal suite may have moved from there.
    """

    def read_stored(artifact: StoredArtifact) -> _StoredSuite:
        file = artifact.origin.file
        return _StoredSuite(
            artifact, _recall_facts(artifact), store, is_gone(file), is_missing(file)
        )

    stored = [read_stored(artifact) for artifact in store.suites if artifact.origin.file]
    pairs = _match_suites(suites, stored)
    new = [index for index in range(len(suites)) if index not in pairs]
    others = [suite.facts for suite in stored]
    ids = choose_suite_ids([suites[index] for index in new], others, store.names.__contains__)
    identities = {}
    for index, (id_, note) in zip(new, ids, strict=True):
        identities[suites[index].file] = SuiteIdentity(id_, id_, note=note)
    for index, match in pairs.items():
        moved, known = _describe_move(suites[index], match), match.artifact
        identities[suites[index].file] = SuiteIdentity(known.id, known.origin.suite, known, moved)
    matched = {match.artifact.name for match in pairs.values()}
    gone = [suite.artifact for suite in stored if suite.is_gone]
    return identities, [artifact for artifact in gone if artifact.name not in matched]


def list_rubric_ids(
    suites: Iterable[SuiteFacts], places: Mapping[str, SuiteIdentity], store: StoredArtifacts
) -> dict[tuple[str, str], dict[str, str]]:
    """Return the stored ids of single-file rubrics, by format and own name, then by file.

    Other sources of the format refer to them by the name that they give themselves.
    """
    ids: dict[tuple[str, str], dict[str, str]] = {}
    known = ((_recall_facts(artifact), artifact.id) for artifact in store.suites)
    for facts, id_ in (*known, *((suite, places[suite.file].id) for suite in suites)):
        if facts.kind is Kind.RUBRIC and facts.name:
            ids.setdefault((facts.format, facts.name), {})[facts.file] = id_
    return ids


def find_nearest_id(ids: Mapping[str, str], file: str) -> str | None:
    """Return the id of the file that shares most of the path with `file`.

    Returns None if several are possible.
    """
    shared = {other: len(commonpath(["/" + file, "/" + other])) for other in ids}
    nearest = {ids[other] for other, length in shared.items() if length == max(shared.values())}
    return nearest.pop() if len(nearest) == 1 else None


def _recall_facts(artifact: StoredArtifact) -> SuiteFacts:
    origin = artifact.origin
    return SuiteFacts(origin.file, origin.format, artifact.kind, origin.name)


def _describe_move(suite: SuiteFacts, match: _StoredSuite) -> str:
    old = match.facts
    if suite.file != old.file and match.may_have_moved:
        return f"{old.file} is {suite.file} now"
    if suite.name != old.name and suite.file == old.file:
        return f"{old.name or 'the suite'} is called {suite.name or 'nothing'} now"
    return ""


def _key_by_tail(length: int, *, named: bool) -> SuiteKey:
    def make_key(suite: SuiteFacts) -> Any:
        parts = PurePosixPath(suite.file).parts
        if len(parts) < length:
            return None
        return suite.name if named else "", parts[-length:]

    return make_key


# What makes two suites one, strongest evidence first. A tail of its path identifies a suite that
# was named from another folder. A name alone identifies only a suite whose file is gone: any other
# of that name may simply be another one.
_ROUNDS: Sequence[tuple[SuiteKey, bool]] = (
    (lambda suite: (suite.file, suite.name) if suite.name else None, False),
    (lambda suite: suite.file, False),
    *((_key_by_tail(length, named=True), False) for length in range(_TAIL, 0, -1)),
    *((_key_by_tail(length, named=False), False) for length in range(_TAIL, 0, -1)),
    (lambda suite: suite.name or None, True),
)


def _match_suites(
    suites: Sequence[SuiteFacts], stored: Sequence[_StoredSuite]
) -> dict[int, _StoredSuite]:
    """Return the stored suite of each source that has one, by the source's index.

    Each stored suite is used once.
    """
    pairs: dict[int, _StoredSuite] = {}
    free = list(stored)
    for make_key, gone_only in _ROUNDS if stored else ():
        waiting = [index for index in range(len(suites)) if index not in pairs]
        by_key: dict[Any, list[_StoredSuite]] = {}
        for match in free:
            by_key.setdefault(_scope(match.facts, make_key), []).append(match)
        keys = {index: _scope(suites[index], make_key) for index in waiting}
        counts = Counter(keys.values())
        options: dict[int, list[_StoredSuite]] = {}
        for index, key in keys.items():
            matches = by_key.get(key, []) if key is not None and counts[key] <= _FEW else []
            is_same = partial(_is_same_suite, suites[index], gone_only=gone_only)
            options[index] = list(filter(is_same, matches)) if len(matches) <= _FEW else []
        # If several are possible, none is chosen.
        claims = Counter(match.artifact.name for matches in options.values() for match in matches)
        single = {index: found[0] for index, found in options.items() if len(found) == 1}
        pairs |= {index: one for index, one in single.items() if claims[one.artifact.name] == 1}
        used = {match.artifact.name for match in pairs.values()}
        free = [suite for suite in free if suite.artifact.name not in used]
    return pairs | _match_by_questions(
        suites, [suite for suite in free if suite.may_have_moved], pairs
    )


def _scope(suite: SuiteFacts, make_key: SuiteKey) -> Any:
    key = make_key(suite)
    return None if key is None else (suite.format, suite.kind, key)


def _is_same_suite(suite: SuiteFacts, match: _StoredSuite, *, gone_only: bool) -> bool:
    if gone_only:
        return match.may_have_moved and _shares_question(suite, match)
    if suite.file == match.facts.file and (
        match.is_certain or (suite.name and suite.name == match.facts.name)
    ):
        return True
    longer, shorter = sorted(
        (PurePosixPath(suite.file).parts, PurePosixPath(match.facts.file).parts), key=len
    )[::-1]
    return longer[-len(shorter) :] == shorter and _shares_question(suite, match)


def _shares_question(suite: SuiteFacts, match: _StoredSuite) -> bool:
    # A rubric represents a source without questions.
    return (
        suite.kind is not Kind.DATASET
        or not suite.inputs
        or not suite.inputs.isdisjoint(match.inputs)
        or _has_same_words(suite, match)
    )


def _has_same_words(suite: SuiteFacts, match: _StoredSuite) -> bool:
    """Whether two suites with one question each ask for much the same: its text was edited."""
    common = len(suite.words & match.words)
    return common * 2 >= max(len(suite.words), len(match.words), 1)


def _match_by_questions(
    suites: Sequence[SuiteFacts], gone: Sequence[_StoredSuite], pairs: Mapping[int, _StoredSuite]
) -> dict[int, _StoredSuite]:
    """Return the moved and renamed suites, recognised by at least half of their questions."""
    holders: dict[int, list[int]] = {}
    for place, match in enumerate(gone):
        for text in match.inputs:
            holders.setdefault(text, []).append(place)
    found: dict[int, _StoredSuite] = {}
    used: set[int] = set()
    for index, suite in enumerate(suites):
        if index in pairs or not holders:
            continue
        votes = Counter(
            place for text in suite.inputs for place in holders.get(text, ()) if place not in used
        )
        place, common = next(iter(votes.most_common(1)), (-1, 0))
        is_half = common and common * 2 >= max(len(suite.inputs), len(gone[place].inputs))
        if is_half and gone[place].facts.format == suite.format:
            found[index] = gone[place]
            used.add(place)
    return found
