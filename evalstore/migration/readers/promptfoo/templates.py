"""Fills the variables of a test into a value.

It does so where that is sure to be what the program makes of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from evalstore.migration.javascript.values import write_value
from evalstore.text import SHORT_EXCERPT, make_excerpt

PLACE = re.compile(r"\{\{\s*([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\s*\}\}", re.ASCII)
TEMPLATE = re.compile(r"\{[{%#]")
_MADE = ("file://", "package:", "exec:", "python:")  # how a variable names what makes its value
_GLOBALS = frozenset({"env", "range", "cycler", "joiner"})  # of the program's templates


class UnsayableError(Exception):
    """Nobody can say here what a part of a test means; the message says why."""


def fill_text(text: str, variables: Mapping[str, Any]) -> str:
    """Return a text with its variables filled in.

    Raises `UnsayableError` where only the program can do that.
    """
    filled = PLACE.sub(lambda match: _find_value(match[1], variables), text)
    if TEMPLATE.search(PLACE.sub("", text)):
        raise UnsayableError(
            f"only the program can fill the template {make_excerpt(text, SHORT_EXCERPT)}"
        )
    return filled


def fill_known(text: str, variables: Mapping[str, Any]) -> str:
    """Return a text with those variables filled in whose value is sure.

    All else stays.
    """

    def fill(match: re.Match[str]) -> str:
        try:
            return _find_value(match[1], variables)
        except UnsayableError:
            return match[0]

    return PLACE.sub(fill, text)


def _find_value(name: str, variables: Mapping[str, Any]) -> str:
    first, *rest = name.split(".")
    if first not in variables and (first in _GLOBALS or first.startswith("_")):
        raise UnsayableError(f"nobody can say here what {name} is")
    value: Any = variables.get(first)
    for step in rest:
        value = value.get(step) if isinstance(value, dict) else None
    if value is None:
        return ""  # as the program fills what is not there
    if not isinstance(value, str | int | Decimal):
        raise UnsayableError(f"the variable {name} is neither a text nor a number")
    if isinstance(value, str) and (TEMPLATE.search(value) or value.startswith(_MADE)):
        raise UnsayableError(f"the variable {name} is made when the program runs")
    return write_value(value)
