"""Words and code in Markdown: whatever they are, they come out as they went in, and as nothing else."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from evalstore.report.formats.markdown import escape_prose, format_code
from evalstore.text import escape_ci_commands, make_printable

WORDS = st.lists(
    st.one_of(
        st.sampled_from(
            [*"`*_{}[]()<>#|~&$@!^\\:%+-=. \n", "http://a.b", "www.a.b", "a@b.c", "&amp;", "GH-1", "##[x]", "::"]
        ),
        st.text(max_size=3),
    ),
    max_size=12,
).map("".join)
READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def read(markdown: str) -> tuple[list[str], str]:
    """Return the kinds of inline things in one paragraph, and what a reader sees."""
    opened, inline, closed = READER.parse(markdown)
    assert (opened.type, closed.type) == ("paragraph_open", "paragraph_close")
    children = inline.children or []
    return [child.type for child in children], "".join(child.content for child in children)


@settings(max_examples=400)
@given(WORDS)
@example("\\")
@example("a\\`b`")
def test_words_are_words(text: str) -> None:
    kinds, seen = read(f"so: {escape_prose(text)} .")
    assert set(kinds) <= {"text", "text_special"}
    assert seen.replace("\u200b", "") == f"so: {make_printable(text)} ."


@settings(max_examples=400)
@given(WORDS)
@example("`")
@example("``a`")
@example("")
@example(" ")
def test_code_is_one_piece_of_code(text: str) -> None:
    kinds, seen = read(f"so: {format_code(text)} .")
    assert kinds == ["text", "code_inline", "text"]
    assert seen.removeprefix("so: ").removesuffix(" .").strip() == make_printable(text).strip()


@settings(max_examples=400)
@given(WORDS)
def test_a_line_of_a_log_is_no_command_and_is_inert_once(text: str) -> None:
    safe = escape_ci_commands(text)
    assert "##[" not in safe
    assert not any(line.strip().startswith("::") for line in safe.split("\n"))
    assert escape_ci_commands(safe) == safe
