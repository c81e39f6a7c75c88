"""An artifact's file as text, escaped for the terminal, and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalstore.report.resolve import source
from evalstore.text import make_printable

if TYPE_CHECKING:
    from evalstore.store.listing import ArtifactFile


def text(shown: ArtifactFile) -> str:
    """Return the file; what could act on a terminal is escaped, tabs and line feeds stay."""
    lines = shown.data.decode("utf-8").split("\n")
    return "\n".join("\t".join(map(make_printable, line.split("\t"))) for line in lines)


def document(shown: ArtifactFile) -> Any:
    """Return the JSON document."""
    return {**source(shown.resolved), "path": shown.path, "text": shown.data.decode("utf-8")}
