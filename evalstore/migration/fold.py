"""What artifacts do not say of a source, beside them; and the source again, from both: nothing is kept twice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evalstore.documents import Pointer

Mirrors = Mapping[str, str | None]

_PAIRS = "x_pairs"


def folded_case(raw: Any, question: Mapping[str, Any], mirrors: Mirrors) -> dict[str, Any]:
    """Return what a question does not say of its case: `kept` keys, and the order of `keys` where it is unusual.

    `mirrors` has the usual keys in their usual order, each with the field of the question that holds its value as it
    is (with `|`: the first that it has); None where there is none. One field stands for one key only.
    """
    if not isinstance(raw, dict):
        return {"kept": bare(raw)}
    dropped: list[str] = []
    said = _said(question, mirrors)
    while absent := [key for key in said if key not in raw]:
        dropped += absent
        said = _said(question, mirrors, dropped)
    kept = bare({key: value for key, value in raw.items() if not (key in said and same(said[key], value))})
    source = {**({"kept": kept} if kept else {}), **({"dropped": dropped} if dropped else {})}
    usual = list(unfolded_case({**question, "x_source": source}, mirrors)) == list(raw)
    return source if usual else source | {"keys": list(map(str, raw))}


def unfolded_case(question: Mapping[str, Any], mirrors: Mirrors) -> Any:
    """Return the case of a question; what the question says today comes first."""
    source = question.get("x_source", {})
    kept = whole(source.get("kept", {}))
    if not isinstance(kept, dict):
        return kept
    said = _said(question, mirrors, source.get("dropped", ()))
    found = {**kept, **{key: value for key, value in said.items() if key not in kept}}
    places = {name: place for place, name in enumerate(source.get("keys", ()))}
    usual = {key: len(places) + place for place, key in enumerate(dict.fromkeys([*mirrors, *said, *kept]))}
    rank = {key: places.get(str(key), usual[key]) for key in found}
    return dict(sorted(found.items(), key=lambda item: rank[item[0]]))


def folded_root(root: Any, pointers: Sequence[Pointer]) -> Any:
    """Return a file's value without what stands at `pointers`, all of them items of lists."""
    gone = set(pointers)
    return bare(_without(root, (), gone))


def unfolded_root(kept: Any, items: Iterable[tuple[str, Any]]) -> Any:
    """Return a file's value from what was kept of it, and its items by pointer."""
    root = whole(kept)
    for pointer, value in sorted(items, key=lambda item: _order(item[0])):
        *parents, index = pointer.split("/")[1:]
        holder = root
        for step in parents:
            holder = holder[int(step)] if isinstance(holder, list) else holder[_key(step, holder)]
        holder.insert(int(index), value)
    return root


def bare(value: Any) -> Any:
    """Return a value whose keys are all texts: an object with other keys becomes its pairs."""
    if isinstance(value, list):
        return [bare(item) for item in value]
    if not isinstance(value, dict):
        return value
    if _PAIRS in value or not all(isinstance(key, str) for key in value):
        return {_PAIRS: [[key, bare(item)] for key, item in value.items()]}
    return {key: bare(item) for key, item in value.items()}


def whole(value: Any) -> Any:
    """Take `bare` back."""
    if isinstance(value, list):
        return [whole(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {_PAIRS}:
        return {key: whole(item) for key, item in value[_PAIRS]}
    return {key: whole(item) for key, item in value.items()}


def _said(question: Mapping[str, Any], mirrors: Mirrors, dropped: Sequence[str] = ()) -> dict[str, Any]:
    """Return the keys that the question holds; of several keys for one field only the first that is not dropped."""
    fields: dict[str, str] = {}
    for key, words in mirrors.items():
        held = [name for name in (words or "").split("|") if name in question]
        if held and held[0] not in fields and key not in dropped:
            fields[held[0]] = key
    said = {key: question[field] for field, key in fields.items()}
    if "metadata" in mirrors.values():
        return said
    return said | {key: value for key, value in question.get("metadata", {}).items() if key not in dropped}


def _without(value: Any, pointer: Pointer, gone: set[Pointer]) -> Any:
    if isinstance(value, dict):
        return {key: _without(item, (*pointer, key), gone) for key, item in value.items()}
    if isinstance(value, list):
        places = ((*pointer, index) for index in range(len(value)))
        return [_without(item, place, gone) for place, item in zip(places, value, strict=True) if place not in gone]
    return value


def _order(pointer: str) -> tuple[tuple[int, str], ...]:
    return tuple((int(step), "") if step.isdecimal() else (-1, step) for step in pointer.split("/")[1:])


def _key(step: str, holder: Mapping[Any, Any]) -> Any:
    text = step.replace("~1", "/").replace("~0", "~")
    return text if text in holder else next(key for key in holder if str(key) == text)


def _exact(key: Any) -> Any:
    return key if isinstance(key, str) else (type(key), str(key))


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal as data: `1`, `1.0` and `true` differ, the order of keys does not count."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return set(map(_exact, one)) == set(map(_exact, other)) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return str(one) == str(other)
