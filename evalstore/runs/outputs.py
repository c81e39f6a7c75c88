"""Reads stored outputs of any known format as a stream, in file order; grades nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from evalstore.documents import LINE_LIMIT, JsonStream
from evalstore.errors import LoadError, Place
from evalstore.files import open_user_file
from evalstore.runs.eee_rows import OUTPUT_SHAPES, read_stored_output
from evalstore.runs.imports import promptfoo, skill_creator
from evalstore.runs.imports.entry import MissingOutput, OutputEntry, Series, make_unread_entry
from evalstore.runs.imports.inspect_archive import MAGIC, open_archive
from evalstore.runs.imports.inspect_log import SAMPLES_KEY as SAMPLES
from evalstore.runs.imports.inspect_log import (
    is_json_log,
    is_log_archive,
    read_archive_status,
    read_json_log,
    read_json_status,
    read_log_archive,
)
from evalstore.runs.imports.promptfoo import RESULTS_KEY as RESULTS
from evalstore.runs.imports.series_filter import SeriesFilter, SeriesNames, filter_entries
from evalstore.runs.read import read_run
from evalstore.runs.row_formats import cut_rows, is_text_format, read_lines
from evalstore.runs.run_files import (
    find_aggregate,
    is_existing_file,
    parse_json_object,
    read_embedded_samples,
)
from evalstore.runs.spans import CutFile, OutputSpan, keep_whole
from evalstore.runs.values import StoredOutput

ARCHIVE, OBJECT, ARRAY, EMPTY, UTF_16, TABLE, OTHER = (
    "archive",
    "object",
    "array",
    "empty",
    "utf-16",
    "table",
    "other",
)
_MAGIC = {**dict.fromkeys(MAGIC, ARCHIVE), b"\xff\xfe": UTF_16, b"\xfe\xff": UTF_16, b"PAR1": TABLE}
_CONTAINERS = {"{": OBJECT, "": EMPTY}
_COLUMN_END = re.compile('[",;\t]+')


def detect_container(path: Path) -> str:
    """Return the container of a file (`ARCHIVE`, `OBJECT`, …) by its first bytes or its first character."""
    if not is_text_format(path):
        return EMPTY if _read_columns(path) is None else OBJECT
    with open_user_file(path) as file:
        head = file.read(4)
        if magic := next(filter(head.startswith, _MAGIC), None):
            return _MAGIC[magic]
        file.seek(0)
        stream = JsonStream(file, str(path))
        with suppress(LoadError):  # no text at all
            if stream.peek() == "[":
                return (
                    ARRAY
                    if next(stream.iterate_items(), None) == 0 and stream.peek() == "{"
                    else OTHER
                )
            return _CONTAINERS.get(stream.peek(), OTHER)
    return OTHER


def read_names(path: Path, kind: str) -> Iterator[str]:
    """Yield an archive's member names, or the keys of a text's first object and of its first row.

    A key within another is written `results.stats`, a key of a list's first item `results[].vars`.
    """
    if kind == ARCHIVE:
        with open_archive(path) as archive:
            yield from archive.members
    elif kind == OBJECT and not is_text_format(path):
        yield from _read_columns(path) or ()
    elif kind == OBJECT:
        with open_user_file(path) as file:
            yield from _read_keys(JsonStream(file, str(path)), "")
    elif kind == OTHER:
        with open_user_file(path) as file:
            yield from _COLUMN_END.split(file.readline(4_096).decode("utf-8", "replace").strip())


def _read_columns(path: Path) -> tuple[str, ...] | None:
    """Return the names in the first row of a table, or None where it has no row.

    They are kept, for one command asks for them five times, and a process reads them.
    """
    found = path.stat()
    return _read_unchanged_columns(path, found.st_ino, found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=64)
def _read_unchanged_columns(path: Path, *_: int) -> tuple[str, ...] | None:
    row = next(read_lines(path), None)
    return tuple(json.loads(row[1])) if row else None


def _read_keys(stream: JsonStream, above: str) -> Iterator[str]:
    for key in stream.iterate_members():
        name = above + key
        yield name
        opened = stream.peek()
        if key == RESULTS and not above and opened == "{":
            yield from _read_keys(stream, f"{name}.")
        elif key in {RESULTS, SAMPLES} and opened == "[":
            yield from _read_first_row_keys(stream, f"{name}[].")
        else:
            stream.skip()


def _read_first_row_keys(stream: JsonStream, above: str) -> Iterator[str]:
    """Yield the keys of a list's first item and pass over the others."""
    for number in stream.iterate_items():
        if number == 0 and stream.peek() == "{":
            for key in stream.iterate_members():
                yield above + key
                stream.skip()
        else:
            stream.skip()


