"""Asks many calls at once: retries what may succeed, stops when nothing will, and caches each reply as it comes."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, replace

from evalstore.errors import EvalstoreError, Place
from evalstore.judging.cache import ReplyCache
from evalstore.judging.client import JudgeClient
from evalstore.judging.crew import WorkerPool
from evalstore.judging.endpoint import Endpoint
from evalstore.judging.response import CallFailure, FailureEffect
from evalstore.model import JudgeCall, JudgeReply

Failures = dict[str, str]  # the key of a call -> why it failed for good, in one clause

_UNREACHED_RETRIES = 2  # at most, while an endpoint has never responded: most likely nothing is there
_JITTER = 0.25  # of a pause at most, so that calls refused together do not come back together
_RETRY_HINT = "the replies received are kept: mend it and run again, or go on with --offline"


def ask_all(
    calls: Iterable[JudgeCall],
    endpoint: Endpoint,
    cache: ReplyCache,
    *,
    told: Callable[[JudgeReply], None] = lambda _: None,
) -> Failures:
    """Ask every call that the cache lacks, and return the problem of each that failed for good.

    `told` gets the result of each finished call, in this thread. Raises `EvalstoreError` when all further calls would
    fail too. A reply is in the cache the moment it comes, whatever ends this.
    """
    failures: Failures = {}
    problems: dict[str, str] = {}  # each text once in memory, however many calls have it
    client, stop = JudgeClient(endpoint), threading.Event()
    watch = _FailureWatch(client)
    pool = WorkerPool[JudgeCall, JudgeReply | CallFailure](
        lambda call: _ask_with_retries(call, client, cache, stop), client.close, endpoint.concurrency, stop
    )
    with closing(pool.map_unordered(calls)) as results:
        for call, result in results:
            watch.note_result(result)
            if isinstance(result, CallFailure):
                failures[call.key] = problems.setdefault(result.problem, result.problem)
            told(JudgeReply(problem=result.problem) if isinstance(result, CallFailure) else result)
    return failures


def pause(endpoint: Endpoint, attempt: int, asked: float | None) -> float:
    """Return the seconds until the next try; `attempt` counts from 0, `asked` is the pause that the endpoint wants."""
    own = endpoint.first_wait * 2.0 ** min(attempt, 30)
    return min(asked or own, endpoint.longest_wait) * random.uniform(1, 1 + _JITTER)  # noqa: S311  # no secret


def _ask_with_retries(
    call: JudgeCall, client: JudgeClient, cache: ReplyCache, stop: threading.Event
) -> JudgeReply | CallFailure:
    # Another process may have asked it meanwhile.
    if (reply := cache.get(call)) is not None:
        return reply
    tries = 1
    while isinstance(result := client.ask_once(call), CallFailure):
        retries = client.endpoint.retries if client.has_response else min(client.endpoint.retries, _UNREACHED_RETRIES)
        if result.effect is not FailureEffect.RETRY or tries > retries:
            return replace(result, problem=f"{result.problem}; tried {tries} times") if tries > 1 else result
        if stop.wait(pause(client.endpoint, tries - 1, result.wait)):
            return result
        tries += 1
    cache.put(call, result)
    return result


@dataclass(slots=True)
class _FailureWatch:
    """Decides from the results so far whether to go on."""

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
        # Once a model has replied, a refused prompt says nothing of the next one.
        self._failures_in_row += result.effect is FailureEffect.RETRY or not has_reply
        if self._failures_in_row >= self.client.endpoint.patience:
            raise self._make_error(
                f"{self._failures_in_row} calls in a row failed; the last: {result.problem}", result.hint
            )

    def _make_error(self, message: str, hint: str | None) -> EvalstoreError:
        hint = f"{hint}; {_RETRY_HINT}" if hint else _RETRY_HINT
        return EvalstoreError(message, place=Place(self.client.endpoint.base), hint=hint)
