"""The one table of the formats of outputs and results: how each is recognized, read and used.

Every command uses it. A row without `read_entries` describes a file that evalstore cannot read, and
says what its owner can do.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from evalstore.documents import LINE_LIMIT, find_plain_id, name_binary_file
from evalstore.errors import LoadError, Place
from evalstore.runs.eee_rows import list_asked, read_stored_output
from evalstore.runs.imports import (
    agentv,
    batches,
    deepeval,
    hosted_evals,
    inspect_log,
    lm_eval,
    openai_evals,
    promptfoo,
    promptfoo_table,
    score_tables,
    skill_creator,
    waza,
)
from evalstore.runs.imports.containers import (
    ARCHIVE,
    ARRAY,
    CSV,
    EMPTY,
    OBJECT,
    PARQUET,
    UTF_16,
    YAML,
    detect_container,
    has_lines,
    iterate_rows,
    list_value_names,
    read_names,
)
from evalstore.runs.imports.entry import (
    FileFacts,
    MissingOutput,
    OutputEntry,
    Series,
    make_unread_entry,
)
from evalstore.runs.imports.row_item import parse_lenient_object
from evalstore.runs.packed import open_unpacked
from evalstore.runs.record_fields import explain_shape_errors
from evalstore.runs.row_formats import is_text_format, read_lines
from evalstore.runs.run_files import parse_json_object, read_embedded_samples
from evalstore.runs.spans import OutputSpan

_Names = AbstractSet[str]
_ReadRow = Callable[[Mapping[str, Any], Place, int], OutputEntry]
EVERY_EVAL_EVER = "Every Eval Ever"
# A first line with one of these keys counts as the first format; if it is incomplete, reading it
# says what is missing.
_ALMOST = frozenset({"id", "output", "schema_version"})
_ROWS = frozenset({OBJECT, ARRAY})
_TABLES = frozenset({OBJECT, ARRAY, CSV})
_DOCUMENTS = frozenset({OBJECT, YAML})
# Other tools' names for an id and for an output.
_IDS = ("id", "question_id", "qid", "case_id", "task_id", "test_id", "key", "name", "index")
# In which the rows of other tools name their question; an item of a hosted eval has an id, too.
_ROW_IDS = ("test_id", "doc_id", "datasource_item_id", "id")
_OUTPUTS = (
    *("output", "response", "answer", "completion", "generation", "prediction", "generated_text"),
    *("text", "content"),
)
_PLAIN = 'lines {"id", "output", "input"?, "tool_calls"?, "sample"?}'
_PROMPTFOO = "results of promptfoo"
_PROMPTFOO_PLACES = ("results", "results.results")
_HOSTED, _HOSTED_ITEMS = "OpenAI hosted evals", "output items of OpenAI's hosted evals"
_MEAN_OF_METRICS = "the score of an output is the mean of its metrics"
PLACES = frozenset(
    {
        *_PROMPTFOO_PLACES,
        *skill_creator.PLACES,
        *deepeval.PLACES,
        *hosted_evals.PLACES,
        *waza.PLACES,
    }
    | {"samples", "spec"}
)


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A file format: its `name` in words, its containers, and how its keys identify it.

    `files` are the kinds of files that its `tool` writes. `read_entries` reads its outputs, with
    the recorded grades if it `has_verdicts`; `has_outputs` is false if the file does not keep the
    answers themselves. `read_facts` reads what the file says about itself. `has_rows`: a file can
    be cut between its rows, and `read_entries` also takes a span. `migrates` is the name of the
    format for `evalstore migrate`. `advise` takes the keys of a file that cannot be read, and says
    what to do with it. `is_container`: the first bytes identify the format, whatever is inside.
    """

    name: str
    containers: Collection[str]
    fits: Callable[[_Names], bool]
    read_entries: Callable[..., Iterator[OutputEntry]] | None = None
    tool: str = ""
    files: str = ""
    has_outputs: bool = True
    has_verdicts: bool = False
    migrates: str = ""
    has_rows: bool = False
    read_facts: Callable[[Path], FileFacts] = lambda _: FileFacts()
    score_note: str = ""
    advise: Callable[[_Names], str] = lambda _: ""
    is_container: bool = False

    def describe_use(self, file: str) -> str:
        """Return the format's name and the commands that take it, for a command that does not."""
        steps = " and ".join(f"`{step}`" for step in self.list_steps(file))
        return f"{self.name}, for {steps}" if steps else self.name

    def require_reader(self) -> Callable[..., Iterator[OutputEntry]]:
        """Return `read_entries`, which every format returned by `detect_format` has."""
        if self.read_entries is None:
            raise LookupError(f"{self.name} has no reader")
        return self.read_entries

    def can_be_migrated(self, file: str) -> bool:
        """Whether `migrate` takes a file of this format and name: it reads only text files."""
        return bool(self.migrates) and is_text_format(Path(file))

    def list_steps(self, file: str) -> tuple[str, ...]:
        """Return the commands that take a file of this format."""
        name = shlex.quote(file)
        steps = (
            (self.has_verdicts, f"evalstore show {name}"),
            (self.read_entries is not None and self.has_outputs, f"evalstore score DATASET {name}"),
            (self.can_be_migrated(file), f"evalstore migrate {name}"),
        )
        return tuple(step for holds, step in steps if holds)


