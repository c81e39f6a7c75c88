"""Renders a new store as text and JSON."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from evalstore.text import make_printable

if TYPE_CHECKING:
    from evalstore.store.init import CreatedStore


def text(result: CreatedStore) -> str:
    """Return what was created, and what to do next."""
    if not (result.repository or result.written):
        return f"{make_printable(str(result.root))} is a store already; nothing changed"
    made = "made a git repository and a store" if result.repository else "made a store"
    lines = [f"{made} in {make_printable(str(result.root))}", *(f"  wrote {name}" for name in result.written)]
    folder = shlex.quote(str(result.root))
    tops = sorted({name.split("/")[0] for name in result.written})
    lines.append(f"next: git -C {folder} add -- {' '.join(tops)}")
    return "\n".join([*lines, "then: write rubrics/<id>.yaml or migrate legacy files, and evalstore bump --all"])


def document(result: CreatedStore) -> Any:
    """Return the JSON document."""
    return {
        "root": str(result.root),
        "repository_made": result.repository,
        "written": list(result.written),
        "kept": list(result.kept),
    }
