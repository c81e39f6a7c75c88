"""Runs a function over many things in other processes, in order; a process that is killed costs what it was doing."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import wait as wait_for_end
from typing import TypeVar

from evalstore.errors import EvalstoreError

_LARGE_INPUT = 32 << 20  # bytes from which on other processes are worth their start

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

OpenExecutor = Callable[[], AbstractContextManager[Executor]]

_PATIENCE = 3  # kills in a row without a result between them
# `fork` would copy locks and threads of the caller; the fork server was started before there were any.
_METHOD = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"


class WorkerLostError(EvalstoreError):
    """Worker processes are killed again and again."""


@dataclass(frozen=True, slots=True)
class JobOptions:
    """How many processes work at one time (None: as the input is worth), and who hears of one that was killed."""

    jobs: int | None = None
    on_loss: Callable[[str], None] = lambda _: None

    def choose_jobs(self, size: int) -> int:
        """Return how many processes an input of so many bytes gets: all cores where it is large, else one."""
        return self.jobs or (count_cores() if size >= _LARGE_INPUT else 1)

    def map_in_processes(
        self, function: Callable[[_Item], _Result], items: Sequence[_Item], jobs: int
    ) -> Generator[_Result, None, None]:
        """Yield the result of each item in their order, as `map_in_order` does, from `jobs` processes."""
        with closing(map_in_order(function, items, open_processes(jobs), on_loss=self.on_loss)) as results:
            yield from results


ONE_PROCESS, ANY_JOBS = JobOptions(1), JobOptions()


def count_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_in_order(
    function: Callable[[_Item], _Result],
    items: Sequence[_Item],
    open_executor: OpenExecutor,
    *,
    on_loss: Callable[[str], None] = lambda _: None,
) -> Generator[_Result, None, None]:
    """Yield the result of each item, in their order, whichever worker has it first.

    An exception of `function` is raised at its item's turn. When a worker is killed, `on_loss` is told in a sentence,
    and what had no result yet is done again by new workers; `WorkerLostError` where that happens three times in a row
    without a result between. Closing the generator, and Ctrl-C, end all workers at once.
    """
    _import_once(function)
    done, lost = 0, 0
    while done < len(items):
        try:
            with open_executor() as executor:
                for future in [executor.submit(function, item) for item in items[done:]]:
                    result = _wait(future)
                    done, lost = done + 1, 0
                    yield result
        except BrokenExecutor:
            lost += 1
            if lost == _PATIENCE:
                raise WorkerLostError(
                    f"worker processes were killed {_PATIENCE} times in a row, the last before part {done + 1:,}",
                    hint="most often memory is short: use fewer (--jobs), or smaller parts",
                ) from None
            on_loss(f"a worker process was killed; what it was doing is done again, from part {done + 1:,}")


def _import_once(function: Callable[..., object]) -> None:
    """Have the module of a function imported before workers are forked, not by each: half a second of them."""
    multiprocessing.get_context(_METHOD).set_forkserver_preload([getattr(function, "func", function).__module__])


def open_processes(jobs: int) -> OpenExecutor:
    """Return a function that opens an executor of so many processes on this machine."""

    @contextmanager
    def open_pool() -> Iterator[Executor]:
        context = multiprocessing.get_context(_METHOD)
        executor = ProcessPoolExecutor(jobs, mp_context=context, initializer=_start_worker)
        try:
            yield executor
        finally:
            _end_processes(executor)

    return open_pool


@contextmanager
def open_lasting_processes(jobs: int) -> Iterator[OpenExecutor]:
    """Give what opens an executor of so many processes, the same each time until one of them is killed."""
    with ExitStack() as opened:
        kept: list[Executor] = []

        @contextmanager
        def open_kept() -> Iterator[Executor]:
            if not kept:
                kept.append(opened.enter_context(open_processes(jobs)()))
            try:
                yield kept[0]
            except BrokenExecutor:
                kept.clear()
                raise

        yield open_kept


def _wait(future: Future[_Result]) -> _Result:
    # A wait without a limit cannot be interrupted on every system.
    while True:
        try:
            return future.result(timeout=3600)
        except TimeoutError:
            if future.done():
                raise


def _end_processes(executor: ProcessPoolExecutor) -> None:
    """End all workers at once, whatever they are doing: what they finished has a name, and the rest has none."""
    processes = list((getattr(executor, "_processes", None) or {}).values())
    executor.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.kill()
    for process in processes:
        process.join()


def _start_worker() -> None:
    """Leave Ctrl-C to the process that started this one, and end when that one does, however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        sentinel = parent.sentinel
        threading.Thread(target=lambda: (wait_for_end([sentinel]), os._exit(1)), daemon=True).start()
