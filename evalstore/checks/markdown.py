"""The shape of a Markdown text in each dialect, and its fenced blocks; sole user of markdown-it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from evalstore.errors import LimitError

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_HEADING = re.compile(r"(#{1,6})\s+(.+)")
_FENCE = "```"
_FENCES = (_FENCE, "~~~")
_LANGUAGE = re.compile(r"[^\s{,:;]+")
# Front matter: the lines that can close it, by its first line, and what its other lines look like.
_CLOSERS: Mapping[str, tuple[str, ...]] = {"---": ("---", "..."), "+++": ("+++",)}
_KEY = re.compile(r"""(?:"[^"]*"|'[^']*'|[\w./-]+(?: [\w./-]+)*)\s*(?::(?:\s|$)|=)|\[""")
_COMMENT = re.compile("#")
_MORE = re.compile(r"#|$|\s|-(?:\s|$)")  # also a blank line, an indented one, and an item of a list
# Deep nesting over many lines takes quadratic time; a count stops it at the same place on every
# machine (some 5 s).
_BLOCKS = 500_000


class MarkdownShape(NamedTuple):
    """What a text consists of.

    A heading is its level and its text, stripped, with the inline markup as written.
    """

    headings: tuple[tuple[int, str], ...]
    code_blocks: int
    paragraphs: int
    engine: str = "evalstore"


class FencedBlock(NamedTuple):
    """A fenced block: its language, in lower case, and its content.

    The language is the first word of its info string.
    """

    language: str
    content: str


def count_by_lines(text: str) -> MarkdownShape:
    """Count as the legacy grader does, line by line; code counts as prose (drupal 1.3).

    Lines are those of `str.splitlines()`.
    """
    rows = text.splitlines()
    headings = [match for row in rows if row.startswith("#") and (match := _HEADING.match(row))]
    return MarkdownShape(
        headings=tuple((len(match[1]), match[2].strip()) for match in headings),
        # Searching for one character is ten times as fast as counting three of them.
        code_blocks=text.count(_FENCE) // 2 if _FENCE[0] in text else 0,
        paragraphs=sum(bool(row.strip()) and not row.startswith(("#", _FENCE)) for row in rows),
    )


def count_by_commonmark(text: str) -> MarkdownShape:
    """Count what a CommonMark parser sees, also in lists and quotes.

    Raises `LimitError` for too large a text. Code blocks are fenced and indented ones. Paragraphs
    include those of tight lists. Link definitions do not count. Front matter is left out: a parser
    would take its last line for a heading.
    """
    from markdown_it import __version__

    tokens = _build_parser().parse(text[_find_front_matter_end(text) :], {"blocks": 0})
    return MarkdownShape(
        headings=tuple(_iterate_headings(tokens)),
        code_blocks=sum(token.type in {"fence", "code_block"} for token in tokens),
        paragraphs=sum(token.type == "paragraph_open" for token in tokens),
        engine=f"markdown-it-py {__version__}",
    )


def _iterate_headings(tokens: Sequence[Any]) -> Iterator[tuple[int, str]]:
    """Yield the level and the text of each heading."""
    for token, inside in pairwise(tokens):
        if token.type == "heading_open":
            yield int(token.tag[1:]), inside.content.strip()


def find_fenced_blocks(text: str) -> list[FencedBlock]:
    """Return a text's fenced blocks in order, as a CommonMark parser sees them.

    A fence that is never closed ends with the text. Raises `LimitError` for a text beyond the
    limits.
    """
    if not any(fence in text for fence in _FENCES):
        return []
    # The parser would turn a NUL into a replacement character, which JSON accepts; JSON accepts
    # neither NUL nor U+0001.
    tokens = _build_parser().parse(text.replace("\0", "\1"), {"blocks": 0})
    fences = [token for token in tokens if token.type == "fence"]
    return [FencedBlock(_read_language(fence.info), fence.content) for fence in fences]


def _read_language(info: str) -> str:
    """Return the first word: tools write a title, a file name or line numbers after it."""
    word = _LANGUAGE.match(info.strip())
    return word[0].lower() if word else ""


def _find_front_matter_end(text: str) -> int:
    """Return where front matter ends (YAML or TOML, on the first lines, between two marks).

    Returns 0 if there is none. Text may also be between two rules, so a mapping is required: a key
    in the first line that says something.
    """
    first, *rows = text.splitlines(keepends=True) or [""]
    closers = _CLOSERS.get(first.removeprefix("\ufeff").rstrip(), ())
    has_key, end = False, len(first)
    for row in rows if closers else ():
        end += len(row)
        line = row.rstrip()
        if line in closers:
            return end if has_key else 0
        if _KEY.match(line):
            has_key = True
        elif not (_MORE if has_key else _COMMENT).match(line):
            return 0
    return 0


DIALECTS: Mapping[str, Callable[[str], MarkdownShape]] = {
    "commonmark": count_by_commonmark,
    "lines": count_by_lines,
}


@lru_cache(maxsize=1)
def _build_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"maxNesting": 100})
    parser.core.ruler.disable("inline")  # no demand looks inside a line
    parser.block.ruler.before(
        "code", "budget", _spend_block, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )
    return parser


# The parser dictates the signature.
def _spend_block(state: Any, _start: int, _end: int, _silent: bool) -> bool:  # noqa: FBT001
    state.env["blocks"] += 1
    if state.env["blocks"] > _BLOCKS:
        raise LimitError("too long or too deeply nested for the Markdown parser")
    return False
