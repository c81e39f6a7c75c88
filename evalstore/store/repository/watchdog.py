"""Ends a git that can never answer, as before a FIFO, never a slow one: only idle time counts."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# States of a process that works, waits for a disk or is stopped (proc(5), ps(1)); in the others it
# waits for an event.
_BUSY = frozenset("RDUT")


@dataclass(slots=True)
class IdleWatch:
    """Watches a process and its children: idle means no work and no disk for `limit` s.

    A busy machine, a slow disk or a suspended computer does not make a process idle.
    """

    pid: int
    limit: float
    _idle: float = 0.0
    _last: Any = field(default=None)

    @property
    def step(self) -> float:
        """Seconds until the next look."""
        return min(1.0, self.limit / 4)  # so that a process gets four looks before it is given up

    def look(self) -> bool:
        """Return whether the process has been idle for too long; call it once per step."""
        now = _measure(self.pid)
        # Steps are counted, not the clock: time in which this process, too, was stopped is nobody's
        # fault.
        self._idle = self._idle + self.step if now is not None and now == self._last else 0.0
        self._last = now
        return self._idle >= self.limit


def wait_for_output(process: subprocess.Popen[bytes], limit: float) -> bool:
    """Wait for a process's output or end; False if it is idle for `limit` seconds."""
    poll = select.poll()
    poll.register(process.stdout, select.POLLIN)  # type: ignore[arg-type]  # a pipe
    watch = IdleWatch(process.pid, limit)
    while not poll.poll(watch.step * 1000):
        if watch.look():
            return False
    return True


def read_output(process: subprocess.Popen[bytes], limit: float) -> tuple[bytes, bytes] | None:
    """Return a process's entire output; None if it was idle for `limit` s, and killed."""
    watch = IdleWatch(process.pid, limit)
    while True:
        try:
            return process.communicate(timeout=watch.step)
        except subprocess.TimeoutExpired:
            if watch.look():
                break
    _kill(process)
    with suppress(subprocess.TimeoutExpired):
        process.communicate(timeout=5.0)  # for the pipes of a killed process to end
    return None


def _kill(process: subprocess.Popen[bytes]) -> None:
    # Its children are found before it ends, and killed after it: a parent that outlived them would
    # go on without them, and a surviving child would keep the pipes open.
    children = list(_list_family(process.pid))[1:]
    process.kill()
    for pid in children:
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def _measure(pid: int) -> object:
    """Return what changes with any work of a process or its children; None if one is busy."""
    if not Path("/proc/self/stat").exists():
        return _measure_by_ps(pid)
    found = []
    for member in _list_family(pid):
        for task in _list_tasks(member):
            with suppress(OSError):
                # After the name, which may contain spaces: the state, then numbers; 11 and 12 are
                # processor time.
                fields = (task / "stat").read_text().rpartition(")")[2].split()
                if fields[0] in _BUSY:
                    return None
                status = (task / "status").read_text().splitlines()
                switches = [line for line in status if "ctxt_switches" in line]
                found.append((task.name, fields[11], fields[12], *switches))
    return found


def _measure_by_ps(pid: int) -> object:
    # If there is no /proc: macOS and the BSDs have this program there.
    argv = ["/bin/ps", "-o", "state=,time=", "-p", str(pid)]
    done = subprocess.run(argv, capture_output=True, check=False)  # noqa: S603  # words of ours
    return None if done.stdout.strip()[:1].decode("ascii", "replace") in _BUSY else done.stdout


def _list_family(pid: int) -> Iterator[int]:
    yield pid
    for task in _list_tasks(pid):
        children = ""
        with suppress(OSError):
            children = (task / "children").read_text()
        for child in children.split():
            yield from _list_family(int(child))


def _list_tasks(pid: int) -> list[Path]:
    """Return the folders of a process's threads; none if it has just ended."""
    with suppress(OSError):
        return sorted(Path(f"/proc/{pid}/task").iterdir())
    return []
