"""Reads gradings of skill-creator: `grading.json` of one run, `benchmark.json` of many.

They have a grader's verdict on each statement, with its evidence, but no output: they can be shown
and compared, but not graded again. A statement becomes a check, named by its text. Graders call the
list `expectations`, `assertions` or `assertion_results`, and the `summary` is optional. A benchmark
has `runs`, or `configurations` with their runs; if it has only a `run_summary`, each configuration
is one row. AgentV also writes files of both kinds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from evalstore.documents import JsonStream
from evalstore.errors import LoadError, Place
from evalstore.model import CheckResult
from evalstore.runs.imports.entry import (
    FileFacts,
    MissingOutput,
    OutputEntry,
    RecordedGrade,
    RecordedMean,
    Series,
    make_unread_entry,
    read_id,
)
from evalstore.runs.imports.grades import (
    compute_average,
    make_check,
    make_grade,
    read_passed,
    read_score,
)
from evalstore.runs.packed import open_unpacked
from evalstore.runs.record_fields import get_mapping

NO_OUTPUT = "a grading of skill-creator has no output: score the answers themselves"
_STATEMENTS = ("expectations", "assertion_results", "assertions")
_TEXTS = ("text", "assertion", "expectation", "statement", "name", "description", "id")
_VERDICTS = ("passed", "pass", "met", "verdict", "result", "status")
_EVIDENCE = ("evidence", "reason", "reasoning", "explanation", "notes")
_EVALS = ("eval_id", "eval_name", "id", "name")
_CONFIGURATIONS = ("configuration", "config", "variant")
_LISTS = ("runs", "results", "evals")
_RATE = "pass_rate"
_ALL = "all evals"  # the one row of a configuration of which the file has no runs
_SUMMED = "it has no runs, only a summary: what counts as one question is the mean of all evals"
_CONFIGURED = (
    *("configurations[].runs", "configurations[].results", "configurations[].evals"),
    *("configurations[].pass_rate", "configurations.with", "configurations.old_skill"),
)
_TOOL = "skill-creator"
_UNREAD = "its grader gave no verdict"
_EVAL = re.compile(r"eval-(.+)")
_FOLDERS = frozenset({"with_skill", "without_skill", "old_skill"})
PLACES = (*_STATEMENTS, "runs", "configurations", "run_summary", "summary")


class _Graded(NamedTuple):
    """One graded run as the file has it: the eval, its configuration, and the rest."""

    eval: str
    configuration: str | None
    value: Mapping[str, Any]


def is_grading(names: AbstractSet[str]) -> bool:
    """Whether a document with these keys is the grading of one run, or of many."""
    if not names.isdisjoint({"evals", "test_id"}):  # a suite, or a result of AgentV
        return False
    graded = any(f"{key}[].{verdict}" in names for key in _STATEMENTS for verdict in _VERDICTS)
    counted = {"expectations", "summary"} <= names or any(
        key in names and f"summary.{_RATE}" in names for key in _STATEMENTS
    )
    several = any(name.startswith(_CONFIGURED) for name in names)
    return graded or counted or several or "run_summary" in names


def read_gradings(path: Path) -> Iterator[OutputEntry]:
    """Yield each graded run, without an output; raises `LoadError` for an unexpected shape."""
    record = _read_record(path)
    for number, found in enumerate(_list_graded(record, path), 1):
        if isinstance(found, LoadError):
            yield make_unread_entry(found)
            continue
        try:
            grade = _read_grade(found.value, Place(str(path)))
        except LoadError as error:
            yield make_unread_entry(error, found.eval)
            continue
        missing = MissingOutput(found.eval, number, NO_OUTPUT)
        yield OutputEntry(Series(configuration=found.configuration), missing, grade=grade)


def read_benchmark_facts(path: Path) -> FileFacts:
    """Return what a benchmark says about itself, and each configuration's pass rate."""
    record = _read_record(path)
    metadata = get_mapping(record, "metadata")
    has_runs = any(key in record for key in ("runs", "configurations", *_STATEMENTS))
    claims = tuple(_list_claims(record)) if has_runs else ()
    graded = (one for one in _list_graded(record, path) if isinstance(one, _Graded))
    return FileFacts(
        read_id(metadata.get("skill_name")) or "",
        read_id(metadata.get("executor_model")) or "",
        read_id(metadata.get("timestamp")) or "",
        claims=claims,
        note=_SUMMED if any(one.eval == _ALL for one in graded) else "",
    )


def _read_record(path: Path) -> dict[str, Any]:
    """Return the document; a part that cannot be read is left out, with the part around it."""
    record: dict[str, Any] = {}
    with open_unpacked(path) as file:
        stream = JsonStream(file, str(path))
        for key in stream.iterate_members():
            record[key] = stream.read()
        stream.expect_end()
    return record


