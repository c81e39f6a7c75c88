"""Stores what all questions say about their source once, with the suite, and fills it in again.

Under `questions`, the `x_source` of a dataset has the values that each question has unless it says
otherwise. There, `pointer: /evals/*` numbers the questions in order, and `{x_number: id}` is the
number in a question's id.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from operator import eq
from typing import Any

from evalstore.documents import write_row

_COMMON = "questions"
_KEPT, _POINTER, _LACKS = "kept", "pointer", "lacks"
# What is noted about a single question, and read where nothing is filled in.
_OWN = frozenset({_LACKS, "renamed_from", "pin", "pinned"})
_NUMBER = "x_number"
_ID_NUMBER = {_NUMBER: "id"}
_DIGITS = re.compile(r"[0-9]{1,9}")
_FEW = 2  # questions: with one alone, nothing is repeated
_LINE = 12  # characters of a line besides its key and its value: its indentation

Source = Mapping[str, Any]
# A key in the `x_source` of a question, or in what it keeps.
_Place = tuple[str, ...]


def fold_rows(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a dataset that states once what its questions say in common about their source."""
    value = fill_rows(value)
    sources = [source for row in _list_rows(value) if (source := _read_source(row))]
    if len(sources) < _FEW or not isinstance(value.get("x_source"), Mapping):
        return value
    common = _find_common(value, sources)
    rows = [_fold_row(row, common) for row in value["questions"]]
    folded = {**value, "questions": rows, "x_source": {**value["x_source"], _COMMON: common}}
    return (
        folded if common and _spell_sources(fill_rows(folded)) == _spell_sources(value) else value
    )


