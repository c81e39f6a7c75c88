"""Keys that are nearly one of the schema's: extra keys are allowed, so a misspelt one would be ignored in silence."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import Any

from evalstore.documents import Pointer
from evalstore.model import Kind, is_cosmetic
from evalstore.validation.notes import Note, note
from evalstore.validation.parts import mappings
from evalstore.validation.shape import CHECK, QUESTION, ROOTS, SETTINGS, kinds, schema

_SLIPS = 2  # so many make another word
_SHORT = 5  # up to this length already one more than one does


def artifact_keys(kind: Kind, value: Any) -> Iterator[Note]:
    """Yield an artifact's misspelt keys, its checks' by their kinds; who knows the bundles asks for the questions."""
    if not isinstance(value, dict):
        return
    yield from misspelt(ROOTS[kind], {**value, **{key: [] for key in ("checks", "questions") if key in value}})
    for index, check in mappings(value, "checks") if kind is Kind.RUBRIC else ():
        known = check.get("kind") in kinds()
        yield from misspelt(f"checks/{check['kind']}" if known else CHECK, check, ("checks", index))


def misspelt(name: str, value: Any, pointer: Pointer = (), *, declared: Collection[str] = ()) -> Iterator[Note]:
    """Yield the misspelt keys of `value` and below it, by the schema `name`; `declared` keys are known besides."""
    root = schema(name)
    return _misspelt(root, value, pointer, root=root, declared=declared)


def _misspelt(
    part: Any, value: Any, pointer: Pointer, *, root: Mapping[str, Any], declared: Collection[str] = ()
) -> Iterator[Note]:
    part = _followed(part, root)
    if isinstance(value, list) and "items" in part:
        for index, item in enumerate(value):
            yield from _misspelt(part["items"], item, (*pointer, index), root=root)
    # Where a schema asks for no mapping, any mapping is free.
    if not isinstance(value, dict) or "object" not in part.get("type", ()):
        return
    known, others = part.get("properties", {}), part.get("additionalProperties")
    for key, item in value.items():
        if key in known or isinstance(others, dict):
            yield from _misspelt(known.get(key, others), item, (*pointer, key), root=root)
        elif key not in declared and (guess := _guess(key, part, value)):
            yield note("key-misspelt", (*pointer, key), of_key=True, found=key, guess=guess)


def _followed(part: Any, root: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(part, dict):
        return {}
    reference = part.get("$ref")
    return {**root["$defs"][reference.rsplit("/", 1)[1]], **part} if reference else part


def _guess(key: str, part: Mapping[str, Any], value: Mapping[str, Any]) -> str | None:
    """Return the absent key that `key` is a slip of; a word that is a key elsewhere slips only for a required one."""
    if is_cosmetic(key):
        return None
    absent = [name for name in part.get("properties", ()) if name not in value]
    if key in _everywhere():
        absent = [name for name in absent if name in part.get("required", ())]
    bare = _bare(key)
    limit = 1 if len(bare) <= _SHORT else _SLIPS
    near = ((distance, name) for name in absent if (distance := _distance(bare, _bare(name))) <= limit)
    return min(near, default=(0, None))[1] if len(bare) > 1 else None


def _bare(word: str) -> str:
    return word.lower().replace("-", "").replace("_", "").replace(" ", "")


def _distance(one: str, other: str) -> int:
    """Count the slips between two words: a letter more, less, other, or two exchanged."""
    # Cheaper than counting: a slip changes the length by one, and the set of letters by two, at most.
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
def _everywhere() -> frozenset[str]:
    names = [*ROOTS.values(), SETTINGS, QUESTION, *(f"checks/{kind}" for kind in kinds())]
    return frozenset(key for name in names for key in _keys(schema(name)))


def _keys(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        properties = part.get("properties")
        yield from properties if isinstance(properties, dict) else ()
        for item in part.values():
            yield from _keys(item)
    elif isinstance(part, list):
        for item in part:
            yield from _keys(item)