# Keys that must all be there, and what the file then is.
_GUESSES = (
    ({"doc_id", "filtered_resps"}, "samples of lm-evaluation-harness"),
    ({"custom_id", "response"}, "the output of a batch of OpenAI's API"),
    ({"testCases", "metricsScores"}, "a test run of DeepEval"),
    ({"testRunData"}, "a test run of DeepEval"),
    ({"id", "questions"}, "a dataset, which holds the questions"),
    ({"evalId", "config"}, "an evaluation of promptfoo without any result"),
    (
        {"id", "messages"},
        "conversations; convert their last messages: jq -c '{id, output: .messages[-1].content}'",
    ),
    ({"messages"}, "conversations without ids"),
)
# What others call an id, and an output.
_IDS = ("id", "question_id", "qid", "case_id", "task_id", "test_id", "key", "name", "index")
_OUTPUTS = (
    "output",
    "response",
    "answer",
    "completion",
    "generation",
    "prediction",
    "generated_text",
    "text",
    "content",
)
_GUESSED_KINDS = {
    ARRAY: "one JSON array; convert it to lines: jq -c '.[]'",
    ARCHIVE: "another kind of archive",
    UTF_16: "text in UTF-16; save it as UTF-8",
    TABLE: "Parquet; rename the file so that it ends in .parquet",
}


def guess_source(kind: str, names: AbstractSet[str]) -> str:
    """Return what the file looks like, for a hint; empty when nothing matches."""
    guess = _GUESSED_KINDS.get(kind) or next(
        (guess for keys, guess in _GUESSES if keys <= names), ""
    )
    return guess or _guess_names(kind, names)


def _guess_names(kind: str, names: AbstractSet[str]) -> str:
    """Return what a row is whose id or output has another name; empty for a row that has neither."""
    id_, output = (
        next((name for name in known if name in names), None) for known in (_IDS, _OUTPUTS)
    )
    if id_ is None or output is None:
        return ""
    if kind == OTHER:
        return "a table; convert each row to a line of JSON"
    return f"rows with other key names; convert them: jq -c '{{id: .{id_}, output: .{output}}}'"


class OutputFormat(NamedTuple):
    """A file format of stored outputs: its name, how to recognise it by its keys, and how to read its entries.

    `has_rows`: a file can be cut between its rows, and `read` takes a span of it, too.
    """

    name: str
    kind: str
    fits: Callable[[AbstractSet[str]], bool]
    read: Callable[..., Iterator[OutputEntry]]
    has_rows: bool = False


def _read_json_lines(path: Path, span: OutputSpan | None = None) -> Iterator[OutputEntry]:
    file = str(path)
    # What is null in a table is absent from its rows.
    absent = {} if is_text_format(path) else {"output": None}
    read = _RowReader()
    for line, data in read_lines(path, span):
        if len(data) > LINE_LIMIT:  # its end cannot be told from the next row
            parse_json_object(data, Place(file, line))
        try:
            stored = parse_json_object(data, Place(file, line))
        except LoadError as error:
            yield make_unread_entry(error)
            continue
        yield read.read_entry(absent | stored if "id" in stored else stored, Place(file, line))


def _read_embedded(path: Path) -> Iterator[OutputEntry]:
    read = _RowReader()
    for line, sample in read_embedded_samples(path):
        yield read.read_entry(sample, Place(str(path), line))


def _read_gradings(path: Path) -> Iterator[OutputEntry]:
    for line, row in read_embedded_samples(path):
        yield OutputEntry(
            Series(row["model_id"]), MissingOutput(row["sample_id"], line, skill_creator.NO_OUTPUT)
        )


@dataclass(frozen=True, slots=True)
class _RowReader:
    """Reads rows, each by itself: one that cannot be read does not keep the others from it."""

    _known: dict[str | None, Series] = field(default_factory=dict)

    def read_entry(self, row: Mapping[str, Any], place: Place) -> OutputEntry:
        """Return what one row records."""
        id_ = row.get("sample_id", row.get("id"))
        try:
            found = read_stored_output(row, place)
        except LoadError as error:
            return make_unread_entry(error, id_)
        model = found.model if found else row.get("model_id")
        name = model if isinstance(model, str) else None
        series = self._known.get(name) or self._known.setdefault(name, Series(name))
        return OutputEntry(
            series, found or MissingOutput(str(id_), place.line or 0, "the model gave no output")
        )


_OUTPUT_LINES = 'lines {"id", "output", "input"?, "tool_calls"?, "sample"?}'
EVERY_EVAL_EVER = "rows or runs of Every Eval Ever"
_INSPECT = "logs of Inspect AI (.eval, .json)"
_PROMPTFOO = "results of promptfoo (.json, .jsonl)"
_GRADINGS = "gradings of skill-creator (grading.json, benchmark.json)"

