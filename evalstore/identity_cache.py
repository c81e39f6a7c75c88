"""Remembers what was computed from objects that come up again and again.

Objects are compared by identity alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

_Answer = TypeVar("_Answer")


@dataclass(slots=True)
class IdentityCache(Generic[_Answer]):
    """The answers of a function of some objects, at most `size` of them.

    `drop` is called with each answer that is forgotten. Identity is used because exact fractions
    hash slowly: hashing a grade takes longer than most of what is computed from it.
    """

    compute: Callable[..., _Answer]
    size: int = 4096
    drop: Callable[[_Answer], None] = lambda _: None
    _kept: dict[tuple[int, ...], tuple[tuple[Any, ...], _Answer]] = field(default_factory=dict)

    def find(self, *objects: Any) -> _Answer:
        """Return what `compute` answers for exactly these objects."""
        key = tuple(map(id, objects))
        kept = self._kept.get(key)
        if kept is None:
            if len(self._kept) >= self.size:
                self.clear()
            # The objects are kept, too: while they live, no other object can have their identity.
            kept = self._kept[key] = objects, self.compute(*objects)
        return kept[1]

    def clear(self) -> None:
        """Forget all answers."""
        dropped, self._kept = self._kept, {}
        for _, answer in dropped.values():
            self.drop(answer)
