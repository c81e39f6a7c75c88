"""Replaces parts of a remainder that a rubric contains by references, and restores them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from evalstore.documents import write_canonical
from evalstore.migration.remainder import ALIKE, AT, EACH, WITHOUT, convert_items, is_same_data
from evalstore.model import is_cosmetic

QUESTION = "/question"
_LEAST = 40  # characters: a reference is not shorter


def fold_value(value: Any, rubric: Mapping[str, Any]) -> Any:
    """Return an encoded value with references to parts in a rubric's checks or scoring.

    `{x_at: pointer}` is the part at that pointer, with further keys next to it and without those in
    `x_without`; `{x_each: /checks/*/…}` is the list of the parts of all checks. `{x_alike: {key:
    list}}` is a list of mappings with the same keys; in place of such a list, `{x_at: /checks/*/…}`
    has the number of the check in order. Below `question` the rubric may have the question that it
    grades. Cosmetic keys are never referred to, because people edit them.
    """
    parts = {
        write_canonical(part): pointer for pointer, part in reversed(list(_list_parts(rubric)))
    }
    return _gather_columns(_fold(value, rubric, parts))


def _gather_columns(value: Any) -> Any:
    """Return a folded value in which lists of similar mappings become lists by key.

    Each mapping in such a list refers to one check.
    """
    items = convert_items(value, _gather_columns)
    if not isinstance(items, list):
        return items
    keys = [*items[0]] if items[1:] and isinstance(items[0], dict) else []
    if not keys or any(not isinstance(item, dict) or [*item] != keys for item in items):
        return items
    columns = {key: _name_column([item[key] for item in items]) for key in keys}
    is_named = {isinstance(column, dict) for column in columns.values()}
    # If all columns are references, none shows how many there are.
    return {ALIKE: columns} if is_named == {True, False} else items


def _name_column(column: list[Any]) -> Any:
    """Return the reference for a whole column, else the column.

    The column's references are to one part of each check.
    """
    pointers = [
        item[AT] if isinstance(item, dict) and item.keys() == {AT} else "" for item in column
    ]
    start, _, rest = pointers[0].removeprefix("/checks/").partition("/")
    pattern = f"/checks/*/{rest}"
    return (
        {AT: pattern}
        if start == "0" and pointers == _number_pointers(pattern, len(column))
        else column
    )


def _number_pointers(pattern: str, count: int) -> list[str]:
    return [pattern.replace("*", str(number), 1) for number in range(count)]


def expand_columns(value: Any) -> Any:
    """Return a folded value without `x_alike`."""
    if not isinstance(value, dict) or value.keys() != {ALIKE}:
        return convert_items(value, expand_columns)
    columns = {key: expand_columns(item) for key, item in value[ALIKE].items()}
    count = max(len(column) for column in columns.values() if isinstance(column, list))
    for key, column in columns.items():
        if isinstance(column, dict):
            columns[key] = [{AT: pointer} for pointer in _number_pointers(column[AT], count)]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def restore_parts(value: Any, rubric: Mapping[str, Any]) -> Any:
    """Return the value from which `fold_value` made this one.

    Raises `LookupError` if the rubric lacks a part.
    """
    return _restore(expand_columns(value), rubric)


def _restore(value: Any, rubric: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [_restore(item, rubric) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {EACH}:
        _, first, _, *rest = value[EACH].split("/")
        return [_follow(item, rest) for item in rubric[first]]
    own = {key: _restore(item, rubric) for key, item in value.items() if key not in {AT, WITHOUT}}
    if AT not in value:
        return own
    part = _follow(rubric, value[AT].split("/")[1:])
    if not isinstance(part, dict):
        return part
    return {key: item for key, item in part.items() if key not in value.get(WITHOUT, ())} | own


def has_references(value: Any) -> bool:
    """Whether an encoded value refers to parts of a rubric, not only of its question."""
    if isinstance(value, dict):
        is_rubric = EACH in value or not str(value.get(AT, QUESTION)).startswith(QUESTION)
        return is_rubric or any(map(has_references, value.values()))
    return isinstance(value, list) and any(map(has_references, value))


def _fold(value: Any, rubric: Mapping[str, Any], parts: Mapping[str, str]) -> Any:
    text = write_canonical(value)
    if len(text) <= _LEAST:
        return value
    if (pointer := parts.get(text)) and is_same_data(
        _follow(rubric, pointer.split("/")[1:]), value
    ):
        return {AT: pointer}
    if isinstance(value, list):
        return _fold_list(value, rubric) or [_fold(item, rubric, parts) for item in value]
    return _fold_mapping(value, rubric, parts) if isinstance(value, dict) else value


def _fold_list(value: list[Any], rubric: Mapping[str, Any]) -> Any:
    """Return a reference to the parts of all checks that form a list; None if there is none."""
    checks = rubric.get("checks", [])
    suffixes = [pointer.split("/") for pointer, _ in _list_parts({"checks": checks[:1]})]
    # Only what is below a check.
    for _, _, _, *rest in (steps for steps in suffixes if len(steps) > 3):  # noqa: PLR2004
        try:
            found = [_follow(check, rest) for check in checks]
        except (LookupError, TypeError, ValueError):  # a check with another shape
            continue
        if is_same_data(found, value):
            return {EACH: "/".join(["", "checks", "*", *rest])}
    return None


def _fold_mapping(
    value: dict[str, Any], rubric: Mapping[str, Any], parts: Mapping[str, str]
) -> dict[str, Any]:
    places = [f"/checks/{index}" for index in range(len(rubric.get("checks", ())))] + ["/scoring"]
    bases = {place: _follow(rubric, place.split("/")[1:]) for place in places if "checks" in rubric}
    mappings = {place: base for place, base in bases.items() if isinstance(base, dict)}
    shared = {place: _select_shared(value, base) for place, base in mappings.items()}
    place = max(shared, key=lambda place: len(write_canonical(shared[place])), default="")
    if not place or len(shared[place]) <= 1 or len(write_canonical(shared[place])) <= _LEAST:
        return {key: _fold(item, rubric, parts) for key, item in value.items()}
    missing = [key for key in bases[place] if key not in value]
    own = {
        key: _fold(item, rubric, parts) for key, item in value.items() if key not in shared[place]
    }
    return {AT: place, **({WITHOUT: missing} if missing else {}), **own}


def _select_shared(value: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: item for key, item in value.items() if key in base and is_same_data(base[key], item)
    }


def _list_parts(rubric: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the texts, lists and mappings of a rubric, with their pointers.

    They are those of checks, scoring, question and template.
    """
    for key in ("checks", "scoring", "question", "template"):
        yield from _walk(_strip(rubric.get(key)), f"/{key}")


def _walk(value: Any, pointer: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, str | list | dict):
        yield pointer, value
    items: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, item in items:
        if "/" not in str(key):
            yield from _walk(item, f"{pointer}/{key}")


def _follow(value: Any, steps: list[str]) -> Any:
    for step in steps:
        value = value[int(step)] if isinstance(value, list) else value[step]
    return _strip(value)


def _strip(value: Any) -> Any:
    """Return a value without the keys that move no score."""
    if isinstance(value, list):
        return [_strip(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: _strip(item) for key, item in value.items() if not is_cosmetic(key)}
