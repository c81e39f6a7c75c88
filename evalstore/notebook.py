"""What a value looks like from Python: plain data, and in a notebook a page.

Values stand below `report`, which renders them; so its modules are found by name, when somebody first looks.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class ReportValue:
    """A value that a command prints."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return what `--format json` prints of it: plain data, scores as numbers and, where rounded, as fractions."""
        document: dict[str, Any] = import_module("evalstore.report").make_document(self)
        return document


class PageValue(ReportValue):
    """A value that has a page of its own, which notebooks show."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        html: str = import_module("evalstore.report.notebook").write_frame(self)
        return html


def format_repr(value: object, *parts: object) -> str:
    """Return `<Name part, part>`, for the `__repr__` of a value that would fill a screen."""
    return f"<{type(value).__name__} {', '.join(str(part) for part in parts)}>"
