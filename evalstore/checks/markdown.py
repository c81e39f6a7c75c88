"""The shape of a Markdown text in each dialect: headings, code blocks, paragraphs; sole user of markdown-it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from evalstore.errors import LimitError

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_HEADING = re.compile(r"(#{1,6})\s+(.+)")
_FENCE = "```"
# Deep nesting over many lines takes quadratic time; a count stops it at the same place on every machine (some 5 s).
_BLOCKS = 500_000


@dataclass(frozen=True, slots=True)
class MarkdownShape:
    """What a text is made of; a heading is its level and its text, stripped, with the inline markup as written."""

    headings: tuple[tuple[int, str], ...]
    code_blocks: int
    paragraphs: int
    engine: str = "evalstore"


def count_by_lines(text: str) -> MarkdownShape:
    """Count as the legacy grader does, line by line of `str.splitlines()`; code counts as prose (drupal 1.3)."""
    rows = text.splitlines()
    headings = [match for row in rows if row.startswith("#") and (match := _HEADING.match(row))]
    return MarkdownShape(
        headings=tuple((len(match[1]), match[2].strip()) for match in headings),
        code_blocks=text.count(_FENCE) // 2,
        paragraphs=sum(bool(row.strip()) and not row.startswith(("#", _FENCE)) for row in rows),
    )


def count_by_commonmark(text: str) -> MarkdownShape:
    """Count what a CommonMark parser sees, also within lists and quotes; `LimitError` for a text beyond the limits.

    Code blocks are fenced and indented ones. Paragraphs include those of tight lists. Link definitions are none.
    """
    from markdown_it import __version__

    tokens = _build_parser().parse(text, {"blocks": 0})
    return MarkdownShape(
        headings=tuple(
            (int(token.tag[1:]), inside.content.strip())
            for token, inside in pairwise(tokens)
            if token.type == "heading_open"
        ),
        code_blocks=sum(token.type in {"fence", "code_block"} for token in tokens),
        paragraphs=sum(token.type == "paragraph_open" for token in tokens),
        engine=f"markdown-it-py {__version__}",
    )


def find_fenced_blocks(text: str) -> list[tuple[str, str]]:
    """Return a text's fenced blocks in order, (info string, content), as a CommonMark parser sees them.

    A fence that is never closed ends with the text. `LimitError` for a text beyond the limits.
    """
    # The parser would make a replacement character of a NUL, which JSON takes; it takes neither of these two.
    tokens = _build_parser().parse(text.replace("\0", "\1"), {"blocks": 0})
    return [(token.info, token.content) for token in tokens if token.type == "fence"]


DIALECTS: Mapping[str, Callable[[str], MarkdownShape]] = {"commonmark": count_by_commonmark, "lines": count_by_lines}


@lru_cache(maxsize=1)
def _build_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"maxNesting": 100})
    parser.core.ruler.disable("inline")  # no demand looks inside a line
    parser.block.ruler.before("code", "budget", _spend_block, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    return parser


def _spend_block(state: Any, _start: int, _end: int, _silent: bool) -> bool:  # noqa: FBT001  # the parser's own signature
    state.env["blocks"] += 1
    if state.env["blocks"] > _BLOCKS:
        raise LimitError("too long or too deeply nested for the Markdown parser")
    return False
