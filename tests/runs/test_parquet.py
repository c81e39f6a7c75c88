"""Parquet beside JSON Lines: the same rows, the same digests, and one sentence for a file that is damaged."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from evalstore.errors import EvalstoreError, LimitError, LoadError
from evalstore.model import Output
from evalstore.runs import (
    GradedRow,
    Run,
    compute_file_sha256,
    compute_span_sha256,
    cut_outputs,
    read_outputs,
    read_rows,
    read_run,
    write_run,
)
from evalstore.runs import parquet as parquet_rows
from evalstore.runs.formats import FORMATS, detect_format
from evalstore.runs.row_formats import ROW_FORMATS, read_lines
from evalstore.runs.row_index import RowIndex

pa = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
pq = pytest.importorskip("pyarrow.parquet", reason="Parquet needs pyarrow")

pytestmark = pytest.mark.process  # Arrow reads in a process of its own


@pytest.fixture
def twins(tmp_path: Path, run: Run, rows: tuple[GradedRow, ...]) -> tuple[Run, Run]:
    """Return one run of every odd row, in JSON Lines and in Parquet."""
    found = []
    for suffix in ROW_FORMATS:
        with write_run(tmp_path / "runs", "twin") as draft:
            for row in rows:
                draft.write_row(row, run)
            found.append(draft.publish(replace(run, samples=Path(f"samples{suffix}"))))
    return found[0], found[1]


@pytest.fixture
def table(tmp_path: Path) -> Callable[..., Path]:
    """Write rows as a Parquet file, with the types that Arrow finds in them unless a schema names others."""

    def write(*rows: dict[str, Any], schema: Any = None, **options: Any) -> Path:
        path = tmp_path / "outputs.parquet"
        pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), path, **options)
        return path

    return write


def test_a_run_has_the_same_rows_and_digests_in_both_formats(
    twins: tuple[Run, Run], rows: tuple[GradedRow, ...]
) -> None:
    lines, columns = twins
    assert columns.samples.name == "twin-2_samples.parquet"
    assert columns.samples.read_bytes().startswith(b"PAR1")
    assert tuple(read_rows(read_run(columns.path))) == tuple(read_rows(lines)) == rows
    assert [row.output_digest for row in read_rows(columns)] == [row.output_digest for row in rows]
    # Not a key is lost: the lines that a Parquet file stands for are those of the other file, as values.
    assert [json.loads(line) for _, line in read_lines(columns.samples)] == [
        json.loads(line) for line in lines.samples.read_bytes().splitlines()
    ]


def test_a_run_is_named_by_its_rows_and_read_in_any_order(twins: tuple[Run, Run], rows: tuple[GradedRow, ...]) -> None:
    _, columns = twins
    assert read_run(columns.samples) == columns
    index = RowIndex(columns)
    assert list(index) == [row.id for row in rows]
    assert [index[row.id] for row in reversed(rows)] == list(reversed(rows))


def test_what_has_no_score_is_null(twins: tuple[Run, Run], rows: tuple[GradedRow, ...]) -> None:
    scores = pq.read_table(twins[1].samples)["evaluation"].combine_chunks().field("score").to_pylist()
    assert scores == [None if row.score is None else float(row.score) for row in rows]


def test_a_table_is_read_as_its_lines_would_be(table: Callable[..., Path], lines: Callable[..., Path]) -> None:
    rows = [
        {"id": "a", "output": "x \u2028 \x00", "sample": 0, "tool_calls": [{"name": "f", "args": {"n": 1.5}}]},
        {"id": "a", "output": '{"b": 1}', "sample": 1, "tool_calls": []},
        {"id": "ü", "output": "", "sample": 0, "more": [1]},
    ]
    assert list(read_outputs(table(*rows))) == list(read_outputs(lines(*rows)))
    assert [found.line for found in read_outputs(table(*rows, row_group_size=1))] == [1, 2, 3]


def test_calls_may_be_texts_of_json_with_exact_numbers(table: Callable[..., Path]) -> None:
    calls = '[{"name": "f",\n "args": {"n": 1.50, "none": null}}]'
    for type_ in (pa.string(), pa.json_()):
        schema = pa.schema([("id", pa.string()), ("output", pa.large_string()), ("tool_calls", type_)])
        found = next(iter(read_outputs(table({"id": "a", "output": "x", "tool_calls": calls}, schema=schema))))
        assert found.output == Output("x", ({"name": "f", "args": {"n": Decimal("1.50"), "none": None}},))


def test_texts_may_be_bytes_or_categories_and_maps_are_objects(table: Callable[..., Path]) -> None:
    call = pa.struct([("name", pa.string()), ("args", pa.map_(pa.string(), pa.string()))])
    schema = pa.schema(
        [("id", pa.dictionary(pa.int8(), pa.string())), ("output", pa.binary()), ("tool_calls", pa.list_(call))]
    )
    row = {"id": "a", "output": b"\xc3\xbc", "tool_calls": [{"name": "f", "args": {"x": "1"}}]}
    assert [found.output for found in read_outputs(table(row, schema=schema))] == [
        Output("ü", ({"name": "f", "args": {"x": "1"}},))
    ]


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ({"id": "a", "output": b"\xff"}, "not UTF-8"),
        ({"id": "a", "output": "x", "tool_calls": "[{"}, "not JSON"),
        ({"id": "a", "output": "x", "tool_calls": [{"name": "f", "args": {"n": float("inf")}}]}, "infinite"),
    ],
)
def test_a_broken_row_is_one_sentence_with_its_number(
    row: dict[str, Any], sentence: str, table: Callable[..., Path]
) -> None:
    good = b"good" if isinstance(row["output"], bytes) else "good"
    path = table({"id": row["id"], "output": good, "tool_calls": None}, row)
    with pytest.raises(LoadError, match=sentence) as raised:
        list(read_outputs(path))
    assert raised.value.place is not None
    assert raised.value.place[:2] == (str(path), 2)


def test_a_null_output_is_a_row_without_an_answer_and_no_column_is_an_error(table: Callable[..., Path]) -> None:
    read = list(read_outputs(table({"id": "a", "output": "x"}, {"id": "b", "output": None})))
    assert [getattr(one, "output", None) and one.output.text for one in read] == ["x", None]
    with pytest.raises(LoadError, match="unknown format; expected lines like"):
        list(read_outputs(table({"id": "a", "text": "x"})))


def test_a_row_group_is_read_by_itself(table: Callable[..., Path]) -> None:
    path = table(*({"id": str(number), "output": "x"} for number in range(5)), row_group_size=2)
    groups = parquet_rows.list_row_groups(path)
    assert [group[:3] for group in groups] == [(0, 1, 2), (1, 3, 2), (2, 5, 1)]
    whole = list(parquet_rows.read_parquet_lines(path))
    assert [len(cut_outputs(path, size).spans) for size in (1, 10**6)] == [3, 1]
    cut = cut_outputs(path, groups[1].offset)
    assert (cut.size, cut.sha256, len(cut.spans)) == (path.stat().st_size, compute_file_sha256(path), 2)
    assert [row for span in cut.spans for row in parquet_rows.read_parquet_lines(path, span)] == whole
    assert [span.start for span in cut.spans[1:]] == [span.end for span in cut.spans[:-1]]
    assert all(compute_span_sha256(path, span) == span.sha256 for span in cut.spans)


def test_a_format_is_detected_by_one_process_until_the_file_changes(
    table: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []
    start = parquet_rows._start_child
    monkeypatch.setattr(parquet_rows, "_start_child", lambda *given: (started.append(given[2]), start(*given))[1])
    path = table({"id": "a", "output": "x"})
    assert [detect_format(path).name for _ in range(3)] == [FORMATS[0].name] * 3
    assert len(started) == 1
    table({"answer": "y"})
    with pytest.raises(LoadError, match="unknown format; expected lines like"):
        detect_format(path)
    assert len(started) == 2


def test_a_damaged_file_is_one_sentence(table: Callable[..., Path], samples: Callable[[int], int]) -> None:
    path = table(*({"id": f"q{number}", "output": "text " * number} for number in range(40)), row_group_size=16)
    whole, draw = path.read_bytes(), random.Random(16)  # noqa: S311
    damaged = [b"", b"PAR1", whole[:-9], whole[: len(whole) // 2], b'{"id": "a", "output": "x"}\n', whole[4:]]
    for _ in range(samples(48)):
        data = bytearray(whole)
        for _ in range(draw.randint(1, 4)):
            data[draw.randrange(len(data))] = draw.randrange(256)
        damaged.append(bytes(data))
    refusals = 0
    for data in damaged:
        path.write_bytes(data)
        try:
            list(read_outputs(path))
        except EvalstoreError as error:
            refusals += 1
            assert str(path) in str(error)
            assert "\n" not in str(error)
    assert refusals >= 6


@pytest.mark.parametrize("has_dictionaries", [True, False])
def test_a_table_without_rows_has_no_outputs(table: Callable[..., Path], *, has_dictionaries: bool) -> None:
    schema = pa.schema([("id", pa.string()), ("output", pa.string())])
    path = table(schema=schema, use_dictionary=has_dictionaries)
    assert list(read_outputs(path)) == []
    assert list(cut_outputs(path, 1).spans) != []


def test_a_column_that_arrow_refuses_is_one_sentence(table: Callable[..., Path]) -> None:
    """Asked for the metadata of a column that it refuses, pyarrow ends the process."""
    encryption = pytest.importorskip("pyarrow.parquet.encryption")

    class OpenKeys(encryption.KmsClient):  # type: ignore[misc]
        def wrap_key(self, key: bytes, _: str) -> bytes:
            return base64.b64encode(key)

    settings = encryption.EncryptionConfiguration("footer", column_keys={"key": ["output"]}, plaintext_footer=True)
    keys = encryption.CryptoFactory(lambda _: OpenKeys())
    sealed = keys.file_encryption_properties(encryption.KmsConnectionConfig(), settings)
    with pytest.raises(LoadError, match="Arrow ended with SIGABRT") as raised:
        list(read_outputs(table({"id": "a", "output": "x"}, encryption_properties=sealed)))
    assert (raised.value.hint or "").startswith("Arrow says: Cannot decrypt ColumnMetadata")


def test_a_file_of_another_name_is_told_how_it_is_read(table: Callable[..., Path]) -> None:
    path = table({"id": "a", "output": "x"})
    with pytest.raises(LoadError) as raised:
        next(read_outputs(path.rename(path.with_suffix(".dat"))))
    assert raised.value.hint == "it looks like Parquet; rename the file so that it ends in .parquet"


def test_a_few_kilobytes_do_not_unpack_to_hundreds_of_megabytes(tmp_path: Path) -> None:
    pa, count = pytest.importorskip("pyarrow"), 200
    columns = {"id": [str(number) for number in range(count)], "output": pa.array(["x" * 200_000] * count)}
    path = tmp_path / "outputs.parquet"
    pytest.importorskip("pyarrow.parquet").write_table(pa.table(columns), path, compression="zstd")
    assert path.stat().st_size < 20_000
    with pytest.raises(
        LimitError, match="unpacks to more than 16,777,216 bytes, the limit for a packed file of its size"
    ):
        list(parquet_rows.read_parquet_lines(path))
