"""Finds misspelt keys: extra keys are allowed, so a slip would be ignored in silence."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import Any

from evalstore.documents import Pointer
from evalstore.model import Kind, is_cosmetic
from evalstore.validation.notes import Note, list_mappings, make_note
from evalstore.validation.shape import CHECK, QUESTION, ROOTS, SETTINGS, list_check_kinds, load_schema

_SLIPS = 2  # with more it is another word
_SHORT = 5  # a word of at most this length allows one slip only


def lint_artifact_keys(kind: Kind, value: Any) -> Iterator[Note]:
    """Yield an artifact's misspelt keys, in checks by their kind; `lint_questions` does the questions."""
    if not isinstance(value, dict):
        return
    yield from lint_keys(ROOTS[kind], {**value, **{key: [] for key in ("checks", "questions") if key in value}})
    for index, check in list_mappings(value, "checks") if kind is Kind.RUBRIC else ():
        known = check.get("kind") in list_check_kinds()
        yield from lint_keys(f"checks/{check['kind']}" if known else CHECK, check, ("checks", index))


def lint_keys(name: str, value: Any, pointer: Pointer = (), *, declared: Collection[str] = ()) -> Iterator[Note]:
    """Yield the misspelt keys of `value` and below it, by the schema `name`; `declared` keys are known besides."""
    root = load_schema(name)
    return _lint_part(root, value, pointer, root=root, declared=declared)


def _lint_part(
    part: Any, value: Any, pointer: Pointer, *, root: Mapping[str, Any], declared: Collection[str] = ()
) -> Iterator[Note]:
    part = _follow_reference(part, root)
    if isinstance(value, list) and "items" in part:
        for index, item in enumerate(value):
            yield from _lint_part(part["items"], item, (*pointer, index), root=root)
    # Where a schema asks for no mapping, any mapping is free.
    if not isinstance(value, dict) or "object" not in part.get("type", ()):
        return
    known, others = part.get("properties", {}), part.get("additionalProperties")
    for key, item in value.items():
        if key in known or isinstance(others, dict):
            yield from _lint_part(known.get(key, others), item, (*pointer, key), root=root)
        elif key not in declared and (guess := _guess_key(key, part, value)):
            yield make_note("key-misspelt", (*pointer, key), of_key=True, found=key, guess=guess)


def _follow_reference(part: Any, root: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(part, dict):
        return {}
    reference = part.get("$ref")
    return {**root["$defs"][reference.rsplit("/", 1)[1]], **part} if reference else part


def _guess_key(key: str, part: Mapping[str, Any], value: Mapping[str, Any]) -> str | None:
    """Return the absent key that `key` misspells; a key of another schema is taken for a required one only."""
    if is_cosmetic(key):
        return None
    absent = [name for name in part.get("properties", ()) if name not in value]
    if key in _all_schema_keys():
        absent = [name for name in absent if name in part.get("required", ())]
    bare = _strip_separators(key)
    limit = 1 if len(bare) <= _SHORT else _SLIPS
    near = ((distance, name) for name in absent if (distance := _count_slips(bare, _strip_separators(name))) <= limit)
    return min(near, default=(0, None))[1] if len(bare) > 1 else None


def _strip_separators(word: str) -> str:
    return word.lower().replace("-", "").replace("_", "").replace(" ", "")


def _count_slips(one: str, other: str) -> int:
    """Return the Damerau-Levenshtein distance (optimal string alignment) of two words; above the limit just a bound."""
    # A slip changes the length by at most one and the set of letters by at most two: a fast lower bound.
    if abs(len(one) - len(other)) > _SLIPS or len(set(one) ^ set(other)) > 2 * _SLIPS:
        return _SLIPS + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, last, row = row, before, [i]
        for j, wanted in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return row[-1]


@cache
def _all_schema_keys() -> frozenset[str]:
    names = [*ROOTS.values(), SETTINGS, QUESTION, *(f"checks/{kind}" for kind in list_check_kinds())]
    return frozenset(key for name in names for key in _list_property_names(load_schema(name)))


def _list_property_names(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        properties = part.get("properties")
        yield from properties if isinstance(properties, dict) else ()
        for item in part.values():
            yield from _list_property_names(item)
    elif isinstance(part, list):
        for item in part:
            yield from _list_property_names(item)