def _read_each(
    read_row: _ReadRow, path: Path, *, places: tuple[str, ...] = (), fields: Any = None
) -> Iterator[OutputEntry]:
    """Yield the entry of each row; a row with an unexpected shape does not stop the others."""
    for number, (place, row) in enumerate(iterate_rows(path, places, fields)):
        if isinstance(row, LoadError):
            yield make_unread_entry(row)
            continue
        try:
            with explain_shape_errors(place, "this row has another shape than its tool writes"):
                entry = read_row(row, place, number)
        except LoadError as error:
            entry = make_unread_entry(
                error, next((row[key] for key in _ROW_IDS if key in row), None)
            )
        yield entry


def _by_row(read_row: _ReadRow, *places: str, fields: Collection[str] | None = None) -> Any:
    return partial(_read_each, read_row, places=places, fields=fields)


def _read_metrics(
    read_row: Callable[..., OutputEntry],
    list_metrics: Callable[[Mapping[str, Any]], Iterator[str]],
    path: Path,
) -> Iterator[OutputEntry]:
    """Yield the entry of each row of a table, read with the metrics of all of its rows.

    pandas writes a failed metric as an empty cell.
    """
    rows = (row.value for row in iterate_rows(path) if not isinstance(row.value, LoadError))
    metrics = dict.fromkeys(name for row in rows for name in list_metrics(row))
    return _read_each(partial(read_row, metrics), path)


def _read_json_lines(path: Path, span: OutputSpan | None = None) -> Iterator[OutputEntry]:
    file = str(path)
    # A null in a table is absent from its row.
    absent = {} if is_text_format(path) else {"output": None}
    read = _RowReader()
    for line, data in read_lines(path, span):
        place = Place(file, line)
        if len(data) > LINE_LIMIT:  # where the next row begins is unknown
            parse_json_object(data, place)
        try:
            stored = parse_lenient_object(data, place)
        except LoadError as error:
            yield make_unread_entry(error, find_plain_id(data))
            continue
        row = {**absent, **stored} if absent and "id" in stored else stored
        yield read.read_entry(row, place)


def _read_embedded(path: Path) -> Iterator[OutputEntry]:
    read = _RowReader()
    for line, sample in read_embedded_samples(path):
        yield read.read_entry(sample, Place(str(path), line))


def _read_plain_row(row: Mapping[str, Any], place: Place, _: int) -> OutputEntry:
    return _RowReader().read_entry({"output": None, **row}, place)


@dataclass(frozen=True, slots=True)
class _RowReader:
    """Reads rows one by one; an unreadable row does not stop the others."""

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
        if found is None:
            reason = "the model gave no output"
            missing = MissingOutput(str(id_), place.line or 0, reason, list_asked(row))
            return OutputEntry(series, missing)
        return OutputEntry(series, found)


def _advise_names(names: _Names) -> str:
    """Return how rows with other names for id or output are converted.

    Empty for rows without both.
    """
    id_, output = (
        next((name for name in known if name in names), None) for known in (_IDS, _OUTPUTS)
    )
    if id_ is None or output is None:
        return ""
    return f"convert them: jq -c '{{id: .{id_}, output: .{output}}}' FILE > outputs.jsonl"


