"""A process that works, waits for a disk or is stopped is never given up; one that can never answer is."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from evalstore.store.repository import watchdog
from evalstore.store.repository.watchdog import IdleWatch, read_output, wait_for_output

LIMIT = 0.4


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


def start(script: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        ["/bin/sh", "-c", script], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


@pytest.fixture
def stopped(pipe: Path) -> Iterator[subprocess.Popen[bytes]]:
    process = start(f"echo begun; exec cat {pipe}")
    assert process.stdout
    assert process.stdout.readline() == b"begun\n"
    os.kill(process.pid, signal.SIGSTOP)
    yield process
    process.kill()
    process.communicate()


def test_one_that_works_for_longer_than_the_limit_is_waited_for() -> None:
    process = start("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo done")
    assert read_output(process, 0.05) == (b"done\n", b"")


def test_one_that_moves_between_two_sleeps_is_waited_for() -> None:
    process = start("for i in 1 2 3 4 5 6; do sleep 0.2; done; echo done")
    assert read_output(process, LIMIT) == (b"done\n", b"")


def test_one_whose_child_waits_for_a_fifo_is_ended_with_it(pipe: Path) -> None:
    process = start(f"echo begun; cat {pipe}; echo done")
    assert read_output(process, LIMIT) is None
    assert process.returncode == -signal.SIGKILL
    assert is_unread(pipe)


def is_unread(pipe: Path) -> bool:
    """Whether nobody reads a pipe any more; a killed process may take a moment to end."""
    for _ in range(200):
        try:
            os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
        except OSError:
            return True
        time.sleep(0.05)
    return False


def test_one_that_is_stopped_is_not_idle(stopped: subprocess.Popen[bytes]) -> None:
    watch = IdleWatch(stopped.pid, LIMIT)
    assert not any(watch.look() for _ in range(50))


def test_output_is_waited_for_as_long_as_somebody_works(pipe: Path) -> None:
    process = start("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo done")
    assert wait_for_output(process, 0.05)
    process.communicate()
    silent = start(f"exec cat {pipe}")
    assert not wait_for_output(silent, LIMIT)
    silent.kill()
    silent.communicate()


def test_without_proc_ps_tells(pipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not Path("/bin/ps").exists():
        pytest.skip("there is no ps here")
    monkeypatch.setattr(watchdog, "_measure", watchdog._measure_by_ps)
    assert read_output(start("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo done"), 0.05) == (b"done\n", b"")
    assert read_output(start(f"exec cat {pipe}"), LIMIT) is None
