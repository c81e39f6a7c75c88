"""How a value appears in Python.

It can be plain data, the text that its command prints, and in a notebook a page. Values are below
`report`, which renders them: on import, as by `evalstore.api`, it registers how.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_VIEWS: dict[str, Callable[[Any], Any]] = {}


def register_views(
    *,
    document: Callable[[Any], Any],
    text: Callable[[Any], str],
    page: Callable[[Any], str],
) -> None:
    """Register how a value becomes plain data, text for people, and HTML for a notebook."""
    _VIEWS.update(document=document, text=text, page=page)


class ReportValue:
    """A value that a command prints; `print` shows the same text."""

    __slots__ = ()

    def __str__(self) -> str:
        text: str = _VIEWS["text"](self)
        return text

    def to_dict(self) -> dict[str, Any]:
        """Return what `--format json` prints for it.

        Returns:
            Plain data: scores are fractions of 1, or texts such as `1/3` if no decimal is exact.

        Examples:
            >>> store.resolve("rubric/answer_style").to_dict()["version"]
            '1.0.0'
        """
        document: dict[str, Any] = _VIEWS["document"](self)
        return document


class PageValue(ReportValue):
    """A value with a page, which notebooks show."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        html: str = _VIEWS["page"](self)
        return html


def format_repr(value: object, *parts: object) -> str:
    """Return `<Name part, part>`, for the `__repr__` of a value that would fill the screen."""
    return f"<{type(value).__name__} {', '.join(str(part) for part in parts)}>"
