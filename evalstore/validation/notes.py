"""A note: what a rule saw, before it has a severity; the rules of this room yield nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from evalstore.documents import Pointer
from evalstore.errors import EvalstoreError, Place
from evalstore.text import make_excerpt, find_nearest

_SHOWN_LIMIT = 400  # a list of versions is worth a longer line
_NEAR_LIMIT, _LISTED_LIMIT = 200, 20


@dataclass(frozen=True, slots=True)
class Note:
    """One rule's observation: where in the document (or at which place), and the facts its sentence is made of."""

    rule: str
    pointer: Pointer = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    of_key: bool = False
    place: Place | None = None


def note(rule: str, pointer: Pointer = (), *, of_key: bool = False, place: Place | None = None, **facts: Any) -> Note:
    """Return a note; the facts are made safe to show, because they come from strangers."""
    return Note(rule, pointer, {key: make_excerpt(str(fact), _SHOWN_LIMIT) for key, fact in facts.items()}, of_key, place)


def failure(rule: str, error: EvalstoreError, pointer: Pointer = (), *, place: Place | None = None) -> Note:
    """Return the note of an error that words itself."""
    return note(rule, pointer, place=place, message=error.message, hint=error.hint or "")


def guessed(name: Any, names: Iterable[str], otherwise: str = "") -> str:
    """Return a hint at the name that was probably meant; of very many names only the first are compared."""
    guess = find_nearest(name, islice(names, _NEAR_LIMIT)) if isinstance(name, str) else None
    return f"did you mean {guess}?" if guess else otherwise


def listed(names: Iterable[str]) -> str:
    """List the first of several names."""
    first = [*islice(names, _LISTED_LIMIT + 1)]
    return ", ".join([*first[:_LISTED_LIMIT], "…"] if len(first) > _LISTED_LIMIT else first)


def named(pointer: Pointer) -> str:
    """Name what stands at a pointer, as a sentence would."""
    if not pointer:
        return "the document"
    *parents, last = pointer
    if isinstance(last, str):
        return f"`{last}`"
    keys = [part for part in parents if isinstance(part, str)]
    return f"item {last + 1} of `{keys[-1]}`" if keys else f"item {last + 1}"


def shown(value: Any) -> str:
    """Show a value in a few words: scalars as written, containers by what they are."""
    if isinstance(value, str):
        return f"'{make_excerpt(value, 60)}'"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    return "nothing" if value is None else make_excerpt(str(value), 60)
