"""Renders a file that was begun, as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalstore.report.text_layout import join_names

if TYPE_CHECKING:
    from evalstore.catalogue.starters import StartedFile


def text(file: StartedFile) -> str:
    """Return the file, what it refers to, and what to do next."""
    refers = f", which refers to {join_names(file.refers_to)}" if file.refers_to else ""
    steps = f"next: edit it, then evalstore validate {file.file}, and evalstore bump {file.ref} releases it"
    return f"wrote {file.file}{refers}\n{steps}"
