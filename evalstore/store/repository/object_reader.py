"""Reads git's objects by full id through one `git cat-file --batch`: sizes first, hashes after."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from evalstore.errors import GitError, LoadError
from evalstore.files import CHUNK, MIDDLE_FILE
from evalstore.store.repository.git import TIMEOUT, Git
from evalstore.store.repository.shallow import describe_missing_history
from evalstore.store.repository.trees import TreeIndexes
from evalstore.store.repository.watchdog import wait_for_output

_CACHED_TYPES = frozenset({"commit", "tree"})  # each is needed for many files
_SHA256_DIGITS = 64  # in hex, of an id
_OID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_HEADER = re.compile(rb"([0-9a-f]+) (blob|tree|commit|tag) ([0-9]+)\n")


class _ReaderLimits(NamedTuple):
    """What is remembered, and what is requested in advance."""

    cached: int = 64  # objects that were requested
    cached_size: int = 16 << 20  # bytes of all of them
    # Requests at once, which fit into a pipe: git takes them all before we read its answers.
    asked: int = 128
    prefetched: int = 2048  # objects kept until they are requested
    prefetched_size: int = 1 << 14  # bytes of one


_LIMITS = _ReaderLimits()


class GitObject(NamedTuple):
    """An object as git stores it; its hash has been checked."""

    type: str
    data: bytes


class MissingObjectError(GitError):
    """An object that this clone does not have."""


def is_oid(text: str) -> bool:
    """Whether `text` is a full object id, SHA-1 or SHA-256."""
    return _OID.fullmatch(text) is not None


def start_object_hash(type_: str, size: int, hex_digits: int) -> Any:
    """Return git's hash of an object with its header, to be updated with the content."""
    algorithm = hashlib.sha256 if hex_digits == _SHA256_DIGITS else hashlib.sha1
    return algorithm(f"{type_} {size}\0".encode("ascii"), usedforsecurity=False)


def compute_object_id(type_: str, data: bytes, hex_digits: int) -> str:
    """Return the id of a blob, tree, commit or tag; its bytes go through no filter."""
    algorithm = hashlib.sha256 if hex_digits == _SHA256_DIGITS else hashlib.sha1
    return algorithm(
        b"%b %d\0%b" % (type_.encode(), len(data), data), usedforsecurity=False
    ).hexdigest()


