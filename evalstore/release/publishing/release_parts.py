"""What a release touches, in one list; each part knows its own walk.

The parts are its file, ledger, tag, pins, acceptances and the lock.

`bump` and the recovery of a killed one ask the list before they push, `bump --again` moves every
part to another number, and `lock`, `verify` and the gate judge a ledger and a lock by the functions
named here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from evalstore.documents import encode_document, replace_scalars
from evalstore.documents.document import Pointer
from evalstore.errors import EvalstoreError, Place
from evalstore.files import open_below, write_below
from evalstore.lint import ACCEPTED
from evalstore.model import Kind, find_rows_path, parse_ref
from evalstore.model.lock import LIMIT as LOCK_LIMIT
from evalstore.model.lock import LOCK_FILE, Lock, read_lock
from evalstore.places import SETTINGS_FILE
from evalstore.release.changes.acceptances import read_accepted_file
from evalstore.release.dependencies.pins import (
    list_exact_pins,
    move_artifact_pins,
    move_pins_in_rows,
)
from evalstore.release.records.ledger_records import describe_rewrite
from evalstore.release.records.lock import lock
from evalstore.store import ArtifactStore
from evalstore.store.ledger import locate_ledger
from evalstore.store.resolve import find_locked_version

_VERSION_GOES_ON = rb"(?![0-9A-Za-z.+-])"


@dataclass(frozen=True, slots=True)
class Renumbering:
    """Releases that got another number, and which files may mention it.

    `versions` are new references by old ones (`<kind>/<id>@<version>`). `paths` are the files,
    relative to the store, that the commits with the old numbers changed: what others wrote means
    their release that has the old number now.
    """

    versions: Mapping[str, str]
    paths: Collection[str] = field(default_factory=frozenset)


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A part of a store that contradicts a release.

    It says where, what is contradicted, and what to do about it before a push.
    """

    place: Place
    what: str
    hint: str


def _list_nothing(_store: ArtifactStore, _names: Sequence[str]) -> Iterator[str]:
    return iter(())


def _mention_nothing(_store: ArtifactStore, _refs: Collection[str]) -> Iterator[tuple[str, str]]:
    return iter(())


def _move_nothing(_store: ArtifactStore, _renumbering: Renumbering) -> None:
    return


def _deny_nothing(_store: ArtifactStore, _lock: Lock, _name: str) -> Iterator[Contradiction]:
    return iter(())


@dataclass(frozen=True, slots=True)
class ReleasePart:
    """One part: its files, who names releases in it, its number and its contradictions.

    Its files are those that a release commits; `list_files` takes the names of artifacts.
    `list_mentions` yields working files that name one of some releases, and which one. `renumber`
    writes the files of an open store, and returns what it could not do, with the next step: the
    file itself is merged by git, and its tag and ledger are made by the release under the new
    number.
    """

    name: str
    list_files: Callable[[ArtifactStore, Sequence[str]], Iterator[str]] = _list_nothing
    list_mentions: Callable[[ArtifactStore, Collection[str]], Iterator[tuple[str, str]]] = (
        _mention_nothing
    )
    renumber: Callable[[ArtifactStore, Renumbering], str | None] = _move_nothing
    find_contradictions: Callable[[ArtifactStore, Lock, str], Iterator[Contradiction]] = (
        _deny_nothing
    )


def list_artifact_files(store: ArtifactStore, names: Sequence[str]) -> Iterator[str]:
    """Yield the paths of the files of artifacts: the artifact's own, and that of its rows.

    `names` are `<kind>/<id>`.
    """
    for name in names:
        ref = parse_ref(f"{name}@worktree")
        yield ref.path
        try:
            rows = find_rows_path(store.read_artifact(ref))
        except EvalstoreError:  # what is wrong with it is reported where it is released
            continue
        if rows:
            yield rows


def _list_ledgers(_store: ArtifactStore, names: Sequence[str]) -> Iterator[str]:
    return map(locate_ledger, names)


