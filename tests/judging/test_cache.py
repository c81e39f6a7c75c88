"""The file of replies: what it keeps, what it survives, and whose files it leaves alone."""

from __future__ import annotations

import multiprocessing
import os
import resource
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from evalstore.errors import EvalstoreError, RefusedError
from evalstore.judging import Cache
from evalstore.judging.database import _TABLE
from evalstore.model import Call, Reply

CALL = Call("judge/accuracy@1.0.0", "Is it good?", {"id": "small"})
REPLY = Reply('{"score": 1}\n\0\U0001f600\u2028é', "small-2026", "stop")
IDS = ("PRAGMA application_id = 1702261618", "PRAGMA user_version = 1")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "replies.db"


@pytest.fixture
def at(path: Path) -> Iterator[Callable[[], Cache]]:
    """Open the cache once more."""
    opened: list[Cache] = []

    def one() -> Cache:
        opened.append(Cache.open(path))
        return opened[-1]

    yield one
    for cache in opened:
        cache.close()


At = Callable[[], Cache]


def sql(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        for statement in statements:
            database.execute(statement)


def test_what_was_put_is_there_again_and_for_others(at: At, path: Path) -> None:
    first = at()
    first.put(CALL, REPLY)
    assert first.get(CALL) == at().get(CALL) == REPLY
    assert first.path == path
    assert [child.name for child in path.parent.iterdir()] == [path.name]


def test_reading_a_cache_that_is_not_there_makes_nothing(tmp_path: Path) -> None:
    with Cache.open(tmp_path / "no" / "replies.db") as cache:
        assert cache.get(CALL) is None
    assert list(tmp_path.iterdir()) == []


def test_a_cache_that_another_makes_meanwhile_is_seen(at: At) -> None:
    early = at()
    assert early.get(CALL) is None
    at().put(CALL, REPLY)
    assert early.get(CALL) == REPLY


def test_the_first_write_makes_folders_and_an_empty_file_is_a_new_cache(tmp_path: Path, at: At, path: Path) -> None:
    path.touch()
    cache = at()
    assert cache.get(CALL) is None
    cache.put(CALL, REPLY)
    assert cache.get(CALL) == REPLY
    with Cache.open(tmp_path / "a" / "b" / "r?e%20#.db") as other:
        other.put(CALL, REPLY)
        assert other.path.is_file()


@pytest.mark.parametrize(
    "other",
    [
        Call("judge/accuracy@1.0.0", "Is it good??", {"id": "small"}),
        Call("judge/accuracy@1.0.0", "Is it good?", {"id": "large"}),
        Call("judge/accuracy@1.0.0", "Is it good?", {"id": "small", "temperature": 0}),
        Call("judge/accuracy@1.0.0", "Is it good?", {"id": "small"}, sample=1),
    ],
)
def test_another_call_has_another_reply(other: Call, at: At) -> None:
    cache = at()
    cache.put(CALL, REPLY)
    assert cache.get(other) is None


def test_two_judges_that_ask_the_same_share_the_reply(at: At) -> None:
    cache = at()
    cache.put(CALL, REPLY)
    assert cache.get(Call("judge/other@1.0.0", CALL.prompt, CALL.model)) == REPLY


def test_the_first_reply_stays(at: At) -> None:
    at().put(CALL, REPLY)
    at().put(CALL, Reply("another", "small-2027", "stop"))
    assert at().get(CALL) == REPLY


def test_a_problem_is_not_kept(at: At, path: Path) -> None:
    with pytest.raises(ValueError, match="asked again"):
        at().put(CALL, Reply(problem="the endpoint fails"))
    assert not path.exists()


def test_a_closed_cache_says_so(at: At) -> None:
    cache = at()
    cache.put(CALL, REPLY)
    cache.close()
    with pytest.raises(ValueError, match="closed"):
        cache.get(CALL)
    with pytest.raises(ValueError, match="closed"):
        cache.put(CALL, REPLY)


def test_what_people_may_want_to_see_is_in_the_file(at: At, path: Path) -> None:
    at().put(CALL, Reply("yes", "small-2026", "length"))
    with closing(sqlite3.connect(path)) as database:
        row = database.execute("SELECT key, judge, model, served, finish, text FROM reply").fetchone()
    assert row == (CALL.key, "judge/accuracy@1.0.0", "small", "small-2026", "length", "yes")


# Damage.


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE reply SET text = 'no'",
        "UPDATE reply SET served = 'large'",
        "UPDATE reply SET finish = 'length'",
        "UPDATE reply SET judge = 'judge/b@1.0.0'",
        "UPDATE reply SET sum = ''",
        "UPDATE reply SET text = NULL",
        "UPDATE reply SET text = CAST(text AS BLOB)",
        "UPDATE reply SET text = CAST(x'ff' AS TEXT)",
        "UPDATE reply SET finish = 7",
    ],
)
def test_a_row_that_is_not_as_it_was_stored_is_absent_and_replaced(damage: str, at: At, path: Path) -> None:
    at().put(CALL, REPLY)
    sql(path, damage)
    cache = at()
    assert cache.get(CALL) is None
    cache.put(CALL, REPLY)
    assert cache.get(CALL) == REPLY


