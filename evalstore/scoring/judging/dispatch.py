"""Makes many calls at once: retries what may succeed, stops if none will, caches each reply."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from typing import Generic, TypeVar

from evalstore.errors import EvalstoreError, Place
from evalstore.model import JudgeCall, JudgeReply
from evalstore.scoring.judging.client import JudgeClient
from evalstore.scoring.judging.endpoint import Endpoint
from evalstore.scoring.judging.reply_cache import ReplyCache
from evalstore.scoring.judging.response import CallFailure, FailureEffect

Failures = dict[str, str]  # the key of a call -> why it failed for good, in one clause

_RETRY_HINT = "the replies received are kept: fix it and run again, or continue with --offline"
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_THREAD_NAME = "evalstore judging"


def ask_all(
    calls: Iterable[JudgeCall],
    endpoint: Endpoint,
    cache: ReplyCache,
    *,
    since: int = 0,
    on_reply: Callable[[JudgeReply], None] = lambda _: None,
) -> Failures:
    """Ask every call that the cache lacks, and return the problem of each that failed for good.

    Replies with numbers up to `since` do not count: their calls are asked again. `on_reply` gets
    the result of each finished call, in this thread. Raises `EvalstoreError` when all further calls
    would fail too. Each reply is cached when it arrives, so an interruption loses none.
    """
    failures: Failures = {}
    problems: dict[str, str] = {}  # each text once in memory, however many calls have it
    client, stop = JudgeClient(endpoint), threading.Event()
    watch = _FailureWatch(client)
    pool = WorkerPool[JudgeCall, JudgeReply | CallFailure](
        lambda call: _ask_with_retries(call, client, cache, since, stop),
        client.close,
        endpoint.concurrency,
        stop,
    )
    with closing(pool.map_unordered(calls)) as results:
        for call, result in results:
            watch.note_result(result)
            # Failures are never cached: the next run asks them again.
            if isinstance(result, CallFailure):
                failures[call.key] = problems.setdefault(result.problem, result.problem)
            on_reply(
                JudgeReply(problem=result.problem) if isinstance(result, CallFailure) else result
            )
    return failures


def choose_pause(endpoint: Endpoint, attempt: int, requested: float | None) -> float:
    """Return the seconds until the next try.

    `attempt` counts from 0; `requested` is the wait that the endpoint asked for.
    """
    # Exponential backoff with jitter; the exponent is bounded because a float can overflow.
    own = endpoint.first_wait * 2.0 ** min(attempt, 30)
    # Up to a quarter longer, so that calls refused together are not repeated together.
    spread = random.uniform(1, 1.25)  # noqa: S311  # no secret
    return min(requested or own, endpoint.longest_wait) * spread


def _ask_with_retries(
    call: JudgeCall, client: JudgeClient, cache: ReplyCache, since: int, stop: threading.Event
) -> JudgeReply | CallFailure:
    # Another process may have made this call meanwhile.
    if (reply := cache.get(call, since=since)) is not None:
        return reply
    tries = 1
    while isinstance(result := client.ask_once(call), CallFailure):
        # An endpoint that has never responded probably does not exist.
        retries = (
            client.endpoint.retries if client.has_response else min(client.endpoint.retries, 2)
        )
        if result.effect is not FailureEffect.RETRY or tries > retries:
            return (
                replace(result, problem=f"{result.problem}; tried {tries} times")
                if tries > 1
                else result
            )
        if stop.wait(choose_pause(client.endpoint, tries - 1, result.wait)):
            return result
        tries += 1
    cache.put(call, result)
    return result


@dataclass(slots=True)
class _FailureWatch:
    """Decides from the results so far whether to continue."""

    client: JudgeClient
    _failures_in_row: int = 0

    def note_result(self, result: JudgeReply | CallFailure) -> None:
        """Note a result; raise when further calls would fail too."""
        if isinstance(result, JudgeReply):
            self._failures_in_row = 0
            return
        has_reply = self.client.has_reply
        is_unreachable = result.effect is FailureEffect.RETRY and not self.client.has_response
        if (
            result.effect is FailureEffect.STOP_ALL
            or is_unreachable
            or (result.effect is FailureEffect.STOP_IF_FIRST and not has_reply)
        ):
            raise self._make_error(result.problem, result.hint)
        # Once a model has replied, one refused prompt does not mean that the next one will fail.
        self._failures_in_row += result.effect is FailureEffect.RETRY or not has_reply
        if self._failures_in_row >= self.client.endpoint.patience:
            raise self._make_error(
                f"{self._failures_in_row} calls in a row failed; the last: {result.problem}",
                result.hint,
            )

    def _make_error(self, message: str, hint: str | None) -> EvalstoreError:
        hint = f"{hint}; {_RETRY_HINT}" if hint else _RETRY_HINT
        return EvalstoreError(message, place=Place(self.client.endpoint.base), hint=hint)


@dataclass(slots=True)
class WorkerPool(Generic[_Item, _Result]):
    """Up to `size` threads that do `work`.

    The last runs `cleanup`, and a set `stop` ends them early.
    """

    work: Callable[[_Item], _Result]
    cleanup: Callable[[], None]
    size: int
    stop: threading.Event
    _tasks: SimpleQueue[tuple[_Item] | None] = field(default_factory=SimpleQueue)
    _results: SimpleQueue[tuple[_Item, _Result | Exception]] = field(default_factory=SimpleQueue)
    _threads: list[threading.Thread] = field(default_factory=list)

    def map_unordered(self, items: Iterable[_Item]) -> Generator[tuple[_Item, _Result], None, None]:
        """Yield each item with its result as they complete; `work`'s exceptions are raised.

        At most `2 * size` items are in memory. The caller must read the generator to its end or
        close it.
        """
        pending = 0
        try:
            for item in items:
                # Read no further than twice the threads: the iterator may hold millions of calls.
                if pending == 2 * self.size:
                    yield self._next_result()
                    pending -= 1
                self._submit(item)
                pending += 1
            for _ in range(pending):
                yield self._next_result()
        # An interrupt or a closed generator must stop the threads too.
        except BaseException:
            self.stop.set()
            raise
        finally:
            self._shut_down()

    def _submit(self, item: _Item) -> None:
        self._tasks.put((item,))
        if len(self._threads) < self.size:
            # Daemons: a thread that waits for a model cannot be interrupted, and the process must
            # not wait for it when it ends.
            self._threads.append(
                threading.Thread(target=self._run_worker, name=_THREAD_NAME, daemon=True)
            )
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
        # The cleanup waits for the last worker; after a stop, the caller waits only a moment.
        joiner = threading.Thread(target=self._join_workers, name=_THREAD_NAME, daemon=True)
        joiner.start()
        joiner.join(0.5 if self.stop.is_set() else None)  # seconds for running calls to end

    def _join_workers(self) -> None:
        for thread in self._threads:
            thread.join()
        self.cleanup()
