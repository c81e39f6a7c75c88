"""The line of a finding with its caret: below what is meant, in any script, on any screen, and safe."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstore.lint.source_lines import _cut_line
from evalstore.model import SourceLine
from evalstore.report.source_excerpt import format_excerpt
from evalstore.report.text_layout import COLOURS, Part, Screen
from evalstore.text import make_printable

Cli = Callable[..., Any]
SGR = re.compile("\x1b\\[[0-9;]*m")


def columns(text: str) -> int:
    """The columns that a terminal gives a text; written apart from the code that is tested."""
    return sum(
        0 if unicodedata.category(char) in {"Mn", "Me"} else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )


def marked(lines: list[str]) -> str:
    """What stands above the carets, by columns."""
    line, carets = lines
    first, last = carets.index("^"), len(carets)
    found, at = "", 0
    for char in line:
        if first <= at < last:
            found += char
        at += columns(char)
    return found


@pytest.mark.parametrize(
    ("before", "word", "shown"),
    [
        ("  kind: ", "regx", "regx"),
        ("\t\tkind: ", "regx", "regx"),
        ("漢字: ", "漢字", "漢字"),
        ("e\u0301te\u0301: ", "cle\u0301", "cle"),
        ("\U0001f600: ", "x", "x"),
        ("\x1b[31m", "red", "red"),
        ("x: ", "\x1b[2J", "\\x1b[2J"),
        ("\u202eabc: ", "\u200bx", "\\u200bx"),
        ("# ##[error] ", "oops", "oops"),
        ("x" * 150, "yes", "yes"),
        ("漢" * 150, "漢", "漢"),
        ("", "whole", "whole"),
    ],
)
@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_the_carets_stand_below_what_is_meant(before: str, word: str, shown: str, width: int) -> None:
    line = f"{before}{word} and {'more ' * 40}"
    source = _cut_line(line, len(before), len(before) + len(word))
    lines = format_excerpt(source, 7, Part.MAJOR, Screen(width), "    ")
    assert marked(lines) == shown
    assert all(columns(shown_line) <= width for shown_line in lines)
    assert all(char.isprintable() for char in "".join(lines))
    assert "##[" not in lines[0]


@given(
    st.text(st.characters(blacklist_characters="\r\n"), max_size=700),
    st.integers(0, 700),
    st.integers(0, 300),
    st.sampled_from([60, 80, 200]),
)
def test_any_line_fits_and_is_safe(text: str, start: int, length: int, width: int) -> None:
    start = min(start, len(text))
    source = _cut_line(text, start, start + length)
    assert len(source.text) < 600
    for colours in ({}, COLOURS):
        lines = [
            SGR.sub("", line) for line in format_excerpt(source, 123_456, Part.MINOR, Screen(width, colours), "    ")
        ]
        assert len(lines) == 1 + bool(length)
        assert all(columns(line) <= width for line in lines)
        assert make_printable("".join(lines)) == "".join(lines)
        assert ("^" in lines[-1].rpartition("|")[2]) is bool(length) or not length


def test_colours_are_those_of_the_severity() -> None:
    line, carets = format_excerpt(SourceLine("kind: x", 6, 7), 1, Part.MAJOR, Screen(80, COLOURS), "")
    assert (line, carets) == ("\x1b[2m1 |\x1b[0m kind: x", "\x1b[2m  |\x1b[0m       \x1b[1;31m^\x1b[0m")


RUBRIC = (
    "id: tone\nversion: 1.0.0\nchecks:\n  - kind: must_contain_any\n    valeus: [a]\nscoring: {combine: all_pass}\n"
)


def test_validate_shows_the_line_as_a_compiler_does(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "tone.yaml").write_text(RUBRIC)
    assert cli("validate", "tone.yaml", cwd=tmp_path).out == (
        "tone.yaml:4:5  error    key-missing\n"
        "    `values` of item 1 of `checks` is missing\n"
        "    4 |   - kind: must_contain_any\n"
        "      |     ^\n"
        "    hint: The texts to look for, taken literally: no pattern, no trimming\n"
        "tone.yaml:5:5  warning  key-misspelt\n"
        "    unknown key `valeus`\n"
        "    5 |     valeus: [a]\n"
        "      |     ^^^^^^\n"
        "    hint: did you mean `values`?\n"
        "\n"
        "1 file: 2 findings (1 error, 1 warning)\n"
    )


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"\xef\xbb\xbfid: 5\n", "1 | id: 5"),
        (b"id: tone\r\nversion: 1\r\nchecks: []\r\n", "2 | version: 1"),
        (b"checks: \xff\n", "1 | checks: \ufffd"),
        (b"id: t\nchecks: [a]\nscoring: {a: \x00}", "3 | scoring: {a: \\x00}"),
        (b"", "1 |"),
        (b'{"checks": [{"kind": "regx"}]}', '1 | {"checks": [{"kind": "regx"}]}'),
    ],
)
def test_broken_files_are_quoted_too(cli: Cli, tmp_path: Path, data: bytes, shown: str) -> None:
    (tmp_path / "tone.yaml").write_bytes(data)
    out = cli("validate", "tone.yaml", cwd=tmp_path).out
    assert any(line.strip() == shown for line in out.splitlines()) or (data == b"" and "tone.yaml" in out), out


def test_standard_input_and_rows_are_quoted(cli: Cli, tmp_path: Path) -> None:
    assert "      |     ^^^^^^\n" in cli("validate", "-", stdin=RUBRIC).out
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets/web.yaml").write_text(
        "id: web\nversion: 1.0.0\nrows: web.jsonl\ndefaults: {rubric_ref: rubric/x@1.0.0}\n"
    )
    (tmp_path / "datasets/web.jsonl").write_text('{"id": "a", "input": "b"}\n{"id": "b", "inptu": "b"}\n')
    out = cli("validate", "datasets", cwd=tmp_path).out
    assert '    2 | {"id": "b", "inptu": "b"}\n      |             ^^^^^^^\n' in out
