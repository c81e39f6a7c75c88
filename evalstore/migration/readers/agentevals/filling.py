"""What the runner fills texts with before it reads them: variables of a test here, and what nobody can say here."""

from __future__ import annotations

import re

from evalstore.migration.readers.agentevals.said import CaseScope
from evalstore.text import make_excerpt

VARIABLE = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*\}\}")
_ENVIRONMENT = re.compile(r"\$\{\{.*?\}\}|\{\{\s*env\..*?\}\}")
_TEMPLATE = re.compile(r"\{[{%#]")
_FILE = "file://"
_SHOWN = 60


def fill_variables(text: str, scope: CaseScope) -> str:
    """Return a text with the variables of the test that are texts."""

    def of(match: re.Match[str]) -> str:
        value = scope.variables.get(match[1])
        return value if isinstance(value, str) else match[0]

    return VARIABLE.sub(of, text) if scope.variables else text


def describe_open_places(text: str, scope: CaseScope) -> str:
    """Say of a text that the runner puts something in its place, or in it, when it starts; empty when it does not."""
    late = scope.dialect.name == "D4"
    is_open = _ENVIRONMENT.search(text) or (late and (_TEMPLATE.search(text) or text.startswith(_FILE)))
    return f"nobody can say here what fills {make_excerpt(text, _SHOWN)}" if is_open else ""
