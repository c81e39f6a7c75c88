"""Writes HTML: elements whose text is escaped, and the frame of a page that loads nothing and runs nothing."""

from __future__ import annotations

import base64
import hashlib
import re

from evalstore.report.pages.style import STYLE
from evalstore.text import make_printable

_VOID = frozenset({"meta", "rect", "line"})
# Beside the characters of markup: a CI system reads `##[…]` and, where a line begins, `::…` in its log as commands.
_ESCAPES = str.maketrans({char: f"&#{ord(char)};" for char in "&<>\"'#"})
_COLON = re.compile(r"^(\s*):", re.MULTILINE)


class Markup(str):
    """Text that is HTML already; every other text is escaped where it enters an element."""

    __slots__ = ()


def escape_html(text: str) -> Markup:
    """Return text from outside as HTML that acts on nobody; line feeds and tabs stay as they are."""
    lines = ("\t".join(map(make_printable, line.split("\t"))) for line in text.split("\n"))
    return Markup(_COLON.sub(r"\1&#58;", "\n".join(lines).translate(_ESCAPES)))


def make_element(name: str, /, *children: str, **attributes: str) -> Markup:
    """Return one element; attributes lose a last underscore (`class_`), and those without a value are left out."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape_html(value)}"' for key, value in attributes.items() if value
    )
    if name in _VOID:
        return Markup(f"<{name}{written}>" if name == "meta" else f"<{name}{written}/>")
    return Markup(f"<{name}{written}>{join_markup(*children)}</{name}>")


def join_markup(*parts: str) -> Markup:
    """Return parts in a row; what is no markup is escaped."""
    return Markup("".join(part if isinstance(part, Markup) else escape_html(part) for part in parts))


def make_page(title: str, *parts: Markup, rules: str = "") -> str:
    """Return a whole page; `rules` is CSS of our own beside the style that all pages share."""
    style = STYLE + rules
    # The policy names the one style by its hash: no script, no image, no font, no form and no other style.
    digest = base64.b64encode(hashlib.sha256(style.encode("utf-8")).digest()).decode("ascii")
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    head = (
        Markup('<meta charset="utf-8">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        make_element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        make_element("meta", name="color-scheme", content="light dark"),
        make_element("meta", name="referrer", content="no-referrer"),
        make_element("title", title),
        Markup(f"<style>{style}</style>"),
    )
    lines = (
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        *head,
        "</head>",
        "<body>",
        make_element("main", Markup("\n"), Markup("\n".join(part for part in parts if part)), Markup("\n")),
        "</body>",
        "</html>",
    )
    return "\n".join(lines) + "\n"
