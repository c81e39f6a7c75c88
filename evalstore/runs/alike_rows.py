"""Counts the questions of two runs whose grades are alike, by the columns of their grades; with pyarrow alone.

Of outputs it is only asked whether they are equal; nothing else of a row is looked at. Of a block of rows some dozen
kinds are left. Whatever is not plainly evalstore's own, of every question and in the order of the dataset, is left to
the readers of rows.
"""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from evalstore.documents import LINE_LIMIT
from evalstore.errors import EvalstoreError
from evalstore.files import iterate_pieces, open_user_file
from evalstore.model import Output
from evalstore.runs.eee_rows import read_consistent_grade
from evalstore.runs.parquet import read_parquet_columns
from evalstore.runs.parquet_pages import DECODE_LIMIT
from evalstore.runs.plain_rows import read_checks
from evalstore.runs.row_formats import is_text_format
from evalstore.runs.values import GradedRow, Run

_FEWEST = 5_000  # questions from which on the library is loaded sooner than their rows are read
_BLOCK = 1 << 13  # rows that are counted at once
_CHUNK = 2 << 20  # bytes of lines that are decoded at once: what a cache holds
_GRADE = ("score", "verdict", "rubric", "output_digest", "checks", "sample")
# What tells two questions apart for whoever counts them.
_KINDS = ("score", "verdict", "rubric")


class AlikeRows(NamedTuple):
    """One question's row in either run, and of how many questions it is true; texts are left out.

    The output of a row is the digest that is recorded of it. A question with a check that has no score is by itself.
    """

    old: GradedRow
    new: GradedRow
    times: int


class NotCountableError(Exception):
    """Some rows have to be read one by one."""


def count_alike_rows(a: Run, b: Run, questions: Iterable[bytes]) -> Iterator[AlikeRows]:
    """Yield the kinds of questions that two runs have; `questions` are those of their dataset as JSON Lines, in pieces.

    Raises `NotCountableError` where rows are few, are not of every question in this order, or not plain.
    """
    if min(a.questions, b.questions) < _FEWEST or not find_spec("pyarrow"):
        raise NotCountableError
    pa = import_module("pyarrow")
    try:
        for old, new, wanted in zip_longest(_read_grades(a.samples), _read_grades(b.samples), _read_ids(questions)):
            if old is None or new is None or wanted is None or wanted.null_count:
                raise NotCountableError
            if not (old["id"].equals(wanted) and new["id"].equals(wanted)):
                raise NotCountableError
            yield from _count_block(old, new)
    except (pa.ArrowException, EvalstoreError, ValueError, KeyError, TypeError) as error:
        # Whoever reads the rows says what is wrong, and where.
        raise NotCountableError from error


def _read_grades(path: Path) -> Iterator[Any]:
    """Yield tables of the columns of `_GRADE`, the ids, and the outputs where they are read anyway (`text`).

    `checks` is null where each of them has a score.
    """
    paths = ["sample_id", *(f"metadata.evalstore_{name}" for name in _GRADE)]
    tables = _read_json_grades(path) if is_text_format(path) else read_parquet_columns(path, paths, "output.raw")
    pa, pc = import_module("pyarrow"), import_module("pyarrow.compute")
    for table in _cut_blocks(tables):
        metadata = table["metadata"]
        found = {name: pc.struct_field(metadata, f"evalstore_{name}") for name in _GRADE}
        if found.pop("sample").null_count < len(table) or any(one.null_count for one in found.values()):
            raise NotCountableError
        found["checks"] = _mask_graded(found["checks"])
        found = {"id": table["sample_id"], **found, **({"text": table["text"]} if "text" in table.column_names else {})}
        yield pa.table(found).cast(pa.schema([(name, pa.string()) for name in found])).combine_chunks()


def _mask_graded(checks: Any) -> Any:
    """Return lists of checks as they are written, null where the text shows that each has a score."""
    pa, pc = import_module("pyarrow"), import_module("pyarrow.compute")
    # Many rows have the same, and each is looked into once.
    coded = pc.dictionary_encode(checks).chunks
    masked = [pa.DictionaryArray.from_arrays(one.indices, _mask_each(one.dictionary)) for one in coded]
    return pa.chunked_array([one.dictionary_decode() for one in masked], pa.string())


def _mask_each(texts: Any) -> Any:
    # No quotation mark stands bare within a text of JSON, so that these are keys, unless one is written by escapes.
    pc = import_module("pyarrow.compute")
    count = partial(pc.count_substring, texts)
    is_graded = pc.equal(count('"unscored"'), count('"unscored":null'))
    for text in ('"inner_errors"', "\\u"):
        is_graded = pc.and_(is_graded, pc.equal(count(text), 0))
    return pc.if_else(is_graded, None, texts)


