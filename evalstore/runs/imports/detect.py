"""Tells a file of outputs by its container and its first keys; reads no further than that takes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import suppress
from itertools import islice
from pathlib import Path

from evalstore.documents import JsonStream
from evalstore.errors import LoadError
from evalstore.files import open_user_file
from evalstore.runs.imports.archive import MAGIC, open_archive
from evalstore.runs.imports.inspect_log import SAMPLES_KEY as SAMPLES
from evalstore.runs.imports.promptfoo import RESULTS_KEY as RESULTS
from evalstore.runs.row_formats import is_text_format, read_lines

ARCHIVE, OBJECT, ARRAY, EMPTY, UTF_16, TABLE, OTHER = "archive", "object", "array", "empty", "utf-16", "table", "other"
_MAGIC = {**dict.fromkeys(MAGIC, ARCHIVE), b"\xff\xfe": UTF_16, b"\xfe\xff": UTF_16, b"PAR1": TABLE}
_CONTAINERS = {"{": OBJECT, "": EMPTY}
_COLUMN_END, _HEADER_LIMIT = re.compile('[",;\t]+'), 4_096


def detect_container(path: Path) -> str:
    """Return the container of a file (`ARCHIVE`, `OBJECT`, …) by its first bytes or its first character."""
    if not is_text_format(path):
        return EMPTY if next(read_lines(path), None) is None else OBJECT
    with open_user_file(path) as file:
        head = file.read(4)
        if magic := next(filter(head.startswith, _MAGIC), None):
            return _MAGIC[magic]
        file.seek(0)
        stream = JsonStream(file, str(path))
        with suppress(LoadError):  # no text at all
            if stream.peek() == "[":
                return ARRAY if next(stream.iterate_items(), None) == 0 and stream.peek() == "{" else OTHER
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
        yield from (key for _, line in islice(read_lines(path), 1) for key in json.loads(line))
    elif kind == OBJECT:
        with open_user_file(path) as file:
            yield from _read_keys(JsonStream(file, str(path)), "")
    elif kind == OTHER:
        with open_user_file(path) as file:
            yield from _COLUMN_END.split(file.readline(_HEADER_LIMIT).decode("utf-8", "replace").strip())


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
        "conversations; `jq -c '{id, output: .messages[-1].content}'` makes lines of their last texts",
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
_KINDS = {
    ARRAY: "one JSON array; `jq -c '.[]'` makes lines of it",
    ARCHIVE: "an archive of something else",
    UTF_16: "a text in UTF-16; save it as UTF-8",
    TABLE: "Parquet, which is read from a file whose name ends in .parquet",
}


def guess_source(kind: str, names: AbstractSet[str]) -> str:
    """Return what the file looks like, for a hint; empty when nothing matches."""
    guess = _KINDS.get(kind) or next((guess for keys, guess in _GUESSES if keys <= names), "")
    return guess or _guess_names(kind, names)


def _guess_names(kind: str, names: AbstractSet[str]) -> str:
    """Return what a row is whose id or output has another name; empty for a row that has neither."""
    id_, output = (next((name for name in known if name in names), None) for known in (_IDS, _OUTPUTS))
    if id_ is None or output is None:
        return ""
    if kind == OTHER:
        return "a table; make a line of JSON of each of its rows"
    return f"rows with names of their own; `jq -c '{{id: .{id_}, output: .{output}}}'` makes lines of them"
