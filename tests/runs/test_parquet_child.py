"""Rows of Parquet are the JSON of their values, whatever their columns are; hostile files end before memory does."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstore.errors import LimitError, LoadError
from evalstore.runs import parquet
from evalstore.runs.parquet_child import write_lines

pa = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
pq = pytest.importorskip("pyarrow.parquet", reason="Parquet needs pyarrow")

texts = st.text(max_size=4) | st.sampled_from(['"', "\\", "\x00", "\u2028", "ü", "\U0001f600"])
leaves = [
    (pa.string(), texts),
    (pa.large_string(), texts),
    (pa.dictionary(pa.int8(), pa.string()), texts),
    (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    (pa.uint8(), st.integers(0, 255)),
    (pa.bool_(), st.booleans()),
    (pa.float64(), st.floats(allow_infinity=False)),
    (pa.binary(), texts.map(str.encode)),
]


def draw_types(depth: int) -> st.SearchStrategy[tuple[Any, st.SearchStrategy[Any]]]:
    """Return Arrow types, each with its values."""
    plain = st.sampled_from(leaves)
    if not depth:
        return plain
    inner = draw_types(depth - 1)
    lists = inner.map(lambda one: (pa.list_(one[0]), st.lists(st.none() | one[1], max_size=3)))
    structs = st.lists(inner, min_size=1, max_size=3).map(
        lambda many: (
            pa.struct([(f"k{number}", type_) for number, (type_, _) in enumerate(many)]),
            st.fixed_dictionaries({f"k{number}": st.none() | values for number, (_, values) in enumerate(many)}),
        )
    )
    return plain | lists | structs


@st.composite
def tables(draw: st.DrawFn) -> Any:
    columns = draw(st.lists(draw_types(2), min_size=1, max_size=3))
    count = draw(st.integers(0, 5))
    arrays = [
        pa.array(draw(st.lists(st.none() | values, min_size=count, max_size=count)), type=type_)
        for type_, values in columns
    ]
    return pa.record_batch(arrays, names=[f"c{number}" for number in range(len(arrays))])


def drop_empty(value: Any) -> Any:
    """Return a value as JSON has it: null and not-a-number are absent within objects, and null in lists."""
    if isinstance(value, dict):
        cleaned = ((key, drop_empty(item)) for key, item in value.items())
        return {key: item for key, item in cleaned if item is not None}
    if isinstance(value, list):
        return [drop_empty(item) for item in value]
    if isinstance(value, bytes):
        return value.decode()
    return None if isinstance(value, float) and math.isnan(value) else value


@given(tables(), st.integers(0, 4))
def test_each_row_is_the_json_of_its_values(batch: Any, start: int) -> None:
    for part in (batch, batch.slice(start), batch.slice(0, start)):
        assert [json.loads(row) for _, row in write_lines(part, 1)] == drop_empty(part.to_pylist())


def test_no_rows_have_no_lines() -> None:
    batch = pa.record_batch([pa.array([{"k": ["x"]}])], names=["c"]).slice(1)
    twice = pa.record_batch([pa.array([], pa.int8())] * 2, names=["c", "c"])
    assert [list(write_lines(part, 1)) for part in (batch, twice)] == [[], []]


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write columns as a Parquet file."""

    def write(columns: dict[str, Any], **options: Any) -> Path:
        path = tmp_path / "hostile.parquet"
        pq.write_table(pa.table(columns), path, compression="zstd", **options)
        return path

    return write


def read(path: Path) -> list[bytes]:
    return [line for _, line in parquet.read_parquet_lines(path)]


@pytest.mark.process
@pytest.mark.parametrize("type_", [pa.string(), pytest.param(pa.binary(), marks=pytest.mark.slow)])
def test_one_row_that_repeats_a_text_or_a_key_is_refused_at_its_row(type_: Any, write: Callable[..., Path]) -> None:
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 1000, pa.int32()), pa.array(["x" * 3_000_000], type_))
    keyed = pa.StructArray.from_arrays([pa.array([1] * 1000)], ["k" * 10_000])
    for values in (texts, keyed):
        path = write({"id": ["a"], "tags": pa.ListArray.from_arrays(pa.array([0, 1000], pa.int32()), values)})
        with pytest.raises(LimitError, match=r"a row (is larger|needs more) than [0-9,]+") as raised:
            read(path)
        assert (raised.value.place and raised.value.place.line) == 1


@pytest.mark.slow  # what the test above shows, of another shape, takes five seconds
@pytest.mark.process
def test_what_needs_too_much_memory_ends_the_child_alone(write: Callable[..., Path]) -> None:
    """A file of some kilobytes that stands for a list of a hundred million numbers."""
    numbers = pa.nulls(100_000_000, pa.int64())
    path = write({"id": ["a"], "tags": pa.ListArray.from_arrays(pa.array([0, len(numbers)], pa.int32()), numbers)})
    del numbers
    assert path.stat().st_size < 200_000
    with pytest.raises(LoadError) as raised:
        read(path)
    said = str(raised.value)
    assert "memory" in said or "larger than" in said or "Arrow ended with" in said, said


@pytest.mark.process
def test_many_rows_that_share_one_text_are_read_in_little_memory(write: Callable[..., Path]) -> None:
    """Each row is a megabyte; all of them at once would be more than the child may have."""
    count = 2_500
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), pa.array(["x" * 1_000_000]))
    path = write({"id": [str(number) for number in range(count)], "output": texts})
    lines = parquet.read_parquet_lines(path)
    assert [len(next(lines)[1]) > 1_000_000 for _ in range(10)] == [True] * 10
    lines.close()  # type: ignore[attr-defined]  # a generator


@pytest.mark.process
def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "twice.parquet"
    pq.write_table(pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["id", "id"]), path)
    with pytest.raises(LoadError, match="two columns have the same name"):
        read(path)


@pytest.mark.parametrize("text", ["", 'a\\"\n\r\t/', "\x00", "\x1f\x7f", "ü\u2028\U0001f600", "100 % %s"])
def test_texts_are_encoded_together_as_they_are_alone(text: str) -> None:
    rows = [{text: text}, {text: "plain"}, {text: None}]
    batch = pa.record_batch([pa.array([row[text] for row in rows]).dictionary_encode()], names=[text])
    assert [json.loads(row) for _, row in write_lines(batch, 1)] == drop_empty(rows)
    assert [json.loads(row) for _, row in write_lines(batch.slice(0, 2), 1)] == rows[:2]
