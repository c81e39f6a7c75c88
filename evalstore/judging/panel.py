"""Answers the judges of one piece of work: what is kept is read, what is missing is noted, then asked all at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from evalstore.errors import Place, RefusedError, UsageError
from evalstore.judging.asking import ask_all
from evalstore.judging.cache import Cache
from evalstore.judging.endpoint import Endpoint
from evalstore.judging.plan import Plan, Spool
from evalstore.model import Call, Reply
from evalstore.text import printable

_FOLDER, _FILE = "evalstore", "replies.db"

NOT_KEPT = Reply(problem="no reply is kept, and none was asked for")

# Told of the plan before the first call, and then of every reply.
Progress = Callable[[Plan], AbstractContextManager[Callable[[Reply], None]]]


def _silent(_: Plan) -> AbstractContextManager[Callable[[Reply], None]]:
    return nullcontext(lambda _: None)


@dataclass(frozen=True, slots=True)
class Judges:
    """How judges are answered: from the replies that are kept in `cache`, and by an endpoint if there is one.

    `model` is what the run says of a judge's model where neither check nor judge does; `cache` None is the file in the
    repository's git directory; more than `max_calls` missing replies are refused before the first is asked for. What
    makes no sense is a `UsageError`.
    """

    endpoint: Endpoint | None = None
    model: Mapping[str, Any] = field(default_factory=dict)
    cache: Path | None = None
    max_calls: int | None = None
    progress: Progress = _silent

    def __post_init__(self) -> None:
        name = self.model.get("id", "")
        if not (isinstance(name, str) and name.isprintable() and name == name.strip()):
            raise UsageError(f"{printable(repr(name))} is no name of a model for judges")


@dataclass(slots=True)
class Panel:
    """The judges at work: `kept` counts the answers that nobody had to be asked for."""

    judges: Judges
    replies: Callable[[], Cache]
    missing: Spool
    kept: int = 0
    failed: dict[str, str] = field(default_factory=dict)

    def ask(self, call: Call) -> Reply:
        """Return the reply that is kept, or why there is none; the call is then noted as missing."""
        if (reply := self.find(call)) is not None:
            return reply
        self.missing.note(call)
        return NOT_KEPT

    def find(self, call: Call) -> Reply | None:
        """Return the reply that is kept, or why its call failed; None where nobody was asked yet."""
        if (reply := self.replies().get(call)) is not None:
            self.kept += 1
            return reply
        return Reply(problem=self.failed[call.key]) if call.key in self.failed else None

    def plan(self) -> Plan:
        """Return what would be asked."""
        return self.missing.plan(kept=self.kept)

    @property
    def waiting(self) -> bool:
        """Whether something is missing and there is somebody to ask."""
        return bool(self.missing) and self.judges.endpoint is not None

    def gather(self) -> None:
        """Ask for what is missing, all at once; what fails for good is not asked for again.

        Raises `RefusedError` before the first call where that would be too many, or their replies could not be kept.
        """
        if self.judges.endpoint is None:
            return
        plan, limit = self.plan(), self.judges.max_calls
        if limit is not None and plan.calls > limit:
            raise RefusedError(
                f"{plan.calls:,} judge calls are missing, more than --max-calls {limit:,}; none was made",
                hint="raise it, or go on with --offline",
            )
        self.replies().ready()
        with self.judges.progress(plan) as told:
            self.failed |= ask_all(self.missing, self.judges.endpoint, self.replies(), told=told)
        self.missing.clear()
        self.kept = 0

    def notes(self) -> Iterator[str]:
        """Say which replies there are not, and why."""
        if self.missing:
            yield (
                f"judge replies that are missing: {len(self.missing):,}; their checks are unscored "
                "until an endpoint answers (--judge-url)"
            )
        if self.failed:
            first = next(iter(self.failed.values()))
            yield (
                f"judge calls that failed: {len(self.failed):,}; their checks are unscored, "
                f"and the same command asks them again (the first: {first})"
            )


@contextmanager
def seated(judges: Judges, common: Callable[[], Path]) -> Iterator[Panel]:
    """Sit the judges down; the replies are opened when the first is asked for.

    They lie in the git directory that `common` returns, where the judges name no file of their own.
    """
    with ExitStack() as opened:

        @cache
        def replies() -> Cache:
            return opened.enter_context(Cache(judges.cache or _own(common() / _FOLDER)))

        yield Panel(judges, replies, opened.enter_context(Spool()))


def _own(folder: Path) -> Path:
    if folder.is_symlink():  # a stranger's .git must not lead our writing elsewhere
        raise RefusedError(
            "is a link, so no replies are kept there",
            place=Place(str(folder)),
            hint="remove it, or name a file for the replies (--cache)",
        )
    return folder / _FILE