def test_a_row_that_stands_under_another_key_is_absent(at: At, path: Path) -> None:
    other = Call("judge/accuracy@1.0.0", "Is it bad?", {"id": "small"})
    at().put(other, REPLY)
    sql(path, f"UPDATE reply SET key = '{CALL.key}'")  # noqa: S608  # a key is hex
    assert at().get(CALL) is None


@pytest.mark.parametrize("seed", range(4))
def test_a_file_with_random_damage_is_refused_or_right(seed: int, at: At, path: Path) -> None:
    import random

    calls = [Call("j", f"question {number}", {"id": "m"}) for number in range(60)]
    cache = at()
    for call in calls:
        cache.put(call, Reply(f"{call.prompt} {'x' * 300}", "m", "stop"))
    cache.close()
    whole, dice = path.read_bytes(), random.Random(seed)  # noqa: S311  # the same damage every time
    for _ in range(30):
        data = bytearray(whole)
        for _ in range(dice.choice([1, 8, 200])):
            data[dice.randrange(len(data))] = dice.randrange(256)
        path.write_bytes(data[: dice.choice([len(data), dice.randrange(len(data))])])
        with Cache.open(path) as broken:
            for call in calls:
                with suppress(RefusedError):
                    found = broken.get(call)
                    assert found is None or found.text == f"{call.prompt} {'x' * 300}"
            with suppress(RefusedError):
                broken.put(CALL, REPLY)
                assert broken.get(CALL) in {None, REPLY}


# Files that are no caches.


def refused(cache: Cache) -> RefusedError:
    """Return what is said on reading, and see that writing says no less and changes nothing."""
    before = cache.path.read_bytes() if cache.path.is_file() else b""
    with pytest.raises(RefusedError) as read:
        cache.get(CALL)
    with pytest.raises(RefusedError) as written:
        cache.put(CALL, REPLY)
    assert str(read.value) == str(written.value)
    assert str(read.value).startswith(f"{cache.path}: ")
    assert "\n" not in f"{read.value}{read.value.hint}"
    assert read.value.hint
    assert before == (cache.path.read_bytes() if cache.path.is_file() else b"")
    return read.value


@pytest.mark.parametrize("content", [b"hello", b"x" * 5000, b"SQLite format 3\0" + b"\xff" * 5000, b"\0" * 4096])
def test_a_file_that_is_no_database_is_refused(content: bytes, at: At, path: Path) -> None:
    path.write_bytes(content)
    assert "no cache of replies" in str(refused(at()))


