"""Compares files on disk with git's blobs by id, and finds those whose line ends git converts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from evalstore.errors import LoadError
from evalstore.files import FolderReader, iterate_pieces, open_below
from evalstore.model import Ref
from evalstore.store.artifacts import ARTIFACT_LIMIT, read_version
from evalstore.store.repository.config import is_autocrlf_on
from evalstore.store.repository.git import NAME_ENCODING, Git
from evalstore.store.repository.index import read_index
from evalstore.store.repository.object_reader import compute_object_id, start_object_hash
from evalstore.store.store import ArtifactStore
from evalstore.versions import Version

_SMALL = 1 << 15  # bytes
_AUTO = "auto"
# The values of the attribute `text` (or `crlf`, its old name); without one, `eol` decides
# (gitattributes(5)).
_CONVERSIONS = {"set": "always", "input": "always", "unset": "never", _AUTO: _AUTO}
_ATTRIBUTES = ("text", "crlf", "eol")
# These make a file on disk a different text from the one that git stores.
_REWRITING = ("working-tree-encoding", "ident", "filter")


def is_blob(root: Path, path: str, blob: str) -> bool:
    """Whether a file on disk has the content of a blob.

    It must be equal byte for byte, or with CRLF where git has LF. Raises `LoadError` if it cannot
    be opened.
    """
    with open_below(root, path) as file:
        size = os.fstat(file.fileno()).st_size
        if _hash_pieces(_iterate_sized(file, size), size, len(blob)) == blob:
            return True
        file.seek(0)
        # git hashes the length first: the size with LF must be known before the content is hashed
        # again.
        normal_size = sum(map(len, normalize_pieces(iterate_pieces(file))))
        file.seek(0)
        pieces = normalize_pieces(iterate_pieces(file))
        return normal_size != size and _hash_pieces(pieces, normal_size, len(blob)) == blob


def read_working_files(
    store: ArtifactStore, refs: Iterable[Ref]
) -> Iterator[tuple[Ref, bytes | None]]:
    """Yield working files with their bytes, None for an unreadable one.

    Yields nothing in a bare repository.
    """
    if store.root is None:
        return
    with FolderReader() as reader:
        for ref in refs:
            try:
                yield ref, reader.read(store.root, ref.path, ARTIFACT_LIMIT)
            except LoadError:
                yield ref, None


def _has_blob_content(data: bytes, blob: str) -> bool:
    """Whether a file's bytes are those of a blob, as they are or with CRLF where git has LF."""
    if compute_object_id("blob", data, len(blob)) == blob:
        return True
    normal = normalize_line_ends(data)
    return len(normal) != len(data) and compute_object_id("blob", normal, len(blob)) == blob


def is_release(ref: Ref, data: bytes, blob: str, version: Version) -> bool:
    """Whether a file's bytes are the `blob` of a release, with the version in its tag."""
    try:
        return _has_blob_content(data, blob) and read_version(ref, data, ref.path) == version
    except LoadError:
        return False


def hash_working_file(root: Path, path: str, hex_digits: int) -> str:
    """Return the blob id of a file on disk, streamed; raises `LoadError` if it cannot be read."""
    with open_below(root, path) as file:
        size = os.fstat(file.fileno()).st_size
        return _hash_pieces(_iterate_sized(file, size), size, hex_digits)


def _iterate_sized(file: BinaryIO, size: int) -> Iterable[bytes]:
    # Python allocates as much as it is asked for, so a small file is read by its size.
    return [file.read(size + 1)] if size <= _SMALL else iterate_pieces(file)


def _hash_pieces(data: Iterable[bytes], size: int, hex_digits: int) -> str:
    hash_ = start_object_hash("blob", size, hex_digits)
    for piece in data:
        hash_.update(piece)
    digest: str = hash_.hexdigest()
    return digest


