"""The shape of Markdown in both dialects."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstore.checks import markdown
from evalstore.checks.markdown import DIALECTS, MarkdownShape, count_by_commonmark, count_by_lines
from evalstore.errors import LimitError

marks = st.lists(
    st.sampled_from(
        [
            "#",
            "# a",
            "## b ##",
            "```",
            "~~~",
            ">",
            "- ",
            "1. ",
            "    ",
            "\n",
            "\n\n",
            "x",
            "===",
            "\t",
            "\0",
            "\r",
            "\u2028",
        ]
    ),
    max_size=20,
)


@pytest.mark.parametrize(
    ("text", "headings", "code_blocks", "paragraphs"),
    [
        ("", (), 0, 0),
        ("# A #\n\ntext", ((1, "A"),), 0, 1),
        ("A\n=\n\nB\n-\n", ((1, "A"), (2, "B")), 0, 0),
        ("   ### c\n    # code\n", ((3, "c"),), 1, 0),
        ("####### no\n#no\n", (), 0, 1),
        ("# **bold** `code`\n", ((1, "**bold** `code`"),), 0, 0),
        ("#\n", ((1, ""),), 0, 0),
        ("```\n# a\n```\n~~~\n~~~\n", (), 2, 0),
        ("- a\n- b\n", (), 0, 2),
        ("- a\n\n- b\n", (), 0, 2),
        ("> a\nlazy\n\nb", (), 0, 2),
        ("<div>\n# a\n</div>\n", (), 0, 0),
        ("[a]: /b\n", (), 0, 0),
        ("---\n", (), 0, 0),
        ("a\r\n\r\nb\r", (), 0, 2),
    ],
)
def test_commonmark(text: str, headings: tuple[tuple[int, str], ...], code_blocks: int, paragraphs: int) -> None:
    seen = count_by_commonmark(text)
    assert (seen.headings, seen.code_blocks, seen.paragraphs) == (headings, code_blocks, paragraphs)


def test_lines() -> None:
    assert count_by_lines("# A #\nb\n\n```\n# c\n```\n> ## d\n") == MarkdownShape(((1, "A #"), (1, "c")), 1, 2)


def test_engines_are_recorded() -> None:
    assert count_by_commonmark("").engine.startswith("markdown-it-py ")
    assert count_by_lines("").engine == "evalstore"


@given(marks.map("".join))
def test_every_text_has_a_shape_and_the_same_one_twice(text: str) -> None:
    for read in DIALECTS.values():
        seen = read(text)
        assert seen == read(text)
        assert all(1 <= level <= 6 for level, _ in seen.headings)


@pytest.mark.heavy
@pytest.mark.parametrize(
    "text",
    [">" * 50_000 + "a", "- " * 50_000 + "a", "[" * 100_000, "[a]: <" * 20_000, "[a\n" * 10_000, "`" * 200_000,
     "#" * 200_000, "a\n" * 50_000 + "===", "```\n" * 20_000, "\t>" * 50_000, "<!--\n" * 20_000],
)  # fmt: skip
def test_hostile_texts_are_read_at_once(text: str) -> None:
    start = time.process_time()
    count_by_commonmark(text)
    count_by_lines(text)
    assert time.process_time() - start < 5


def test_what_would_take_longer_than_the_budget_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (">" * 80 + "a\n" + "b\n" * 19) * 4
    assert count_by_commonmark(text).paragraphs
    monkeypatch.setattr(markdown, "_BLOCKS", 1_000)
    with pytest.raises(LimitError, match="too long or too deeply nested"):
        count_by_commonmark(text)


@pytest.mark.slow
def test_what_would_take_minutes_stops() -> None:
    with pytest.raises(LimitError, match="too long or too deeply nested"):
        count_by_commonmark(">" * 90 + "a\n" + "b\n" * 100_000)


@pytest.mark.heavy
def test_a_long_ordinary_text_is_within_the_budget() -> None:
    assert len(count_by_commonmark("## a\n\ntext of a line\n\n- b\n- c\n\n" * 5_000).headings) == 5_000