_LINES = OutputFormat(
    _OUTPUT_LINES, OBJECT, {"id", "output"}.issubset, _read_json_lines, has_rows=True
)
_RUN = OutputFormat(EVERY_EVAL_EVER, OBJECT, {"evaluation_results"}.issubset, _read_embedded)
OUTPUT_FORMATS = (
    _LINES,
    OutputFormat(EVERY_EVAL_EVER, OBJECT, {"sample_id"}.issubset, _read_json_lines, has_rows=True),
    _RUN,
    OutputFormat(_INSPECT, ARCHIVE, is_log_archive, read_log_archive),
    OutputFormat(_INSPECT, OBJECT, is_json_log, read_json_log),
    OutputFormat(_PROMPTFOO, OBJECT, promptfoo.is_result_file, promptfoo.read_results),
    OutputFormat(_PROMPTFOO, OBJECT, promptfoo.is_result_row, promptfoo.read_result_lines),
    OutputFormat(_GRADINGS, OBJECT, skill_creator.is_grading, _read_gradings),
)
# A first line with one of these keys is an incomplete line of the first format; reading it names
# what is missing.
_ALMOST = frozenset({"id", "output", "schema_version"})


def read_outputs(
    path: Path, choice: SeriesFilter | None = None
) -> Iterator[StoredOutput | MissingOutput]:
    """Yield the outputs of a file in any of `OUTPUT_FORMATS`, in file order; a missing output stands in its place.

    Raises `RefusedError` for a file of several models, prompts or epochs of which `choice` does not
    leave one, and `LoadError` at the line (or archive member) that cannot be read.
    """
    shape = detect_format(path)
    for entry in filter_entries(partial(shape.read, path), choice or SeriesFilter(), str(path)):
        yield entry.output


def read_output_span(
    path: Path, span: OutputSpan, choice: SeriesFilter, names: SeriesNames
) -> Iterator[StoredOutput | MissingOutput]:
    """Yield the outputs of one span of a file, as `read_outputs` does of the whole; `names` collects their series.

    Whether all spans together hold one series, `names` says when they are joined.
    """
    shape = detect_format(path)
    read = partial(shape.read, path, span) if shape.has_rows else partial(shape.read, path)
    for entry in filter_entries(read, choice, str(path), names):
        yield entry.output


def cut_outputs(path: Path, size: int) -> CutFile:
    """Cut a file of outputs into spans of about `size` bytes, or of one where its format cannot be cut."""
    return cut_rows(path, size) if detect_format(path).has_rows else keep_whole(path)


def detect_format(path: Path) -> OutputFormat:
    """Return the format of a file by its content; raises `LoadError`, which lists the formats, when none fits."""
    kind, names = detect_container(path), set[str]()
    for name in read_names(path, kind):
        names.add(name)
        for shape in OUTPUT_FORMATS:
            if shape.kind == kind and shape.fits(names):
                return shape
    guess = guess_source(kind, names)
    if kind == EMPTY or (names & _ALMOST and not guess):
        return _LINES
    formats = "; ".join(dict.fromkeys(shape.name for shape in OUTPUT_FORMATS))
    raise LoadError(
        f"holds outputs in no shape that evalstore reads: {formats}",
        place=Place(str(path)),
        hint=f"it looks like {guess}" if guess else OUTPUT_SHAPES,
    )


def find_samples(path: Path) -> Path:
    """Return the file that holds the outputs: `path`, or the rows of the run that its aggregate or its folder names."""
    path = _open_folder(path)
    if detect_format(path) is not _RUN:
        return path
    samples = read_run(path).samples
    if not is_existing_file(samples):
        raise LoadError(
            "the rows of this run are not next to it",
            place=Place(str(path)),
            hint=f"put {samples.name} there",
        )
    return samples


def _open_folder(path: Path) -> Path:
    return find_aggregate(path) if path.is_dir() else path


def is_bare_outputs(path: Path) -> bool:
    """Whether a file holds outputs that no run says a grade of: not an aggregate, and no rows that one names."""
    if not is_existing_file(path):
        return False
    try:
        shape = detect_format(path)
    except LoadError:
        return False  # whoever reads it as a run says why it is none
    if shape is _RUN or shape.name == _GRADINGS:
        return False
    with suppress(LoadError):
        return find_aggregate(path) == path
    return True


def find_log_status(path: Path) -> str:
    """Return what ended the log of these outputs before its end, as a run of them says, too; empty of a whole one."""
    path = _open_folder(path)
    shape = detect_format(path)
    if shape.name == _INSPECT:
        return read_archive_status(path) if shape.kind == ARCHIVE else read_json_status(path)
    if shape.name != EVERY_EVAL_EVER:
        return ""
    with suppress(LoadError):  # rows without an aggregate are bare outputs
        aggregate = find_aggregate(path)
        return read_run(aggregate).log_status if aggregate != path or shape is _RUN else ""
    return ""


def find_label_doubts(path: Path) -> tuple[str, ...]:
    """Return where a foreign run's aggregate contradicts its version label; empty for every other file."""
    run = read_run(path) if detect_format(_open_folder(path)) is _RUN else None
    return run.notes if run and run.dataset is None else ()
