"""Answers for a job's judges: reads cached replies, notes missing ones, then asks all at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from evalstore.arguments import require_arguments
from evalstore.errors import RefusedError, UsageError
from evalstore.model import JudgeCall, JudgeReply
from evalstore.model.judge import NO_REPLY
from evalstore.scoring.judging.call_queue import CallPlan, CallQueue
from evalstore.text import make_printable

if TYPE_CHECKING:  # most sessions ask no judge and look up no reply
    from evalstore.scoring.judging.endpoint import Endpoint
    from evalstore.scoring.judging.reply_cache import ReplyCache

_Graded = TypeVar("_Graded")
_CACHE = "evalstore/replies.db"  # in the git directory

# Called with the plan before the first call; the context it returns gets every reply.
Progress = Callable[[CallPlan], AbstractContextManager[Callable[[JudgeReply], None]]]


# Wraps the iteration over what is graded; the number is about how many there are.
Watch = Callable[[Iterable[Any], int], Iterable[Any]]


def _show_no_progress(_: CallPlan) -> AbstractContextManager[Callable[[JudgeReply], None]]:
    return nullcontext(lambda _: None)


def watch_nothing(items: Iterable[Any], _: int) -> Iterable[Any]:
    """Return the items as they are, without a progress bar."""
    return items


@dataclass(frozen=True, slots=True)
class Judges:
    """Where judges' replies come from: the cache, and an endpoint if there is one.

    Attributes:
        endpoint: Where to ask for replies that the cache lacks; None asks nobody.
        model: The model of judges and checks that name none, as `{"id": …}`.
        cache: The file of replies; None: the one in the repository's git directory.
        fresh: Whether to ask again for kept replies; the new ones are kept, too.
        max_calls: The most calls to make; if more are needed, none is made.
        progress: Shows the plan of calls, and each reply.
        watch: Wraps the iteration over everything that is graded, as a progress bar does.
        offline: Whether checks may stay unscored because a model or an endpoint is missing.

    Raises:
        UsageError: The name of the model is not valid.

    Examples:
        >>> Judges(Endpoint("http://localhost:8000/v1"), model={"id": "my-model"}).offline
        False
    """

    endpoint: Endpoint | None = None
    model: Mapping[str, Any] = field(default_factory=dict)
    cache: Path | None = None
    fresh: bool = False
    max_calls: int | None = None
    progress: Progress = _show_no_progress
    watch: Watch = watch_nothing
    offline: bool = False

    def __post_init__(self) -> None:
        given = {name: getattr(self, name) for name in Judges.__annotations__}
        require_arguments(Judges, given)
        name = self.model.get("id", "")
        if not (isinstance(name, str) and name.isprintable() and name == name.strip()):
            raise UsageError(f"{make_printable(repr(name))} is not a name of a model for judges")


def refuse_large_plan(judges: Judges, plan: CallPlan, made: int) -> None:
    """Raise `RefusedError` if a plan, with the calls `made` so far, is above the limit."""
    if judges.max_calls is None or made + plan.calls <= judges.max_calls:
        return
    missing = f"{plan.calls:,} judge calls are missing, more than --max-calls {judges.max_calls:,}"
    done = f", as {made:,} were made; their replies are kept" if made else "; none was made"
    raise RefusedError(missing + done, hint="raise --max-calls, or continue with --offline")


@dataclass(slots=True)
class JudgeUsage:
    """The tokens of a job's replies, as endpoints counted them, and the cost of new ones."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: Decimal = Decimal(0)

    def add_reply(self, reply: JudgeReply) -> None:
        """Count the tokens of a reply."""
        self.prompt_tokens += reply.prompt_tokens or 0
        self.completion_tokens += reply.completion_tokens or 0


