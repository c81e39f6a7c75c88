"""Words of strangers inside judge templates: kept letter by letter, never read as a tag."""

from __future__ import annotations

from collections.abc import Mapping

BRACES: Mapping[str, str] = {"braces": "{{"}


def escape_braces(text: str) -> str:
    """Return a text for a judge template: `{{` becomes the variable `braces`, so that foreign text is never a tag."""
    return text.replace("{{", "{{ braces }}")


def find_template_variables(template: str) -> dict[str, str]:
    """Return the variables that a check must set for a template made with `escape_braces`."""
    return dict(BRACES) if "{{ braces }}" in template else {}
