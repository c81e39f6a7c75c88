"""The remainder of a source: what its artifacts do not say. Splits it off, and restores the source from both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from evalstore.documents import OpaqueValue, Pointer, write_canonical
from evalstore.model import is_cosmetic

Mirrors = Mapping[str, str | None]

_PAIRS = "x_pairs"
_JSON = "x_json"
# The keys of a reference to a part of a rubric; `folded_values` says what they mean.
AT, EACH, WITHOUT, ALIKE = "x_at", "x_each", "x_without", "x_alike"
_MARKERS = frozenset({_PAIRS, _JSON, AT, EACH, WITHOUT, ALIKE})


def find_case_remainder(raw: Any, question: Mapping[str, Any], mirrors: Mirrors) -> dict[str, Any]:
    """Return the remainder of a case: `kept` keys that its question does not hold, and an unusual order of `keys`.

    `mirrors` lists the usual keys in their usual order, each with the field of the question that holds its value
    unchanged (`a|b`: the first field that the question has; None: no field). One field mirrors one key only.
    """
    if not isinstance(raw, dict):
        return {"kept": encode_value(raw)}
    dropped: list[str] = []
    mirrored = _mirror_question(question, mirrors)
    # A field that mirrors a key which the case lacks is dropped, which may expose the next key for that field.
    while absent := [key for key in mirrored if key not in raw]:
        dropped += absent
        mirrored = _mirror_question(question, mirrors, dropped)
    remainder = encode_value(
        {key: value for key, value in raw.items() if not (key in mirrored and is_same_data(mirrored[key], value))}
    )
    source = {**({"kept": remainder} if remainder else {}), **({"dropped": dropped} if dropped else {})}
    # The order of keys is stored only where restoring would change it.
    usual = list(restore_case({**question, "x_source": source}, mirrors)) == list(raw)
    return source if usual else source | {"keys": list(map(str, raw))}


def restore_case(question: Mapping[str, Any], mirrors: Mirrors) -> Any:
    """Return the case of a question and its remainder; a key of the remainder wins, as no field mirrors its value."""
    source = question.get("x_source", {})
    remainder = decode_value(source.get("kept", {}))
    if not isinstance(remainder, dict):
        return remainder
    mirrored = _mirror_question(question, mirrors, source.get("dropped", ()))
    values = {**remainder, **{key: value for key, value in mirrored.items() if key not in remainder}}
    # Keys with a stored place come first, then the usual order of the format.
    places = {name: place for place, name in enumerate(source.get("keys", ()))}
    usual = {key: len(places) + place for place, key in enumerate(dict.fromkeys([*mirrors, *mirrored, *remainder]))}
    rank = {key: places.get(str(key), usual[key]) for key in values}
    return dict(sorted(values.items(), key=lambda item: rank[item[0]]))


def find_root_remainder(root: Any, pointers: Sequence[Pointer]) -> Any:
    """Return a file's value without the list items at `pointers`."""
    return encode_value(_remove_pointers(root, (), set(pointers)))


def restore_root(remainder: Any, items: Iterable[tuple[str, Any]]) -> Any:
    """Return a file's value from its remainder and its list items, each with its JSON pointer."""
    root = decode_value(remainder)
    # Items are inserted in document order, so each index is valid at its turn.
    for pointer, value in sorted(items, key=lambda item: _pointer_order(item[0])):
        *parents, index = pointer.split("/")[1:]
        holder = root
        for step in parents:
            holder = holder[int(step)] if isinstance(holder, list) else holder[_find_key(step, holder)]
        holder.insert(int(index), value)
    return root


def encode_value(value: Any) -> Any:
    """Return a value that an artifact can hold.

    A mapping with keys that are not texts (YAML) becomes a list of pairs, an opaque value its JSON text.
    """
    if isinstance(value, OpaqueValue):
        return {_JSON: value.text}
    # A mapping that has a marker itself is encoded too, so that decoding stays unambiguous.
    if isinstance(value, dict) and (not _MARKERS.isdisjoint(value) or not all(isinstance(key, str) for key in value)):
        return {_PAIRS: [[key, encode_value(item)] for key, item in value.items()]}
    return _change_items(value, encode_value)


