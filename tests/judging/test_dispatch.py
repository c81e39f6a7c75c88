"""Many calls at once: how many, how often, in how much memory, and when it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evalstore.errors import EvalstoreError, RefusedError
from evalstore.model import JudgeCall, JudgeReply
from evalstore.scoring.judging import Endpoint, ReplyCache, ask_all

Calls = Callable[..., list[JudgeCall]]
At = Callable[..., Endpoint]


def ours() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "evalstore judging"]


@pytest.fixture(autouse=True)
def no_thread_left() -> Iterator[None]:
    """Nothing of ours is alive a moment after a test."""
    yield
    end = time.monotonic() + 5
    while ours():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.heavy
def test_calls_are_asked_side_by_side_but_not_more(
    judge_server: Any, endpoint: At, cache: ReplyCache, calls: Calls
) -> None:
    judge_server.delay = 0.02
    told: list[JudgeReply] = []
    assert ask_all(calls(40), endpoint(concurrency=4), cache, on_reply=told.append) == {}
    assert judge_server.most_at_once == 4
    assert len(told) == 40
    assert set(judge_server.asked.values()) == {1}
    assert all(cache.get(call) for call in calls(40))


def test_few_calls_start_few_threads(endpoint: At, cache: ReplyCache, calls: Calls) -> None:
    most: list[int] = []
    ask_all(calls(2), endpoint(concurrency=64), cache, on_reply=lambda _: most.append(len(ours())))
    assert 1 <= max(most) <= 2


@pytest.mark.heavy
def test_a_second_asking_asks_nothing(judge_server: Any, endpoint: At, cache: ReplyCache, calls: Calls) -> None:
    told: list[JudgeReply] = []
    ask_all(calls(10), endpoint(), cache)
    ask_all(calls(12), endpoint(), cache, on_reply=told.append)
    assert judge_server.calls == 12
    assert len(told) == 12


@pytest.mark.heavy
def test_calls_are_taken_from_the_iterator_as_they_are_needed(
    judge_server: Any, endpoint: At, cache: ReplyCache, calls: Calls
) -> None:
    taken, finished = 0, 0

    def taking() -> Iterator[JudgeCall]:
        nonlocal taken
        for call in calls(100):
            taken += 1
            assert taken - finished <= 2 * 3 + 1
            yield call

    def told(_: JudgeReply) -> None:
        nonlocal finished
        finished += 1

    assert ask_all(taking(), endpoint(concurrency=3), cache, on_reply=told) == {}
    assert finished == 100


@pytest.mark.heavy
def test_told_hears_in_the_thread_that_asked(endpoint: At, cache: ReplyCache, calls: Calls) -> None:
    heard: set[int] = set()
    ask_all(calls(20), endpoint(), cache, on_reply=lambda _: heard.add(threading.get_ident()))
    assert heard == {threading.get_ident()}


@pytest.mark.heavy
def test_each_failure_has_its_own_words_and_the_rest_is_answered(
    judge_server: Any, endpoint: At, cache: ReplyCache, calls: Calls
) -> None:
    judge_server.play("400", prompt="000[0-4]")
    judge_server.play("500", prompt="001[0-4]")
    judge_server.play("429", "500", "hang up", "not JSON", "ok", prompt="0020")
    failed = ask_all(calls(40), endpoint(), cache)
    assert set(failed) == {call.key for call in (*calls(40)[0:5], *calls(40)[10:15])}
    assert sorted({problem.partition("(")[2][:3] for problem in failed.values()}) == ["400", "500"]
    assert cache.get(calls(40)[20])
    assert judge_server.calls == 29 + 5 + 5 * 6 + 5


@pytest.mark.heavy
def test_what_failed_is_asked_again_the_next_time(
    judge_server: Any, endpoint: At, cache: ReplyCache, calls: Calls
) -> None:
    judge_server.play("400")
    assert len(ask_all(calls(3), endpoint(), cache)) == 3
    judge_server.play("ok")
    assert ask_all(calls(3), endpoint(), cache) == {}


@pytest.mark.heavy
def test_retry_after_is_waited_for(judge_server: Any, endpoint: At, cache: ReplyCache, calls: Calls) -> None:
    judge_server.play("429, wait 0.3", "ok")
    begun = time.perf_counter()
    assert ask_all(calls(1), endpoint(longest_wait=10), cache) == {}
    assert time.perf_counter() - begun >= 0.3


@pytest.mark.heavy
def test_a_call_without_a_model_is_a_failure_of_its_own(
    judge_server: Any, endpoint: At, cache: ReplyCache, calls: Calls
) -> None:
    nameless = JudgeCall("judge/tone@1.0.0", "Is it kind?", {"temperature": 0})
    failed = ask_all([nameless, *calls(3)], endpoint(), cache)
    assert failed == {nameless.key: "no model is set for judge/tone@1.0.0"}
    assert judge_server.calls == 3


# When it ends.


@pytest.mark.heavy
@pytest.mark.parametrize("behaviour", ["400", "500", "not JSON", "cut off"])
def test_when_nothing_is_ever_answered_the_rest_is_not_asked(
    behaviour: str, judge_server: Any, endpoint: At, cache: ReplyCache, calls: Calls
) -> None:
    judge_server.play(behaviour)
    with pytest.raises(EvalstoreError, match="6 calls in a row failed; the last: the endpoint ") as caught:
        ask_all(calls(1000), endpoint(patience=6, retries=1, concurrency=2), cache)
    assert "--offline" in str(caught.value.hint)
    assert judge_server.calls <= 2 * (6 + 2 * 2 + 2)


@pytest.mark.heavy
def test_an_endpoint_that_goes_down_half_way_is_not_asked_for_hours(
    judge_server: Any, endpoint: At, cache: ReplyCache, calls: Calls
) -> None:
    judge_server.play("500", prompt="0[1-9]..$")
    with pytest.raises(EvalstoreError, match="6 calls in a row failed"):
        ask_all(calls(1000), endpoint(patience=6, retries=0, concurrency=2), cache)
    assert all(cache.get(call) for call in calls(100))
    assert judge_server.calls < 120


@pytest.mark.heavy
@pytest.mark.parametrize("behaviour", ["400", "403", "413"])
def test_prompts_that_are_refused_do_not_end_it_once_another_was_answered(
    behaviour: str, judge_server: Any, endpoint: At, cache: ReplyCache, calls: Calls
) -> None:
    judge_server.play(behaviour, prompt="00[1-9].")
    assert len(ask_all(calls(120), endpoint(patience=6, concurrency=1), cache)) == 90
    assert judge_server.calls == 120


@pytest.mark.heavy
@pytest.mark.parametrize("behaviour", ["401", "404", "quota", "redirect"])
def test_what_all_would_meet_ends_it_at_any_time(
    behaviour: str, judge_server: Any, endpoint: At, cache: ReplyCache, calls: Calls
) -> None:
    judge_server.play(behaviour, prompt="00[1-9].")
    with pytest.raises(EvalstoreError):
        ask_all(calls(120), endpoint(concurrency=2), cache)
    assert all(cache.get(call) for call in calls(10))
    assert judge_server.calls <= 10 + 2 * 2 + 2


@pytest.mark.heavy
def test_where_nobody_is_the_first_failure_ends_it(endpoint: At, cache: ReplyCache, calls: Calls) -> None:
    with pytest.raises(
        EvalstoreError, match=r"^http://127.0.0.1:9/v1: the endpoint cannot be reached: Connection refused"
    ) as caught:
        ask_all(calls(1000), endpoint(url="http://127.0.0.1:9"), cache)
    assert "tried 3 times" in str(caught.value)
    assert "EVALSTORE_JUDGE_URL" in str(caught.value.hint)


def test_what_told_raises_ends_it(judge_server: Any, endpoint: At, cache: ReplyCache, calls: Calls) -> None:
    def told(_: JudgeReply) -> None:
        raise LookupError

    with pytest.raises(LookupError):
        ask_all(calls(1000), endpoint(concurrency=2), cache, on_reply=told)
    assert judge_server.calls <= 8


def test_what_the_iterator_raises_ends_it(judge_server: Any, endpoint: At, cache: ReplyCache, calls: Calls) -> None:
    def broken() -> Iterator[JudgeCall]:
        yield from calls(3)
        raise LookupError

    with pytest.raises(LookupError):
        ask_all(broken(), endpoint(), cache)
    assert judge_server.calls <= 3


def test_a_cache_that_cannot_be_written_ends_it(judge_server: Any, endpoint: At, tmp_path: Path, calls: Calls) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RefusedError, match="cannot be opened"):
        ask_all(calls(1000), endpoint(concurrency=2), ReplyCache(tmp_path / "file" / "replies.db"))
    assert judge_server.calls <= 8


PROGRAM = """
import sys, pathlib
from evalstore.scoring.judging import ReplyCache, Endpoint, ask_all
from evalstore.model import JudgeCall
with ReplyCache(pathlib.Path(sys.argv[2])) as cache:
    calls = [JudgeCall("j", f"question {number:04}", {"id": "m"}) for number in range(int(sys.argv[3]))]
    print("begun", flush=True)
    ask_all(calls, Endpoint(sys.argv[1], concurrency=4), cache)
