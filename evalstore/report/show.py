"""Renders an artifact's file, as text escaped for the terminal and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalstore.text import make_printable

if TYPE_CHECKING:
    from evalstore.store.listing import ArtifactFile


def text(file: ArtifactFile) -> str:
    """Return the file with control characters escaped; tabs and line feeds stay."""
    lines = file.data.decode("utf-8").split("\n")
    return "\n".join("\t".join(map(make_printable, line.split("\t"))) for line in lines)