@dataclass
class JudgeSession:
    """The judges of one job; `reuse_count` replies are older than the job, `new_count` newer.

    `asked` counts the calls made. There may be several rounds, as a prompt may contain a reply.
    """

    judges: Judges
    replies: Callable[[], ReplyCache]
    missing: CallQueue
    reuse_count: int = 0
    new_count: int = 0
    usage: JudgeUsage = field(default_factory=JudgeUsage)
    failures: dict[str, str] = field(default_factory=dict)
    asked: int = 0
    _shared: set[str] = field(default_factory=set)  # keys of calls whose replies are counted once
    _last: int | None = None  # number of the last reply to use; None: the last at the start

    def ask(self, call: JudgeCall, *, wanted: Collection[str] = ()) -> JudgeReply:
        """Return the cached reply, or why there is none; of several, one in `wanted`.

        A call without a reply is noted as missing. If there is an endpoint to ask, a wanted reply
        that cannot be parsed counts as missing, too.
        """
        if wanted and self.judges.endpoint is not None:
            kept = self.replies().find_replies(call)
            wanted = {one.digest for one in kept if one.digest in wanted and call.is_readable(one)}
        if (reply := self.use_reply(call, wanted=wanted)) is not None:
            return reply
        self.missing.add_call(call)
        return NO_REPLY

    def note_missing(self, calls: Iterable[JudgeCall]) -> None:
        """Note calls as missing, except those that failed for good, which are not asked again."""
        for call in calls:
            if call.key not in self.failures:
                self.missing.add_call(call)

    def use_reply(
        self,
        call: JudgeCall,
        *,
        wanted: Collection[str] = (),
        served: Collection[str] | None = None,
    ) -> JudgeReply | None:
        """Return the cached reply, or why its call failed; None if it was not asked yet.

        Of several replies, return the first whose digest is in `wanted`, whatever it says; else
        the newest that can be parsed. With `fresh`, only replies since the start count. If none
        can be parsed, the newest is returned if it came since the start or nobody can be asked;
        else the result is None. Only replies by a model in `served` count, unless that is None.
        """
        start = self.start
        found = self.replies().find_replies(call)
        kept = [one for one in found if served is None or one.served in served]
        wanted_reply = next((one for one in kept if one.digest in wanted), None)
        if reply := wanted_reply or self._choose_reply(call, kept):
            if call.key not in self._shared:
                self.reuse_count += reply.number <= start
                self.new_count += reply.number > start
                self.usage.add_reply(reply)
            if call.next_prompt:  # several outputs may have it in common
                self._shared.add(call.key)
            return reply
        return JudgeReply(problem=self.failures[call.key]) if call.key in self.failures else None

    def _choose_reply(self, call: JudgeCall, kept: Collection[JudgeReply]) -> JudgeReply | None:
        newest_first = self._list_counted(kept)
        readable = [*filter(call.is_readable, newest_first)]
        if readable:
            # Whoever asks at the same time may keep another reply to a first prompt: one whose
            # next prompt has a reply is asked nothing again.
            followed = (one for one in readable if self._is_followed(call, one))
            return next(followed, readable[0])
        newest = next(iter(newest_first), None)
        can_ask = self.judges.endpoint is not None and (
            newest is None or newest.number <= self.start
        )
        return None if can_ask else newest

    def _is_followed(self, call: JudgeCall, reply: JudgeReply) -> bool:
        """Whether what is asked next with this reply has one that can be read."""
        following = call.follow(reply)
        if following is None:
            return False
        kept = self._list_counted(self.replies().find_replies(following))
        return any(map(following.is_readable, kept))

    def _list_counted(self, kept: Collection[JudgeReply]) -> list[JudgeReply]:
        """Return the replies that count, the newest first."""
        # What other processes keep while outputs are graded may not change an answer: it counts
        # after the next asking.
        last = self.start if self._last is None else self._last
        since = self.start if self.judges.fresh else 0
        return [one for one in reversed(tuple(kept)) if since < one.number <= last]

    @cached_property
    def start(self) -> int:
        """The number of the last reply that was kept before this job."""
        return self.replies().find_last_number()

    def plan_calls(self) -> CallPlan:
        """Return the calls that would be made."""
        return self.missing.plan_calls(reuse_count=self.reuse_count)

    @property
    def can_ask(self) -> bool:
        """Whether replies are missing and an endpoint can be asked."""
        return bool(self.missing) and self.judges.endpoint is not None

    def ask_missing(self) -> None:
        """Ask for all missing replies; what fails for good is not asked for again.

        Raises `RefusedError` before the first call where that would be too many, or their replies
        could not be kept.
        """
        if self.judges.endpoint is None:
            return
        from evalstore.scoring.judging.dispatch import ask_all

        # Nothing is paid for before the plan is allowed and the cache can be written.
        plan, cost = self.plan_calls(), self.usage.cost
        refuse_large_plan(self.judges, plan, self.asked)
        self.replies().check_writable()

        def note_reply(reply: JudgeReply) -> None:
            nonlocal cost
            cost += reply.cost or 0
            on_reply(reply)

        with self.judges.progress(plan) as on_reply:
            # Replies kept before the start did not answer these calls; later ones do, whoever
            # asked.
            self.failures |= ask_all(
                self.missing,
                self.judges.endpoint,
                self.replies(),
                since=self.start,
                on_reply=note_reply,
            )
        self._last = self.replies().find_last_number()
        self.asked += len(self.missing) - self.missing.follower_count
        # The caller grades again: replies are now in the cache, failed calls in `failures`.
        self.missing.clear()
        self.reuse_count = self.new_count = 0
        self._shared.clear()
        self.usage = JudgeUsage(cost=cost)

    def repeat_until_answered(self, grade: Callable[[], _Graded]) -> _Graded:
        """Call `grade` until no judge is left to ask, and return its last result.

        Each call of `grade` starts from the beginning and notes the replies that it lacks; all of
        them are asked for after it, so the loop ends.
        """
        graded = grade()
        while self.can_ask:
            self.ask_missing()
            graded = grade()
        return graded

    def refuse_missing(self, hint: str) -> None:
        """Raise `RefusedError` if replies are still missing."""
        if self.missing:
            count = f"judge replies that are missing: {len(self.missing):,}"
            raise RefusedError(f"{count}, and no judge was asked", hint=hint)

    def ask_again(self, call: JudgeCall) -> None:
        """Note a call as missing although the cache has replies to it, at most once in a job."""
        if call.key in self.failures or any(
            one.number > self.start for one in self.replies().find_replies(call)
        ):
            return
        self.missing.add_call(call)

    def find_retirement(self, model: str) -> date | None:
        """Return the day on which a model is switched off, if the endpoint lists it."""
        if self.judges.endpoint is None:
            return None
        from evalstore.scoring.judging.client import JudgeClient

        with closing(JudgeClient(self.judges.endpoint)) as client:
            return client.find_shutdown_dates().get(model)

    def list_failure_notes(self) -> Iterator[str]:
        """Yield a note about calls that failed."""
        if self.failures:
            first = next(iter(self.failures.values()))
            count = f"judge calls that failed: {len(self.failures):,}"
            yield f"{count}, and the same command asks again (the first: {first})"

    def list_usage_notes(self) -> Iterator[str]:
        """Yield a note on the replies' tokens, and on the cost of new ones, if known."""
        usage = self.usage
        if usage.prompt_tokens or usage.completion_tokens:
            cost = f"; those asked now cost {usage.cost.normalize():f}" if usage.cost else ""
            yield (
                f"tokens of the judges' replies: {usage.prompt_tokens:,} read, "
                f"{usage.completion_tokens:,} written{cost}"
            )

    def list_notes(self) -> Iterator[str]:
        """Yield notes about replies that are missing, and why."""
        if self.missing:
            yield (
                f"judge replies that are missing: {len(self.missing):,}; their checks are unscored "
                "until an endpoint answers (--judge-url)"
            )
        if self.failures:
            first = next(iter(self.failures.values()))
            yield (
                f"judge calls that failed: {len(self.failures):,}; their checks are unscored, "
                f"and the same command asks again (the first: {first})"
            )


@contextmanager
def open_session(judges: Judges, common: Path) -> Iterator[JudgeSession]:
    """Open the judges for one job; the cache is opened at the first look-up of a reply.

    The cache is in the git directory `common`, unless `judges` names a file.
    """
    with ExitStack() as opened:

        @cache
        def replies() -> ReplyCache:
            from evalstore.scoring.judging.reply_cache import ReplyCache

            return opened.enter_context(ReplyCache(_locate_cache(judges, common)))

        yield JudgeSession(judges, replies, opened.enter_context(CallQueue()))


def _locate_cache(judges: Judges, common: Path) -> Path:
    if judges.cache is None:
        return common / _CACHE
    file = Path(judges.cache)
    folder = file.parent
    # A link to its folder is the user's own; one in a git directory would be anybody's.
    return (folder.resolve() if folder.is_symlink() else folder) / file.name
