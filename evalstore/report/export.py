"""Renders an export as text (the one file itself, or a list of what was written) and JSON."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

from evalstore.report.screen import PAPER, Screen
from evalstore.text import make_printable

if TYPE_CHECKING:
    from evalstore.migration import ExportedFile, ExportResult


def text(result: ExportResult, screen: Screen = PAPER) -> str:
    """Return the file itself when it was not written anywhere, else what was written where."""
    if result.out is None:
        return "".join(file.text for file in result.files)
    lines = [make_printable(f"wrote {result.out}/{file.file} from {file.ref}") for file in result.files]
    return "\n".join(
        [
            *screen.shorten_list(lines),
            *(make_printable(f"left out: {key}") for file in result.files for key in file.left_out),
        ]
    )


def document(result: ExportResult) -> Any:
    """Return the JSON document; the texts are in it when they were not written."""
    return {
        "format": result.format,
        "out": result.out,
        "files": [_file_document(file, with_text=result.out is None) for file in result.files],
    }


def _file_document(file: ExportedFile, *, with_text: bool) -> Any:
    return {
        "file": file.file,
        "ref": file.ref,
        "sha256": sha256(file.text.encode()).hexdigest(),
        "left_out": list(file.left_out),
        **({"text": file.text} if with_text else {}),
    }