def _list_pinning(store: ArtifactStore, refs: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the files that pin releases.

    More may be named if an escape hides a letter, and then none is pinned.
    """
    pattern = re.compile(
        b"(" + b"|".join(re.escape(ref.encode()) for ref in refs) + b")" + _VERSION_GOES_ON
    )
    names = [ref.name for ref in store.working() if ref.kind is not Kind.JUDGE]
    for path in (*list_artifact_files(store, names), SETTINGS_FILE):
        if found := _search_file(store, path, pattern):
            yield path, found


def _search_file(store: ArtifactStore, path: str, pattern: re.Pattern[bytes]) -> str | None:
    if store.root is None:
        return None
    try:
        with open_below(store.root, path) as file:
            found = next((match for line in file if (match := pattern.search(line))), None)
    except EvalstoreError:  # a file that is missing or cannot be read pins nothing
        return None
    return found[1].decode() if found else None


def _list_accepted(store: ArtifactStore, refs: Collection[str]) -> Iterator[tuple[str, str]]:
    try:
        document = read_accepted_file(store)
    except EvalstoreError:  # it has no effect, and is reported where changes are judged
        return
    for entry in document.value["accepted"] if document else ():
        if (ref := f"{entry['artifact']}@{entry['since']}") in refs:
            yield ACCEPTED, ref


def _list_locked(store: ArtifactStore, refs: Collection[str]) -> Iterator[tuple[str, str]]:
    names = {ref.partition("@")[0]: ref for ref in refs}
    locked = [names[name] for name in store.lock.ledgers if name in names]
    yield from ((LOCK_FILE, ref) for ref in locked)


def _renumber_pins(store: ArtifactStore, renumbering: Renumbering) -> None:
    """Move exact pins in files that own commits changed.

    What was released again has already moved its pins.
    """
    root = store.root
    for ref in store.working() if root else ():
        if (
            ref.kind is Kind.JUDGE or root is None
        ):  # what a judge was validated against is a record of the past
            continue
        try:
            resolved = store.resolve(ref)
        except EvalstoreError:  # a broken file is reported where it is released
            continue
        rows = find_rows_path(resolved.artifact)
        if not {ref.path, rows} & set(renumbering.paths):
            continue
        moves = list_exact_pins(store, resolved, renumbering.versions)
        if not moves:
            continue
        moved = move_artifact_pins(resolved.artifact, moves)
        if moved is not resolved.artifact:
            write_below(root, ref.path, encode_document(moved.document))
        if rows:
            with open_below(root, rows) as file:
                write_below(root, rows, move_pins_in_rows(file, moves))


def _renumber_targets(store: ArtifactStore, renumbering: Renumbering) -> None:
    """Move the exact pins of the targets in the settings."""
    targets = store.settings.get("targets")
    changes: dict[Pointer, str] = {}
    for name, target in targets.items() if isinstance(targets, dict) else ():
        dataset = target.get("dataset") if isinstance(target, dict) else None
        if isinstance(dataset, str) and dataset in renumbering.versions:
            changes["targets", name, "dataset"] = renumbering.versions[dataset]
    document = store.read_settings()
    if changes and store.root and SETTINGS_FILE in renumbering.paths:
        write_below(store.root, SETTINGS_FILE, encode_document(replace_scalars(document, changes)))


def _renumber_all_pins(store: ArtifactStore, renumbering: Renumbering) -> None:
    _renumber_pins(store, renumbering)
    _renumber_targets(store, renumbering)


def _renumber_acceptances(store: ArtifactStore, renumbering: Renumbering) -> None:
    """Move what was accepted since an own release to its new number."""
    document = read_accepted_file(store)
    if document is None or store.root is None or ACCEPTED not in renumbering.paths:
        return
    changes: dict[Pointer, str] = {}
    for index, entry in enumerate(document.value["accepted"]):
        if new := renumbering.versions.get(f"{entry['artifact']}@{entry['since']}"):
            changes["accepted", index, "since"] = new.rpartition("@")[2]
    if changes:
        write_below(store.root, ACCEPTED, encode_document(replace_scalars(document, changes)))


def _renumber_lock(store: ArtifactStore, _renumbering: Renumbering) -> str | None:
    """Lock what the references mean now.

    If a draft prevents that, the others' lock stays.
    """
    store.forget()
    if not store.lock.exists:
        return None
    try:
        lock(store)
    except EvalstoreError as error:
        return f"{LOCK_FILE} was not renewed: {error}; mend that, then: evalstore lock"
    return None


def _find_ledger_contradictions(
    store: ArtifactStore, locked: Lock, name: str
) -> Iterator[Contradiction]:
    ledger = locked.ledgers.get(name)
    if ledger and (what := describe_rewrite(store, name, ledger)):
        message = f"the ledger of {name} does not continue the locked one: {what}"
        yield Contradiction(
            Place(LOCK_FILE, ledger.line), message, f"see evalstore verify {name}; then:"
        )


def _find_tag_contradictions(
    store: ArtifactStore, locked: Lock, name: str
) -> Iterator[Contradiction]:
    for text, entry in locked.refs.items():
        if text.partition("@")[0] != name:
            continue
        ref = parse_ref(text)
        version = find_locked_version(ref, entry)
        if version is None:
            continue
        tag = store.tags.grammar.format_name(ref.kind, ref.id, version)
        oid = store.tags.find_oid(tag)
        if oid and oid not in {entry.tag_object, entry.commit}:
            what = f"{text} is locked at another {tag} than is tagged"
            yield Contradiction(
                Place(LOCK_FILE, entry.line), what, f"see evalstore verify {name}; then:"
            )


# In the order in which they are moved: a lock holds what the pins mean.
RELEASE_PARTS = (
    ReleasePart("file", list_artifact_files),
    ReleasePart("ledger", _list_ledgers, find_contradictions=_find_ledger_contradictions),
    ReleasePart("tag", find_contradictions=_find_tag_contradictions),
    ReleasePart("pins", list_mentions=_list_pinning, renumber=_renumber_all_pins),
    ReleasePart("acceptances", list_mentions=_list_accepted, renumber=_renumber_acceptances),
    ReleasePart("lock", list_mentions=_list_locked, renumber=_renumber_lock),
)


def list_part_files(store: ArtifactStore, names: Sequence[str]) -> list[str]:
    """Return the files that a release of artifacts commits, including rows.

    Paths are relative to the store.
    """
    return [path for part in RELEASE_PARTS for path in part.list_files(store, names)]


def list_mentions(store: ArtifactStore, refs: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the other working files that name one of some releases, and which one.

    The files are read as they are on disk.
    """
    own = {*list_part_files(store, [ref.partition("@")[0] for ref in refs])}
    found = (mention for part in RELEASE_PARTS for mention in part.list_mentions(store, refs))
    yield from (mention for mention in found if mention[0] not in own)


def write_renumbered_parts(store: ArtifactStore, renumbering: Renumbering) -> list[str]:
    """Write every part of renumbered releases into the files of a store.

    Returns what is left to do.
    """
    left = [part.renumber(store, renumbering) for part in RELEASE_PARTS]
    return [one for one in left if one]


def find_contradiction(
    store: ArtifactStore, commit: str, names: Collection[str]
) -> Contradiction | None:
    """Return the first part of a commit that contradicts a release of artifacts.

    Returns None if all agree.
    """
    data = store.read_file_at(commit, LOCK_FILE, LOCK_LIMIT)
    if data is None:
        return None
    locked = read_lock(data)
    for name in names:
        for part in RELEASE_PARTS:
            for contradiction in part.find_contradictions(store, locked, name):
                return contradiction
    return None