def find_normalized(store: ArtifactStore, paths: Sequence[str]) -> frozenset[str]:
    """Return the `paths` (from the repository's root) that git would commit with LF for CRLF."""
    top = store.repository.top
    if top is None or not paths:
        return frozenset()
    stdin = "".join(f"{path}\0" for path in paths).encode(*NAME_ENCODING)
    argv = ("-C", str(top), f"--work-tree={top}", "check-attr", "--stdin", "-z", *_ATTRIBUTES)
    fields = store.git.run(*argv, stdin=stdin).decode(*NAME_ENCODING).split("\0")
    default = _AUTO if is_autocrlf_on(store.git) else "never"
    # Three fields per attribute, and three attributes per path: its name, "text", a value, its
    # name, "crlf", a value …
    values = zip(fields[0::9], fields[2::9], fields[5::9], fields[8::9], strict=False)
    conversions = {
        path: _choose_conversion(text, crlf, eol, default) for path, text, crlf, eol in values
    }
    # Without an attribute, git leaves a file alone that already has a CR in the index, or a CR
    # without LF.
    auto = [path for path, conversion in conversions.items() if conversion == _AUTO]
    staged = read_index(store.git).blobs if auto else {}
    known = [path for path in auto if path in staged]
    exempt = {path for path in known if has_carriage_return(store.objects.stream(staged[path]))}
    exempt |= {path for path in auto if _has_lone_cr(top, path)}
    converted = (path for path, conversion in conversions.items() if conversion != "never")
    return frozenset(path for path in converted if path not in exempt)


def find_rewritten(store: ArtifactStore, commit: str) -> Iterator[tuple[str, str]]:
    """Yield a store's files that differ from a commit's, with the attribute that rewrites them.

    A path is relative to the store. The attributes are those of the index, by which git wrote the
    files.
    """
    top, root = store.repository.top, store.root
    blobs = dict(_list_blobs(store.git, commit)) if top and root else {}
    if top is None or root is None or not _may_rewrite(store, blobs):
        return
    own = [path for path in blobs if path.startswith(store.prefix)]
    stdin = "".join(f"{path}\0" for path in own).encode(*NAME_ENCODING)
    argv = (
        "-C",
        str(top),
        f"--work-tree={top}",
        "check-attr",
        "--cached",
        "--stdin",
        "-z",
        *_REWRITING,
    )
    fields = store.git.run(*argv, stdin=stdin).decode(*NAME_ENCODING).split("\0")
    for path, name, value in zip(fields[0::3], fields[1::3], fields[2::3], strict=False):
        inner = path.removeprefix(store.prefix)
        if value not in {"unspecified", "unset"} and os.path.lexists(root / inner):
            with suppress(LoadError):  # a link in its place is a separate finding
                if not is_blob(root, inner, blobs[path]):
                    yield inner, name if value == "set" else f"{name}={value}"


def _list_blobs(git: Git, commit: str) -> Iterator[tuple[str, str]]:
    out = git.run("ls-tree", "-r", "-z", "--full-tree", commit).decode(*NAME_ENCODING)
    for line in filter(None, out.split("\0")):
        head, _, path = line.partition("\t")
        mode, _, oid = head.split(" ")
        if mode.startswith("100"):
            yield path, oid


def _may_rewrite(store: ArtifactStore, blobs: Mapping[str, str]) -> bool:
    """Whether any attributes file mentions an attribute by which git rewrites files."""
    files = [oid for path, oid in blobs.items() if path.rpartition("/")[2] == ".gitattributes"]
    return any(
        name.encode() in store.objects.read(oid).data for oid in files for name in _REWRITING
    )


def has_carriage_return(text: Iterable[bytes]) -> bool:
    """Whether a text of any size, in pieces, contains a carriage return."""
    return any(b"\r" in piece for piece in text)


def normalize_line_ends(data: bytes) -> bytes:
    """Return a text with LF for CRLF."""
    # Searching for one byte is much faster, and few texts have it.
    return data.replace(b"\r\n", b"\n") if b"\r" in data else data


def normalize_pieces(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield a text of any size with LF for CRLF, wherever it was cut."""
    carry = b""
    for piece in pieces:
        whole = carry + piece
        carry = b"\r" if whole.endswith(b"\r") else b""
        yield normalize_line_ends(whole.removesuffix(carry))
    yield carry


def _choose_conversion(text: str, crlf: str, eol: str, default: str) -> str:
    return (
        _CONVERSIONS.get(text)
        or _CONVERSIONS.get(crlf)
        or ("always" if eol in {"lf", "crlf"} else default)
    )


def _has_lone_cr(top: Path, path: str) -> bool:
    with open_below(top, path) as file:
        return has_carriage_return(normalize_pieces(iterate_pieces(file)))
