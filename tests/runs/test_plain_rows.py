"""Tests that the reader of evalstore's own layout reads what the reader of all shapes does, or leaves it alone."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from evalstore.documents import read_row
from evalstore.errors import EvalstoreError, Place
from evalstore.model import CheckResult, Output, UnscoredReason, Verdict
from evalstore.runs import GradedRow, Run
from evalstore.runs.eee_rows import read_graded_row
from evalstore.runs.plain_rows import read_plain_row
from evalstore.runs.read import read_row_line
from evalstore.runs.write import RunWriter

PLACE = Place("x.jsonl", 1)
TEXTS = (
    "",
    "A.",
    'a "b" \\ c\n\t',
    "\x00\x1f\x7f\x85\u2028",
    "ü\U0001f600",
    '},{"id":"b"}]',
    "\\u0041 \\ud800",
    "{" * 70,
)


def write_lines(rows: tuple[GradedRow, ...], run: Run) -> list[bytes]:
    """Return the lines of rows as a run has them."""
    lines: list[bytes] = []

    class Lines:
        write = staticmethod(lines.append)

    writer = RunWriter(run.path.parent, "x", Lines)  # type: ignore[arg-type]  # all that is used of a file
    for row in rows:
        writer.write_row(row, run)
    return [line.removesuffix(b"\n") for line in lines]


def read_slowly(line: bytes) -> GradedRow | None:
    """Return the row as the reader of all shapes reads it; None where it refuses it."""
    try:
        return read_graded_row(read_row(line, "x.jsonl", 1), PLACE)
    except (EvalstoreError, AttributeError, IndexError, KeyError, TypeError, ValueError):
        return None


@pytest.fixture
def odd_rows(rows: tuple[GradedRow, ...]) -> tuple[GradedRow, ...]:
    """Rows whose texts stand in each place in turn."""
    first, found = rows[0], [*rows]
    for number, text in enumerate(TEXTS):
        check = CheckResult(text, text, None, Verdict.UNSCORED, text, UnscoredReason.ERROR, inner_errors=(text, "b"))
        found.append(replace(first, output=Output(text), checks=(check, *first.checks), sample=number, group=text))
        found.append(replace(first, input=text, reference=(text,), reason=text, rubric=text, checks=(check,)))
        found.append(replace(first, id=text or "q", reference=(), input_digest=text))
    return tuple(found)


def test_a_row_is_read_as_the_reader_of_all_shapes_reads_it(odd_rows: tuple[GradedRow, ...], run: Run) -> None:
    read = [(read_plain_row(line), read_slowly(line)) for line in write_lines(odd_rows, run)]
    assert [fast for fast, _ in read if fast] == [slow for fast, slow in read if fast]
    assert sum(fast is not None for fast, _ in read) > len(TEXTS)


def test_a_damaged_line_is_never_read_otherwise(
    odd_rows: tuple[GradedRow, ...], run: Run, samples: Callable[[int], int]
) -> None:
    chance, lines, kept = random.Random(7), write_lines(odd_rows, run), 0  # noqa: S311  # repeatable
    for _ in range(samples(20_000)):
        line = bytearray(chance.choice(lines))
        for _ in range(chance.randint(1, 3)):
            at = chance.randrange(len(line))
            piece = chance.choice(
                [b"", b'"', b"\\", b"}", b"\xff", b"0", b"\\u", b"\\ud83d", b',"id":', line[at : at + 9]]
            )
            line[at : at + chance.randint(0, 2)] = piece
        fast = read_plain_row(bytes(line))
        kept += fast is not None
        assert fast is None or fast == read_slowly(bytes(line)), bytes(line)
    assert kept


def test_what_is_not_of_the_layout_is_read_all_the_same(rows: tuple[GradedRow, ...], run: Run) -> None:
    line = write_lines(rows[:1], run)[0]
    other = line.replace(b'"sample_id"', b'"more": {"deep": [1]}, "sample_id"')
    assert read_plain_row(line) == read_row_line(line, PLACE) == read_row_line(other, PLACE)
    assert read_plain_row(other) is None


def test_a_doubled_key_within_a_result_is_refused(rows: tuple[GradedRow, ...], run: Run) -> None:
    line = write_lines(rows[:1], run)[0].replace(b'\\"verdict\\":', b'\\"verdict\\":\\"pass\\",\\"verdict\\":', 1)
    with pytest.raises(EvalstoreError, match="twice"):
        read_row_line(line, PLACE)
