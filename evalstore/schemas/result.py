"""What a schema answers: what an instance violates, and what is wrong with the schema itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Pointer = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Violation:
    """One demand of a schema that an instance does not meet; `of_key`: it is the key at `pointer` that does not."""

    pointer: Pointer
    keyword: str
    message: str
    expected: Any
    instance: Any
    schema: Any
    of_key: bool = False


@dataclass(frozen=True, slots=True)
class Flaw:
    """Why a schema cannot be used, at the place within it."""

    pointer: Pointer
    message: str
    hint: str
