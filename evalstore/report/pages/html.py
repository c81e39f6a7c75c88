"""Renders the pages' templates.

Outside text is escaped, nothing is loaded, and only our script runs.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from evalstore.audits.wording.points import format_points, shorten_claims
from evalstore.report.pages.bars import draw_bar
from evalstore.report.text_layout import format_percent
from evalstore.text import count_noun, make_excerpt, make_printable

_PIECES = 64  # template values that are written at once
MOST_CHARACTERS = 20_000  # of an output or what was asked; the rest is counted
# In addition to markup characters: a CI system reads `##[…]`, and `::…` at the start of a line, as
# commands in its log.
_ESCAPES = str.maketrans({char: f"&#{ord(char)};" for char in "&<>\"'#"})
_COLON = re.compile(r"^(\s*):", re.MULTILINE)
_PLAIN = re.compile(r"(?![ :])[ !$%(-;=?-~]*")  # text on one line of ASCII that needs no escaping


def escape_html(text: str) -> Markup:
    """Return outside text as HTML that cannot act on anybody.

    Line feeds and tabs stay as they are.
    """
    return Markup(_escape(text))  # noqa: S704  # escaped there


def mark_pieces(element: str, pieces: Iterable[tuple[str, bool]]) -> Markup:
    """Return a text in pieces as HTML; marked pieces are in an element."""
    escaped = ((_escape(text), is_marked) for text, is_marked in pieces)
    parts = (f"<{element}>{text}</{element}>" if is_marked else text for text, is_marked in escaped)
    return Markup("".join(parts))  # noqa: S704  # escaped there


def join_markup(parts: Iterable[Markup]) -> Markup:
    """Return HTML joined by newlines; `Markup.join` would examine every part again."""
    return Markup("\n".join(parts))  # noqa: S704  # escaped before


def _escape(text: str) -> str:
    if _PLAIN.fullmatch(text):
        return text
    lines = ("\t".join(map(make_printable, line.split("\t"))) for line in text.split("\n"))
    return _COLON.sub(r"\1&#58;", "\n".join(lines).translate(_ESCAPES))


def is_shown_whole(text: str) -> bool:
    """Whether a page shows a text as it is, with nothing escaped for readers or cut off."""
    plain = text.replace("\n", "").replace("\t", "")
    return len(text) <= MOST_CHARACTERS and make_printable(plain) == plain


def render_template(name: str, /, **values: Any) -> Markup:
    """Return a template of this folder with its values."""
    return Markup(_load_template(name).render(values))  # noqa: S704  # escaped there


def render_page(name: str, /, *, title: str, rules: str = "", **values: Any) -> str:
    """Return a whole page; `rules` is our CSS in addition to the style that all pages share."""
    return "".join(generate_page(name, title=title, rules=rules, **values))


def generate_page(
    name: str,
    /,
    *,
    title: str,
    rules: str = "",
    scripts: Sequence[str] = (),
    trail: str = "",
    **values: Any,
) -> Iterator[str]:
    """Yield a page in pieces; `scripts` name ours, and `trail` leads to where the page belongs.

    The policy names the one style and the one script by their hashes: no image, font, form or
    request, and nothing that outside text could bring in.
    """
    style, code = read_own("style.css") + rules, "".join(map(read_own, scripts))
    policy = f"default-src 'none'; style-src {_hash_source(style)}"
    # The script searches in a worker, which has separate code.
    policy += f"; script-src {_hash_source(code)}; worker-src blob:" if code else ""
    parts = {
        "title": title,
        "trail": trail,
        "style": Markup(style),  # noqa: S704  # ours: the keys in its rules are numbered
        "script": Markup(code),  # noqa: S704  # ours
        "policy": f"{policy}; base-uri 'none'; form-action 'none'",
    }
    page = _load_template(name).stream(**parts, **values)
    page.enable_buffering(_PIECES)
    yield from page
    yield "\n"


def _hash_source(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
    return f"'sha256-{digest}'"


@cache
def read_own(name: str) -> str:
    """Return the CSS or the script in a file next to the templates."""
    return (files(__package__) / "templates" / name).read_text("utf-8")


@cache
def _load_template(name: str) -> Template:
    return _load_environment().get_template(f"{name}.html.jinja")


@cache
def _load_environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("evalstore.report.pages"),
        autoescape=True,
        auto_reload=False,  # each row is a separate template, whose file is not looked up again
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_escape_value,
    )
    environment.filters |= {
        "bar": draw_bar,
        "noun": count_noun,
        "number": "{:,}".format,
        "percent": format_percent,
        "points": format_points,
        "shorten": make_excerpt,
        "shorten_claims": shorten_claims,
    }
    environment.globals["most_characters"] = MOST_CHARACTERS
    return environment


def _escape_value(value: Any) -> Markup:
    """Return what a template prints for a value.

    Markup stays as it is; other values are escaped in our way, not Jinja's.
    """
    return value if isinstance(value, Markup) else escape_html(str(value))


def count_bytes(*texts: str) -> int:
    """Return roughly how many bytes texts take on a page when shown as they are."""
    return sum(len(text[:MOST_CHARACTERS].encode(errors="replace")) for text in texts)
