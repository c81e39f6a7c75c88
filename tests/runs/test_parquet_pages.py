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

from evalstore.errors import LimitError, LoadError, Place
from evalstore.runs import parquet, parquet_pages

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
        assert [json.loads(row) for row in parquet._write_lines(part, Place("a.parquet", 1))] == drop_empty(
            part.to_pylist()
        )


def test_no_rows_have_no_lines() -> None:
    batch = pa.record_batch([pa.array([{"k": ["x"]}])], names=["c"]).slice(1)
    twice = pa.record_batch([pa.array([], pa.int8())] * 2, names=["c", "c"])
    assert [list(parquet._write_lines(part, Place("a.parquet", 1))) for part in (batch, twice)] == [[], []]


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


def count_rows(path: Path, dictionaries: set[str]) -> int:
    with path.open("rb") as source:
        metadata = pq.ParquetFile(path).metadata
        return parquet_pages.count_batch_rows(source, metadata, 0, dictionaries, Place(str(path)))


def test_rows_that_repeat_one_large_text_are_read_few_at_a_time_where_each_is_a_copy(
    write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    ids, repeated = [str(number) for number in range(40)], pa.array(["x" * 100_000] * 40)
    path = write({"id": ids, "output": repeated.dictionary_encode(), "more": [["y"] * 3] * 40})
    monkeypatch.setattr(parquet_pages, "LIMITS", parquet_pages.LIMITS._replace(decoded=1_000_000))
    assert count_rows(path, set()) == 8
    assert count_rows(path, {"output"}) == 1024
    monkeypatch.setattr(parquet, "_BATCH_LIMIT", 500_000)
    assert [len(line) > 100_000 for line in read(path)] == [True] * 40
    # In this encoding a text begins as the one before did, and no dictionary is read.
    prefixed = {"output": "DELTA_BYTE_ARRAY"}
    path = write({"id": ids, "output": repeated}, use_dictionary=False, column_encoding=prefixed)
    assert count_rows(path, set()) == 8
    assert [len(line) > 100_000 for line in read(path)] == [True] * 40


@pytest.mark.parametrize("type_", [pa.string(), pa.binary()])
def test_one_row_that_repeats_a_text_or_a_key_is_refused_in_little_memory(
    type_: Any, write: Callable[..., Path]
) -> None:
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 1000, pa.int32()), pa.array(["x" * 3_000_000], type_))
    keyed = pa.StructArray.from_arrays([pa.array([1] * 1000)], ["k" * 10_000])
    for values in (texts, keyed):
        path = write({"id": ["a"], "tags": pa.ListArray.from_arrays(pa.array([0, 1000], pa.int32()), values)})
        peak = pa.default_memory_pool().max_memory()
        with pytest.raises(LimitError, match="a row is larger than 4,194,304 characters"):
            read(path)
        assert pa.default_memory_pool().max_memory() < peak + 20_000_000


@pytest.mark.parametrize(
    ("limit", "value", "columns", "sentence"),
    [
        ("decoded", 1000, {"id": ["a"], "output": ["x" * 2000]}, "its pages need more than 1,000 bytes"),
        ("lists", 1000, {"id": ["a"], "tool_calls": [[1] * 50_000]}, "the lists of a row group need more than"),
        ("columns", 9, {f"c{number}": [1] for number in range(10)}, "more than 9 columns"),
        ("footer", 50, {"id": ["a"], "output": ["x"]}, "its footer is larger than 50 bytes"),
    ],
)
def test_what_would_need_too_much_memory_is_refused_before_it_is_decoded(
    limit: str,
    value: int,
    columns: dict[str, Any],
    sentence: str,
    write: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = write(columns)
    assert read(path)
    monkeypatch.setattr(parquet_pages, "LIMITS", parquet_pages.LIMITS._replace(**{limit: value}))
    with pytest.raises(LimitError, match=sentence) as raised:
        read(path)
    assert raised.value.place is not None
    assert raised.value.place.file == str(path)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_pages_say_how_large_they_become(version: str, write: Callable[..., Path]) -> None:
    columns = {"id": [str(number) for number in range(5000)], "output": ["x" * 100] * 5000}
    path = write(columns, data_page_version=version, use_dictionary=False, data_page_size=100_000)
    with path.open("rb") as source:
        chunk = pq.ParquetFile(path).metadata.row_group(0).column(1)
        pages = list(parquet_pages._list_pages(source, *parquet_pages._find_range(chunk)))
    assert len(pages) > 1
    assert sum(page.values for page in pages) == 5000
    assert 5000 * 104 <= sum(page.unpacked for page in pages) <= 5000 * 104 + 100 * len(pages)


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "twice.parquet"
    pq.write_table(pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["id", "id"]), path)
    with pytest.raises(LoadError, match="two columns have the same name"):
        read(path)


@pytest.mark.parametrize("text", ["", 'a\\"\n\r\t/', "\x00", "\x1f\x7f", "ü\u2028\U0001f600", "100 % %s"])
def test_texts_are_encoded_together_as_they_are_alone(text: str) -> None:
    rows = [{text: text}, {text: "plain"}, {text: None}]
    batch = pa.record_batch([pa.array([row[text] for row in rows]).dictionary_encode()], names=[text])
    assert [json.loads(row) for row in parquet._write_lines(batch, Place("a.parquet", 1))] == drop_empty(rows)
    assert [json.loads(row) for row in parquet._write_lines(batch.slice(0, 2), Place("a.parquet", 1))] == rows[:2]
