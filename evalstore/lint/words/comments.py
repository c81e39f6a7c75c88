"""Finds texts in a list that YAML ends early: ` #word` is a comment, but was meant as text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from evalstore.documents import Document, follow_pointer
from evalstore.lint.notes import Note, make_note
from evalstore.model import is_cosmetic

# A deliberate comment begins with "# ", or with a word for a program or a reader.
_CUT = (
    r"[ \t]*(?<=[ \t])"
    r"(#(?!(?:TODO|FIXME|XXX|HACK|NOTE|noqa|nosec|nosemgrep|yamllint|pragma)\b)\w[^\r\n]*)"
)
_PLAIN_TYPES = (str, type(None))  # of `- #word` nothing is left


def lint_cut_texts(document: Document) -> Iterator[Note]:
    """Yield texts in lists and statements that are followed by a comment without a blank."""
    text = document.text
    if not re.search(r"[ \t]#\w", text):
        return
    for pointer, span in document.spans.items():
        is_text_of_list = pointer and (isinstance(pointer[-1], int) or pointer[-1] == "text")
        if not is_text_of_list or text[span.start : span.start + 1] in {'"', "'", "|", ">"}:
            continue
        if any(is_cosmetic(part) for part in pointer if isinstance(part, str)):
            continue
        cut = re.compile(_CUT).match(text, span.end)
        if cut and isinstance(follow_pointer(document.value, pointer)[1], _PLAIN_TYPES):
            written = f"{text[span.start : span.end]}{cut[0]}".strip().replace("'", "''")
            yield make_note("text-cut", pointer, found=cut[1].strip(), written=written)
