from __future__ import annotations

import hashlib
import os
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from evalstore.errors import GitError, LoadError
from evalstore.store.repository import object_reader as module
from evalstore.store.repository.git import Git
from evalstore.store.repository.object_reader import ObjectReader, compute_object_id


def write(git: Callable[..., str], text: str) -> str:
    return git("hash-object", "-w", "--stdin", stdin=text)


@pytest.fixture
def batch(git: Callable[..., str], repo: Path) -> Iterator[ObjectReader]:
    git()
    batch = ObjectReader(Git(repo / ".git", repo / ".git"))
    yield batch
    batch.close()


def test_objects_are_read_by_id_in_any_order(git: Callable[..., str], batch: ObjectReader) -> None:
    oids = [write(git, text) for text in ("", "one", "two\n", "x" * 300_000)]
    for oid, text in zip(reversed(oids), ("x" * 300_000, "two\n", "one", ""), strict=True):
        assert batch.read(oid) == ("blob", text.encode())


def test_missing_object_is_said_and_the_next_is_read(git: Callable[..., str], batch: ObjectReader) -> None:
    oid = write(git, "here")
    with pytest.raises(GitError, match="0000 is missing from this clone"):
        batch.read("0" * 40)
    assert batch.read(oid).data == b"here"


def test_a_git_that_was_killed_is_said_and_the_next_one_reads(git: Callable[..., str], batch: ObjectReader) -> None:
    first, second = write(git, "first"), write(git, "second")
    batch.read(first)
    batch._process.proc.kill()
    batch._process.proc.wait()
    with pytest.raises(GitError, match="git cannot read object"):
        batch.read(second)
    assert batch.read(second).data == b"second"


def test_a_git_that_takes_no_question_is_not_waited_for(git: Callable[..., str], batch: ObjectReader) -> None:
    first, second = write(git, "first"), write(git, "second")
    batch.read(first)
    process = batch._process.proc
    with process.stdin, Path("/dev/full").open("wb") as full:
        process.stdin = full
        with pytest.raises(GitError, match="git cannot read object"):
            batch.read(second)
    assert batch.read(second).data == b"second"


@pytest.mark.parametrize("name", ["HEAD", "main", "-p", "0" * 39, "0" * 40 + "\nHEAD", "A" * 40, "0" * 40 + ":x"])
def test_only_full_ids_are_asked_for(batch: ObjectReader, name: str) -> None:
    with pytest.raises(GitError, match="is not an object id"):
        batch.read(name)


def test_object_over_the_limit_is_refused_before_its_content(
    git: Callable[..., str], batch: ObjectReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    big, small = write(git, "x" * 5000), write(git, "small")
    monkeypatch.setattr(module, "MIDDLE_FILE", 4096)
    with pytest.raises(LoadError, match="is larger than 4,096 bytes"):
        batch.read(big)
    assert batch.read(small).data == b"small"


def test_other_bytes_under_an_id_are_refused(git: Callable[..., str], batch: ObjectReader, repo: Path) -> None:
    oid = write(git, "honest")
    path = repo / ".git/objects" / oid[:2] / oid[2:]
    path.chmod(0o644)
    path.write_bytes(zlib.compress(b"blob 6\0forged"))
    with pytest.raises(GitError, match="does not match its id"):
        batch.read(oid)
    with pytest.raises(GitError, match="does not match its id"):
        list(batch.stream(oid))


def test_broken_object_is_said(git: Callable[..., str], batch: ObjectReader, repo: Path) -> None:
    oid = write(git, "honest")
    path = repo / ".git/objects" / oid[:2] / oid[2:]
    path.chmod(0o644)
    path.write_bytes(b"no zlib at all")
    with pytest.raises(GitError, match=rf"{oid[:12]}"):
        batch.read(oid)


def test_stream_yields_a_blob_of_any_size(
    git: Callable[..., str], batch: ObjectReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MIDDLE_FILE", 4096)
    oid = write(git, "y" * 1_000_000)
    pieces = list(batch.stream(oid))
    assert b"".join(pieces) == b"y" * 1_000_000
    assert max(map(len, pieces)) <= 1 << 16


def test_threads_share_one_process_without_mixing_answers(git: Callable[..., str], batch: ObjectReader) -> None:
    texts = {write(git, f"text {n}" * (n + 1)): f"text {n}" * (n + 1) for n in range(20)}
    wrong: list[str] = []

    def read() -> None:
        wrong.extend(oid for oid, text in list(texts.items()) * 5 if batch.read(oid).data != text.encode())

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_fork_reads_through_a_process_of_its_own(git: Callable[..., str], batch: ObjectReader) -> None:
    one, two = write(git, "one"), write(git, "two")
    assert batch.read(one).data == b"one"
    child = os.fork()
    if child == 0:
        os._exit(0 if batch.read(two).data == b"two" else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert batch.read(two).data == b"two"


def test_silent_git_is_given_up(
    git: Callable[..., str], batch: ObjectReader, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    oid = write(git, "x")
    path = repo / ".git/objects" / oid[:2] / oid[2:]
    path.unlink()
    os.mkfifo(path)
    monkeypatch.setattr(module, "TIMEOUT", 0.2)
    with pytest.raises(GitError, match=r"did not answer within 0\.2 seconds"):
        batch.read(oid)


def test_answer_for_another_id_is_refused(
    git: Callable[..., str], batch: ObjectReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, other = write(git, "asked"), write(git, "other")

    def line(self: ObjectReader, oid: str) -> bytes:
        return f"{other} blob 5\n".encode()

    monkeypatch.setattr(ObjectReader, "_read_line", line)
    with pytest.raises(GitError, match="the wrong object"):
        batch.read(asked)


def test_blob_id_is_gits(git: Callable[..., str]) -> None:
    assert compute_object_id("blob", b"text\n", 40) == git("hash-object", "--stdin", stdin="text\n")
    assert compute_object_id("blob", b"text\n", 64) == hashlib.sha256(b"blob 5\0text\n").hexdigest()


def test_objects_that_are_expected_are_read_together_and_never_wrong(
    git: Callable[..., str], batch: ObjectReader, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = {write(git, text): text for text in (*(f"text {number}" for number in range(6)), "x" * 20_000)}
    first, forged, missing = next(iter(texts)), write(git, "honest"), "0" * 40
    path = repo / ".git/objects" / forged[:2] / forged[2:]
    path.chmod(0o644)
    path.write_bytes(zlib.compress(b"blob 6\0forged"))
    asked: list[Sequence[str]] = []
    send = ObjectReader._send
    monkeypatch.setattr(ObjectReader, "_send", lambda self, oids: (asked.append(oids), send(self, oids))[1])
    batch.expect([*texts, missing, forged, "HEAD"])
    assert {oid: batch.read(oid).data.decode() for oid in texts} == texts
    # One question for all, and one more for the object that is too large to be kept.
    assert [len(oids) for oids in asked] == [len(texts) + 2, 1]
    with pytest.raises(GitError, match="is missing from this clone"):
        batch.read(missing)
    with pytest.raises(GitError, match="does not match its id"):
        batch.read(forged)
    assert batch.read(first).data.decode() == texts[first]


def test_what_is_expected_is_kept_within_bounds(
    git: Callable[..., str], batch: ObjectReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LIMITS", module._LIMITS._replace(asked=4, prefetched=8))
    texts = {write(git, f"text {number}"): f"text {number}" for number in range(20)}
    batch.expect(texts)
    for oid, text in texts.items():
        assert batch.read(oid).data == text.encode()
        assert len(batch._prefetched) <= 8
