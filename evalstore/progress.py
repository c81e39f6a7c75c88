"""The type of what shows how far an iteration is.

A caller may hand in a progress bar, or `iter` for none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

_Item = TypeVar("_Item")

# Takes the things that will be iterated over, and returns what iterates over them.
Watch = Callable[[Sequence[_Item]], Iterable[_Item]]
