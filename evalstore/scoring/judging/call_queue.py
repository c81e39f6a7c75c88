"""Keeps the calls that one job would make, each once, on disk; counts them by judge and model."""

from __future__ import annotations

import os
import pickle
import sqlite3
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Self

from evalstore.errors import RefusedError
from evalstore.model import JudgeCall

_TABLE = "CREATE TABLE call (place BLOB PRIMARY KEY, pickled BLOB)"
_ALL_CALLS = "SELECT pickled FROM call WHERE pickled NOT NULL ORDER BY place"
_GroupKey = tuple[str, str]  # judge, model


@dataclass(frozen=True, slots=True)
class CallGroup:
    """How many calls one judge makes to one model, and the characters of their prompts."""

    judge: str
    model: str
    calls: int
    characters: int


@dataclass(frozen=True, slots=True)
class CallPlan:
    """The calls to make, by judge, then model; `reuse_count` more are answered by the cache."""

    groups: tuple[CallGroup, ...]
    reuse_count: int = 0

    def join(self, other: CallPlan) -> CallPlan:
        """Return both together, this one's calls first."""
        return CallPlan((*self.groups, *other.groups), self.reuse_count + other.reuse_count)

    @property
    def calls(self) -> int:
        """How many calls would be made."""
        return sum(planned.calls for planned in self.groups)


def _open_database() -> sqlite3.Connection:
    # An empty name is a temporary file that SQLite deletes when this process ends.
    database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
    for statement in ("PRAGMA journal_mode = OFF", _TABLE, "BEGIN"):
        database.execute(statement)
    return database


@dataclass(slots=True)
class CallQueue:
    """Calls, each once, on disk, in an order that is random for each queue.

    `follower_count` of them cannot be asked yet: their prompts contain the replies to other calls.

    The order is random because two processes with the same calls in the same order would make
    every call twice, at the same time.
    """

    follower_count: int = 0
    _calls: Counter[_GroupKey] = field(default_factory=Counter)
    _characters: Counter[_GroupKey] = field(default_factory=Counter)
    _database: sqlite3.Connection = field(default_factory=_open_database)
    _salt: bytes = field(default_factory=lambda: os.urandom(16))

    def add_call(self, call: JudgeCall) -> None:
        """Add a call, unless one with the same key is there; what follows it is only counted."""
        # Who reads the reply is not asked: the reader may hold a whole output.
        asked = JudgeCall(call.judge, call.prompt, call.model, call.sample)
        self._add_row(call, call.key, call.prompt, pickle.dumps(asked, pickle.HIGHEST_PROTOCOL))
        if call.next_prompt:
            key = f"{call.key} {call.next_prompt}"
            self.follower_count += self._add_row(call, key, call.next_prompt, None)

    def _add_row(self, call: JudgeCall, key: str, prompt: str, pickled: bytes | None) -> int:
        # A keyed hash is the primary key: it drops repeats and shuffles the order by the salt.
        written = key.encode("utf-8", "surrogatepass")
        row = blake2b(written, digest_size=16, key=self._salt).digest(), pickled
        try:
            new = self._database.execute("INSERT OR IGNORE INTO call VALUES (?, ?)", row).rowcount
        except sqlite3.Error as error:
            raise RefusedError(f"the calls to judges cannot be noted: {error}") from None
        group = call.judge, str(call.model.get("id", ""))
        self._calls[group] += new
        self._characters[group] += new * len(prompt)
        return new

    def plan_calls(self, *, reuse_count: int = 0) -> CallPlan:
        """Return the plan of these calls, with `reuse_count` answers from the cache."""
        groups = sorted(group for group, calls in self._calls.items() if calls)
        return CallPlan(
            tuple(
                CallGroup(*group, self._calls[group], self._characters[group]) for group in groups
            ),
            reuse_count,
        )

    def clear(self) -> None:
        """Forget the calls."""
        self._database.execute("DELETE FROM call")
        self._calls.clear()
        self._characters.clear()
        self.follower_count = 0

    def close(self) -> None:
        """Forget the calls, and delete the file."""
        self._database.close()

    def __len__(self) -> int:
        return self._calls.total()

    def __iter__(self) -> Iterator[JudgeCall]:
        for (pickled,) in self._database.execute(
            "SELECT pickled FROM call WHERE pickled NOT NULL ORDER BY place"
        ):
            yield pickle.loads(pickled)  # noqa: S301  # this process wrote it

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
