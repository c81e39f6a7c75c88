"""Work spread over threads: taken from one iterator as it is needed, and dropped at once when somebody stops."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Generic, TypeVar

_Item = TypeVar("_Item")
_Done = TypeVar("_Done")
_NAME = "evalstore judging"
_GRACE = 0.5  # seconds for what is being done when all is stopped


@dataclass(slots=True)
class Crew(Generic[_Item, _Done]):
    """Up to `size` threads that do `work` and then `leave`; `stopped` is set when what they do is no longer wanted."""

    work: Callable[[_Item], _Done]
    leave: Callable[[], None]
    size: int
    stopped: threading.Event
    _todo: SimpleQueue[tuple[_Item] | None] = field(default_factory=SimpleQueue)
    _done: SimpleQueue[tuple[_Item, _Done | Exception]] = field(default_factory=SimpleQueue)
    _threads: list[threading.Thread] = field(default_factory=list)

    def over(self, items: Iterable[_Item]) -> Generator[tuple[_Item, _Done], None, None]:
        """Yield each item with what came of it, as it comes; an exception of `work` is raised here.

        At most `2 * size` items are in memory. The caller closes the generator, or reads it to its end.
        """
        under_way = 0
        try:
            for item in items:
                if under_way == 2 * self.size:
                    yield self._take()
                    under_way -= 1
                self._give(item)
                under_way += 1
            for _ in range(under_way):
                yield self._take()
        except BaseException:
            self.stopped.set()
            raise
        finally:
            self._dismiss()

    def _give(self, item: _Item) -> None:
        self._todo.put((item,))
        if len(self._threads) < self.size:
            # A daemon, because nothing ends a wait for a model, and nobody waits for that at the end of the process.
            self._threads.append(threading.Thread(target=self._labour, name=_NAME, daemon=True))
            self._threads[-1].start()

    def _take(self) -> tuple[_Item, _Done]:
        item, done = self._done.get()
        if isinstance(done, Exception):
            raise done
        return item, done

    def _labour(self) -> None:
        while (given := self._todo.get()) is not None and not self.stopped.is_set():
            (item,) = given
            try:
                self._done.put((item, self.work(item)))
            except Exception as error:  # noqa: BLE001  # raised again where the results are taken
                self._done.put((item, error))

    def _dismiss(self) -> None:
        for _ in self._threads:
            self._todo.put(None)
        last = threading.Thread(target=self._see_off, name=_NAME, daemon=True)
        last.start()
        last.join(_GRACE if self.stopped.is_set() else None)

    def _see_off(self) -> None:
        for thread in self._threads:
            thread.join()
        self.leave()
