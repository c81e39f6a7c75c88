"""The remainder of a source: what its artifacts do not express.

It is split off here, and the source is restored from both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from evalstore.documents import OpaqueValue, Pointer

Mirrors = Mapping[str, str | None]

# The key in an `x_source` for the companion files of a source, and, in a case, for the one that it
# is in.
BESIDE = "beside"
_PAIRS = "x_pairs"
_JSON = "x_json"
# The keys of a reference to a part of a rubric; `folded_values` says what they mean.
AT, EACH, WITHOUT, ALIKE = "x_at", "x_each", "x_without", "x_alike"
_MARKERS = frozenset({_PAIRS, _JSON, AT, EACH, WITHOUT, ALIKE})


def find_case_remainder(raw: Any, question: Mapping[str, Any], mirrors: Mirrors) -> dict[str, Any]:
    """Return the remainder of a case.

    That is `kept` keys that its question lacks, and an unusual order of `keys`. `mirrors` lists the
    usual keys in their usual order, each with the field of the question that has its value
    unchanged (`a|b`: the first field that the question has; None: no field). One field mirrors only
    one key.
    """
    if not isinstance(raw, dict):
        return {"kept": encode_value(raw)}
    dropped: list[str] = []
    mirrored = _mirror_question(question, mirrors)
    # A field that mirrors a key which the case lacks is dropped, which may expose the next key for
    # that field.
    while absent := [key for key in mirrored if key not in raw]:
        dropped += absent
        mirrored = _mirror_question(question, mirrors, dropped)
    held = {key for key, value in mirrored.items() if is_same_data(value, raw[key])}
    remainder = encode_value({key: value for key, value in raw.items() if key not in held})
    source = {
        **({"kept": remainder} if remainder else {}),
        **({"dropped": dropped} if dropped else {}),
    }
    # The order of keys is stored only if restoring would change it.
    usual = list(restore_case({**question, "x_source": source}, mirrors)) == list(raw)
    return source if usual else source | {"keys": list(map(str, raw))}


def restore_case(question: Mapping[str, Any], mirrors: Mirrors) -> Any:
    """Return the case of a question and its remainder.

    The remainder's keys win: no field mirrors their values.
    """
    source = question.get("x_source", {})
    remainder = decode_value(source.get("kept", {}))
    if not isinstance(remainder, dict):
        return remainder
    mirrored = _mirror_question(question, mirrors, source.get("dropped", ()))
    values = {
        **remainder,
        **{key: value for key, value in mirrored.items() if key not in remainder},
    }
    # Keys with a stored place come first, then the usual order of the format.
    places = {name: place for place, name in enumerate(source.get("keys", ()))}
    order = dict.fromkeys([*mirrors, *mirrored, *remainder])
    usual = {key: place for place, key in enumerate(order, start=len(places))}
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
            holder = (
                holder[int(step)] if isinstance(holder, list) else holder[_find_key(step, holder)]
            )
        holder.insert(int(index), value)
    return root


def encode_value(value: Any) -> Any:
    """Return a value in a form that an artifact can hold.

    A mapping with keys that are not texts (YAML) becomes a list of pairs, an opaque value its JSON
    text.
    """
    if isinstance(value, OpaqueValue):
        return {_JSON: value.text}
    # A mapping that has a marker itself is encoded, too, so that decoding stays unambiguous.
    if isinstance(value, dict) and (
        not _MARKERS.isdisjoint(value) or not all(isinstance(key, str) for key in value)
    ):
        return {_PAIRS: [[key, encode_value(item)] for key, item in value.items()]}
    return convert_items(value, encode_value)


def decode_value(value: Any) -> Any:
    """Return the value from which `encode_value` made this one."""
    if isinstance(value, dict) and value.keys() == {_JSON}:
        return OpaqueValue(value[_JSON])
    if isinstance(value, dict) and value.keys() == {_PAIRS}:
        return {key: decode_value(item) for key, item in value[_PAIRS]}
    return convert_items(value, decode_value)


def convert_items(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a list or a mapping with each of its items changed, anything else as it is."""
    if isinstance(value, list):
        return [change(item) for item in value]
    return {key: change(item) for key, item in value.items()} if isinstance(value, dict) else value


def _mirror_question(
    question: Mapping[str, Any], mirrors: Mirrors, dropped: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the case's keys that a question mirrors.

    If several keys map to a field, it is the first that is not in `dropped`.
    """
    fields: dict[str, str] = {}
    for key, field_names in mirrors.items():
        present = [name for name in (field_names or "").split("|") if name in question]
        if present and present[0] not in fields and key not in dropped:
            fields[present[0]] = key
    mirrored = {key: question[field] for field, key in fields.items()}
    if "metadata" in mirrors.values():
        return mirrored
    return mirrored | {
        key: value for key, value in question.get("metadata", {}).items() if key not in dropped
    }


def _remove_pointers(value: Any, pointer: Pointer, removed: set[Pointer]) -> Any:
    if isinstance(value, dict):
        return {
            key: _remove_pointers(item, (*pointer, key), removed) for key, item in value.items()
        }
    if isinstance(value, list):
        places = {(*pointer, index): item for index, item in enumerate(value)}
        kept = {place: item for place, item in places.items() if place not in removed}
        return [_remove_pointers(item, place, removed) for place, item in kept.items()]
    return value


def _pointer_order(pointer: str) -> tuple[tuple[int, str], ...]:
    return tuple(
        (int(step), "") if step.isdecimal() else (-1, step) for step in pointer.split("/")[1:]
    )


def _find_key(step: str, holder: Mapping[Any, Any]) -> Any:
    # RFC 6901 escapes; a YAML key may not be a text, and is found by its spelling.
    text = step.replace("~1", "/").replace("~0", "~")
    return text if text in holder else next(key for key in holder if str(key) == text)


def _make_exact_key(key: Any) -> Any:
    # Python takes 1, 1.0 and True for the same key; YAML does not.
    return key if isinstance(key, str) else (type(key), str(key))


def is_same_data(left: Any, right: Any) -> bool:
    """Whether two values are equal as data.

    `1`, `1.0` and `true` differ, and the order of keys does not matter.
    """
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return set(map(_make_exact_key, left)) == set(map(_make_exact_key, right)) and all(
            is_same_data(left[key], right[key]) for key in left
        )
    if isinstance(left, list):
        return len(left) == len(right) and all(map(is_same_data, left, right))
    # As text, 1.0 and 1.00 differ: numbers keep the digits in the file.
    return str(left) == str(right)
