"""Blob ids of many files: at commits by one git process, and on disk without git; nothing is parsed."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from evalstore.errors import GitError
from evalstore.files import open_below, pieces
from evalstore.store.batch import start_object_hash
from evalstore.store.git import Git
from evalstore.store.line_ends import normalize_pieces


def find_committed_blobs(git: Git, files: Iterable[tuple[str, str]]) -> list[str | None]:
    """Return the blob of each (commit, path), or None; for "is it still the same?", content is read elsewhere."""
    names = [f"{commit}:{path}\n" for commit, path in files]
    if not names:
        return []
    out = git.run("cat-file", "--batch-check=%(objectname)", stdin=os.fsencode("".join(names)))
    lines = out.decode("utf-8", "replace").split("\n")[:-1]
    if len(lines) != len(names):
        raise GitError("git answered for other files than asked", hint="a folder's name holds a line feed")
    return [None if line.endswith(" missing") else line for line in lines]


def is_blob(root: Path, path: str, blob: str, *, limit: int | None = None) -> bool:
    """Whether a file on disk is a blob: byte for byte, or with CRLF where git has LF; `LoadError` as below.

    One that is longer than `limit` is none, and is not read.
    """
    with open_below(root, path) as file:
        size = os.fstat(file.fileno()).st_size
        if limit is not None and size > limit:
            return False
        if _hashed(pieces(file), size, len(blob)) == blob:
            return True
        file.seek(0)
        cleaned = sum(map(len, normalize_pieces(pieces(file))))
        file.seek(0)
        return cleaned != size and _hashed(normalize_pieces(pieces(file)), cleaned, len(blob)) == blob


def hash_working_file(root: Path, path: str, hex_digits: int) -> str:
    """Return the blob id that a file on disk would have, streamed; `LoadError` when it cannot be read."""
    with open_below(root, path) as file:
        return _hashed(pieces(file), os.fstat(file.fileno()).st_size, hex_digits)


def _hashed(data: Iterable[bytes], size: int, hex_digits: int) -> str:
    hash_ = start_object_hash("blob", size, hex_digits)
    for piece in data:
        hash_.update(piece)
    digest: str = hash_.hexdigest()
    return digest