@dataclass(slots=True)
class ObjectReader:
    """Reads objects through one git process, from any thread; a forked child starts its own."""

    git: Git
    _process: Any = None
    _missing_hint: str = ""
    _pid: int = 0
    _buffer: bytes = b""
    _offset: int = 0  # in the buffer: everything before it has been read
    _cache: dict[str, GitObject] = field(default_factory=dict)
    _prefetched: dict[str, GitObject] = field(default_factory=dict)
    _expected: dict[str, tuple[Sequence[str], int]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    trees: TreeIndexes = field(default_factory=TreeIndexes)
    folders: dict[tuple[str, str], str] = field(default_factory=dict)  # (commit, path) -> tree

    def read(self, oid: str, limit: int | None = None) -> GitObject:
        """Return one object.

        Raises `GitError` if it is missing or damaged, and `LoadError` beyond `limit` (or 4 MiB)
        bytes.
        """
        with self._lock:
            if found := self._cache.get(oid):
                return found
            if expected := self._expected.get(oid):
                self._prefetch(*expected)
            if found := self._prefetched.get(oid):
                return found
            try:
                type_, size = self._request(oid, limit or MIDDLE_FILE)
                data = self._read_body(size, oid)
            except BaseException:
                self.close()  # the rest of the answer must not be taken for the next one
                raise
        _verify_hash(oid, start_object_hash(type_, size, len(oid)), data)
        return self._cache_object(oid, GitObject(type_, data))

    def expect(self, oids: Iterable[str]) -> None:
        """Announce which objects will be read, in order, to request many at once; never fails.

        What is missing, damaged or large is left to `read`. A few thousand are kept until others
        replace them.
        """
        sequence = [oid for oid in dict.fromkeys(oids) if is_oid(oid)]
        with self._lock:
            self._expected |= {oid: (sequence, index) for index, oid in enumerate(sequence)}

    def read_many(self, oids: Iterable[str]) -> dict[str, GitObject]:
        """Return objects by id; missing, damaged or large ones are left for `read` to report."""
        sequence = [oid for oid in dict.fromkeys(oids) if is_oid(oid)]
        found: dict[str, GitObject] = {}
        with self._lock:
            try:
                for start in range(0, len(sequence), _LIMITS.asked):
                    found |= self._read_batch(sequence[start : start + _LIMITS.asked])
            except BaseException as error:
                self.close()
                if not isinstance(error, GitError):
                    raise
        return found

    def stream(self, oid: str) -> Iterator[bytes]:
        """Yield a blob of any size in pieces; `GitError` after the last if the hash differs."""
        # A separate process: the caller may read other objects between two pieces.
        reader = ObjectReader(self.git)
        try:
            type_, left = reader._request(oid, sys.maxsize)
            hash_ = start_object_hash(type_, left, len(oid))
            while left:
                piece = reader._read_bytes(min(left, CHUNK), oid)
                left -= len(piece)
                hash_.update(piece)
                yield piece
            _verify_hash(oid, hash_)
        finally:
            reader.close()

    def close(self) -> None:
        """End the process and close its pipes; the next read starts another."""
        wrapper, self._process = self._process, None
        self._buffer, self._offset = b"", 0
        if wrapper is None:
            return
        process, wrapper.proc = wrapper.proc, None
        for pipe in (process.stdin, process.stdout, process.stderr):
            with suppress(
                OSError
            ):  # of a request that git did not take, and that is written once more
                pipe.close()
        if self._pid == os.getpid():  # after a fork the process belongs to the parent
            process.kill()
            process.wait()

    def _prefetch(self, sequence: Sequence[str], start: int) -> None:
        batch = [
            oid for oid in sequence[start : start + _LIMITS.asked] if self._expected.pop(oid, None)
        ]
        try:
            self._prefetched |= self._read_batch(batch)
        except BaseException as error:
            self.close()
            if not isinstance(error, GitError):
                raise
        for oid in list(self._prefetched)[: -_LIMITS.prefetched]:
            del self._prefetched[oid]

    def _read_batch(self, oids: Sequence[str]) -> dict[str, GitObject]:
        self._send(oids)
        found: dict[str, GitObject] = {}
        for oid in oids:
            if header := _HEADER.match(self._buffer, self._offset):
                self._offset = header.end()
            else:
                # The line continues in what git has yet to write, or says that there is no such
                # object.
                line = self._read_line(oid)
                if line == f"{oid} missing\n".encode("ascii"):
                    continue
                if not (header := _HEADER.fullmatch(line)):
                    raise GitError(f"git answered with the wrong object instead of {oid[:12]}")
            size = int(header[3])
            if size > _LIMITS.prefetched_size:
                self._skip_bytes(size + 1, oid)
                continue
            type_, data = header[2].decode("ascii"), self._read_body(size, oid)
            # Its content shows which request it answers.
            if compute_object_id(type_, data, len(oid)) == oid:
                found[oid] = GitObject(type_, data)
        return found

    def _skip_bytes(self, size: int, oid: str) -> None:
        while size > 0:
            size -= len(self._read_bytes(min(size, CHUNK), oid))

    def _cache_object(self, oid: str, object_: GitObject) -> GitObject:
        if object_.type in _CACHED_TYPES:
            with self._lock:
                self._cache[oid] = object_
                # First in, first out.
                while (
                    len(self._cache) > _LIMITS.cached
                    or sum(len(one.data) for one in self._cache.values()) > _LIMITS.cached_size
                ):
                    del self._cache[next(iter(self._cache))]
        return object_

    def _request(self, oid: str, limit: int) -> tuple[str, int]:
        if not is_oid(oid):
            raise GitError(f"{oid!r} is not an object id")
        self._send([oid])
        line = self._read_line(oid)
        if line == f"{oid} missing\n".encode("ascii"):
            raise self._build_missing_error(oid)
        header = _HEADER.fullmatch(line)
        if header is None or header[1].decode("ascii") != oid:
            raise GitError(f"git answered with the wrong object instead of {oid[:12]}")
        if int(header[3]) > limit:
            raise LoadError(
                f"object {oid[:12]} is larger than {limit:,} bytes, the limit for one file"
            )
        return header[2].decode("ascii"), int(header[3])

    def _send(self, oids: Sequence[str]) -> None:
        process = self._ensure_process()
        try:
            process.stdin.write("".join(f"{oid}\n" for oid in oids).encode("ascii"))
            process.stdin.flush()
        except OSError:
            raise self._explain_exit(oids[0]) from None

    def _ensure_process(self) -> Any:
        if self._process is not None and self._pid != os.getpid():
            self.close()
        if self._process is None:
            self._process = self.git.start("cat-file", "--batch", stdin=subprocess.PIPE)
            self._pid = os.getpid()
        return self._process.proc

    def _read_line(self, oid: str) -> bytes:
        while (end := self._buffer.find(b"\n", self._offset)) < 0:
            self._fill_buffer(oid)
        return self._take(end + 1)

    def _read_bytes(self, size: int, oid: str) -> bytes:
        while len(self._buffer) - self._offset < size:
            self._fill_buffer(oid)
        return self._take(self._offset + size)

    def _read_body(self, size: int, oid: str) -> bytes:
        """Return the bytes of an object, which are followed by a line feed."""
        while len(self._buffer) - self._offset <= size:
            self._fill_buffer(oid)
        data = self._buffer[self._offset : self._offset + size]
        self._offset += size + 1
        return data

    def _take(self, end: int) -> bytes:
        piece, self._offset = self._buffer[self._offset : end], end
        return piece

    def _fill_buffer(self, oid: str) -> None:
        process = self._process.proc
        if not wait_for_output(process, TIMEOUT):
            raise GitError(
                f"git cat-file did not answer within {TIMEOUT:g} seconds",
                hint="look for a FIFO among git's objects",
            )
        piece = os.read(process.stdout.fileno(), CHUNK)
        if not piece:
            raise self._explain_exit(oid)
        self._buffer, self._offset = self._buffer[self._offset :] + piece, 0

    def _explain_exit(self, oid: str) -> GitError:
        # If it took no request, it would wait for one as long as we wait for its answer.
        self._process.proc.kill()
        # In a partial clone git exits at an object that it may not fetch.
        if b"promisor" in os.read(self._process.proc.stderr.fileno(), CHUNK):
            return self._build_missing_error(oid)
        hint = "the repository is damaged; see where: git fsck"
        return GitError(f"git cannot read object {oid[:12]}", hint=hint)

    def _build_missing_error(self, oid: str) -> GitError:
        # Asked once, not thousands of times.
        self._missing_hint = self._missing_hint or describe_missing_history(self.git)
        return MissingObjectError(
            f"object {oid[:12]} is missing from this clone", hint=self._missing_hint
        )


def _verify_hash(oid: str, hash_: Any, data: bytes = b"") -> None:
    hash_.update(data)
    if hash_.hexdigest() != oid:
        raise GitError(
            (
                f"the content of object {oid[:12]} does not match its id: the repository was "
                "changed or is damaged"
            ),
            hint="see where: git fsck; then fetch or clone again",
        )
