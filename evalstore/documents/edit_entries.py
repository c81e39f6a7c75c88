"""Sets entries of mappings in a YAML text in place; the rest keeps its layout and comments."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from evalstore.documents.document import Document, Pointer
from evalstore.documents.yaml_layout import (
    find_indent,
    find_line_start,
    find_next_line,
    find_node_end,
    find_node_start,
    find_style,
)
from evalstore.documents.yaml_reader import read_yaml
from evalstore.documents.yaml_values import resolve_plain_scalar
from evalstore.errors import LoadError, Place, RefusedError

Scalar = str | int | Decimal
New = Mapping[str, Scalar | Mapping[str, Scalar]]
_BREAK = re.compile(r"\r\n|\r|\n")
_COMMA = re.compile(r"\s*,(?:\s*(?!\s*#))?")
_FAR_COMMA = re.compile(r"(?:\s|#[^\r\n]*)*,")
# A text that never needs quotes, unless it is a number, a bool or null.
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./@+-]*")


class _Splice(NamedTuple):
    """A replacement of the characters `[start, end)` of the text."""

    start: int
    end: int
    text: str


def set_entries(document: Document, key: str, entries: Mapping[str, Scalar | None]) -> Document:
    """Return the document with `entries` under the root's `key`; an entry that is None is removed.

    A missing mapping is added, an entry with the same value keeps its text, and numbers are written
    as by `str`. Raises `RefusedError`, with what to write by hand, if every planned edit would
    change more.
    """
    new = {name: entry for name, entry in entries.items() if entry is not None}
    old = document.value.get(key)
    others = (
        {name: entry for name, entry in old.items() if name not in entries}
        if isinstance(old, dict)
        else {}
    )
    wanted, hint = document.value | {key: others | new}, f"{key}: {_format_flow(new)}"
    return _apply_first(document, _plan_edits(document, key, entries), wanted, key, hint)


def set_root_entry(document: Document, key: str, entry: Scalar | None) -> Document:
    """Return the document with a scalar under a key of the root, or, for None, without that key.

    As with `set_entries`, every other byte stays, or the edit is refused.
    """
    remaining = [name for name in document.value if name != key or entry is not None]
    new = {} if entry is None else {key: entry}
    wanted = {name: value for name, value in document.value.items() if name in remaining} | new
    hint = f"{key}: {_format_scalar(entry)}" if entry is not None else f"take out {key}"
    return _apply_first(
        document, _plan_mapping_edits(document, (), new, remaining), wanted, key, hint
    )


def _apply_first(
    document: Document, plans: Iterable[Sequence[_Splice]], wanted: object, key: str, hint: str
) -> Document:
    """Return the document after the first planned edit that gives `wanted`.

    Raises `RefusedError` if none does.
    """
    for splices in plans:
        edited = _apply_splices(document, splices)
        if edited is not None and edited.value == wanted:
            return edited
    raise RefusedError(
        f"`{key}` cannot be written without changing more of the file",
        place=document.locate((key,), of_key=True)
        if key in document.value
        else Place(document.file),
        hint=f"write by hand: {hint}",
    )


def _apply_splices(document: Document, splices: Sequence[_Splice]) -> Document | None:
    parts, position = [], 0
    for start, end, text in sorted(splices):
        parts += [document.text[position:start], text]
        # It may be after the next start: of two entries, both may take the comma between them.
        position = end
    try:
        edited = read_yaml("".join([*parts, document.text[position:]]), document.file)
    except LoadError:
        return None
    return dataclasses.replace(edited, bom=document.bom)


def _plan_edits(
    document: Document, key: str, entries: Mapping[str, Scalar | None]
) -> Iterator[Sequence[_Splice]]:
    """Yield the ways to make the edit, most readable first.

    Not every layout allows each of them.
    """
    new = {name: entry for name, entry in entries.items() if entry is not None}
    old = document.value.get(key, {})
    if key not in document.value:
        yield from (
            [splice] for splice in _add_entries(document, (), {key: new}, list(document.value))
        )
    elif old is None:
        yield from ([splice] for splice in _fill_empty_key(document, key, new))
    elif isinstance(old, dict) and find_style(document, (key,)) != "*":
        remaining = [name for name in old if name in new or name not in entries]
        yield from _plan_mapping_edits(document, (key,), new, remaining)


def _plan_mapping_edits(
    document: Document, parent: Pointer, new: Mapping[str, Scalar], remaining: Sequence[str]
) -> Iterator[Sequence[_Splice]]:
    """Yield the ways to edit a mapping whose entries `remaining` stay.

    An empty `parent` means the root.
    """
    splices = [
        *_overwrite_values(document, parent, new),
        *_remove_entries(document, parent, remaining),
    ]
    missing = {name: entry for name, entry in new.items() if name not in remaining}
    if not missing:
        yield splices
        return
    for splice in _add_entries(document, parent, missing, remaining):
        yield [*splices, splice]


def _find_mapping(document: Document, parent: Pointer) -> Mapping[str, Any]:
    found: Mapping[str, Any] = document.value[parent[0]] if parent else document.value
    return found


def _overwrite_values(
    document: Document, parent: Pointer, new: Mapping[str, Scalar]
) -> Iterator[_Splice]:
    # `True == 1` in Python: a bool is always written again.
    for name, old in _find_mapping(document, parent).items():
        if name in new and (old != new[name] or isinstance(old, bool)):
            pointer = (*parent, name)
            yield _replace_node(
                document, pointer, _format_scalar(new[name], find_style(document, pointer))
            )


def _replace_node(document: Document, pointer: Pointer, text: str) -> _Splice:
    start = find_node_start(document, pointer)
    end = start + len(document.text[start : document.spans[pointer].end].rstrip())
    return _Splice(start, end, text if document.text[start - 1].isspace() else f" {text}")


def _remove_entries(
    document: Document, parent: Pointer, remaining: Sequence[str]
) -> Iterator[_Splice]:
    names = list(_find_mapping(document, parent))
    for index, name in enumerate(names):
        if name in remaining:
            continue
        if find_style(document, parent) == "{":
            follows = any(other in remaining for other in names[:index])
            yield from _remove_flow_entry(
                document, [(*parent, other) for other in names], index, follows=follows
            )
        else:
            pointer = (*parent, name)
            yield _Splice(find_line_start(document, pointer), find_next_line(document, pointer), "")


def _remove_flow_entry(
    document: Document, pointers: Sequence[Pointer], index: int, *, follows: bool
) -> Iterator[_Splice]:
    """Yield the removal of a flow entry with one comma.

    It is the comma before the entry if it `follows` an entry that stays.
    """
    start, end = document.key_spans[pointers[index]].start, document.spans[pointers[index]].end
    before = document.spans[pointers[index - 1]].end if follows else start
    if _COMMA.fullmatch(document.text, before, start):
        yield _Splice(before, end, "")
    elif comma := _COMMA.match(document.text, end):
        yield _Splice(start, comma.end(), "")
    else:
        yield _Splice(start, end, "")
        if comma := _FAR_COMMA.match(document.text, end):
            yield _Splice(comma.end() - 1, comma.end(), "")


def _fill_empty_key(document: Document, key: str, new: Mapping[str, Scalar]) -> Iterator[_Splice]:
    """Yield the ways to give entries to a key without a value."""
    span, indent = document.spans[key,], find_indent(document, (key,))
    if span.start == span.end and indent is not None:
        yield _insert_lines(
            document,
            find_next_line(document, (key,)),
            [f"{indent}  {line}" for line in _format_lines(new)],
        )
    yield _replace_node(document, (key,), _format_flow(new))


def _add_entries(
    document: Document, pointer: Pointer, new: New, remaining: Sequence[str]
) -> Iterator[_Splice]:
    """Yield the ways to add entries to a mapping whose entries `remaining` stay."""
    if find_style(document, pointer) == "{":
        yield _add_flow_entries(document, pointer, new, remaining)
        return
    first = (*pointer, next(iter(document.value[pointer[0]] if pointer else document.value)))
    children = [(*pointer, name) for name in reversed(remaining)]
    # At the end of the text (entries of the root), after an entry that stays, or before the first.
    offsets = [
        *([] if pointer else [(len(document.text), find_indent(document, first))]),
        *((find_next_line(document, child), find_indent(document, child)) for child in children),
        (find_line_start(document, first), find_indent(document, first)),
    ]
    for offset, indent in offsets:
        if indent is not None:
            yield _insert_lines(document, offset, [indent + line for line in _format_lines(new)])


def _add_flow_entries(
    document: Document, pointer: Pointer, new: New, remaining: Sequence[str]
) -> _Splice:
    # Keys are quoted where their neighbours are: JSON is YAML, and stays JSON.
    neighbour = (*pointer, remaining[0]) if remaining else next(iter(document.key_spans))
    text = _format_flow(
        new, '"' if document.text[document.key_spans[neighbour].start] == '"' else ""
    )[1:-1]
    if remaining:
        end = find_node_end(document, (*pointer, remaining[-1]))
        return _Splice(end, end, f", {text}")
    start = find_node_start(document, pointer) + 1
    return _Splice(start, start, text)


def _insert_lines(document: Document, offset: int, lines: Sequence[str]) -> _Splice:
    match = _BREAK.search(document.text)
    break_ = match[0] if match else "\n"
    text = break_.join(lines)
    at_line_start = not offset or document.text[offset - 1] in "\r\n"
    return _Splice(offset, offset, text + break_ if at_line_start else break_ + text)


def _format_lines(new: New) -> Iterator[str]:
    for name, entry in new.items():
        if isinstance(entry, Mapping):
            yield f"{name}:"
            yield from (f"  {line}" for line in _format_lines(entry))
        else:
            yield f"{name}: {_format_scalar(entry)}"


def _format_flow(new: New, quote: str = "") -> str:
    pairs = (
        f"{quote}{name}{quote}: {_format_flow_value(entry, quote)}" for name, entry in new.items()
    )
    return f"{{{', '.join(pairs)}}}"


def _format_flow_value(entry: New | Scalar, quote: str) -> str:
    if isinstance(entry, Mapping):
        return _format_flow(entry, quote)
    return _format_scalar(entry, quote)


def _format_scalar(value: Scalar, quote: str = "") -> str:
    """Format a value; a text keeps the quotes of the value that it replaces."""
    if not isinstance(value, str):
        return str(value)
    if quote == "'" and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    bare = (
        quote != '"' and _WORD.fullmatch(value) and resolve_plain_scalar(value, Place("")) == value
    )
    return value if bare else json.dumps(value, ensure_ascii=False)
