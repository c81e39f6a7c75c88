"""What the runner fills texts with before it reads them: variables of a test here, and what nobody can say here."""

from __future__ import annotations

import re

from evalstore.migration.readers.agentevals.said import CaseScope
from evalstore.text import make_excerpt

VARIABLE = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*\}\}")
_ENVIRONMENT = re.compile(r"\$\{\{.*?\}\}|\{\{\s*env\..*?\}\}")
_TEMPLATE = re.compile(r"\{[{%#]")
_FILE_PREFIX = "file://"
_EXCERPT = 60


def fill_variables(text: str, scope: CaseScope) -> str:
    """Return a text with the test's variables in their places, as far as they are texts."""

    def replace(match: re.Match[str]) -> str:
        value = scope.variables.get(match[1])
        return value if isinstance(value, str) else match[0]

    return VARIABLE.sub(replace, text) if scope.variables else text


def describe_open_places(text: str, scope: CaseScope) -> str:
    """Return a sentence on places of a text that only the runner can fill when it starts; empty for none."""
    has_templates = scope.dialect.name == "D4"
    is_open = _ENVIRONMENT.search(text) or (has_templates and (_TEMPLATE.search(text) or text.startswith(_FILE_PREFIX)))
    return f"nobody can say here what fills {make_excerpt(text, _EXCERPT)}" if is_open else ""
