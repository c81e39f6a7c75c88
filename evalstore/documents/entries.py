"""Surgical edits: entries of one mapping at the root are set, added and removed; every other byte stays."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

from evalstore.documents.edit import after_properties
from evalstore.documents.layout import end_of, indent_of, line_after, line_start, style_of
from evalstore.documents.tree import Document, Pointer
from evalstore.documents.yaml_reader import plain, read_yaml
from evalstore.errors import LoadError, Place, RefusedError

Scalar = str | int | Decimal
New = Mapping[str, Scalar | Mapping[str, Scalar]]

_BREAK = re.compile(r"\r\n|\r|\n")
_COMMA = re.compile(r"\s*,(?:\s*(?!\s*#))?")
_FAR_COMMA = re.compile(r"(?:\s|#[^\r\n]*)*,")
# A text that needs no quotes anywhere, unless it means something else than text.
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./@+-]*")


class _Splice(NamedTuple):
    start: int
    end: int
    text: str


def set_entries(document: Document, key: str, entries: Mapping[str, Scalar | None]) -> Document:
    """Return the document with `entries` in the mapping under the root's `key`; one that is None is removed.

    A mapping that is missing is added, an entry that says the same already stays as it is written, and numbers are
    written as `str` writes them. Proves by reading the text again that nothing else changed; where that cannot be,
    raises `RefusedError` with what to write by hand.
    """
    new = {name: entry for name, entry in entries.items() if entry is not None}
    old = document.value.get(key)
    kept = {name: entry for name, entry in old.items() if name not in entries} if isinstance(old, dict) else {}
    for splices in _plan_edits(document, key, entries):
        edited = _apply_splices(document, splices)
        if edited is not None and edited.value == document.value | {key: kept | new}:
            return edited
    raise RefusedError(
        f"`{key}` cannot be written without touching more of the file",
        place=document.place((key,), of_key=True) if key in document.value else Place(document.file),
        hint=f"write by hand: {key}: {_format_flow(new)}",
    )


def _apply_splices(document: Document, splices: Sequence[_Splice]) -> Document | None:
    parts, position = [], 0
    for start, end, text in sorted(splices):
        parts += [document.text[position:start], text]
        position = end  # which may lie behind the next start: of two entries, both may take the comma between them
    try:
        edited = read_yaml("".join([*parts, document.text[position:]]), document.file)
    except LoadError:
        return None
    return Document(edited.file, edited.text, edited.value, edited.marks, edited.keys, document.bom)


def _plan_edits(document: Document, key: str, entries: Mapping[str, Scalar | None]) -> Iterator[Sequence[_Splice]]:
    """Yield ways to make the edit, the one that reads best first; not each of them holds in each layout."""
    new = {name: entry for name, entry in entries.items() if entry is not None}
    old = document.value.get(key, {})
    if key not in document.value:
        yield from ([splice] for splice in _add_entries(document, (), {key: new}, list(document.value)))
    elif old is None:
        yield from ([splice] for splice in _fill_empty_key(document, key, new))
    elif isinstance(old, dict) and style_of(document, (key,)) != "*":
        yield from _plan_mapping_edits(document, key, new, [name for name in old if name in new or name not in entries])


def _plan_mapping_edits(
    document: Document, key: str, new: Mapping[str, Scalar], kept: Sequence[str]
) -> Iterator[Sequence[_Splice]]:
    """Yield ways to edit a mapping that is there, of which the entries `kept` stay."""
    splices = [*_overwrite_values(document, key, new), *_remove_entries(document, key, kept)]
    missing = {name: entry for name, entry in new.items() if name not in kept}
    if not missing:
        yield splices
        return
    for splice in _add_entries(document, (key,), missing, kept):
        yield [*splices, splice]


def _overwrite_values(document: Document, key: str, new: Mapping[str, Scalar]) -> Iterator[_Splice]:
    for name, old in document.value[key].items():
        if name in new and (old != new[name] or isinstance(old, bool)):
            yield _replace_node(document, (key, name), _format_scalar(new[name], style_of(document, (key, name))))


def _replace_node(document: Document, pointer: Pointer, text: str) -> _Splice:
    start = after_properties(document, pointer)
    end = start + len(document.text[start : document.marks[pointer].end].rstrip())
    return _Splice(start, end, text if document.text[start - 1].isspace() else f" {text}")


def _remove_entries(document: Document, key: str, kept: Sequence[str]) -> Iterator[_Splice]:
    names = list(document.value[key])
    for index, name in enumerate(names):
        if name in kept:
            continue
        if style_of(document, (key,)) == "{":
            yield from _remove_flow_entry(document, key, names, index, follows=any(one in kept for one in names[:index]))
        else:
            yield _Splice(line_start(document, (key, name)), line_after(document, (key, name)), "")


def _remove_flow_entry(document: Document, key: str, names: Sequence[str], index: int, *, follows: bool) -> Iterator[_Splice]:
    """Yield an entry of a flow mapping and one of its commas: that before it when it `follows` one that stays."""
    start, end = document.keys[key, names[index]].start, document.marks[key, names[index]].end
    before = document.marks[key, names[index - 1]].end if follows else start
    if _COMMA.fullmatch(document.text, before, start):
        yield _Splice(before, end, "")
    elif comma := _COMMA.match(document.text, end):
        yield _Splice(start, comma.end(), "")
    else:
        yield _Splice(start, end, "")
        if comma := _FAR_COMMA.match(document.text, end):
            yield _Splice(comma.end() - 1, comma.end(), "")


def _fill_empty_key(document: Document, key: str, new: Mapping[str, Scalar]) -> Iterator[_Splice]:
    """Yield ways to give a key without a value its entries."""
    mark, indent = document.marks[key,], indent_of(document, (key,))
    if mark.start == mark.end and indent is not None:
        yield _insert_lines(document, line_after(document, (key,)), [f"{indent}  {line}" for line in _format_lines(new)])
    yield _replace_node(document, (key,), _format_flow(new))


def _add_entries(document: Document, pointer: Pointer, new: New, kept: Sequence[str]) -> Iterator[_Splice]:
    """Yield ways to add entries to a mapping of which the entries `kept` stay."""
    if style_of(document, pointer) == "{":
        yield _add_flow_entries(document, pointer, new, kept)
        return
    first = (*pointer, next(iter(document.value[pointer[0]] if pointer else document.value)))
    children = [(*pointer, name) for name in reversed(kept)]
    places = [
        *([] if pointer else [(len(document.text), indent_of(document, first))]),
        *((line_after(document, child), indent_of(document, child)) for child in children),
        (line_start(document, first), indent_of(document, first)),
    ]
    for offset, indent in places:
        if indent is not None:
            yield _insert_lines(document, offset, [indent + line for line in _format_lines(new)])


def _add_flow_entries(document: Document, pointer: Pointer, new: New, kept: Sequence[str]) -> _Splice:
    like = (*pointer, kept[0]) if kept else next(iter(document.keys))
    words = _format_flow(new, '"' if document.text[document.keys[like].start] == '"' else "")[1:-1]
    if kept:
        end = end_of(document, (*pointer, kept[-1]))
        return _Splice(end, end, f", {words}")
    start = after_properties(document, pointer) + 1
    return _Splice(start, start, words)


def _insert_lines(document: Document, offset: int, lines: Sequence[str]) -> _Splice:
    found = _BREAK.search(document.text)
    break_ = found[0] if found else "\n"
    words = break_.join(lines)
    begun = not offset or document.text[offset - 1] in "\r\n"
    return _Splice(offset, offset, words + break_ if begun else break_ + words)


def _format_lines(new: New) -> Iterator[str]:
    for name, entry in new.items():
        if isinstance(entry, Mapping):
            yield f"{name}:"
            yield from (f"  {line}" for line in _format_lines(entry))
        else:
            yield f"{name}: {_format_scalar(entry)}"


def _format_flow(new: New, quote: str = "") -> str:
    pairs = (
        f"{quote}{name}{quote}: {_format_flow(entry, quote) if isinstance(entry, Mapping) else _format_scalar(entry, quote)}"
        for name, entry in new.items()
    )
    return f"{{{', '.join(pairs)}}}"


def _format_scalar(value: Scalar, quote: str = "") -> str:
    """Write a value; a text keeps the quotes of the one before it."""
    if not isinstance(value, str):
        return str(value)
    if quote == "'" and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    bare = quote != '"' and _WORD.fullmatch(value) and plain(value, Place("")) == value
    return value if bare else json.dumps(value, ensure_ascii=False)
