"""Reads promptfoo's table of results (`-o results.csv`): columns for variables, then for prompts.

There is a first column `Description` if a test has one. The output of a prompt is in the column
`[provider] prompt`, followed by `Status`, `Score`, a `Metric: …` for each metric, `Grader Reason`
and `Comment`. A row's id is its variable `id`, else its number from 0, as in the other files of
promptfoo. A cell that begins like a formula has an extra apostrophe before it. Tried with
promptfoo 0.121.20.

Tables of older releases have one column for each prompt, whose cells have verdict, score, reason
and output in one text: `[FAIL] (0.50) …`. Where the output begins or ends is unknown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

from evalstore.errors import LoadError, Place
from evalstore.model import Output
from evalstore.runs.imports.containers import read_records
from evalstore.runs.imports.entry import (
    OutputEntry,
    Series,
    make_entry,
    make_unread_entry,
    shorten_reason,
)
from evalstore.runs.imports.grades import make_check, make_grade, read_passed, read_score

_STATUS, _SCORE, _REASON, _METRIC = "Status", "Score", "Grader Reason", "Metric: "
_FAILED, _DESCRIPTION = "ERROR", "Description"
# Where promptfoo puts an apostrophe: before a formula, but not before a signed number.
_GUARDED = re.compile(
    r"'(?=[\s\u200b-\u200d]*(?:[=@]|[+-](?![0-9]*\.?[0-9]+(?:e[+-]?[0-9]+)?\s*\Z)))", re.IGNORECASE
)
_PROMPT = re.compile(r"\[(?P<provider>[^\]]*)\] ?(?P<prompt>.*)", re.DOTALL)
_OLDER_PROMPT = re.compile(r"\{.*\}|\[\w+:[^\]]+\] .*", re.DOTALL)
_OLDER_CELL = re.compile(
    r"\[(?P<status>PASS|FAIL|ERROR)\](?: \((?P<score>[0-9.]+)\))?\s*(?P<text>.*)", re.DOTALL
)
_NO_OUTPUT = "older tables of promptfoo do not tell output and reason apart: score its JSON"


def is_table(names: AbstractSet[str]) -> bool:
    """Whether a table with these columns holds results of promptfoo."""
    return {_STATUS, _SCORE, _REASON} <= names and any(map(_PROMPT.fullmatch, names))


def is_older_table(names: AbstractSet[str]) -> bool:
    """Whether a table with these columns holds results of an older promptfoo."""
    return _STATUS not in names and any(_read_older_prompt(name) for name in names)


def _read_older_prompt(name: str) -> Series | None:
    """Return the prompt that a column of an older table is about; None for a variable."""
    if not _OLDER_PROMPT.fullmatch(name):
        return None
    if found := _PROMPT.fullmatch(name):
        return Series(found["provider"], found["prompt"])
    try:
        prompt = json.loads(name)
        provider, shown = prompt.get("provider"), prompt["display"]
    except (ValueError, KeyError, RecursionError):
        return None
    if not (isinstance(shown, str) and isinstance(prompt.get("raw"), str)):
        return None
    return Series(provider if isinstance(provider, str) else None, shown)


def read_older_table(path: Path) -> Iterator[OutputEntry]:
    """Yield the verdicts of an older table row by row, each in the order of the prompts."""
    records = read_records(path)
    _, header = next(records, (Place(str(path)), ()))
    names = () if isinstance(header, LoadError) else header
    columns = [_read_older_prompt(name) for name in names]
    for number, (place, record) in enumerate(records):
        if isinstance(record, LoadError):
            yield make_unread_entry(record)
            continue
        row = [*zip(columns, names, record, strict=False)]
        given = {name: value for column, name, value in row if column is None}
        id_ = given.pop("id", "") or str(number)
        asked = tuple(filter(None, given.values()))
        for column, _, value in row:
            if column is not None:
                yield _read_older_cell(column, value, id_, place, asked)


def _read_older_cell(
    series: Series, value: str, id_: str, place: Place, asked: tuple[str, ...]
) -> OutputEntry:
    found = _OLDER_CELL.fullmatch(value)
    if found is None:
        return make_unread_entry(LoadError("a cell begins with no verdict", place=place), id_)
    if found["status"] == _FAILED:
        reason = shorten_reason(found["text"], "the provider gave no output")
        return make_entry(series, id_, place.line or 0, reason, asked)
    grade = make_grade(
        read_score(found["score"]), read_passed(found["status"]), reason=found["text"].strip()
    )
    return make_entry(series, id_, place.line or 0, _NO_OUTPUT, asked, grade=grade)


def read_table(path: Path) -> Iterator[OutputEntry]:
    """Yield the outputs of a table row by row, each in the order of the prompts."""
    records = read_records(path)
    _, header = next(records, (Place(str(path)), ()))
    names = header if not isinstance(header, LoadError) else ()
    prompts = [at for at, name in enumerate(names) if _PROMPT.fullmatch(name)]
    columns = [at for at in prompts if list(names[at + 1 : at + 3]) == [_STATUS, _SCORE]]
    for number, (place, record) in enumerate(records):
        if isinstance(record, LoadError):
            yield make_unread_entry(record)
            continue
        if len(record) != len(names):
            sentence = f"it has {len(record)} values for {len(names)} columns"
            yield make_unread_entry(LoadError(sentence, place=place))
            continue
        cells = [cell[1:] if _GUARDED.match(cell) else cell for cell in record]
        given = dict(zip(names[: columns[0]], cells, strict=False))
        if names[0] == _DESCRIPTION:
            del given[_DESCRIPTION]
        id_ = given.pop("id", "") or str(number)
        asked = tuple(filter(None, given.values()))
        for at, end in zip(columns, [*columns[1:], len(names)], strict=True):
            yield _read_cell(names[at:end], cells[at:end], id_, place, asked)


def _read_cell(
    names: Sequence[str], values: Sequence[str], id_: str, place: Place, asked: tuple[str, ...]
) -> OutputEntry:
    """Return the output of one prompt in a row."""
    found = _PROMPT.fullmatch(names[0])
    series = Series(found["provider"], found["prompt"]) if found else Series()
    cells = dict(zip(names, values, strict=True))
    if cells[_STATUS] == _FAILED:
        reason = shorten_reason(cells.get(_REASON) or values[0], "the provider gave no output")
        return make_entry(series, id_, place.line or 0, reason, asked)
    metrics = {name: value for name, value in cells.items() if name.startswith(_METRIC) and value}
    scores = {name.removeprefix(_METRIC): read_score(value) for name, value in metrics.items()}
    checks = [make_check(name, score, engine="promptfoo") for name, score in scores.items()]
    grade = make_grade(
        read_score(cells[_SCORE]), read_passed(cells[_STATUS]), checks, reason=cells.get(_REASON)
    )
    return make_entry(series, id_, place.line or 0, Output(values[0]), asked, grade=grade)