def _has_other_names(names: _Names) -> bool:
    return bool(_advise_names(names))


def _has_all(*keys: str) -> Callable[[_Names], bool]:
    return frozenset(keys).issubset


PLAIN_LINES = FileFormat(
    _PLAIN, {OBJECT}, _has_all("id", "output"), _read_json_lines, has_rows=True
)
EEE_ROWS = FileFormat(
    "rows of Every Eval Ever",
    {OBJECT},
    _has_all("sample_id"),
    _read_json_lines,
    EVERY_EVAL_EVER,
    files=".jsonl, .parquet",
    has_verdicts=True,
    migrates="every_eval_ever",
    has_rows=True,
)
RUN_FORMAT = FileFormat(
    "a run of Every Eval Ever",
    {OBJECT},
    _has_all("evaluation_results"),
    _read_embedded,
    EVERY_EVAL_EVER,
    files=".json with its rows",
    has_verdicts=True,
    migrates="every_eval_ever",
)

FORMATS = (
    PLAIN_LINES,
    EEE_ROWS,
    RUN_FORMAT,
    FileFormat(
        "a log of Inspect AI",
        {ARCHIVE},
        inspect_log.is_log_archive,
        inspect_log.read_log_archive,
        "Inspect AI",
        files=".eval",
        has_verdicts=True,
        read_facts=inspect_log.read_archive_facts,
    ),
    FileFormat(
        "a log of Inspect AI",
        {OBJECT},
        inspect_log.is_json_log,
        inspect_log.read_json_log,
        "Inspect AI",
        files=".json",
        has_verdicts=True,
        read_facts=inspect_log.read_json_facts,
    ),
    FileFormat(
        _PROMPTFOO,
        _DOCUMENTS,
        promptfoo.is_result_file,
        _by_row(promptfoo.read_row, *_PROMPTFOO_PLACES, fields=promptfoo.RESULT_KEYS),
        "promptfoo",
        files=".json, .yaml",
        has_verdicts=True,
    ),
    FileFormat(
        _PROMPTFOO,
        _ROWS,
        promptfoo.is_result_row,
        _by_row(promptfoo.read_row),
        "promptfoo",
        files=".jsonl",
        has_verdicts=True,
    ),
    FileFormat(
        _PROMPTFOO,
        {CSV},
        promptfoo_table.is_table,
        promptfoo_table.read_table,
        "promptfoo",
        files=".csv",
        has_verdicts=True,
    ),
    FileFormat(
        "a table of an older promptfoo",
        {CSV},
        promptfoo_table.is_older_table,
        promptfoo_table.read_older_table,
        "promptfoo",
        files=".csv of older releases",
        has_outputs=False,
        has_verdicts=True,
    ),
    FileFormat(
        "gradings of skill-creator",
        {OBJECT},
        skill_creator.is_grading,
        skill_creator.read_gradings,
        "skill-creator",
        files="grading.json, benchmark.json",
        has_outputs=False,
        has_verdicts=True,
        read_facts=skill_creator.read_benchmark_facts,
    ),
    FileFormat(
        "results of AgentV",
        _ROWS,
        agentv.is_result,
        _by_row(agentv.read_row),
        "AgentV",
        files="index.jsonl, results in .jsonl",
        has_verdicts=True,
    ),
    FileFormat(
        "samples of lm-evaluation-harness",
        _ROWS,
        lm_eval.is_sample,
        _by_row(lm_eval.read_row),
        "lm-evaluation-harness",
        files="samples_*.jsonl",
        has_verdicts=True,
    ),
    FileFormat(
        "a log of openai/evals",
        {OBJECT},
        openai_evals.is_log,
        openai_evals.read_log,
        "openai/evals",
        files=".jsonl",
        has_verdicts=True,
        read_facts=openai_evals.read_log_facts,
    ),
    FileFormat(
        _HOSTED_ITEMS,
        {OBJECT},
        hosted_evals.is_item_list,
        _by_row(hosted_evals.read_row, *hosted_evals.PLACES),
        _HOSTED,
        files=".json",
        has_verdicts=True,
        migrates="openai_evals",
        read_facts=hosted_evals.read_page_facts,
        score_note=_MEAN_OF_METRICS,
    ),
    FileFormat(
        _HOSTED_ITEMS,
        _ROWS,
        hosted_evals.is_item,
        _by_row(hosted_evals.read_row),
        _HOSTED,
        files=".jsonl",
        has_verdicts=True,
        migrates="openai_evals",
        score_note=_MEAN_OF_METRICS,
    ),
    FileFormat(
        "items of OpenAI's hosted evals as the dashboard exports them",
        _ROWS,
        hosted_evals.is_exported_item,
        _by_row(hosted_evals.read_exported_row),
        _HOSTED,
        files="eval_items_*.jsonl",
        has_verdicts=True,
        score_note=_MEAN_OF_METRICS,
    ),
    FileFormat(
        "results of waza",
        {OBJECT},
        waza.is_result_file,
        waza.read_runs,
        "waza",
        files=".json",
        has_verdicts=True,
        read_facts=waza.read_facts,
        score_note=_MEAN_OF_METRICS,
    ),
    FileFormat(
        "a test run of DeepEval",
        {OBJECT},
        deepeval.is_test_run,
        _by_row(deepeval.read_row, *deepeval.PLACES),
        "DeepEval",
        files="test_run_*.json",
        has_verdicts=True,
        score_note=_MEAN_OF_METRICS,
    ),
    FileFormat(
        "a table of DeepEval",
        _TABLES,
        deepeval.is_table_row,
        _by_row(deepeval.read_table_row),
        "DeepEval",
        files=".json, .jsonl, .csv",
        has_verdicts=True,
        score_note=_MEAN_OF_METRICS,
    ),
    FileFormat(
        "a results table of MLflow",
        {OBJECT},
        score_tables.is_split_table,
        score_tables.read_split_table,
        "MLflow",
        files="eval_results_table.json",
        has_verdicts=True,
        score_note=_MEAN_OF_METRICS,
    ),
    FileFormat(
        "a results table of MLflow",
        _TABLES,
        score_tables.is_mlflow_row,
        partial(_read_metrics, score_tables.read_mlflow_row, score_tables.list_mlflow_metrics),
        "MLflow",
        files=".json, .jsonl, .csv",
        has_verdicts=True,
        score_note=_MEAN_OF_METRICS,
    ),
    FileFormat(
        "a results table of Ragas",
        _TABLES,
        score_tables.is_ragas_row,
        partial(_read_metrics, score_tables.read_ragas_row, score_tables.list_ragas_metrics),
        "Ragas",
        files=".json, .jsonl, .csv",
        has_verdicts=True,
        score_note=(
            f"{_MEAN_OF_METRICS}; Ragas records no verdict, so an output passes with the "
            "whole score"
        ),
    ),
    FileFormat(
        "a batch of an OpenAI-compatible API",
        {OBJECT},
        batches.is_batch,
        batches.read_batch,
        "a batch API",
        files=".jsonl",
    ),
    FileFormat(_PLAIN, {ARRAY, CSV}, _has_all("id", "output"), _by_row(_read_plain_row)),
    FileFormat("conversations", _ROWS, batches.is_conversation, _by_row(batches.read_conversation)),
    FileFormat(
        "a dataset, which holds the questions",
        _DOCUMENTS,
        _has_all("id", "questions"),
        advise=lambda _: "check it: evalstore validate FILE",
    ),
    FileFormat(
        "results of promptfoo, and not one",
        _DOCUMENTS,
        _has_all("evalId", "config"),
        tool="promptfoo",
    ),
    FileFormat(
        "results of EvalPort",
        {OBJECT},
        _has_all("suite_id", "run_id", "results"),
        tool="EvalPort",
        advise=lambda _: (
            "convert them: jq -c '.results[] | {id: .test_case_id, output: .actual_output}' FILE > "
            "outputs.jsonl"
        ),
    ),
    FileFormat(
        "a trial of Harbor, whose answer is in files of the task",
        {OBJECT},
        _has_all("trial_name", "verifier_result"),
        tool="Harbor",
        advise=lambda _: 'write one line for each trial: {"id": …, "output": …}',
    ),
    FileFormat(
        "runs of OpenAI's hosted evals, whose answers are in their output items",
        {OBJECT},
        hosted_evals.is_run,
        tool=_HOSTED,
    ),
    FileFormat(
        "conversations without ids",
        {OBJECT},
        _has_all("messages"),
        advise=lambda _: (
            "number them: jq -c '{id: (input_line_number | tostring), messages}' FILE > "
            "outputs.jsonl"
        ),
    ),
    FileFormat("rows with other key names", {OBJECT}, _has_other_names, advise=_advise_names),
    FileFormat(
        "one JSON array of rows with other key names",
        {ARRAY},
        _has_other_names,
        advise=lambda names: _advise_names(names).replace("'{", "'.[] | {"),
    ),
    FileFormat(
        "a table",
        {CSV},
        bool,
        is_container=True,
        advise=lambda _: "name its columns of ids and of outputs `id` and `output`",
    ),
    FileFormat(
        "a zip archive other than a log of Inspect AI",
        {ARCHIVE},
        lambda _: True,
        is_container=True,
        advise=lambda _: "unpack it first",
    ),
    FileFormat(
        "text in UTF-16",
        {UTF_16},
        lambda _: True,
        is_container=True,
        advise=lambda _: "convert it: iconv -f UTF-16 -t UTF-8 FILE > NEW",
    ),
    FileFormat(
        "Parquet",
        {PARQUET},
        lambda _: True,
        is_container=True,
        advise=lambda _: "rename the file so that it ends in .parquet",
    ),
)


