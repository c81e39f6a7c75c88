"""The files of one release: artifacts, the rows next to them, and their ledgers.

It writes nothing but blobs.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, NamedTuple

from evalstore.errors import AbsentError, Place, RefusedError
from evalstore.files import SMALL_FILE, iterate_pieces, open_below, read_below
from evalstore.model import find_rows_path
from evalstore.places import SETTINGS_FILE
from evalstore.release.dependencies.pins import PinMoves, move_pins_in_rows
from evalstore.release.dependencies.validity import check_ledger_complete
from evalstore.release.publishing.step import ReleaseStep
from evalstore.release.transactions.locking import LockedRepository
from evalstore.store import ArtifactStore, Release
from evalstore.store.ledger import locate_ledger, parse_ledger
from evalstore.store.repository.object_reader import compute_object_id
from evalstore.store.repository.objects import find_file
from evalstore.store.repository.writing import write_files
from evalstore.store.revisions import list_merged_tags
from evalstore.store.tags import TAG_REFS
from evalstore.store.working_files import (
    find_normalized,
    has_carriage_return,
    hash_working_file,
    normalize_line_ends,
    normalize_pieces,
)
from evalstore.versions import Version


@dataclass(frozen=True, slots=True)
class CommitFile:
    """One file to commit, its path relative to the store.

    `content` None is the file on disk, which may be large, with its pins moved (`moves`). `before`
    is the blob of the file on disk, None if it is missing. `to_lf`: git stores it with LF, although
    the working tree has CRLF.
    """

    path: str
    content: bytes | None
    before: str | None
    moves: PinMoves = field(default_factory=dict)
    to_lf: bool = False


def list_commit_files(
    store: ArtifactStore,
    steps: Sequence[ReleaseStep],
    tip: str | None,
    *,
    tagged: bool,
    signed: bool,
) -> Iterator[CommitFile]:
    """Yield the files that steps commit, in order.

    For each artifact they are its file, its rows, and, only with a tag, its ledger. Raises
    `RefusedError` for a path that is a link in git, and for a ledger that somebody has edited.
    """
    to_lf = _find_crlf_files(store, steps)
    for step in steps:
        _find_committed_blob(store, tip, step.path)
        file = CommitFile(step.path, step.content, step.resolved.blob, to_lf=step.path in to_lf)
        yield file
        if (rows := find_rows_path(step.artifact)) and store.root:
            _find_committed_blob(store, tip, rows)
            before = hash_working_file(store.root, rows, store.repository.hex_digits)
            yield CommitFile(rows, None, before, step.moves, to_lf=rows in to_lf)
        if tagged:
            content = normalize_line_ends(step.content) if file.to_lf else step.content
            yield _extend_ledger_file(store, step, tip, content, signed=signed)
    if steps:
        yield from _list_settings(store, tip)


def _list_settings(store: ArtifactStore, tip: str | None) -> Iterator[CommitFile]:
    """Yield the settings of a bump that git does not have yet.

    Every clone must judge by the same settings.
    """
    content = _read_working_file(store, SETTINGS_FILE)
    if content is None:
        return
    to_lf = b"\r\n" in content and bool(find_normalized(store, [store.prefix + SETTINGS_FILE]))
    before = compute_object_id("blob", content, store.repository.hex_digits)
    kept = (
        compute_object_id("blob", normalize_line_ends(content), store.repository.hex_digits)
        if to_lf
        else before
    )
    if kept != _find_committed_blob(store, tip, SETTINGS_FILE):
        yield CommitFile(SETTINGS_FILE, content, before, to_lf=to_lf)


def _find_crlf_files(store: ArtifactStore, steps: Sequence[ReleaseStep]) -> frozenset[str]:
    """Return the files with CRLF that git stores with LF.

    git's attributes are read only for those with a CR.
    """
    paths = [step.path for step in steps if b"\r\n" in step.content]
    rows = [path for step in steps if (path := find_rows_path(step.artifact))]
    paths += [path for path in rows if store.root and _file_has_cr(store.root, path)]
    normalized = find_normalized(store, [store.prefix + path for path in paths])
    return frozenset(path for path in paths if store.prefix + path in normalized)


def _file_has_cr(root: Path, path: str) -> bool:
    with open_below(root, path) as file:
        return has_carriage_return(iterate_pieces(file))


def _extend_ledger_file(
    store: ArtifactStore, step: ReleaseStep, tip: str | None, content: bytes, *, signed: bool
) -> CommitFile:
    path = locate_ledger(step.name)
    blob = _find_committed_blob(store, tip, path)
    committed = ledger = store.objects.read(blob).data if blob else b""
    releases = store.releases(step.resolved.kind, step.resolved.id)
    check_ledger_complete(store, step.name, ledger, [release.version for release in releases])
    ledger += b"".join(
        line + b"\n" for line in _list_reverted_lines(store, step.name, releases, ledger, tip)
    )
    # The committed ledger is continued; one that was edited by hand, or left by a torn checkout, is
    # not overwritten.
    on_disk, name = _read_working_file(store, path), shlex.quote(path)
    if on_disk is not None and committed not in {on_disk, normalize_line_ends(on_disk)}:
        raise RefusedError(
            "the ledger differs from the committed one, and only `evalstore bump` may write it",
            place=Place(path),
            hint=f"git restore -SW {name}"
            if blob
            else f"remove it: git rm -qf --ignore-unmatch {name}; rm -f {name}",
        )
    before = (
        None if on_disk is None else compute_object_id("blob", on_disk, store.repository.hex_digits)
    )
    return CommitFile(path, extend_ledger(ledger, step.version, content, signed=signed), before)


def _list_reverted_lines(
    store: ArtifactStore, name: str, releases: Sequence[Release], ledger: bytes, tip: str | None
) -> Iterator[bytes]:
    """Yield the lines that a `git revert` of releases took from a ledger.

    Only a new release can undo a release.
    """
    known = parse_ledger(ledger).by_version
    missing = [release for release in releases if str(release.version) not in known]
    pattern = f"{TAG_REFS}{store.tag_prefix}{name}@*"
    merged = list_merged_tags(store.git, tip, pattern) if missing and tip else frozenset()
    for release in missing:
        if release.tag in merged:
            then = store.ledgers.read_at(release.commit, name)
            line = then.by_version.get(str(release.version))
            yield from [then.raw[line.number - 1]] if line else []


def _find_committed_blob(store: ArtifactStore, tip: str | None, path: str) -> str | None:
    return find_file(store.objects, tip, store.prefix + path) if tip else None


def _read_working_file(store: ArtifactStore, path: str) -> bytes | None:
    try:
        return read_below(store.root, path, SMALL_FILE) if store.root else None
    except AbsentError:
        return None


def extend_ledger(ledger: bytes, version: Version, content: bytes, *, signed: bool) -> bytes:
    """Return the ledger with the line of one more release, whose tag is signed or not."""
    whole = ledger if ledger.endswith(b"\n") or not ledger else ledger + b"\n"
    return (
        whole
        + f"{version} {hashlib.sha256(content).hexdigest()}{' signed' if signed else ''}\n".encode()
    )


class FileBlobs(NamedTuple):
    """The blobs of a file: as git stores it, and as the working tree has it.

    The working tree may have other line endings.
    """

    kept: str
    worked: str


def write_blobs(
    repository: LockedRepository, store: ArtifactStore, files: Sequence[CommitFile]
) -> tuple[list[FileBlobs], dict[str, bytes]]:
    """Return the blobs of files.

    Files read from disk are written; for the others only the ids are computed.
    """
    with ExitStack() as stack:
        rows = {file.path: file for file in files if file.content is None}
        root = store.root or repository.top
        opened = [stack.enter_context(_open_file(root, file)) for file in rows.values()]
        worked = dict(zip(rows, write_files(repository.git, opened), strict=True))
        lf_rows = [path for path, file in rows.items() if file.to_lf]
        opened = [stack.enter_context(_open_lf_rows(repository, worked[path])) for path in lf_rows]
        kept = {**worked, **dict(zip(lf_rows, write_files(repository.git, opened), strict=True))}
    unwritten: dict[str, bytes] = {}
    for file in files:
        if (content := file.content) is not None:
            contents = (normalize_line_ends(content) if file.to_lf else content), content
            ids = [compute_object_id("blob", data, repository.hex_digits) for data in contents]
            kept[file.path], worked[file.path] = ids
            unwritten |= dict(zip(ids, contents, strict=True))
    return [FileBlobs(kept[file.path], worked[file.path]) for file in files], unwritten


@contextmanager
def _open_lf_rows(repository: LockedRepository, blob: str) -> Iterator[BinaryIO]:
    with TemporaryFile() as file:
        file.writelines(normalize_pieces(repository.objects.stream(blob)))
        file.seek(0)
        yield file


@contextmanager
def _open_file(root: Path, file: CommitFile) -> Iterator[BinaryIO]:
    with open_below(root, file.path) as source, TemporaryFile() as moved:
        if file.moves:
            moved.writelines(move_pins_in_rows(source, file.moves))
            moved.seek(0)
        yield moved if file.moves else source
