"""Asks many calls at once: again where that may help, no more where nothing would, each reply kept as it comes."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, replace

from evalstore.errors import EvalstoreError, Place
from evalstore.judging.cache import Cache
from evalstore.judging.crew import WorkerPool
from evalstore.judging.endpoint import Endpoint, JudgeClient
from evalstore.judging.trouble import FailureEffect, Trouble
from evalstore.model import Call, Reply

Failures = dict[str, str]  # the key of a call -> why it failed for good, in one clause

_STRANGER = 2  # retries at most while an endpoint has never answered: most likely nobody is there
_JITTER = 0.25  # of a pause at most, so that those who were refused together do not come back together
_AGAIN = "the replies received are kept: mend it and run again, or go on with --offline"


def ask_all(
    calls: Iterable[Call], endpoint: Endpoint, cache: Cache, *, told: Callable[[Reply], None] = lambda _: None
) -> Failures:
    """Ask every call that the cache lacks, and return why some failed for good; of those the cache keeps nothing.

    `told` hears of each finished call, in this thread. Raises `EvalstoreError` when all further calls would fail too.
    A reply is in the cache the moment it comes, whatever ends this.
    """
    failures: Failures = {}
    words: dict[str, str] = {}  # each problem once in memory, however many calls have it
    line, stopped = JudgeClient(endpoint), threading.Event()
    patience = _Patience(line)
    crew = WorkerPool[Call, Reply | Trouble](
        lambda call: _settle(call, line, cache, stopped), line.close, endpoint.concurrency, stopped
    )
    with closing(crew.map_unordered(calls)) as results:
        for call, result in results:
            patience.weigh(result)
            if isinstance(result, Trouble):
                failures[call.key] = words.setdefault(result.problem, result.problem)
            told(Reply(problem=result.problem) if isinstance(result, Trouble) else result)
    return failures


def pause(endpoint: Endpoint, attempt: int, asked: float | None) -> float:
    """Return the seconds before the next try, after `attempt` earlier ones (from 0): what the endpoint asked, if so."""
    own = endpoint.first_wait * 2.0 ** min(attempt, 30)
    return min(asked or own, endpoint.longest_wait) * random.uniform(1, 1 + _JITTER)  # noqa: S311  # no secret


def _settle(call: Call, line: JudgeClient, cache: Cache, stopped: threading.Event) -> Reply | Trouble:
    if (found := cache.get(call)) is not None:  # another process may have asked meanwhile
        return found
    tries = 1
    while isinstance(result := line.ask_once(call), Trouble):
        retries = line.endpoint.retries if line.has_response else min(line.endpoint.retries, _STRANGER)
        if result.then is not FailureEffect.AGAIN or tries > retries:
            return replace(result, problem=f"{result.problem}; tried {tries} times") if tries > 1 else result
        if stopped.wait(pause(line.endpoint, tries - 1, result.wait)):
            return result
        tries += 1
    cache.put(call, result)
    return result


@dataclass(slots=True)
class _Patience:
    """Decides from the results so far whether to go on."""

    line: JudgeClient
    _in_row: int = 0

    def weigh(self, result: Reply | Trouble) -> None:
        """Note a result; raise when there is no use in going on."""
        if isinstance(result, Reply):
            self._in_row = 0
            return
        answered = self.line.has_reply
        nobody_there = result.then is FailureEffect.AGAIN and not self.line.has_response
        if result.then is FailureEffect.STOP or nobody_there or (result.then is FailureEffect.STOP_IF_FIRST and not answered):
            raise self._error(result.problem, result.hint)
        # A prompt that is refused says nothing of the next one, once something has been answered.
        self._in_row += result.then is FailureEffect.AGAIN or not answered
        if self._in_row >= self.line.endpoint.patience:
            raise self._error(f"{self._in_row} calls in a row failed; the last: {result.problem}", result.hint)

    def _error(self, message: str, hint: str | None) -> EvalstoreError:
        hint = f"{hint}; {_AGAIN}" if hint else _AGAIN
        return EvalstoreError(message, place=Place(self.line.endpoint.base), hint=hint)