@pytest.mark.parametrize(
    "statements",
    [
        ("CREATE TABLE other (a)",),
        (_TABLE,),
        (*IDS,),
        (*IDS, "CREATE TABLE reply (key TEXT PRIMARY KEY, text TEXT)"),
        (*IDS, _TABLE, "CREATE TABLE more (a)"),
        (*IDS, _TABLE, "CREATE VIEW v AS SELECT 1"),
        (*IDS, _TABLE, "CREATE INDEX i ON reply (text)"),
        (*IDS, _TABLE, "CREATE TRIGGER t BEFORE INSERT ON reply BEGIN DELETE FROM reply; END"),
        (*IDS, "CREATE TABLE a (b)", "CREATE VIEW reply AS SELECT * FROM a"),
        (*IDS, _TABLE.replace("sum TEXT", "sum TEXT AS (hex(text))")),
        (*IDS, _TABLE.replace("text TEXT", "text TEXT DEFAULT (load_extension('x'))")),
        (*IDS, _TABLE.replace("CREATE TABLE", "CREATE VIRTUAL TABLE").partition("(")[0] + "USING fts4(key, text)"),
    ],
)
def test_a_database_with_anything_else_in_it_is_refused(statements: tuple[str, ...], at: At, path: Path) -> None:
    sql(path, *statements)
    assert "no cache of replies" in str(refused(at()))


@pytest.mark.parametrize("version", [0, 2, 99])
def test_a_cache_of_another_form_is_refused(version: int, at: At, path: Path) -> None:
    at().put(CALL, REPLY)
    sql(path, f"PRAGMA user_version = {version}")
    assert f"form {version}" in str(refused(at()))


