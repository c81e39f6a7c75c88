"""Words of strangers inside judge templates: kept letter by letter, never read as a tag."""

from __future__ import annotations

from collections.abc import Mapping

BRACES: Mapping[str, str] = {"braces": "{{"}


def escape_braces(text: str) -> str:
    """Return a text for a template: what would open a tag becomes the variable `braces`, which a check fills."""
    return text.replace("{{", "{{ braces }}")


def find_template_variables(template: str) -> dict[str, str]:
    """Return the variables that a check must fill for a template made with `literal`."""
    return dict(BRACES) if "{{ braces }}" in template else {}
