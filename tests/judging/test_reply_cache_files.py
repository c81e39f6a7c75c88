"""Whose files a cache leaves alone, and what it says where it cannot write."""

from __future__ import annotations

import os
import resource
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from evalstore.errors import RefusedError
from evalstore.model import JudgeCall, JudgeReply
from evalstore.scoring.judging import ReplyCache
from evalstore.scoring.judging.cache_file import _INDEX, _TABLE
from tests.judging.conftest import CALL, At, sql

REPLY = JudgeReply("yes", "small-2026", "stop")
IDS = ("PRAGMA application_id = 1702261618", "PRAGMA user_version = 2")


def refused(cache: ReplyCache) -> RefusedError:
    """Return what is said on reading, and see that writing says no less and changes nothing."""
    before = cache.path.read_bytes() if cache.path.is_file() else b""
    with pytest.raises(RefusedError) as read:
        cache.get(CALL)
    with pytest.raises(RefusedError) as written:
        cache.put(CALL, REPLY)
    assert str(read.value) == str(written.value)
    assert str(read.value).startswith(str(cache.path))
    assert "\n" not in f"{read.value}{read.value.hint}"
    assert read.value.hint
    assert before == (cache.path.read_bytes() if cache.path.is_file() else b"")
    return read.value


@pytest.mark.parametrize("content", [b"hello", b"x" * 5000, b"SQLite format 3\0" + b"\xff" * 5000, b"\0" * 4096])
def test_a_file_that_is_no_database_is_refused(content: bytes, at: At, path: Path) -> None:
    path.write_bytes(content)
    assert "not a cache of replies" in str(refused(at()))


@pytest.mark.parametrize(
    "statements",
    [
        ("CREATE TABLE other (a)",),
        (_TABLE,),
        (*IDS,),
        (*IDS, "CREATE TABLE reply (key TEXT PRIMARY KEY, text TEXT)"),
        (*IDS, _TABLE, _INDEX, "CREATE TABLE more (a)"),
        (*IDS, _TABLE, _INDEX, "CREATE VIEW v AS SELECT 1"),
        (*IDS, _TABLE, _INDEX, "CREATE INDEX i ON kept_reply (text)"),
        (*IDS, _TABLE, _INDEX, "CREATE TRIGGER t BEFORE INSERT ON kept_reply BEGIN DELETE FROM kept_reply; END"),
        (*IDS, "CREATE TABLE a (b)", "CREATE VIEW kept_reply AS SELECT * FROM a"),
        (*IDS, _TABLE.replace("sum TEXT", "sum TEXT AS (hex(text))"), _INDEX),
        (*IDS, _TABLE.replace("text TEXT", "text TEXT DEFAULT (load_extension('x'))"), _INDEX),
        (*IDS, _TABLE.replace("CREATE TABLE", "CREATE VIRTUAL TABLE").partition("(")[0] + "USING fts4(key, text)"),
    ],
)
def test_a_database_with_anything_else_in_it_is_refused(statements: tuple[str, ...], at: At, path: Path) -> None:
    sql(path, *statements)
    assert "not a cache of replies" in str(refused(at()))


@pytest.mark.parametrize("version", [0, 3, 99])
def test_a_cache_of_another_form_is_refused(version: int, at: At, path: Path) -> None:
    at().put(CALL, REPLY)
    sql(path, f"PRAGMA user_version = {version}")
    assert f"cache format {version}" in str(refused(at()))