def test_a_link_a_folder_and_a_pipe_are_refused(tmp_path: Path, at: At, path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    for make in (
        lambda: path.symlink_to(elsewhere),
        lambda: path.symlink_to(path),
        path.mkdir,
        lambda: os.mkfifo(path),
    ):
        make()
        assert "replies.db is no regular file" in str(refused(at()))
        path.rmdir() if path.is_dir() else path.unlink()
    assert not elsewhere.exists()


@pytest.mark.parametrize("end", ["-journal", "-wal", "-shm"])
def test_a_link_beside_the_file_is_refused(end: str, tmp_path: Path, at: At, path: Path) -> None:
    at().put(CALL, REPLY)
    Path(f"{path}{end}").symlink_to(tmp_path / "elsewhere")
    assert f"replies.db{end} is no regular file" in str(refused(at()))
    assert not (tmp_path / "elsewhere").exists()


def test_a_file_where_a_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with Cache.open(tmp_path / "file" / "replies.db") as cache:
        assert cache.get(CALL) is None
        with pytest.raises(RefusedError, match=r"replies\.db: cannot be opened: "):
            cache.put(CALL, REPLY)


def test_a_huge_value_in_the_file_is_not_read(at: At, path: Path) -> None:
    at().put(CALL, REPLY)
    sql(path, "UPDATE reply SET text = hex(zeroblob(20000000))")
    with pytest.raises(RefusedError, match="too big"):
        at().get(CALL)


# Where nothing can be written.


def program(body: str, *argv: str) -> str:
    """Run a program in a process of its own, and return what it prints."""
    head = "import os, sys, pathlib\nfrom evalstore.judging import Cache\nfrom evalstore.model import Call, Reply\n"
    done = subprocess.run([sys.executable, "-c", head + body, *argv], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_what_may_only_be_read_is_read_and_a_put_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "media"
    with Cache.open(folder / "replies.db") as cache:
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
call = Call("judge/accuracy@1.0.0", "Is it good?", {"id": "small"})
with Cache.open(pathlib.Path(sys.argv[1])) as cache:
    print(cache.get(call).served)
    for number in range(2):
        try:
            cache.put(Call("j", str(number), {"id": "m"}), Reply("x"))
        except Exception as error:
            print(type(error).__name__, error, error.hint, sep="|")
    print(cache.get(call).served)
"""
    sentence = (
        f"RefusedError|{folder / 'replies.db'}: cannot be written: it is read-only|name another file for the replies"
    )
    try:
        said = program(body, str(folder / "replies.db"))
    finally:
        folder.chmod(0o755)
    assert said.splitlines() == ["small-2026", sentence, sentence, "small-2026"]


def test_a_full_disk_is_one_sentence_and_what_was_kept_stays(at: At, path: Path) -> None:
    at().put(CALL, REPLY)
    body = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
with Cache.open(pathlib.Path(sys.argv[1])) as cache:
    try:
        for number in range(10**6):
            cache.put(Call("j", str(number), {"id": "m"}), Reply("x" * 1000))
    except Exception as error:
        print(number, type(error).__name__, error, error.hint, sep="|")
"""
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, pathlib\nfrom evalstore.judging import Cache\nfrom evalstore.model import Call, Reply\n"
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
    assert all(cache.get(Call("j", str(before), {"id": "m"})) for before in range(int(number)))
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 65536


def test_a_file_that_others_keep_locked_is_one_sentence(at: At, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalstore.judging.database._PATIENCE", 0.05)
    cache = at()
    cache.put(CALL, REPLY)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(RefusedError, match="kept it locked"):
            cache.get(CALL)
        with pytest.raises(RefusedError, match="kept it locked"):
            cache.put(CALL, REPLY)
    assert cache.get(CALL) == REPLY


# Many at once.


def test_threads_share_one_cache(at: At) -> None:
    cache, wrong = at(), []

    def work(who: int) -> None:
        for number in range(40):
            call = Call("j", f"{number + who % 2}", {"id": "m"})
            cache.put(call, Reply(f"reply to {call.prompt}"))
            if cache.get(call) != Reply(f"reply to {call.prompt}"):
                wrong.append(call)

    threads = [threading.Thread(target=work, args=(who,)) for who in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_two_caches_of_one_process_make_one_file(path: Path) -> None:
    barrier, problems = threading.Barrier(8), []

    def work(who: int) -> None:
        with Cache.open(path) as cache:
            barrier.wait()
            try:
                cache.put(Call("j", str(who), {"id": "m"}), Reply(str(who)))
            except EvalstoreError as error:
                problems.append(error)

    threads = [threading.Thread(target=work, args=(who,)) for who in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    with Cache.open(path) as cache:
        assert all(cache.get(Call("j", str(who), {"id": "m"})) for who in range(8))


SOAK = """
import random, sys, pathlib
from evalstore.judging import Cache
from evalstore.model import Call, Reply
path, who, rounds = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
dice, wrong = random.Random(who), 0
with Cache.open(path) as cache:
    for _ in range(rounds):
        call = Call("j", f"question {dice.randrange(200)}", {"id": "m"})
        found = cache.get(call)
        if found is None:
            cache.put(call, Reply(call.prompt, f"by {who}"))
            found = cache.get(call)
        wrong += found is None or found.text != call.prompt
print(wrong)
"""


def soak(path: Path, rounds: int, kill: Callable[[list[subprocess.Popen[str]]], None]) -> list[str]:
    argv = [sys.executable, "-c", SOAK, str(path)]
    running = [
        subprocess.Popen([*argv, str(who), str(rounds)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for who in range(8)
    ]
    kill(running)
    return [process.communicate(timeout=300)[0].strip() for process in running]


def whole(path: Path) -> bool:
    with closing(sqlite3.connect(path)) as database:
        return bool(database.execute("PRAGMA integrity_check").fetchall() == [("ok",)])


def test_eight_processes_use_one_cache(path: Path) -> None:
    assert soak(path, 60, lambda _: None) == ["0"] * 8
    assert whole(path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_eight_processes_of_which_some_are_killed(seed: int, path: Path) -> None:
    import random
    import time

    dice = random.Random(seed)  # noqa: S311  # the same every time

    def kill(running: list[subprocess.Popen[str]]) -> None:
        for process in running[:4]:
            time.sleep(dice.random())
            process.kill()

    assert soak(path, 3000, kill)[4:] == ["0"] * 4
    with Cache.open(path) as cache:
        assert all(cache.get(Call("j", f"question {number}", {"id": "m"})) for number in range(200))
    assert whole(path)


def _forked(cache: Cache, pipe: Any) -> None:
    call = Call("j", "of the child", {"id": "m"})
    cache.put(call, Reply("child"))
    pipe.send((cache.get(CALL), cache.get(call)))


def test_a_fork_opens_the_file_anew(at: At) -> None:
    cache = at()
    cache.put(CALL, REPLY)
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    child = context.Process(target=_forked, args=(cache, there))
    child.start()
    assert here.recv() == (REPLY, Reply("child"))
    child.join()
    assert child.exitcode == 0
    assert cache.get(Call("j", "of the child", {"id": "m"})) == Reply("child")
    cache.put(Call("j", "of the parent", {"id": "m"}), REPLY)
