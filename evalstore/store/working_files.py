"""Compares files on disk with git's blobs, by id and without parsing, and finds those whose line ends git converts."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from evalstore.errors import ConflictError, LoadError
from evalstore.files import FolderReader, iterate_pieces, open_below
from evalstore.model import Ref
from evalstore.store.git import NAME_ENCODING, Git, is_autocrlf_on
from evalstore.store.object_reader import compute_object_id, start_object_hash
from evalstore.store.rows import ARTIFACT_LIMIT, read_version
from evalstore.store.store import ArtifactStore
from evalstore.versions import Version

if TYPE_CHECKING:
    from evalstore.store.writing import IndexEntry

_TRIES, _PAUSE = 60, 0.05
_TOKEN = "index.evalstore"


def find_staged_blobs(git: Git, paths: Iterable[str]) -> dict[str, str]:
    """Return the blobs in the index by path, for those of `paths` that are there."""
    out = git.run("ls-files", "--stage", "--full-name", "-z").decode("utf-8", "surrogateescape")
    entries = (line.partition("\t")[::2] for line in out.split("\0") if line)
    wanted = set(paths)
    return {path: head.split(" ")[1] for head, path in entries if path in wanted}


def find_unmerged(git: Git) -> str | None:
    """Return the path of a file with a merge conflict; None when there is none."""
    out = git.run("ls-files", "--unmerged", "--full-name", "-z").decode("utf-8", "surrogateescape")
    return out.partition("\0")[0].partition("\t")[2] or None


@contextmanager
def lock_index(git: Git) -> Iterator[None]:
    """Hold git's lock of the index; `ConflictError` when another process does not release it within three seconds.

    Whoever commits between the move of a branch and that of the index would take the branch's new files out again.
    """
    _acquire_lock(git.directory)
    try:
        yield
    finally:
        release_index_lock(git.directory)


def stage_files(git: Git, files: Mapping[str, IndexEntry]) -> None:
    """Replace index entries, under its lock; everything else that is staged stays."""
    from evalstore.store.writing import format_index_info

    index, copy = git.directory / "index", git.directory / f"{_TOKEN}.new"
    stamp = index.stat() if index.exists() else None
    if stamp:
        with index.open("rb") as old, copy.open("xb") as new:  # "x" follows no link
            shutil.copyfileobj(old, new)
    # Without a working tree git cannot compare files, so that no filter of the repository runs …
    with tempfile.TemporaryDirectory(prefix="evalstore-") as nowhere:
        command = (f"--work-tree={nowhere}", "update-index", "-z", "--index-info")
        git.run(*command, stdin=format_index_info(files), env={"GIT_INDEX_FILE": str(copy)})
    if stamp:
        # … and with the old time stamp git still compares the files that it would have compared before.
        os.utime(copy, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    copy.replace(index)


def wait_for_index(directory: Path) -> None:
    """Wait until no other process locks the index; `ConflictError` after three seconds."""
    for _ in range(_TRIES):
        if not (directory / "index.lock").exists():
            return
        time.sleep(_PAUSE)
    raise _build_busy_error(directory)


def release_index_lock(directory: Path) -> None:
    """Remove the index lock of this process or of a killed evalstore; the lock of any other process stays."""
    token, lock = directory / _TOKEN, directory / "index.lock"
    if not os.path.lexists(token):
        return
    with suppress(FileNotFoundError):
        if token.samefile(lock):
            lock.unlink()
    # The token last: while it is there, something may be left.
    for leftover in (f"{_TOKEN}.new", f"{_TOKEN}.new.lock", _TOKEN):
        (directory / leftover).unlink(missing_ok=True)


def _acquire_lock(directory: Path) -> None:
    # The lock is a hard link to a file of ours: whoever comes after a crash can tell whose lock it was.
    token, lock = directory / _TOKEN, directory / "index.lock"
    token.touch(exist_ok=False)
    for _ in range(_TRIES):
        with suppress(FileExistsError):
            os.link(token, lock)
            return
        time.sleep(_PAUSE)
    token.unlink()
    raise _build_busy_error(directory)


def _build_busy_error(directory: Path) -> ConflictError:
    lock = directory / "index.lock"
    return ConflictError(
        "the index is locked by another git process",
        hint=f"wait for it (or remove {lock} when there is none), then run the same command again",
    )


_SMALL = 1 << 15  # bytes
_AUTO = "auto"
# The values of the attribute `text` (or `crlf`, its old name); without one `eol` decides (gitattributes(5)).
_CONVERSIONS = {"set": "always", "input": "always", "unset": "never", _AUTO: _AUTO}
_ATTRIBUTES = ("text", "crlf", "eol")


def is_blob(root: Path, path: str, blob: str) -> bool:
    """Whether a file on disk has the content of a blob, byte for byte or with CRLF where git has LF.

    Raises `LoadError` when it cannot be opened.
    """
    with open_below(root, path) as file:
        size = os.fstat(file.fileno()).st_size
        if _hash_pieces(_iterate_sized(file, size), size, len(blob)) == blob:
            return True
        file.seek(0)
        # git hashes the length first: the size with LF has to be known before the content is hashed again.
        normal_size = sum(map(len, normalize_pieces(iterate_pieces(file))))
        file.seek(0)
        pieces = normalize_pieces(iterate_pieces(file))
        return normal_size != size and _hash_pieces(pieces, normal_size, len(blob)) == blob


def read_working_files(store: ArtifactStore, refs: Iterable[Ref]) -> Iterator[tuple[Ref, bytes | None]]:
    """Yield working files with their bytes, None for one that cannot be read; in a bare repository there are none."""
    if store.root is None:
        return
    with FolderReader() as reader:
        for ref in refs:
            try:
                yield ref, reader.read(store.root, ref.path, ARTIFACT_LIMIT)
            except LoadError:
                yield ref, None


def _has_blob_content(data: bytes, blob: str) -> bool:
    """Whether the bytes of a file are those of a blob, as they are or with CRLF where git has LF."""
    if compute_object_id("blob", data, len(blob)) == blob:
        return True
    normal = normalize_line_ends(data)
    return len(normal) != len(data) and compute_object_id("blob", normal, len(blob)) == blob


def is_release(ref: Ref, data: bytes, blob: str, version: Version) -> bool:
    """Whether the bytes of a working file are the `blob` of a release, and say the version that its tag says."""
    try:
        return _has_blob_content(data, blob) and read_version(ref, data, ref.path) == version
    except LoadError:
        return False


def hash_working_file(root: Path, path: str, hex_digits: int) -> str:
    """Return the blob id of a file on disk, streamed; `LoadError` when it cannot be read."""
    with open_below(root, path) as file:
        size = os.fstat(file.fileno()).st_size
        return _hash_pieces(_iterate_sized(file, size), size, hex_digits)


def _iterate_sized(file: BinaryIO, size: int) -> Iterable[bytes]:
    # Python makes room for all that it is asked for: a small file is read by what it has.
    return [file.read(size + 1)] if size <= _SMALL else iterate_pieces(file)


def _hash_pieces(data: Iterable[bytes], size: int, hex_digits: int) -> str:
    hash_ = start_object_hash("blob", size, hex_digits)
    for piece in data:
        hash_.update(piece)
    digest: str = hash_.hexdigest()
    return digest


def find_normalized(store: ArtifactStore, paths: Sequence[str]) -> frozenset[str]:
    """Return those of `paths` (from the repository's root) that git would commit with LF for CRLF."""
    top = store.repository.top
    if top is None or not paths:
        return frozenset()
    stdin = "".join(f"{path}\0" for path in paths).encode(*NAME_ENCODING)
    argv = ("-C", str(top), f"--work-tree={top}", "check-attr", "--stdin", "-z", *_ATTRIBUTES)
    fields = store.git.run(*argv, stdin=stdin).decode(*NAME_ENCODING).split("\0")
    default = _AUTO if is_autocrlf_on(store.git) else "never"
    # Three fields an attribute, and three attributes a path: its name, "text", a value, its name, "crlf", a value …
    values = zip(fields[0::9], fields[2::9], fields[5::9], fields[8::9], strict=False)
    conversions = {path: _choose_conversion(text, crlf, eol, default) for path, text, crlf, eol in values}

    # Without an attribute git leaves a file alone that has a CR in the index already, or a CR without LF.
    auto = [path for path, conversion in conversions.items() if conversion == _AUTO]
    exempt = {
        path
        for path, blob in find_staged_blobs(store.git, auto).items()
        if has_carriage_return(store.objects.stream(blob))
    }
    exempt |= {path for path in auto if _has_lone_cr(top, path)}
    return frozenset(path for path, conversion in conversions.items() if conversion != "never" and path not in exempt)


def has_carriage_return(text: Iterable[bytes]) -> bool:
    """Whether a text of any size, in pieces, holds a carriage return."""
    return any(b"\r" in piece for piece in text)


def normalize_line_ends(data: bytes) -> bytes:
    """Return a text with LF for CRLF."""
    return data.replace(b"\r\n", b"\n")


def normalize_pieces(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield a text of any size with LF for CRLF, wherever it was cut."""
    carry = b""
    for piece in pieces:
        whole = carry + piece
        carry = b"\r" if whole.endswith(b"\r") else b""
        yield normalize_line_ends(whole.removesuffix(carry))
    yield carry


def _choose_conversion(text: str, crlf: str, eol: str, default: str) -> str:
    return _CONVERSIONS.get(text) or _CONVERSIONS.get(crlf) or ("always" if eol in {"lf", "crlf"} else default)


def _has_lone_cr(top: Path, path: str) -> bool:
    with open_below(top, path) as file:
        return has_carriage_return(normalize_pieces(iterate_pieces(file)))
