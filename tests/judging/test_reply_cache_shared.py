"""One cache for many: threads, processes, and processes that are killed."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from evalstore.errors import EvalstoreError
from evalstore.model import JudgeCall, JudgeReply
from evalstore.scoring.judging import ReplyCache
from tests.judging.conftest import CALL, At

REPLY = JudgeReply("yes", "small-2026", "stop")


def test_threads_share_one_cache(at: At) -> None:
    cache, wrong = at(), []

    def work(who: int) -> None:
        for number in range(40):
            call = JudgeCall("j", f"{number + who % 2}", {"id": "m"})
            cache.put(call, JudgeReply(f"reply to {call.prompt}"))
            if cache.get(call) != JudgeReply(f"reply to {call.prompt}"):
                wrong.append(call)

    threads = [threading.Thread(target=work, args=(who,)) for who in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_threads_that_put_at_once_wait_for_the_disk_once(at: At) -> None:
    cache, seen = at(), []
    cache.put(CALL, REPLY)
    assert cache._database
    cache._database.set_trace_callback(seen.append)
    calls = [JudgeCall("j", f"{who}", {"id": "m"}) for who in range(8)]
    threads = [threading.Thread(target=cache.put, args=(call, REPLY)) for call in calls]
    with cache._lock:
        for thread in threads:
            thread.start()
        while len(cache._pending_rows) < 8:
            pass
    for thread in threads:
        thread.join()
    assert seen.count("COMMIT") == 1
    assert cache._pending_rows == {}
    assert [cache.get(call) for call in calls] == [REPLY] * 8


def test_a_put_that_fails_fails_alone(at: At) -> None:
    cache = at()
    with pytest.raises(UnicodeEncodeError):
        cache.put(CALL, JudgeReply("\ud800"))
    cache.put(CALL, REPLY)
    assert cache.get(CALL) == REPLY


def test_two_caches_of_one_process_make_one_file(path: Path) -> None:
    barrier, problems = threading.Barrier(8), []

    def work(who: int) -> None:
        with ReplyCache(path) as cache:
            barrier.wait()
            try:
                cache.put(JudgeCall("j", str(who), {"id": "m"}), JudgeReply(str(who)))
            except EvalstoreError as error:
                problems.append(error)

    threads = [threading.Thread(target=work, args=(who,)) for who in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    with ReplyCache(path) as cache:
        assert all(cache.get(JudgeCall("j", str(who), {"id": "m"})) for who in range(8))


SOAK = """
import random, sys, pathlib
from evalstore.scoring.judging import ReplyCache
from evalstore.model import JudgeCall, JudgeReply
path, who, rounds = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
dice, wrong = random.Random(who), 0
with ReplyCache(path) as cache:
    for _ in range(rounds):
        call = JudgeCall("j", f"question {dice.randrange(200)}", {"id": "m"})
        found = cache.get(call)
        if found is None:
            cache.put(call, JudgeReply(call.prompt, f"by {who}"))
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


@pytest.mark.chaos
def test_eight_processes_use_one_cache(path: Path) -> None:
    assert soak(path, 60, lambda _: None) == ["0"] * 8
    assert whole(path)


@pytest.mark.chaos
def test_eight_processes_move_one_old_file_into_the_new_form(path: Path) -> None:
    old = Path(__file__).parents[1] / "cases" / "replies" / "form_1.db"
    path.write_bytes(old.read_bytes())
    assert soak(path, 10, lambda _: None) == ["0"] * 8
    with ReplyCache(path) as cache:
        assert cache.get(CALL) == JudgeReply('{"score": 1}', "small-2026", "stop")
        assert [reply.number for reply in cache.find_replies(CALL)] == [1]
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
    with ReplyCache(path) as cache:
        assert all(cache.get(JudgeCall("j", f"question {number}", {"id": "m"})) for number in range(200))
    assert whole(path)


FORK = """
import os, sys, pathlib
from evalstore.scoring.judging import ReplyCache
from evalstore.model import JudgeCall, JudgeReply
first, child, parent = (JudgeCall("j", name, {"id": "m"}) for name in ("first", "child", "parent"))
with ReplyCache(pathlib.Path(sys.argv[1])) as cache:
    cache.put(first, JudgeReply("first"))
    if (pid := os.fork()) == 0:
        cache.put(child, JudgeReply("child"))
        os._exit(cache.get(first) != JudgeReply("first"))
    assert os.waitpid(pid, 0)[1] == 0
    assert cache.get(child) == JudgeReply("child")
    cache.put(parent, JudgeReply("parent"))
    assert cache.get(parent) == JudgeReply("parent")
"""


@pytest.mark.process
def test_a_fork_opens_the_file_anew(path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", FORK, str(path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert whole(path)
