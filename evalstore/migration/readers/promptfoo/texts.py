"""Splits one text into several, as promptfoo does where it needs a list."""

from __future__ import annotations

import re

from evalstore.migration.javascript.values import SPACE, trim_space

_FIELD = re.compile(
    rf'[{SPACE},]*(?:"(?P<quoted>(?:\\["\\]|""|[^"])*+)"[{SPACE}]*(?=,|\Z)|(?P<plain>[^",][^,]*))'
)
_SEPARATORS = re.compile(rf"[{SPACE},]*\Z")
_ESCAPED = re.compile(r'\\(["\\])|""')
_OLD_FIELD = re.compile(rf'(?:"[^\n\r\u2028\u2029]*?"|[^,]+)(?=[{SPACE}]*,|[{SPACE}]*\Z)')


def split_fields(text: str) -> list[str]:
    """Return the fields between commas, trimmed, without empty ones; quotes keep commas.

    Raises `ValueError` for quotes that do not end, or end within a field.
    """
    fields, place = [], 0
    while not _SEPARATORS.match(text, place):
        match = _FIELD.match(text, place)
        if match is None:
            raise ValueError(text)
        quoted = match["quoted"]
        fields.append(
            trim_space(match["plain"])
            if quoted is None
            else _ESCAPED.sub(lambda part: part[1] or '"', quoted)
        )
        place = match.end()
    return fields


def split_at_commas(text: str) -> list[str]:
    """Return the texts between commas, trimmed; empty ones stay."""
    return [trim_space(part) for part in text.split(",")]


def split_old_fields(text: str) -> list[str]:
    """Return the fields of a text as releases before 0.121 split them for `contains-any`."""
    return [re.sub(r'^"|"$', "", trim_space(field)) for field in _OLD_FIELD.findall(text)]
