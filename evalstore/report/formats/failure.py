"""Why a command could not answer, as an annotation; what a workflow command escapes is known here only."""

from __future__ import annotations

from collections.abc import Mapping

from evalstore.errors import EvalstoreError
from evalstore.text import make_printable

_DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY = {**_DATA, ":": "%3A", ",": "%2C"}


def format_annotation(error: EvalstoreError) -> str:
    """Return an error as a workflow command of GitHub Actions, without a place: it has no line of its own to show."""
    lines = [str(error), *([f"hint: {error.hint}"] if error.hint else [])]
    return format_workflow_command("error", {"title": "evalstore"}, lines)


def format_workflow_command(name: str, properties: Mapping[str, str], lines: list[str]) -> str:
    """Return a workflow command; nothing in its texts ends it, or adds a property to it."""
    options = ",".join(f"{key}={_escape(make_printable(value), _PROPERTY)}" for key, value in properties.items())
    message = "\n".join(map(make_printable, lines))
    return f"::{name} {options}::{_escape(message, _DATA)}"


def _escape(text: str, table: Mapping[str, str]) -> str:
    return "".join(table.get(char, char) for char in text)
