"""Reads JSON with comments, as in editor settings, and adds members to it in place."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from evalstore.documents.document import Document, Pointer, check_text
from evalstore.documents.json_reader import read_json
from evalstore.errors import Place, RefusedError

_LIMIT = 1 << 20
_STRING = r'"(?:\\.|[^"\\])*"'
_COMMENT = re.compile(rf"{_STRING}|//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"{_STRING}|,(?=\s*[}}\]])", re.DOTALL)
_INDENT = "  "


def read_jsonc(data: bytes, file: str) -> Document:
    """Return a JSON file with comments and trailing commas as a document.

    Its text has blanks in their place.
    """
    text, bom = check_text(data, file, _LIMIT)
    document = read_json(_blank(_TRAILING_COMMA, _blank(_COMMENT, text)), file)
    return Document(file, text, document.value, document.spans, document.key_spans, bom)


def add_members(data: bytes, file: str, pointer: Pointer, members: Mapping[str, Any]) -> bytes:
    """Return the file with members added to the object at `pointer`, made if its parent lacks it.

    An existing member stays as it is. Raises `LoadError` for a malformed file, and `RefusedError`
    if no member can be added.
    """
    document = read_jsonc(data, file)
    target = document.value
    for key in pointer:
        target = target.get(key, {}) if isinstance(target, dict) else None
    if not isinstance(target, dict):
        raise RefusedError("is not a mapping to add keys to", place=Place(file))
    new = {key: value for key, value in members.items() if key not in target}
    if not new:
        return data
    # Whatever is made becomes one member of the nearest existing object.
    while pointer and pointer not in document.spans:
        new, pointer = {str(pointer[-1]): new}, pointer[:-1]
    changed = _insert(document, pointer, new).encode()
    changed = b"\xef\xbb\xbf" + changed if document.bom else changed
    if read_jsonc(changed, file).value != _merge(document.value, pointer, new):
        raise RefusedError("cannot be changed without changing more of the file", place=Place(file))
    return changed


def _insert(document: Document, pointer: Pointer, new: Mapping[str, Any]) -> str:
    text, span = document.text, document.spans[pointer]
    close = span.end - 1
    bare = _blank(_COMMENT, text)
    members = [at for at in document.spans if len(at) == len(pointer) + 1 and at[:-1] == pointer]
    ends = [document.spans[at].end for at in members]
    line_break = "\r\n" if "\r\n" in text else "\n"
    outer = _find_indent(text, span.start)
    inner = _find_indent(text, min(_list_starts(document, pointer), default=close))
    if len(inner) <= len(outer) or not ends:
        inner = outer + ("\t" if "\t" in outer else _INDENT)
    lines = f",{line_break}{inner}".join(
        _dump_member(key, value, inner, line_break) for key, value in new.items()
    )
    # After the last value or comment; the separating comma goes after the last value itself.
    at = len(text[:close].rstrip())
    tail = "" if re.search(r"[\r\n]", text[at:close]) else f"{line_break}{outer}"
    added = f"{line_break}{inner}{lines}{tail}"
    text = text[:at] + added + text[at:]
    if ends and "," not in bare[max(ends) : close]:
        text = f"{text[: max(ends)]},{text[max(ends) :]}"
    return text


def _list_starts(document: Document, pointer: Pointer) -> list[int]:
    spans = document.key_spans.items()
    return [
        where.start for at, where in spans if len(at) == len(pointer) + 1 and at[:-1] == pointer
    ]


def _find_indent(text: str, position: int) -> str:
    """Return the blanks at the beginning of the line with a position."""
    line = text[text.rfind("\n", 0, position) + 1 : position]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _dump_member(key: str, value: Any, indent: str, line_break: str) -> str:
    step = "\t" if "\t" in indent else _INDENT
    lines = json.dumps(value, indent=step, ensure_ascii=False).split("\n")
    return f"{json.dumps(key)}: " + f"{line_break}{indent}".join(lines)


def _merge(value: Any, pointer: Pointer, new: Mapping[str, Any]) -> Any:
    if not pointer:
        return {**value, **new}
    return {**value, pointer[0]: _merge(value[pointer[0]], pointer[1:], new)}


def _blank(pattern: re.Pattern[str], text: str) -> str:
    """Return a text of the same length, blank where the pattern matches outside strings."""

    def replace(found: re.Match[str]) -> str:
        return found[0] if found[0].startswith('"') else re.sub(r"[^\r\n]", " ", found[0])

    return pattern.sub(replace, text)
