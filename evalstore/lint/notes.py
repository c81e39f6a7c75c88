"""A note: what a linter observed, without its severity; and safe access to parts of documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple

from evalstore.documents import Document, Pointer
from evalstore.errors import EvalstoreError, Place
from evalstore.lint.rules import VALIDATION_RULES
from evalstore.model import TextEdit
from evalstore.text import LONG_EXCERPT, find_nearest, make_excerpt

_LISTED_LIMIT = 20


class Fix(NamedTuple):
    """The one right text of a scalar: another word, with quotes or without (None: unchanged).

    `entry` is a missing key and its value, to add next to it.
    """

    word: str | None = None
    quoted: bool | None = None
    entry: tuple[str, str] | None = None


class Note(NamedTuple):
    """One rule's observation: its place, in the document or elsewhere, and its facts.

    A `soft` one keeps nothing else from being graded, and is a warning even if the rule has an
    error. `fix` is set if exactly one text is right, `edit` once its place in the file is known.
    """

    rule: str
    pointer: Pointer = ()
    facts: Mapping[str, str] = MappingProxyType({})
    of_key: bool = False
    place: Place | None = None
    soft: bool = False
    fix: Fix | None = None
    edit: TextEdit | None = None


def make_note(
    rule: str,
    pointer: Pointer = (),
    *,
    of_key: bool = False,
    place: Place | None = None,
    fix: Fix | None = None,
    **facts: Any,
) -> Note:
    """Return a note; its facts are made safe to show, because they come from untrusted files."""
    shown = {key: make_excerpt(str(fact), LONG_EXCERPT) for key, fact in facts.items()}
    return Note(rule, pointer, shown, of_key, place, fix=fix)


def note_error(
    rule: str, error: EvalstoreError, pointer: Pointer = (), *, place: Place | None = None
) -> Note:
    """Return a note with an error's own message and hint."""
    return make_note(rule, pointer, place=place, message=error.message, hint=error.hint or "")


def suggest_name(name: Any, names: Iterable[str], otherwise: str = "") -> str:
    """Return a hint with the name that was probably meant.

    Only the first 200 names are compared.
    """
    guess = find_nearest(name, islice(names, 200)) if isinstance(name, str) else None
    return f"did you mean {guess}?" if guess else otherwise


def list_names(names: Iterable[str]) -> str:
    """List the first of several names."""
    first = [*islice(names, _LISTED_LIMIT + 1)]
    return ", ".join([*first[:_LISTED_LIMIT], "…"] if len(first) > _LISTED_LIMIT else first)


def name_place(pointer: Pointer) -> str:
    """Name the value at a pointer in a sentence: `key`, or "item 2 of `key`"."""
    if not pointer:
        return "the document"
    *parents, last = pointer
    if isinstance(last, str):
        return f"`{last}`"
    keys = [part for part in parents if isinstance(part, str)]
    return f"item {last + 1} of `{keys[-1]}`" if keys else f"item {last + 1}"


def describe_value(value: Any) -> str:
    """Show a value in a few words: scalars as written, containers by their type."""
    if isinstance(value, str):
        return f"'{make_excerpt(value, 60)}'"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    return "nothing" if value is None else make_excerpt(str(value), 60)


def get_mapping(value: Any, key: str) -> dict[str, Any]:
    """Return the mapping under `key`, or an empty one."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def get_list(value: Any, key: str) -> list[Any]:
    """Return the list under `key`, or an empty one."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []


def list_mappings(value: Any, key: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (index, item) for every mapping in the list under `key`."""
    return (
        (index, item) for index, item in enumerate(get_list(value, key)) if isinstance(item, dict)
    )


def list_texts(value: Any, key: str) -> Iterator[tuple[int, str]]:
    """Yield (index, item) for every text in the list under `key`."""
    return (
        (index, item) for index, item in enumerate(get_list(value, key)) if isinstance(item, str)
    )


def describe_note(note: Note) -> tuple[str, str]:
    """Return the sentence and the hint that a note's rule makes from its facts."""
    rule = VALIDATION_RULES[note.rule]
    return rule.message.format_map(note.facts), rule.hint.format_map(note.facts)


def locate_note(note: Note, document: Document) -> Place:
    """Return where a note on a document points: its own place, or that of its pointer."""
    return note.place or document.locate(note.pointer, of_key=note.of_key)