def _read_json_grades(path: Path) -> Iterator[Any]:
    pa, pc = import_module("pyarrow"), import_module("pyarrow.compute")
    text = pa.string()
    metadata = pa.struct([(f"evalstore_{name}", text) for name in _GRADE])
    output = pa.struct([("raw", pa.list_(text))])
    with open_user_file(path) as file:
        for table in _decode_lines(iterate_pieces(file), {"sample_id": text, "metadata": metadata, "output": output}):
            texts = pc.struct_field(table["output"], "raw")
            if texts.null_count or pc.any(pc.not_equal(pc.list_value_length(texts), 1)).as_py():
                raise NotCountableError
            plain = pc.list_flatten(texts)
            if plain.null_count:
                raise NotCountableError
            yield table.drop_columns("output").append_column("text", plain)


def _decode_lines(pieces: Iterable[bytes], columns: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the named columns of a file of JSON, an object a line; what else a line says is not looked at."""
    pa, json = import_module("pyarrow"), import_module("pyarrow.json")
    parse = json.ParseOptions(explicit_schema=pa.schema(list(columns.items())), unexpected_field_behavior="ignore")
    for lines in _gather_lines(_require_utf8(pieces)):
        read = json.ReadOptions(use_threads=False, block_size=len(lines) + 1)
        table = json.read_json(pa.BufferReader(lines), read_options=read, parse_options=parse)
        # Two objects on a line are not JSON Lines, and one on two is no line.
        if len(table) != lines.count(b"\n") + (not lines.endswith(b"\n")):
            raise NotCountableError
        yield table


def _require_utf8(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the same pieces; raises `UnicodeDecodeError`. Arrow looks only into what it keeps."""
    decoder = getincrementaldecoder("utf-8")()
    for piece in pieces:
        decoder.decode(piece)
        yield piece
    decoder.decode(b"", final=True)


def _gather_lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield whole lines, several at once."""
    held, size = list[bytes](), 0
    for piece in pieces:
        end = piece.rfind(b"\n") + 1
        if size + end >= _CHUNK and end:
            yield b"".join([*held, piece[:end]])
            held, size, piece = [], 0, piece[end:]  # noqa: PLW2901  # what is left of it
        held.append(piece)
        size += len(piece)
        if size > LINE_LIMIT:
            raise NotCountableError
    if rest := b"".join(held):
        yield rest


def _read_ids(questions: Iterable[bytes]) -> Iterator[Any]:
    for block in _cut_blocks(_decode_lines(questions, {"id": import_module("pyarrow").string()})):
        yield block["id"]


def _cut_blocks(tables: Iterable[Any]) -> Iterator[Any]:
    """Yield the same rows, so many at once; `NotCountableError` where they would take much memory."""
    pa = import_module("pyarrow")
    held, count, size = list[Any](), 0, 0
    for table in tables:
        held.append(table)
        count += len(table)
        size += table.nbytes
        if size > DECODE_LIMIT:
            raise NotCountableError
        while count >= _BLOCK:
            whole = pa.concat_tables(held)
            yield whole.slice(0, _BLOCK).combine_chunks()
            held, count = [whole.slice(_BLOCK)], count - _BLOCK
            size = held[0].nbytes
    if count:
        yield pa.concat_tables(held).combine_chunks()


def _count_block(old: Any, new: Any) -> Iterator[AlikeRows]:
    pa, pc = import_module("pyarrow"), import_module("pyarrow.compute")
    sides = (old, new)
    is_lone = pc.or_(*(pc.or_(one["checks"].is_valid(), pc.equal(one["verdict"], "unscored")) for one in sides))
    for place in pc.indices_nonzero(is_lone).to_pylist():
        yield AlikeRows(_build_row(old, place), _build_row(new, place), 1)
    columns = {f"{side}{name}": one[name] for side, one in enumerate(sides) for name in _KINDS}
    columns["is_other"] = is_other = pc.not_equal(old["output_digest"], new["output_digest"])
    # An output that was edited since has the digest of the one before.
    if all("text" in one.column_names for one in sides) and not pc.not_equal(old["text"], new["text"]).equals(is_other):
        raise NotCountableError
    places = pa.array(range(len(old)), pa.int32())
    plain = pa.table({**columns, "place": places}).filter(pc.invert(is_lone))
    kinds = plain.group_by([*columns], use_threads=False).aggregate([("place", "min"), ("place", "count")])
    for place, times in zip(kinds["place_min"].to_pylist(), kinds["place_count"].to_pylist(), strict=True):
        yield AlikeRows(_build_row(old, place), _build_row(new, place), times)


def _build_row(table: Any, place: int) -> GradedRow:
    found = {name: table[name][place].as_py() for name in ("id", *_GRADE[:-1])}
    score, verdict = read_consistent_grade(found["score"], found["verdict"])
    return GradedRow(
        id=found["id"],
        input="",
        reference=(),
        output=Output(found["output_digest"]),
        score=score,
        verdict=verdict,
        rubric=found["rubric"],
        rubric_digest="",
        checks=read_checks(found["checks"] or "[]"),
    )