def fill_rows(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a dataset in which each question states its whole source.

    They are as `fold_rows` received them.
    """
    head = value.get("x_source")
    common = head.get(_COMMON) if isinstance(head, Mapping) else None
    if (
        not isinstance(head, Mapping)
        or not isinstance(common, Mapping)
        or not isinstance(value.get("questions"), list)
    ):
        return dict(value)
    pointers = _list_pointers(value, common.get(_POINTER))
    rows = [_fill_row(row, common, pointers) for row in value["questions"]]
    return {
        **value,
        "questions": rows,
        "x_source": {key: item for key, item in head.items() if key != _COMMON},
    }


def _list_rows(value: Mapping[str, Any]) -> list[Any]:
    rows = value.get("questions")
    return rows if isinstance(rows, list) else []


def _read_source(row: Any) -> Source | None:
    source = row.get("x_source") if isinstance(row, Mapping) else None
    return source if isinstance(source, Mapping) else None


def _spell_sources(value: Mapping[str, Any]) -> str:
    """Return what questions say about their source as text; the order of its keys is irrelevant."""
    return "".join(
        write_row(dict(sorted((_read_source(row) or {}).items()))) for row in _list_rows(value)
    )


def _list_pointers(value: Mapping[str, Any], pattern: Any) -> Iterator[str]:
    """Yield the pointers of successive questions.

    Places of cases that were set aside are left out.
    """
    if not isinstance(pattern, str) or "*" not in pattern:
        yield from repeat(pattern)
        return
    unmapped = value.get("x_unmapped")
    items = unmapped if isinstance(unmapped, list) else ()
    aside = {item.get(_POINTER) for item in items if isinstance(item, Mapping)}
    number = 0
    while True:
        pointer = pattern.replace("*", str(number))
        number += 1
        if pointer not in aside:
            yield pointer


def _find_common(value: Mapping[str, Any], sources: Sequence[Source]) -> dict[str, Any]:
    """Return what is worth stating once."""
    common: dict[str, Any] = {}
    if pattern := _find_pattern(value, sources):
        common[_POINTER] = pattern
    chosen = {place: item for place, item in _choose_values(_list_rows(value)) if item is not None}
    common |= {place[0]: item for place, item in chosen.items() if len(place) == 1}
    if kept := {place[1]: item for place, item in chosen.items() if len(place) > 1}:
        common[_KEPT] = kept
    return common


def _find_pattern(value: Mapping[str, Any], sources: Sequence[Source]) -> str | None:
    """Return the pointer of the cases' list with a `*` for their numbers.

    Returns None unless the numbers are consecutive.
    """
    found = [source.get(_POINTER) for source in sources]
    texts = [pointer for pointer in found if isinstance(pointer, str)]
    parent = texts[0].rpartition("/")[0] if texts else "*"
    inside = [pointer for pointer in texts if pointer.rpartition("/")[0] == parent]
    if "*" in parent or len(inside) < _FEW or len(texts) < len(found):
        return None
    return f"{parent}/*" if all(map(eq, inside, _list_pointers(value, f"{parent}/*"))) else None


def _choose_values(rows: Sequence[Any]) -> Iterator[tuple[_Place, Any]]:
    """Yield each place with what most questions have there.

    It is None if stating that once is not shorter.
    """
    texts: dict[_Place, Counter[str]] = {}
    numbers: Counter[_Place] = Counter()
    values: dict[tuple[_Place, str], Any] = {}
    for row, source in ((row, source) for row in rows if (source := _read_source(row))):
        for place, item in _list_values(source):
            text = write_row(item)
            texts.setdefault(place, Counter())[text] += 1
            values.setdefault((place, text), item)
            numbers[place] += _is_number_of(item, row)
    count = sum(_read_source(row) is not None for row in rows)
    for place, found in texts.items():
        text, most = found.most_common(1)[0]
        best = _ID_NUMBER if numbers[place] >= most else values[place, text]
        most = max(most, numbers[place])
        lacking = (count - found.total()) * (len("/".join(place)) + _LINE)
        is_worth = most >= _FEW and (most - 1) * (len(text) + len(place[-1]) + _LINE) > lacking
        yield place, best if is_worth else None


def _list_values(source: Source) -> Iterator[tuple[_Place, Any]]:
    for key, item in source.items():
        if key == _KEPT and isinstance(item, Mapping):
            yield from (((_KEPT, name), part) for name, part in item.items())
        elif key not in _OWN and key not in {_POINTER, _KEPT}:
            yield (key,), item


def _is_number_of(item: Any, row: Mapping[str, Any]) -> bool:
    return type(item) is int and item == _read_number(row)


def _read_number(row: Mapping[str, Any]) -> int | None:
    found = _DIGITS.search(str(row.get("id")))
    return int(found[0]) if found else None


def _fold_row(row: Any, common: Mapping[str, Any]) -> Any:
    source = _read_source(row)
    if source is None:
        return row

    def is_own(key: str) -> bool:
        return key == _KEPT or not _is_common(key, source[key], common, row)

    own = {key: item for key, item in source.items() if is_own(key)}
    lacks = [key for key in common if key not in source and key != _KEPT]
    kept, usual = source.get(_KEPT, {}), common.get(_KEPT, {})
    if usual and isinstance(kept, Mapping):
        rest = {key: item for key, item in kept.items() if not _is_common(key, item, usual, row)}
        gone = [key for key in usual if key not in kept]
        # If the order would change, all of it is stated.
        order = [key for key in usual if key in kept] + [key for key in rest if key not in usual]
        if order != [*kept]:
            rest, gone = dict(kept), [*usual]
        if rest or not kept:
            own = {key: rest if key == _KEPT else item for key, item in own.items()}
        else:
            own.pop(_KEPT, None)
        lacks += [f"{_KEPT}/{key}" for key in gone]
    return {**row, "x_source": own | ({_LACKS: lacks} if lacks else {})}


def _is_common(key: str, item: Any, common: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    if key not in common:
        return False
    if common[key] == _ID_NUMBER:
        return _is_number_of(item, row)
    pattern = common[key] if key == _POINTER else None
    if isinstance(pattern, str):
        return str(item).rpartition("/")[0] == pattern.rpartition("/")[0]
    return write_row(item) == write_row(common[key])


def _fill_row(row: Any, common: Mapping[str, Any], pointers: Iterator[str]) -> Any:
    source = _read_source(row)
    if source is None:
        return row
    lacks = source[_LACKS] if isinstance(source.get(_LACKS), list) else ()
    names = [key for key in common if key not in {_KEPT, *source} and key not in lacks]
    filled = _fill_values(
        {key: next(pointers) if key == _POINTER else common[key] for key in names}, row
    )
    kept, usual = source.get(_KEPT, {}), common.get(_KEPT)
    if isinstance(kept, Mapping) and isinstance(usual, Mapping):
        names = [key for key in usual if f"{_KEPT}/{key}" not in lacks]
        kept = _fill_values({key: kept.get(key, usual[key]) for key in names}, row) | dict(kept)
    has_kept = bool(kept) or _KEPT in source
    own = {key: item for key, item in source.items() if key not in {_KEPT, _LACKS}}
    return {**row, "x_source": filled | own | ({_KEPT: kept} if has_kept else {})}


def _fill_values(values: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    """Return values, one of which may be the number in an id.

    A renamed question need not have one.
    """
    filled = {
        key: _read_number(row) if item == _ID_NUMBER else item for key, item in values.items()
    }
    return {key: item for key, item in filled.items() if item is not None or values[key] is None}
