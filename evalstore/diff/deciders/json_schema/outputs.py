"""Outputs that hold a JSON value where a json_schema check looks for it."""

from __future__ import annotations

from typing import Any

from evalstore.documents import canonical


def outputs_of(value: Any, extract: str) -> tuple[str, ...]:
    """Return texts from which a check that extracts in this way reads the value; the shortest first."""
    text = canonical(value)
    fenced = f"```json\n{text}\n```"
    return {"whole": (text,), "fence": (fenced,)}.get(extract, (text, fenced))
