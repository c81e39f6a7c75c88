"""A new store as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalstore.text import make_printable

if TYPE_CHECKING:
    from evalstore.store.init import CreatedStore


def text(created: CreatedStore) -> str:
    """Say what was made, and what to do next."""
    if not (created.repository or created.written):
        return f"{make_printable(str(created.root))} is a store already; nothing changed"
    made = "made a git repository and a store" if created.repository else "made a store"
    lines = [f"{made} in {make_printable(str(created.root))}", *(f"  wrote {name}" for name in created.written)]
    return "\n".join([*lines, "next: write rubrics/<id>.yaml or migrate legacy files, then evalstore bump --all"])


def document(created: CreatedStore) -> Any:
    """Return the JSON document."""
    return {
        "root": str(created.root),
        "repository_made": created.repository,
        "written": list(created.written),
        "kept": list(created.kept),
    }
