"""Fills the variables of a test into a value where the result is certain to be promptfoo's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from evalstore.migration.javascript.values import write_value
from evalstore.text import SHORT_EXCERPT, make_excerpt

PLACE = re.compile(r"\{\{\s*([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\s*\}\}", re.ASCII)
TEMPLATE = re.compile(r"\{[{%#]")
_NAME = re.compile(r"\{\{\s*(\w+)\s*\}\}", re.ASCII)
_NESTED = 4  # levels of variables within variables that the program certainly fills
_MADE = ("file://", "package:", "exec:", "python:")  # how a variable names what makes its value
_ENV_PLACE = re.compile(r"\{\{\s*env\.([A-Za-z_]\w*)\s*\}\}", re.ASCII)
_FILLED_KEYS = ("prompts", "tests", "defaultTest", "scenarios")
_GLOBALS = frozenset({"env", "range", "cycler", "joiner"})  # of the program's templates


class UnsayableError(Exception):
    """A part of a test has no certain equivalent here; the message says why."""


def fill_text(text: str, variables: Mapping[str, Any]) -> str:
    """Return a text with its variables filled in.

    Raises `UnsayableError` if only the program can do that.
    """
    filled = PLACE.sub(lambda match: _find_value(match[1], variables), text)
    if TEMPLATE.search(PLACE.sub("", text)):
        raise UnsayableError(
            f"only the program can fill the template {make_excerpt(text, SHORT_EXCERPT)}"
        )
    return filled


def fill_known(text: str, variables: Mapping[str, Any]) -> str:
    """Return a text with the variables filled in whose value is certain; the rest stays."""

    def fill(match: re.Match[str]) -> str:
        try:
            return _find_value(match[1], variables)
        except UnsayableError:
            return match[0]

    return PLACE.sub(fill, text)


def fill_environment(root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a configuration with what its own `env` says, which hides that of the system.

    Where a variable of a test is called `env`, nothing is filled.
    """
    env = root.get("env")
    known = {
        name: text
        for name, item in (env.items() if isinstance(env, dict) else ())
        if isinstance(item, str | int)
        and not isinstance(item, bool)
        and not TEMPLATE.search(text := write_value(item))
    }
    if not known or _has_key(root, ("vars", "env")):
        return root
    filled = {key: _fill_places(root[key], known) for key in _FILLED_KEYS if key in root}
    return {**root, **filled}


def _has_key(value: Any, path: tuple[str, str]) -> bool:
    """Whether an object anywhere in a value has a key in the object of another."""
    if isinstance(value, list):
        return any(_has_key(item, path) for item in value)
    if not isinstance(value, dict):
        return False
    inner = value.get(path[0])
    is_here = isinstance(inner, dict) and path[1] in inner
    return is_here or any(_has_key(item, path) for item in value.values())


def _fill_places(value: Any, known: Mapping[str, str]) -> Any:
    if isinstance(value, list):
        return [_fill_places(item, known) for item in value]
    if isinstance(value, dict):
        return {key: _fill_places(item, known) for key, item in value.items()}
    if not isinstance(value, str):
        return value
    return _ENV_PLACE.sub(lambda match: known.get(match[1], match[0]), value)


def _find_value(name: str, variables: Mapping[str, Any]) -> str:
    first, *rest = name.split(".")
    if first not in variables and (first in _GLOBALS or first.startswith("_")):
        raise UnsayableError(f"nobody can say here what {name} is")
    value: Any = variables.get(first)
    if isinstance(value, str):
        value = value.removesuffix("\n")  # as the program does, to a variable and nothing inside
    for step in rest:
        value = value.get(step) if isinstance(value, dict) else None
    if value is None:
        return ""  # the program does the same with an absent variable
    if not isinstance(value, str | int | Decimal):
        raise UnsayableError(f"the variable {name} is neither a text nor a number")
    text = write_value(value)
    if not rest and isinstance(value, str):
        text = _fill_nested(text, variables)
    if isinstance(value, str) and (TEMPLATE.search(text) or text.startswith(_MADE)):
        raise UnsayableError(f"the variable {name} is made when the program runs")
    return text


def _fill_nested(text: str, variables: Mapping[str, Any]) -> str:
    """Return a variable's text with the variables in it filled in, as far as they are certain."""
    for _ in range(_NESTED):
        match = _NAME.search(text)
        inner = variables.get(match[1]) if match else None
        if match is None or not isinstance(inner, str | int | Decimal):
            break
        written = write_value(inner)
        if "$" in written or written.startswith(_MADE):  # `$` in a replacement is special
            break
        text = f"{text[: match.start()]}{written}{text[match.end() :]}"
    return text