"""


def _begun(url: str, path: Path, count: int = 300) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, url, str(path), str(count)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    assert process.stdout.readline() == "begun\n"
    return process


def _until(server: Any, calls: int) -> None:
    end = time.monotonic() + 30
    while server.calls < calls:
        assert time.monotonic() < end
        time.sleep(0.005)


def _mine(count: int) -> list[JudgeCall]:
    return [JudgeCall("j", f"question {number:04}", {"id": "m"}) for number in range(count)]


@pytest.mark.chaos
def test_an_interrupt_ends_it_at_once_and_keeps_what_came(judge_server: Any, cache: ReplyCache) -> None:
    judge_server.delay = 0.01
    judge_server.play("never", prompt="01..")
    process = _begun(judge_server.url, cache.path)
    _until(judge_server, 101)
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert time.monotonic() - begun < 10  # its threads wait for a minute
    assert process.returncode == -signal.SIGINT
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert errors.count("Traceback") == 1
    assert all(cache.get(call) for call in _mine(100 - 4))


@pytest.mark.chaos
def test_nothing_that_was_kept_is_asked_again_after_a_kill(judge_server: Any, cache: ReplyCache) -> None:
    judge_server.delay = 0.005
    process = _begun(judge_server.url, cache.path)
    _until(judge_server, 120)
    process.kill()
    process.communicate(timeout=30)
    kept = [call for call in _mine(300) if cache.get(call)]
    assert 100 <= len(kept) < 300
    before = dict(judge_server.asked)
    assert ask_all(_mine(300), Endpoint(judge_server.url), cache) == {}
    assert all(judge_server.asked[call.prompt] == before[call.prompt] == 1 for call in kept)
    assert all(cache.get(call) for call in _mine(300))
    assert judge_server.calls <= 300 + 4  # what was on its way when it was killed
    assert os.listdir(cache.path.parent) == [cache.path.name]  # noqa: PTH208  # names are enough


@pytest.mark.process
def test_two_processes_that_ask_the_same_agree_afterwards(judge_server: Any, cache: ReplyCache) -> None:
    judge_server.text = lambda prompt: f"{prompt}, asked {judge_server.asked[prompt]}"
    processes = [_begun(judge_server.url, cache.path, 150) for _ in range(2)]
    assert [process.communicate(timeout=60)[1] for process in processes] == ["", ""]
    assert [process.returncode for process in processes] == [0, 0]
    kept = [cache.get(call) for call in _mine(150)]
    assert all(
        reply and reply.text[:-1] == f"{call.prompt}, asked " for reply, call in zip(kept, _mine(150), strict=True)
    )
    before = judge_server.calls
    assert ask_all(_mine(150), Endpoint(judge_server.url), cache) == {}
    assert judge_server.calls == before <= 300
