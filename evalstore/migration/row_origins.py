"""What the questions of a suite say alike of their source is said once, with the suite, and filled in to be read.

Under `questions`, the `x_source` of a dataset has what that of each question says unless it says otherwise. There,
`pointer: /evals/*` numbers the questions as they come, and `{x_number: id}` is the number in a question's id.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalstore.documents import write_row

_COMMON = "questions"
_KEPT, _POINTER, _LACKS = "kept", "pointer", "lacks"
# What is noted of one question alone, and read where nothing is filled in.
_OWN = frozenset({_LACKS, "renamed_from", "pin", "pinned"})
_NUMBER = "x_number"
_ID_NUMBER = {_NUMBER: "id"}
_DIGITS = re.compile(r"[0-9]{1,9}")
_FEW = 2  # questions: of one alone, nothing is repeated

Source = Mapping[str, Any]
# A key of the `x_source` of a question, or of what it keeps.
_Place = tuple[str, ...]


def fold_rows(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a dataset that says once what its questions say alike of their source."""
    value = fill_rows(value)
    sources = [source for row in _list_rows(value) if (source := _read_source(row))]
    if len(sources) < _FEW or not isinstance(value.get("x_source"), Mapping):
        return value
    common = _find_common(value, sources)
    rows = [_fold_row(row, common) for row in value["questions"]]
    folded = {**value, "questions": rows, "x_source": {**value["x_source"], _COMMON: common}}
    return folded if common and _spell_sources(fill_rows(folded)) == _spell_sources(value) else value


def fill_rows(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a dataset whose questions each say all of their source, as `fold_rows` was given it."""
    head = value.get("x_source")
    common = head.get(_COMMON) if isinstance(head, Mapping) else None
    if not isinstance(head, Mapping) or not isinstance(common, Mapping) or not isinstance(value.get("questions"), list):
        return dict(value)
    pointers = _list_pointers(value, common.get(_POINTER))
    rows = [_fill_row(row, common, pointers) for row in value["questions"]]
    return {**value, "questions": rows, "x_source": {key: item for key, item in head.items() if key != _COMMON}}


def _list_rows(value: Mapping[str, Any]) -> list[Any]:
    rows = value.get("questions")
    return rows if isinstance(rows, list) else []


def _read_source(row: Any) -> Source | None:
    source = row.get("x_source") if isinstance(row, Mapping) else None
    return source if isinstance(source, Mapping) else None


def _spell_sources(value: Mapping[str, Any]) -> str:
    """Return what questions say of their source as text; the order of its keys says nothing."""
    return "".join(write_row(dict(sorted((_read_source(row) or {}).items()))) for row in _list_rows(value))


def _list_pointers(value: Mapping[str, Any], pattern: Any) -> Iterator[str]:
    """Yield the pointers of questions one after the other; places of cases that were set aside are left out."""
    if not isinstance(pattern, str):
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
    """Return what it pays to say once."""
    common: dict[str, Any] = {}
    if pattern := _find_pattern(value, sources):
        common[_POINTER] = pattern
    places = dict.fromkeys(place for source in sources for place in _list_places(source))
    chosen = {place: item for place in places if (item := _choose_value(place, value)) is not None}
    common |= {place[0]: item for place, item in chosen.items() if len(place) == 1}
    if kept := {place[1]: item for place, item in chosen.items() if len(place) > 1}:
        common[_KEPT] = kept
    return common


def _find_pattern(value: Mapping[str, Any], sources: Sequence[Source]) -> str | None:
    """Return the pointer of the cases' list with a `*` for their numbers, where they follow one another."""
    parent = str(sources[0].get(_POINTER, "")).rpartition("/")[0]
    pointers = _list_pointers(value, f"{parent}/*")
    inside = [source[_POINTER] for source in sources if str(source.get(_POINTER, "")).rpartition("/")[0] == parent]
    if "*" in parent or len(inside) < _FEW or any(source.get(_POINTER) is None for source in sources):
        return None
    return f"{parent}/*" if all(pointer == next(pointers) for pointer in inside) else None


def _list_places(source: Source) -> Iterator[_Place]:
    for key, item in source.items():
        if key == _KEPT and isinstance(item, Mapping):
            yield from ((_KEPT, name) for name in item)
        elif key not in _OWN and key not in {_POINTER, _KEPT}:
            yield (key,)


def _choose_value(place: _Place, value: Mapping[str, Any]) -> Any:
    """Return what most questions have at a place, where saying it once is shorter; None where it is not."""
    found = [(row, _follow(source, place)) for row in _list_rows(value) if (source := _read_source(row))]
    texts = Counter(write_row(item[0]) for _, item in found if item)
    numbers = sum(bool(item) and _is_number_of(item[0], row) for row, item in found)
    text, count = texts.most_common(1)[0]
    best = _ID_NUMBER if numbers >= count else next(item[0] for _, item in found if item and write_row(item[0]) == text)
    lacking = sum(not item for _, item in found)
    saved = (max(count, numbers) - 1) * (len(text) + len(place[-1])) - lacking * (len("/".join(place)) + len(_LACKS))
    return best if max(count, numbers) >= _FEW and saved > 0 else None


def _follow(source: Source, place: _Place) -> tuple[Any, ...]:
    """Return the value at a place, alone in a tuple; an empty one where there is none."""
    holder: Any = source
    for key in place:
        if not isinstance(holder, Mapping) or key not in holder:
            return ()
        holder = holder[key]
    return (holder,)


def _is_number_of(item: Any, row: Mapping[str, Any]) -> bool:
    return type(item) is int and item == _read_number(row)


def _read_number(row: Mapping[str, Any]) -> int | None:
    found = _DIGITS.findall(str(row.get("id")))
    return int(found[0]) if len(found) == 1 else None


def _fold_row(row: Any, common: Mapping[str, Any]) -> Any:
    source = _read_source(row)
    if source is None:
        return row
    own = {key: item for key, item in source.items() if key == _KEPT or not _is_common(key, item, common, row)}
    lacks = [key for key in common if key not in source and key != _KEPT]
    kept, usual = source.get(_KEPT, {}), common.get(_KEPT, {})
    if usual and isinstance(kept, Mapping):
        rest = {key: item for key, item in kept.items() if not _is_common(key, item, usual, row)}
        gone = [key for key in usual if key not in kept]
        # Where the order would be another one, all of it is said.
        if [*(key for key in usual if key in kept), *(key for key in rest if key not in usual)] != [*kept]:
            rest, gone = dict(kept), [*usual]
        own = {key: rest if key == _KEPT else item for key, item in own.items() if key != _KEPT or rest or not kept}
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
    lacks = source.get(_LACKS) or ()
    filled: dict[str, Any] = {}
    for key, item in common.items():
        if key == _KEPT or key in source or key in lacks:
            continue
        filled[key] = next(pointers) if key == _POINTER else _fill_value(item, row)
    kept = source.get(_KEPT, {})
    if isinstance(kept, Mapping):
        usual = common.get(_KEPT, {})
        names = (key for key in usual if f"{_KEPT}/{key}" not in lacks)
        kept = {key: kept[key] if key in kept else _fill_value(usual[key], row) for key in names} | dict(kept)
    has_kept = bool(kept) or _KEPT in source
    own = {key: item for key, item in source.items() if key not in {_KEPT, _LACKS}}
    return {**row, "x_source": filled | own | ({_KEPT: kept} if has_kept else {})}


def _fill_value(item: Any, row: Mapping[str, Any]) -> Any:
    return _read_number(row) if item == _ID_NUMBER else item
