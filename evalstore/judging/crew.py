"""A pool of threads over one iterator: reads items as they are needed, and stops at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Generic, TypeVar

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_NAME = "evalstore judging"
_GRACE = 0.5  # seconds that calls under way have to end after a stop


@dataclass(slots=True)
class WorkerPool(Generic[_Item, _Result]):
    """Up to `size` threads that do `work`; `cleanup` runs after the last one, `stop` is set to end them early."""

    work: Callable[[_Item], _Result]
    cleanup: Callable[[], None]
    size: int
    stop: threading.Event
    _tasks: SimpleQueue[tuple[_Item] | None] = field(default_factory=SimpleQueue)
    _results: SimpleQueue[tuple[_Item, _Result | Exception]] = field(default_factory=SimpleQueue)
    _threads: list[threading.Thread] = field(default_factory=list)

    def map_unordered(self, items: Iterable[_Item]) -> Generator[tuple[_Item, _Result], None, None]:
        """Yield each item with its result, in the order of completion; an exception of `work` is raised here.

        At most `2 * size` items are in memory. The caller closes the generator, or reads it to its end.
        """
        pending = 0
        try:
            for item in items:
                if pending == 2 * self.size:
                    yield self._next_result()
                    pending -= 1
                self._submit(item)
                pending += 1
            for _ in range(pending):
                yield self._next_result()
        except BaseException:
            self.stop.set()
            raise
        finally:
            self._shut_down()

    def _submit(self, item: _Item) -> None:
        self._tasks.put((item,))
        if len(self._threads) < self.size:
            # Daemons: nothing interrupts a thread that waits for a model, and the process must not wait for it either.
            self._threads.append(threading.Thread(target=self._run_worker, name=_NAME, daemon=True))
            self._threads[-1].start()

    def _next_result(self) -> tuple[_Item, _Result]:
        item, result = self._results.get()
        if isinstance(result, Exception):
            raise result
        return item, result

    def _run_worker(self) -> None:
        while (task := self._tasks.get()) is not None and not self.stop.is_set():
            (item,) = task
            try:
                self._results.put((item, self.work(item)))
            except Exception as error:  # noqa: BLE001  # raised again where the results are taken
                self._results.put((item, error))

    def _shut_down(self) -> None:
        for _ in self._threads:
            self._tasks.put(None)
        # The cleanup waits for the last worker, the caller after a stop only a moment.
        joiner = threading.Thread(target=self._join_workers, name=_NAME, daemon=True)
        joiner.start()
        joiner.join(_GRACE if self.stop.is_set() else None)

    def _join_workers(self) -> None:
        for thread in self._threads:
            thread.join()
        self.cleanup()
