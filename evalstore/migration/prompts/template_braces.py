"""Escapes the braces of templates, and finds the variables between them."""

from __future__ import annotations

from collections.abc import Mapping

# The variables that replace opening braces of foreign text in a judge template.
BRACES: Mapping[str, str] = {"braces": "{{", "brace": "{"}


def escape_braces(text: str) -> str:
    """Return a text for a judge template.

    `{{` becomes the variable `braces`, so that text makes no tag.
    """
    return text.replace("{{", "{{ braces }}")


def escape_literal(text: str) -> str:
    """Return a text for a judge template like `escape_braces`, which a tag may follow."""
    escaped = escape_braces(text)
    return f"{escaped[:-1]}{{{{ brace }}}}" if escaped.endswith("{") else escaped


def find_template_variables(template: str) -> dict[str, str]:
    """Return the variables that a check must set for a template.

    The template is the result of `escape_braces` or `escape_literal`.
    """
    return {name: text for name, text in BRACES.items() if f"{{{{ {name} }}}}" in template}
