"""Processes that are killed, ask too much, or lose their parent: each is said in a sentence and ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from evalstore.errors import LoadError
from evalstore.workers import WorkerLostError, map_in_order


class FragileExecutor(ThreadPoolExecutor):
    """Threads that stand for processes: `LossError` breaks the executor, as a killed process does."""

    def submit(self, function: Any, /, *args: Any, **named: Any) -> Future[Any]:
        def run() -> Any:
            try:
                return function(*args, **named)
            except LossError:
                raise BrokenExecutor from None

        return super().submit(run)


class LossError(Exception):
    """A worker is gone."""


@contextmanager
def open_threads() -> Iterator[Executor]:
    with FragileExecutor(2) as executor:
        yield executor


def kill_on(deadly: list[int]) -> Any:
    def double(number: int) -> int:
        if number in deadly:
            deadly.remove(number)
            raise LossError
        return 2 * number

    return double


def test_results_come_in_order_and_a_loss_is_told_and_done_again() -> None:
    told: list[str] = []
    assert list(map_in_order(kill_on([2, 2]), range(6), open_threads, on_loss=told.append)) == [0, 2, 4, 6, 8, 10]
    assert told == ["a worker process was killed; what it was doing is done again, from part 3"] * 2


def test_what_kills_every_worker_ends_in_a_sentence() -> None:
    results = map_in_order(kill_on([1] * 9), range(3), open_threads)
    assert next(results) == 0
    with pytest.raises(WorkerLostError, match="killed 3 times in a row, the last before part 2") as error:
        list(results)
    assert error.value.hint


def test_an_error_is_raised_at_its_turn() -> None:
    def refuse(number: int) -> int:
        if number:
            raise LoadError(f"no {number}", hint="a hint")
        return number

    results = map_in_order(refuse, range(3), open_threads)
    assert next(results) == 0
    with pytest.raises(LoadError, match="no 1"):
        next(results)


def end_worker(number: int) -> int:
    """Kill the process that runs this, once: a file says that it has been done."""
    mark = Path(os.environ["MARK"])
    if number == 1 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


SCRIPT = """
import sys, time
sys.path.insert(0, {folder!r})
from test_workers import end_worker, sleep_long
from evalstore.workers import map_in_order, open_processes
if __name__ == "__main__":
    function = {{"kill": end_worker, "sleep": sleep_long}}[sys.argv[1]]
    print(list(map_in_order(function, range(4), open_processes(2), on_loss=print)), flush=True)
"""


def sleep_long(number: int) -> int:
    Path(os.environ["MARK"] + str(number)).write_text(str(os.getpid()))
    time.sleep(600)
    return number


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("MARK", str(tmp_path / "mark"))
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(folder=str(Path(__file__).parent)))
    return lambda word: subprocess.Popen(
        [sys.executable, script, word], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.slow
@pytest.mark.process
def test_a_killed_process_costs_what_it_was_doing(start: Any) -> None:
    out, err = start("kill").communicate(timeout=60)
    assert out.splitlines()[-1] == "[0, 1, 2, 3]", err
    assert out.startswith("a worker process was killed")


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_no_worker_outlives_its_parent(how: signal.Signals, start: Any, tmp_path: Path) -> None:
    process = start("sleep")
    marks = [tmp_path / "mark0", tmp_path / "mark1"]
    wait_until(lambda: all(mark.exists() and mark.read_text() for mark in marks))
    process.send_signal(how)
    process.communicate(timeout=30)
    wait_until(lambda: not any(Path(f"/proc/{mark.read_text()}").exists() for mark in marks))


def wait_until(what: Any) -> None:
    end = time.monotonic() + 30
    while not what():
        assert time.monotonic() < end
        time.sleep(0.05)
