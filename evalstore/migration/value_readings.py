"""Reads single values like the legacy grader: what a check needs, and what in a file misleads.

The grader is Python that trusts its input (it iterates a text like a list, and any truthy value
counts as true), so each reading follows Python and reports where that misleads. A value that
crashes the grader is refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeGuard

from evalstore.documents import OpaqueValue, Pointer, write_canonical
from evalstore.lint.shapes import QUESTION, is_valid_by_schema
from evalstore.migration.artifact_names import make_slug
from evalstore.migration.extraction import MigrationNote
from evalstore.migration.outcome import MigrationOutcome, classify_losses, find_worst_outcome
from evalstore.migration.remainder import Mirrors, encode_value, is_same_data
from evalstore.migration.table import ANY_KEY, CheckRow, FormatTable, has_path, split_path
from evalstore.text import find_nearest, make_excerpt

_NAMES: Mapping[type, str] = {
    dict: "an object",
    str: "a text",
    list: "a list",
    int: "a number",
    Decimal: "a number",
}
# Words in a key that invert a demand.
_BANS = re.compile(
    r"(?:^|[_\W])(?:not?|never|without)(?:[_\W]|$)|forbid|exclude|banned|disallow|avoid|"
    r"[a-z]Not[A-Z]"
)
_EXTENSIONS = ("x-", "x_", ".", "_")  # how keys begin that no program reads
_TAKEN_APART = "{} is {} where a list belongs: the legacy grader took each {} by itself"
_EMPTY = "{} has an empty text, which is in every answer"
_HIDDEN = "{} hides it: nothing in it is asked"


def find_unknown_keys(value: Any, table: FormatTable) -> Iterator[MigrationNote]:
    """Yield a note on each key at the root, or in its parts, that the table does not know.

    Hidden lists have notes, too.
    """
    if isinstance(value, dict) and ANY_KEY in table.lists and table.lists.keys().isdisjoint(value):
        # The keys at the root are names, of mappings or of one another.
        odd = (key for key, item in value.items() if not isinstance(item, dict))
        for key in odd:
            if not isinstance(value[key], str) or value[key] not in value:
                yield note_unknown_key((key,), ())
        return
    # A grader reads the first of the table's lists that a file has; later ones are hidden.
    first, *hidden_lists = [key for key in table.lists if has_path(value, key)] or [""]
    for path in hidden_lists:
        yield MigrationNote(
            split_path(value, path), MigrationOutcome.UNMAPPED, _HIDDEN.format(first)
        )
    for path, known in {"": (*table.root_data, *table.lists), **table.root_parts}.items():
        for pointer, holder in _find_holders(value, path.split("/") if path else ()):
            for key in holder:
                if key not in known and not (not path and _is_extension(key)):
                    yield note_unknown_key((*pointer, key), known)


def _is_extension(key: Any) -> bool:
    """Whether a key of the root is there for people, or for an anchor of YAML."""
    return isinstance(key, str) and key.startswith(_EXTENSIONS)


def _find_holders(
    value: Any, path: Sequence[str], at: Pointer = ()
) -> Iterator[tuple[Pointer, dict[Any, Any]]]:
    """Yield the mappings at a path, with their pointers; the step `*` is each item of a list."""
    if not path:
        yield from [(at, value)] if isinstance(value, dict) else []
        return
    step, *rest = path
    if step == "*":
        for index, item in enumerate(value if isinstance(value, list) else ()):
            yield from _find_holders(item, rest, (*at, index))
    elif isinstance(value, dict) and step in value:
        yield from _find_holders(value[step], rest, (*at, step))


def note_unknown_key(pointer: Pointer, known: Iterable[str]) -> MigrationNote:
    """Return a note that no grader reads the key at a pointer."""
    return MigrationNote(
        pointer, MigrationOutcome.UNMAPPED, "".join(describe_unknown_keys(pointer[-1:], known))
    )


def describe_type(raw: Any) -> str:
    """Return the JSON type of a value, in words."""
    if isinstance(raw, OpaqueValue):
        return raw.description
    return _NAMES.get(type(raw)) or {None: "null", True: "true", False: "false"}[raw]


def is_number(value: Any) -> TypeGuard[int | Decimal]:
    """Whether a value is a number; true and false are not."""
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def describe_unknown_keys(keys: Iterable[Any], known: Iterable[str]) -> list[str]:
    """Return a sentence that no grader reads these keys.

    It guesses what a misspelt one means. There is none if there are no keys.
    """
    names, known = list(map(str, keys)), list(known)
    if not names:
        return []
    nearest = ((name, find_nearest(name, select_same_side(name, known))) for name in names)
    guesses = (
        f"; did you mean {guess} by {make_excerpt(name)!r}?" for name, guess in nearest if guess
    )
    return [
        (
            f"no grader reads {', '.join(repr(make_excerpt(name)) for name in names)}: kept as "
            f"data{''.join(guesses)}"
        )
    ]


def is_ban(name: str) -> bool:
    """Whether the words in a key ban something."""
    return _BANS.search(name) is not None


def select_same_side(name: str, known: Iterable[str]) -> list[str]:
    """Return the known keys that ask for or ban something, like `name`.

    A guess must not negate a demand.
    """
    side, letters = is_ban(name), make_slug(name).replace("_", "")
    # The same letters, only joined differently, mean the same: nojquery is no-jquery.
    return [
        key for key in known if is_ban(key) == side or make_slug(key).replace("_", "") == letters
    ]


def describe_misfits(
    raw: Mapping[str, Any], question: Mapping[str, Any], mirrors: Mirrors
) -> list[str]:
    """Return a sentence on the keys of a case that its question should mirror.

    It is about those that the question does not mirror, if any.
    """
    misfits: list[str] = []
    for key, field in mirrors.items():
        if not field or field == "id" or raw.get(key) is None:
            continue
        if field not in question or not is_same_data(question[field], raw[key]):
            misfits.append(key)
    return [f"{', '.join(misfits)}: not as graders read it, kept as data"] if misfits else []


def is_question_value(field: str, value: Any) -> bool:
    """Whether a question can hold a value in a field of its schema."""
    return is_valid_by_schema(QUESTION, {"id": "x", "input": "x", field: value})


@dataclass(frozen=True, slots=True)
class ValueReading:
    """What one value asks for (`value`; None: nothing), with its outcome and reasons."""

    value: Any = None
    outcome: MigrationOutcome = MigrationOutcome.MIGRATED
    reasons: tuple[str, ...] = ()


def read_value(raw: Any, row: CheckRow) -> ValueReading:
    """Return how the legacy grader reads the value of `row.key`."""
    return _READERS[row.reader](raw, row)


def _read_texts(raw: Any, row: CheckRow) -> ValueReading:
    if not isinstance(raw, str | dict | list):
        return _refuse_crash(row.key, describe_type(raw))
    items = list(raw)  # like the legacy grader: the characters of a text, the keys of a mapping
    if misfits := [item for item in items if not isinstance(item, str)]:
        return _refuse_crash(row.key, f"a list that holds {describe_type(misfits[0])}")
    reasons = []
    if not isinstance(raw, list):
        part = "character" if isinstance(raw, str) else "key"
        reasons.append(_TAKEN_APART.format(row.key, describe_type(raw), part))
    # The empty text is in every output: if any item suffices, the check always passes.
    always = "" in items and row.empty_passes
    if "" in items:
        reasons.append(_EMPTY.format(row.key) + (": it always passes" if always else ""))
    return _make_reading(None if always else items, reasons)


def _read_truth(raw: Any, row: CheckRow) -> ValueReading:
    misleads = (
        [f"{row.key} is {_describe_value(raw)}, which counts as true"]
        if raw and raw is not True
        else []
    )
    return _make_reading(bool(raw), misleads)


def _read_minimum(raw: Any, row: CheckRow) -> ValueReading:
    if not isinstance(raw, int | Decimal):
        return _refuse_crash(row.key, describe_type(raw)) if raw else ValueReading()
    # A count is an integer, so a bound between two counts is the next one.
    return _make_bound(
        raw, row, max(0, raw if isinstance(raw, int) else math.ceil(min(float(raw), 1e15)))
    )


def _read_maximum(raw: Any, row: CheckRow) -> ValueReading:
    if not isinstance(raw, int | Decimal):
        return _refuse_crash(row.key, describe_type(raw))
    return _make_bound(
        raw, row, max(0, raw if isinstance(raw, int) else math.floor(min(float(raw), row.limit)))
    )


def _make_bound(raw: int | Decimal, row: CheckRow, whole: int) -> ValueReading:
    if raw is True or (raw > 0 and whole != raw):
        outcome = MigrationOutcome.LOSSY if raw is True else MigrationOutcome.MIGRATED
        return ValueReading(
            int(whole),
            outcome,
            (f"{row.key} is {_describe_value(raw)}, which counts as {int(whole)}",),
        )
    return ValueReading(int(whole))


def _read_options(raw: Any, row: CheckRow) -> ValueReading:
    if not raw:
        return ValueReading()
    if not isinstance(raw, dict):
        return _refuse_crash(row.key, describe_type(raw))
    rows = {option.key: option for option in row.options}
    readings = [(key, read_value(item, rows[key])) for key, item in raw.items() if key in rows]
    value = {key: reading.value for key, reading in readings if reading.value is not None}
    outcome = find_worst_outcome(reading.outcome for _, reading in readings)
    reasons = [reason for _, reading in readings for reason in reading.reasons]
    if not value and outcome is not MigrationOutcome.REFUSED:
        outcome = MigrationOutcome.LOSSY
        reasons.append("it asks for nothing that the legacy grader reads")
    reasons += describe_unknown_keys((key for key in raw if key not in rows), rows)
    return ValueReading(value, outcome, tuple(f"{row.key}: {reason}" for reason in reasons))


def _make_reading(value: Any, reasons: list[str]) -> ValueReading:
    return ValueReading(value, classify_losses(reasons), tuple(reasons))


def _refuse_crash(key: str, description: str) -> ValueReading:
    return ValueReading(
        None,
        MigrationOutcome.REFUSED,
        (f"{key} is {description}, which crashes the legacy grader",),
    )


def _describe_value(raw: Any) -> str:
    if isinstance(raw, str):
        return f"the text {make_excerpt(raw, 40)!r}"
    return describe_type(raw) if isinstance(raw, bool | list | dict) else str(raw)


_READERS: Mapping[str, Callable[[Any, CheckRow], ValueReading]] = {
    "texts": _read_texts,
    "texts_or_off": lambda raw, row: _read_texts(raw, row) if raw else ValueReading(),
    "truth": _read_truth,
    "at_least": _read_minimum,
    "at_most": _read_maximum,
    "options": _read_options,
}


def render_input(input_: Any) -> str:
    """Return an input as one text.

    It is the content of a single user message, else each message after its role.
    """
    if input_ is None or isinstance(input_, str):
        return input_ or ""
    messages = read_messages(input_)
    if not messages:
        return write_canonical(encode_value(input_))
    if is_plain(messages):
        return _render_content(messages[0].get("content"))
    return "\n\n".join(
        f"{message['role']}: {_render_content(message.get('content'))}" for message in messages
    )


def read_messages(input_: Any) -> list[dict[str, Any]]:
    """Return an input that is a list of chat messages; an empty list for any other."""
    if not isinstance(input_, list) or not all(map(_is_message, input_)):
        return []
    return input_ if is_same_data(encode_value(input_), input_) else []


def _is_message(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("role"), str) and item["role"] != ""


def is_plain(messages: list[dict[str, Any]]) -> bool:
    """Whether all messages are the user's."""
    return len(messages) == 1 and messages[0]["role"] == "user"


def _render_content(content: Any) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return (
        "\n".join(_render_blocks(content))
        if isinstance(content, list)
        else write_canonical(encode_value(content))
    )


def _render_blocks(blocks: list[Any]) -> Iterator[str]:
    for block in blocks:
        value = block.get("value", block.get("text")) if isinstance(block, dict) else block
        # Files and images are named in the text, because a judge here sees only text.
        if isinstance(block, dict) and block.get("type") != "text":
            yield (
                f"[{block.get('type')}: "
                f"{value if isinstance(value, str) else write_canonical(encode_value(value))}]"
            )
        else:
            yield value if isinstance(value, str) else write_canonical(encode_value(value))