def _list_claims(record: Mapping[str, Any]) -> Iterator[RecordedMean]:
    for name, summary in get_mapping(record, "run_summary").items():
        rate = _find_rate(summary)
        if name != "delta" and rate is not None:
            yield RecordedMean(f"run_summary of {name}", rate, configuration=name)


def _list_graded(record: Mapping[str, Any], path: Path) -> Iterator[_Graded | LoadError]:
    place = Place(str(path))
    if "runs" in record:
        yield from _list_runs(record["runs"], None, place)
    elif "configurations" in record:
        for name, held in _list_configurations(record["configurations"], place):
            yield from _list_configuration(name, held, place)
    elif any(key in record for key in _STATEMENTS):
        configuration = _find_first(record, _CONFIGURATIONS)
        yield _Graded(_find_eval(record, path), configuration, record)
    else:
        for name, summary in get_mapping(record, "run_summary").items():
            if name != "delta":
                yield _Graded(_ALL, name, {"summary": {_RATE: _find_rate(summary)}})


def _list_configurations(value: Any, place: Place) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        for number, one in enumerate(value, 1):
            name = _find_first(one, ("name", *_CONFIGURATIONS)) if isinstance(one, dict) else None
            yield name or str(number), one
    else:
        raise LoadError("its `configurations` are not a list of configurations", place=place)


def _list_configuration(name: str, held: Any, place: Place) -> Iterator[_Graded | LoadError]:
    """Yield the runs of a configuration; if it lists none, its summary as one run."""
    several = (
        next((held[key] for key in _LISTS if key in held), None) if isinstance(held, dict) else held
    )
    if isinstance(several, list):
        yield from _list_runs(several, name, place)
    else:
        yield _Graded(_ALL, name, {"summary": {_RATE: _find_rate(held)}})


def _list_runs(runs: Any, configuration: str | None, place: Place) -> Iterator[_Graded | LoadError]:
    if not isinstance(runs, list):
        raise LoadError("its `runs` are not a list of runs", place=place)
    for number, run in enumerate(runs, 1):
        id_ = _find_first(run, _EVALS) if isinstance(run, dict) else None
        if id_ is None:
            yield LoadError(
                f"its run {number} has no `eval_id`, so its eval is unknown", place=place
            )
        else:
            yield _Graded(id_, configuration or _find_first(run, _CONFIGURATIONS), run)


def _read_grade(run: Mapping[str, Any], place: Place) -> RecordedGrade:
    """Return a run's grade: the share of statements that hold, or without any its pass rate."""
    key = next((key for key in _STATEMENTS if key in run), None)
    statements = (run[key] if key else None) or []
    if not isinstance(statements, list) or not all(isinstance(one, dict) for one in statements):
        raise LoadError(f"its `{key}` are not a list of statements with a verdict", place=place)
    checks = [_read_check(one) for one in statements]
    stated = _find_rate(run.get("result", run.get("summary", run)))
    score = compute_average(check.score for check in checks) if checks else stated
    return make_grade(
        score, None, checks, reason="" if score is not None else _UNREAD, stated=stated
    )


def _read_check(statement: Mapping[str, Any]) -> CheckResult:
    words = next((found for key in _TEXTS if (found := read_id(statement.get(key)))), "a statement")
    verdicts = (read_passed(statement.get(key)) for key in _VERDICTS)
    passed = next((verdict for verdict in verdicts if verdict is not None), None)
    evidence = next((statement[key] for key in _EVIDENCE if statement.get(key)), "")
    if passed is None:
        return make_check(words, None, engine=_TOOL, missing=_UNREAD)
    return make_check(words, None, passed, reason=evidence, engine=_TOOL)


def _find_rate(summary: Any) -> Fraction | None:
    """Return a summary's pass rate: a number, a mean among other figures, or passed / total."""
    rate = summary.get(_RATE) if isinstance(summary, dict) else None
    if isinstance(rate, dict):
        rate = rate.get("mean")
    if rate is not None or not isinstance(summary, dict):
        return None if isinstance(rate, bool) else read_score(rate)
    passed, total = (read_score(summary.get(key)) for key in ("passed", "total"))
    return passed / total if passed is not None and total else None


def _find_first(holder: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    return next((found for key in keys if (found := read_id(holder.get(key)))), None)


def _find_eval(record: Mapping[str, Any], path: Path) -> str:
    """Return the eval that was graded: as the file says, or by skill-creator's folder names.

    Such a folder is `eval-1/with_skill/run-1`.
    """
    folders = path.absolute().parts[:-1]
    named = next((found[1] for part in reversed(folders) if (found := _EVAL.fullmatch(part))), "")
    above = (before for before, part in pairwise(folders) if part in _FOLDERS)
    return _find_first(record, ("eval_id", "eval_name")) or named or next(above, "") or path.stem