class FoundFormat(NamedTuple):
    """What a file is, as far as the table knows it, and how its owner makes it readable."""

    shape: FileFormat | None
    advice: str = ""


def find_format(path: Path) -> FoundFormat:
    """Return what a file is, by its content; empty if no row of the table fits."""
    kind = detect_container(path)
    if kind == EMPTY:
        return FoundFormat(PLAIN_LINES)
    names = set[str]()
    readable = [shape for shape in FORMATS if shape.read_entries and kind in shape.containers]
    for name in read_names(path, kind, PLACES):
        names.add(name)
        for shape in readable:
            if shape.fits(names):
                return FoundFormat(shape)
    return _find_unreadable(kind, names, path)


def find_value_format(value: Any) -> FileFormat | None:
    """Return the results format of a parsed document; None if no known tool writes this shape."""
    # A list may come from a JSON array or from JSON Lines.
    kinds = {ARRAY, OBJECT} if isinstance(value, list) else {OBJECT}
    names = set(list_value_names(value, PLACES))
    known = (one for one in FORMATS if one.tool and not kinds.isdisjoint(one.containers))
    return next((one for one in known if one.fits(names)), None)


def detect_format(path: Path) -> FileFormat:
    """Return the format of a file by its content.

    Raises `LoadError` if none fits.
    """
    shape, advice = find_format(path)
    if shape and shape.read_entries:
        return shape
    if shape is None and (known := name_binary_file(_read_head(path), str(path), is_all=False)):
        raise known
    hint = "logs and results of other tools are read, too: evalstore score --help lists them"
    if shape:
        hint = f"it looks like {shape.name}" + (f"; {advice}" if advice else "")
    raise LoadError(
        'unknown format; expected lines like {"id": "q1", "output": "…"}',
        place=Place(str(path)),
        hint=hint,
    )


_SIGN = 64  # first bytes of a file, which identify its container


def _read_head(path: Path) -> bytes:
    if not is_text_format(path):
        return b""
    with open_unpacked(path) as file:
        return file.read(_SIGN)


def _find_unreadable(kind: str, names: _Names, path: Path) -> FoundFormat:
    others = (shape for shape in FORMATS if not shape.read_entries and kind in shape.containers)
    shape = next((one for one in others if one.fits(names)), None)
    if shape is None:
        almost = kind == OBJECT and not names.isdisjoint(_ALMOST) and has_lines(path)
        return FoundFormat(PLAIN_LINES if almost else None)
    return FoundFormat(shape, shape.advise(names).replace("FILE", shlex.quote(str(path))))
