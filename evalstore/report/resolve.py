"""Renders what references point at, as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalstore.report.json_values import write_json_value
from evalstore.report.text_layout import format_columns

if TYPE_CHECKING:
    from evalstore.store.resolve import Resolution, Resolved

_WORDS = {True: "yes", False: "no", None: "-"}


def text(resolution: Resolution) -> str:
    """Return one block of names and values a reference."""
    return "\n\n".join(
        format_columns([_format_value(key, value) for key, value in write_json_value(resolved).items()])
        for resolved in resolution.resolved
    )


def document(resolution: Resolution | Resolved) -> Any:
    """Return one JSON document: an object for one reference, a list for several."""
    several: list[Any] = write_json_value(list(getattr(resolution, "resolved", [resolution])))
    return several[0] if len(several) == 1 else several


def _format_value(key: str, value: Any) -> tuple[str, str]:
    return key.replace("_", " "), value if isinstance(value, str) else _WORDS[value]
