"""How a file on disk differs from a commit: not, only in its line endings, or by edits."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from evalstore.errors import EvalstoreError, RefusedError
from evalstore.release.transactions.journal import REMOVED, FileChange
from evalstore.release.transactions.locking import LockedRepository
from evalstore.store import ArtifactStore
from evalstore.store.repository.index import read_index
from evalstore.store.repository.objects import find_entry
from evalstore.store.repository.trees import TreeEntry
from evalstore.store.repository.writing import write_objects
from evalstore.store.working_files import find_normalized, hash_working_file, normalize_line_ends

_LINK, _MODULE = "120000", "160000"


def list_changes(
    store: ArtifactStore,
    repository: LockedRepository,
    commits: tuple[str, str],
    own: Sequence[str],
    theirs: str | None,
) -> Iterator[FileChange]:
    """Yield the files in which the second of two commits differs, with what is on disk.

    The second one has the uncommitted edits of `own` files. Raises `RefusedError` for any other
    file with such edits, and for a link or a submodule that would come from `theirs`.
    """
    out = repository.git.run(
        "diff-tree", "-r", "--no-renames", "--raw", "-z", "--abbrev=64", *commits
    )
    fields = out.decode("utf-8", "surrogateescape").split("\0")
    rows = [(head.split(" "), path) for head, path in zip(fields[0::2], fields[1::2], strict=False)]
    mine = frozenset(own)
    staged = read_index(repository.git).blobs
    for (_, mode, old_blob, blob, kind), path in rows:
        before = None if old_blob.strip("0") == "" else old_blob
        if mode in {_LINK, _MODULE}:
            raise RefusedError(
                f"theirs changes {path}, which is a link or a submodule: evalstore writes neither",
                hint=(
                    f"take it first: git checkout {theirs} -- {shlex.quote(path)}; "
                    "git commit -m 'Take the link'; then run it again"
                ),
            )
        on_disk = find_disk_blob(repository, path)
        worked = None
        if on_disk != before and path not in mine:
            if (
                before is None
                or on_disk is None
                or not has_other_line_ends(store, repository, path, before)
            ):
                raise _refuse_edited(path)
            worked = _write_crlf(store, repository, blob) if kind != "D" else None
        if staged.get(path) != before:
            raise _refuse_edited(path)
        yield FileChange(
            path, REMOVED if kind == "D" else mode, blob, on_disk, staged.get(path), worked
        )


def _refuse_edited(path: str) -> RefusedError:
    return RefusedError(
        f"{path} has uncommitted edits, and theirs changes it, too",
        hint="commit it, or git stash; then run it again",
    )


def find_disk_blob(repository: LockedRepository, path: str) -> str | None:
    """Return the id that a file on disk has as a blob; None if it cannot be read."""
    try:
        return hash_working_file(repository.top, path, repository.hex_digits)
    except EvalstoreError:
        return None


def has_other_line_ends(
    store: ArtifactStore, repository: LockedRepository, path: str, blob: str
) -> bool:
    """Whether a file on disk differs from a blob only in line ends, which git normalizes."""
    data = (repository.top / path).read_bytes()
    return (
        bool(find_normalized(store, [path]))
        and normalize_line_ends(data) == store.objects.read(blob).data
    )


def _write_crlf(store: ArtifactStore, repository: LockedRepository, blob: str) -> str:
    return write_blob(
        repository, normalize_line_ends(store.objects.read(blob).data).replace(b"\n", b"\r\n")
    )


def write_blob(repository: LockedRepository, data: bytes) -> str:
    """Write bytes as an object of the repository, and return its id."""
    return write_objects(repository.git, [("blob", data)], hex_digits=repository.hex_digits)[0]


def write_working_files(
    store: ArtifactStore, repository: LockedRepository, paths: Sequence[str], tip: str
) -> dict[str, TreeEntry]:
    """Write files as they are on disk, and return their entries.

    They include the edits since the release.
    """
    normalized = find_normalized(store, paths)
    found: dict[str, TreeEntry] = {}
    for path in paths:
        file = repository.top / path
        entry = find_entry(store.objects, tip, path)
        if entry is None or file.is_symlink() or not file.is_file():
            continue
        data = file.read_bytes()
        kept = normalize_line_ends(data) if path in normalized else data
        found[path] = TreeEntry(entry.mode, write_blob(repository, kept))
    return found