def decode_value(value: Any) -> Any:
    """Return the value of which `encode_value` made this one."""
    if isinstance(value, dict) and value.keys() == {_JSON}:
        return OpaqueValue(value[_JSON])
    if isinstance(value, dict) and value.keys() == {_PAIRS}:
        return {key: decode_value(item) for key, item in value[_PAIRS]}
    return _change_items(value, decode_value)


def _change_items(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a list or a mapping with each of its items changed, anything else as it is."""
    if isinstance(value, list):
        return [change(item) for item in value]
    return {key: change(item) for key, item in value.items()} if isinstance(value, dict) else value


def _mirror_question(question: Mapping[str, Any], mirrors: Mirrors, dropped: Sequence[str] = ()) -> dict[str, Any]:
    """Return the case's keys that a question mirrors; of several for one field, the first that is not `dropped`."""
    fields: dict[str, str] = {}
    for key, field_names in mirrors.items():
        present = [name for name in (field_names or "").split("|") if name in question]
        if present and present[0] not in fields and key not in dropped:
            fields[present[0]] = key
    mirrored = {key: question[field] for field, key in fields.items()}
    if "metadata" in mirrors.values():
        return mirrored
    return mirrored | {key: value for key, value in question.get("metadata", {}).items() if key not in dropped}


def _remove_pointers(value: Any, pointer: Pointer, removed: set[Pointer]) -> Any:
    if isinstance(value, dict):
        return {key: _remove_pointers(item, (*pointer, key), removed) for key, item in value.items()}
    if isinstance(value, list):
        places = ((*pointer, index) for index in range(len(value)))
        return [
            _remove_pointers(item, place, removed)
            for place, item in zip(places, value, strict=True)
            if place not in removed
        ]
    return value


def _pointer_order(pointer: str) -> tuple[tuple[int, str], ...]:
    return tuple((int(step), "") if step.isdecimal() else (-1, step) for step in pointer.split("/")[1:])


def _find_key(step: str, holder: Mapping[Any, Any]) -> Any:
    # RFC 6901 escapes; a YAML key may be no text, and is found by its spelling.
    text = step.replace("~1", "/").replace("~0", "~")
    return text if text in holder else next(key for key in holder if str(key) == text)


def _make_exact_key(key: Any) -> Any:
    # Python takes 1, 1.0 and True for the same key; YAML does not.
    return key if isinstance(key, str) else (type(key), str(key))


def is_same_data(left: Any, right: Any) -> bool:
    """Whether two values are equal as data: `1`, `1.0` and `true` differ, the order of keys does not count."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return set(map(_make_exact_key, left)) == set(map(_make_exact_key, right)) and all(
            is_same_data(left[key], right[key]) for key in left
        )
    if isinstance(left, list):
        return len(left) == len(right) and all(map(is_same_data, left, right))
    # As text, 1.0 and 1.00 differ: numbers keep the digits that the file has.
    return str(left) == str(right)


QUESTION = "/question"
_LEAST = 40  # characters: a reference is no shorter


def fold_value(value: Any, rubric: Mapping[str, Any]) -> Any:
    """Return an encoded value in which parts that a rubric's checks or scoring hold are references to them.

    `{x_at: pointer}` is the part at that pointer, with further keys beside and without those in `x_without`;
    `{x_each: /checks/*/…}` is the list of the parts of all checks. `{x_alike: {key: list}}` is a list of mappings with
    the same keys; in place of such a list, `{x_at: /checks/*/…}` has the number of the check as it comes. Below
    `question` the rubric may have the question that it grades. Cosmetic keys are never referred to: people edit them.
    """
    parts = {write_canonical(part): pointer for pointer, part in reversed(list(_list_parts(rubric)))}
    return _gather_columns(_fold(value, rubric, parts))


def _gather_columns(value: Any) -> Any:
    """Return a folded value in which a list of like mappings that refer to one check each has a list for each key."""
    items = _change_items(value, _gather_columns)
    if not isinstance(items, list):
        return items
    keys = [*items[0]] if items[1:] and isinstance(items[0], dict) else []
    if not keys or any(not isinstance(item, dict) or [*item] != keys for item in items):
        return items
    columns = {key: _name_column([item[key] for item in items]) for key in keys}
    is_named = {isinstance(column, dict) for column in columns.values()}
    # Where all columns are references, none tells how many there are.
    return {ALIKE: columns} if is_named == {True, False} else items


def _name_column(column: list[Any]) -> Any:
    """Return the reference that stands for those of a column to one part of each check, else the column."""
    pointers = [item[AT] if isinstance(item, dict) and item.keys() == {AT} else "" for item in column]
    start, _, rest = pointers[0].removeprefix("/checks/").partition("/")
    pattern = f"/checks/*/{rest}"
    return {AT: pattern} if start == "0" and pointers == _number_pointers(pattern, len(column)) else column


def _number_pointers(pattern: str, count: int) -> list[str]:
    return [pattern.replace("*", str(number), 1) for number in range(count)]


def expand_columns(value: Any) -> Any:
    """Return a folded value as it is without `x_alike`."""
    if not isinstance(value, dict) or value.keys() != {ALIKE}:
        return _change_items(value, expand_columns)
    columns = {key: expand_columns(item) for key, item in value[ALIKE].items()}
    count = max(len(column) for column in columns.values() if isinstance(column, list))
    for key, column in columns.items():
        if isinstance(column, dict):
            columns[key] = [{AT: pointer} for pointer in _number_pointers(column[AT], count)]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def restore_parts(value: Any, rubric: Mapping[str, Any]) -> Any:
    """Return the value of which `fold_value` made this one. Raises `LookupError` where the rubric lacks a part."""
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
    if (pointer := parts.get(text)) and is_same_data(_follow(rubric, pointer.split("/")[1:]), value):
        return {AT: pointer}
    if isinstance(value, list):
        return _fold_list(value, rubric) or [_fold(item, rubric, parts) for item in value]
    return _fold_mapping(value, rubric, parts) if isinstance(value, dict) else value


def _fold_list(value: list[Any], rubric: Mapping[str, Any]) -> Any:
    """Return a reference to the parts of all checks that make a list; None where there is none."""
    checks = rubric.get("checks", [])
    suffixes = [pointer.split("/") for pointer, _ in _list_parts({"checks": checks[:1]})]
    for _, _, _, *rest in (steps for steps in suffixes if len(steps) > 3):  # noqa: PLR2004  # below a check
        try:
            found = [_follow(check, rest) for check in checks]
        except (LookupError, TypeError, ValueError):  # a check of another shape
            continue
        if is_same_data(found, value):
            return {EACH: "/".join(["", "checks", "*", *rest])}
    return None


def _fold_mapping(value: dict[str, Any], rubric: Mapping[str, Any], parts: Mapping[str, str]) -> dict[str, Any]:
    places = [f"/checks/{index}" for index in range(len(rubric.get("checks", ())))] + ["/scoring"]
    bases = {place: _follow(rubric, place.split("/")[1:]) for place in places if "checks" in rubric}
    shared = {place: _select_shared(value, base) for place, base in bases.items() if isinstance(base, dict)}
    place = max(shared, key=lambda place: len(write_canonical(shared[place])), default="")
    if not place or len(shared[place]) <= 1 or len(write_canonical(shared[place])) <= _LEAST:
        return {key: _fold(item, rubric, parts) for key, item in value.items()}
    missing = [key for key in bases[place] if key not in value]
    own = {key: _fold(item, rubric, parts) for key, item in value.items() if key not in shared[place]}
    return {AT: place, **({WITHOUT: missing} if missing else {}), **own}


def _select_shared(value: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in value.items() if key in base and is_same_data(base[key], item)}


def _list_parts(rubric: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the texts, lists and mappings of checks, scoring and question, each with its pointer."""
    for key in ("checks", "scoring", "question"):
        yield from _walk(_strip(rubric.get(key)), f"/{key}")


def _walk(value: Any, pointer: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, str | list | dict):
        yield pointer, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
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
