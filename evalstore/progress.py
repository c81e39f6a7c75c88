"""The type of whatever shows how far an iteration has come.

A caller may pass a progress bar, or `iter` for none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

_Item = TypeVar("_Item")

# Takes the things to iterate over, and returns an iterator over them.
Watch = Callable[[Sequence[_Item]], Iterable[_Item]]