def test_a_link_a_folder_and_a_pipe_are_refused(tmp_path: Path, at: At, path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    for make in (
        lambda: path.symlink_to(elsewhere),
        lambda: path.symlink_to(path),
        path.mkdir,
        lambda: os.mkfifo(path),
    ):
        make()
        assert "replies.db: is not a regular file" in str(refused(at()))
        path.rmdir() if path.is_dir() else path.unlink()
    assert not elsewhere.exists()


@pytest.mark.parametrize("end", ["-journal", "-wal", "-shm"])
def test_a_link_beside_the_file_is_refused(end: str, tmp_path: Path, at: At, path: Path) -> None:
    at().put(CALL, REPLY)
    Path(f"{path}{end}").symlink_to(tmp_path / "elsewhere")
    assert f"replies.db{end}: is not a regular file" in str(refused(at()))
    assert not (tmp_path / "elsewhere").exists()


def test_a_file_where_a_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with ReplyCache(tmp_path / "file" / "replies.db") as cache:
        for use in (lambda: cache.get(CALL), lambda: cache.put(CALL, REPLY), cache.check_writable):
            with pytest.raises(RefusedError, match=r"replies\.db: cannot be opened: a link or a file is in its path"):
                use()


@pytest.mark.parametrize("name", ["", ".", "..", "/"])
def test_a_name_that_is_none_is_that_of_a_folder(name: str) -> None:
    with ReplyCache(Path(name)) as cache, pytest.raises(RefusedError, match="is not a regular file"):
        cache.get(CALL)


def test_whether_replies_can_be_kept_is_known_before_one_is_paid_for(at: At, path: Path) -> None:
    with at() as cache:
        cache.check_writable()
        assert cache.get(CALL) is None
        cache.put(CALL, REPLY)
        cache.check_writable()
        assert cache.get(CALL) == REPLY
    sql(path, "CREATE TABLE more (a)")
    with at() as cache, pytest.raises(RefusedError, match="is not a cache of replies"):
        cache.check_writable()


@pytest.mark.heavy
def test_a_huge_value_in_the_file_is_not_read(at: At, path: Path) -> None:
    at().put(CALL, REPLY)
    sql(path, "UPDATE kept_reply SET text = hex(zeroblob(20000000))")
    with pytest.raises(RefusedError, match="too big"):
        at().get(CALL)


# Where nothing can be written.


def program(body: str, *argv: str) -> str:
    """Run a program in a separate process, and return what it prints."""
    head = "import os, sys, pathlib\nfrom evalstore.scoring.judging import ReplyCache\nfrom evalstore.model import JudgeCall, JudgeReply\n"
    done = subprocess.run([sys.executable, "-c", head + body, *argv], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.process
def test_what_may_only_be_read_is_read_and_a_put_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "media"
    with ReplyCache(folder / "replies.db") as cache:
        cache.put(CALL, REPLY)
    for parent in (folder, *folder.parents):
        if parent.owner() == folder.owner() and parent != Path(parent.anchor):
            parent.chmod(parent.stat().st_mode | 0o055)
    (folder / "replies.db").chmod(0o444)
    folder.chmod(0o555)
    body = """
if not os.getuid():  # the superuser may write everywhere
    os.setgid(65534)
    os.setuid(65534)
call = JudgeCall("judge/accuracy@1.0.0", "Is it good?", {"id": "small"})
with ReplyCache(pathlib.Path(sys.argv[1])) as cache:
    print(cache.get(call).served)
    for number in range(2):
        try:
            cache.put(JudgeCall("j", str(number), {"id": "m"}), JudgeReply("x"))
        except Exception as error:
            print(type(error).__name__, error, error.hint, sep="|")
    print(cache.get(call).served)
"""
    sentence = (
        f"RefusedError|{folder / 'replies.db'}: cannot be written: it is read-only"
        "|name another file for the replies (--cache)"
    )
    try:
        said = program(body, str(folder / "replies.db"))
    finally:
        folder.chmod(0o755)
    assert said.splitlines() == ["small-2026", sentence, sentence, "small-2026"]


@pytest.mark.chaos
def test_a_full_disk_is_one_sentence_and_what_was_kept_stays(at: At, path: Path) -> None:
    at().put(CALL, REPLY)
    body = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
with ReplyCache(pathlib.Path(sys.argv[1])) as cache:
    try:
        for number in range(10**6):
            cache.put(JudgeCall("j", str(number), {"id": "m"}), JudgeReply("x" * 1000))
    except Exception as error:
        print(number, type(error).__name__, error, error.hint, sep="|")
"""
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, pathlib\nfrom evalstore.scoring.judging import ReplyCache\nfrom evalstore.model import JudgeCall, JudgeReply\n"
            + body,
            str(path),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    number, name, message, hint = done.stdout.strip().split("|")
    assert name == "RefusedError"
    assert message.startswith((f"{path}: cannot grow", f"{path}: cannot be read or written")), message
    assert hint
    cache = at()
    assert cache.get(CALL) == REPLY
    assert all(cache.get(JudgeCall("j", str(before), {"id": "m"})) for before in range(int(number)))
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 65536


def test_a_file_that_others_keep_locked_is_one_sentence(at: At, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalstore.scoring.judging.cache_file._PATIENCE", 0.05)
    cache = at()
    cache.put(CALL, REPLY)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(RefusedError, match="kept it locked"):
            cache.get(CALL)
        with pytest.raises(RefusedError, match="kept it locked"):
            cache.put(CALL, REPLY)
    assert cache.get(CALL) == REPLY
