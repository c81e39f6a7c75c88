"""What would be asked, and what it comes to, before anything is: calls kept outside memory, each once."""

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
from evalstore.model import Call

_TABLE = "CREATE TABLE call (place BLOB PRIMARY KEY, pickled BLOB)"
_Group = tuple[str, str]  # judge, model


@dataclass(frozen=True, slots=True)
class Planned:
    """The calls that one judge would make to one model, and how many characters their prompts have."""

    judge: str
    model: str
    calls: int
    characters: int


@dataclass(frozen=True, slots=True)
class Plan:
    """The calls that would be made, by judge and model in that order; `kept` is how many answers need none."""

    asked: tuple[Planned, ...]
    kept: int = 0

    @property
    def calls(self) -> int:
        """How many calls would be made."""
        return sum(planned.calls for planned in self.asked)


def _opened() -> sqlite3.Connection:
    # SQLite keeps it in a nameless temporary file, which is gone with this process.
    database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
    for statement in ("PRAGMA journal_mode = OFF", _TABLE, "BEGIN"):
        database.execute(statement)
    return database


@dataclass(slots=True)
class Spool:
    """Calls, each once, in memory that does not grow with them, and in an order that no other spool has.

    Two processes that ask the same calls at one time would else make every one of them twice, side by side.
    """

    _calls: Counter[_Group] = field(default_factory=Counter)
    _characters: Counter[_Group] = field(default_factory=Counter)
    _database: sqlite3.Connection = field(default_factory=_opened)
    _order: bytes = field(default_factory=lambda: os.urandom(16))

    def note(self, call: Call) -> None:
        """Note a call; one that has the key of an earlier call is the same."""
        place = blake2b(call.key.encode(), digest_size=16, key=self._order).digest()
        row = place, pickle.dumps(call, pickle.HIGHEST_PROTOCOL)
        try:
            new = self._database.execute("INSERT OR IGNORE INTO call VALUES (?, ?)", row).rowcount
        except sqlite3.Error as error:
            raise RefusedError(f"the calls to judges cannot be noted: {error}") from None
        group = call.judge, str(call.model.get("id", ""))
        self._calls[group] += new
        self._characters[group] += new * len(call.prompt)

    def plan(self, *, kept: int = 0) -> Plan:
        """Say what asking these calls comes to, beside `kept` answers that are there."""
        groups = sorted(group for group, calls in self._calls.items() if calls)
        return Plan(tuple(Planned(*group, self._calls[group], self._characters[group]) for group in groups), kept)

    def clear(self) -> None:
        """Forget the calls."""
        self._database.execute("DELETE FROM call")
        self._calls.clear()
        self._characters.clear()

    def close(self) -> None:
        """Forget the calls, and the file."""
        self._database.close()

    def __len__(self) -> int:
        return self._calls.total()

    def __iter__(self) -> Iterator[Call]:
        for (pickled,) in self._database.execute("SELECT pickled FROM call ORDER BY place"):
            yield pickle.loads(pickled)  # noqa: S301  # bytes that this process wrote, in a file without a name

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
