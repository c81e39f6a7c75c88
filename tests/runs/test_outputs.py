from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from evalstore.errors import LoadError
from evalstore.model import Output
from evalstore.runs import Run, StoredOutput, compute_file_sha256, find_samples, read_outputs
from tests.runs.conftest import find_unread

Lines = Callable[..., Path]


def test_lines_keep_their_order_and_know_where_they_stand(lines: Lines) -> None:
    found = read_outputs(lines({"id": "b", "output": "1"}, b"", b" \r", {"id": "a", "output": "2", "more": [1]}))
    assert list(found) == [StoredOutput("b", Output("1"), 1), StoredOutput("a", Output("2"), 4)]


def test_numbers_of_a_table_are_texts_and_read_as_numbers(tmp_path: Path) -> None:
    path = tmp_path / "outputs.csv"
    path.write_text("id,output,latency_ms,cost_usd\na,hi,120,0.5\nb,hi,-5,much\n")
    found = [one.output.measures.recorded for one in read_outputs(path) if isinstance(one, StoredOutput)]
    assert found == [{"latency_ms": 120, "cost_usd": Decimal("0.5")}, {}]


@pytest.mark.parametrize(
    "text", ["", "a\u2028b\u2029c\x85d", "\x00", "\ufeff", "a\nb\r\n", "🦊", "e\u0301", '"evaluation_results"', "{"]
)
def test_a_text_is_taken_as_it_is(text: str, lines: Lines) -> None:
    for line in (
        json.dumps({"id": text, "output": text}),
        json.dumps({"id": text, "output": text}, ensure_ascii=False),
    ):
        path = lines(line.encode())
        assert list(read_outputs(path)) == [StoredOutput(text, Output(text), 1)]
        assert find_samples(path) == path


def test_the_last_line_needs_no_end_and_the_file_may_have_a_byte_order_mark(lines: Lines) -> None:
    path = lines(b'\xef\xbb\xbf{"id": "a", "output": "x"}\r', b'{"id": "b", "output": "y"}', end=b"")
    assert [recorded.id for recorded in read_outputs(path)] == ["a", "b"]


def test_recorded_calls_are_kept_as_they_are(lines: Lines) -> None:
    calls = [
        {"name": "f", "args": {"n": 1.50}},
        {"id": "c1", "type": "function", "function": {"name": "g", "arguments": "{}"}},
    ]
    rows = [{"id": "a", "output": "x", "tool_calls": made} for made in (calls, [], None)]
    found = [recorded.output.tool_calls for recorded in read_outputs(lines(*rows))]
    assert found == [tuple(calls), (), None]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (b"{", "not JSON"),
        (b'{"id": "a", "output": NaN}', "NaN is not JSON"),
        (b'{"id": "a", "output": "x", "n": 1e999999}', "out of range"),
        (b'{"id": "a", "id": "b", "output": "x"}', "duplicate key 'id'"),
        (b'{"id": "a", "output": "\x00"}', "not JSON"),
        (b'{"id": "a", "output": "\\ud800"}', "surrogate"),
        (b'{"id": "a", "output": "\xff"}', "not UTF-8"),
        ('{"id": "a", "output": "x"}'.encode("utf-16"), "not UTF-8"),
        (b"[" * 100_000, "nested|not JSON"),
        (b'"text"', "one JSON object"),
        ([1], "one JSON object"),
        ({"id": 1.5, "output": "x"}, "its `id` is neither text nor a whole number"),
        ({"output": "x"}, "it has no `id` "),
        ({"output": "x", "input": "?"}, "any will do where --match input joins by the input"),
        ({"id": "a"}, "it has no `output`"),
        ({"id": True, "output": None}, "its `id` is neither text nor a whole number"),
        ({"id": "a", "output": "x", "tool_calls": "f"}, "not a list of calls"),
        ({"id": "a", "output": "x", "tool_calls": [{}]}, "not a list of calls"),
        ({"id": "a", "output": "x", "tool_calls": [{"name": 7}]}, "not a list of calls"),
        ({"sample_id": None, "output": {"raw": "x"}}, "its `sample_id` is not text"),
        ({"sample_id": True, "output": {"raw": "x"}}, "its `sample_id` is not text"),
        ({"sample_id": "a", "output": {"raw": ["x", "y"]}}, "2 outputs in one row"),
        ({"sample_id": "a", "messages": "x"}, "not a list of messages"),
        ({"sample_id": "a", "messages": ["x"]}, "not a list of messages"),
    ],
)
def test_a_broken_line_is_one_sentence_with_its_place(line: Any, sentence: str, lines: Lines) -> None:
    path = lines({"id": "good", "output": "x"}, line)
    found = find_unread(path)
    assert re.search(sentence, found.reason)
    assert found.reason.startswith("line 2 cannot be read: ")
    names_a = "a" in line.values() if isinstance(line, dict) else bytes(line).startswith(b'{"id": "a"')
    assert (found.id, found.line) == ("a" if names_a else "", 2)


def test_a_line_that_is_longer_than_a_line_may_be_ends_the_reading(lines: Lines) -> None:
    path = lines({"id": "good", "output": "x"}, b'{"id": "a", "output": "' + b"x" * (5 << 20) + b'"}')
    with pytest.raises(LoadError, match="longer than 4,194,304 bytes") as raised:
        list(read_outputs(path))
    assert raised.value.place is not None
    assert (raised.value.place.file, raised.value.place.line) == (str(path), 2)


@pytest.mark.parametrize("output", [{"a": 1.50}, ["x"], 7, True, []])
def test_an_output_that_is_no_text_is_its_json_and_an_id_may_be_a_number(output: Any, lines: Lines) -> None:
    path = lines({"id": 1, "output": output}, {"sample_id": 2, "output": {"raw": [output]}})
    found = [one.output.text for one in read_outputs(path) if isinstance(one, StoredOutput)]
    assert [json.loads(text) for text in found] == [output, output]


@pytest.mark.heavy
def test_a_file_without_line_breaks_is_not_read_whole(lines: Lines) -> None:
    with pytest.raises(LoadError, match="longer than"):
        next(read_outputs(lines(b'{"id": "a", "output": "' + b"x" * (40 << 20), end=b"")))


def test_what_is_no_file_is_one_sentence(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nothing.jsonl", Path("/dev/null")):
        with pytest.raises(LoadError, match=r"cannot be read|is a folder, not a file|not a regular file"):
            next(read_outputs(path))


def test_the_aggregate_stands_for_its_rows(written: Callable[..., Run]) -> None:
    run = written()
    assert find_samples(run.path) == find_samples(run.samples) == run.samples
    run.path.write_text(json.dumps(json.loads(run.path.read_text("utf-8"))), encoding="utf-8")
    assert find_samples(run.path) == run.samples


def test_a_digest_of_a_file_is_that_of_its_bytes(lines: Lines) -> None:
    # NIST FIPS 180-2, appendix B: one block, and a million times "a"
    assert compute_file_sha256(lines(b"abc", end=b"")).startswith("ba7816bf8f01cfea")
    assert compute_file_sha256(lines(b"a" * 1_000_000, end=b"")).startswith("cdc76e5c9914fb92")
