"""Reads stored runs as exact values: evalstore's own completely, others as far as possible."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from evalstore.documents import LINE_LIMIT, read_leading_value
from evalstore.errors import LoadError, Place
from evalstore.model import Output, Verdict
from evalstore.runs.eee_versions import find_aggregate_doubt, parse_label
from evalstore.runs.eee_write import PASS_RATE, SCORE, format_exact_score, write_score
from evalstore.runs.graded_rows import BareRow, read_bare_row, read_graded_row
from evalstore.runs.record_fields import (
    explain_shape_errors,
    get_mapping,
    parse_exact_score,
    read_count,
    read_number,
    read_text_or,
    require_text,
)
from evalstore.runs.row_formats import read_lines
from evalstore.runs.run_files import (
    find_aggregate,
    find_rows_file,
    parse_json_object,
    read_aggregate,
    read_embedded_samples,
    read_json_objects,
    require_rows_file,
)
from evalstore.runs.values import (
    COUNTS,
    UNKNOWN,
    CheckSummary,
    GradedRow,
    Run,
    UsedArtifact,
)

_Stored = TypeVar("_Stored", dict[str, Any], list[Any])
_Row = TypeVar("_Row", BareRow, GradedRow | None)
NO_ROW = "this line is not a row of a run"
_DECIMAL = re.compile(r"-?[0-9]{1,40}(?:\.[0-9]{1,40})?", re.ASCII)


def read_run(path: Path) -> Run:
    """Read a run by the path of its aggregate JSON or its rows; raises `LoadError` if it is none.

    In runs of other tools a score of -1 means unknown, unless the metric's bounds allow -1.
    """
    path = find_aggregate(path)
    place = Place(str(path))
    with explain_shape_errors(place, "this is not a run in the form of Every Eval Ever"):
        return _read_aggregate_run(read_aggregate(path), path, place)


def read_rows(run: Run) -> Iterator[GradedRow]:
    """Yield a run's graded rows in file order.

    Raises `LoadError` at file:line for a line that is not a row. Rows without any output are
    skipped. In rows of other tools a score of -1 means unscored.
    """
    rows = (_read_record(row, place, read_graded_row) for row, place in _iterate_records(run))
    return (row for row in rows if row is not None)


def read_bare_rows(run: Run) -> Iterator[BareRow]:
    """Yield the rows like `read_rows`, including those whose output is not stored."""
    return (_read_record(row, place, read_bare_row) for row, place in _iterate_records(run))


def read_lone_rows(path: Path) -> Iterator[BareRow]:
    """Yield the rows of a file that no run names; an unreadable one is unscored, with a reason."""
    for number, line in read_lines(path):
        place = Place(str(path), number)
        try:
            yield _read_record(parse_json_object(line, place), place, read_bare_row)
        except LoadError as error:
            if len(line) > LINE_LIMIT:  # where the next row begins is unknown
                raise
            yield _make_unread_row(number, error)


def _make_unread_row(number: int, error: LoadError) -> BareRow:
    name = f"line {number}"
    row = GradedRow(
        id=name,
        input="",
        reference=(),
        output=Output(""),
        score=None,
        verdict=Verdict.UNSCORED,
        rubric="",
        rubric_digest="",
        reason=f"{name} cannot be read: {error.message}",
    )
    return BareRow(row, is_stored=True, output_digest="")


def read_row_line(data: bytes, place: Place) -> GradedRow | None:
    """Return the row of one line of a run; None if it has no output.

    Raises `LoadError` at its place if the line is not a row.
    """
    return _read_record(parse_json_object(data, place), place, read_graded_row)


def _iterate_records(run: Run) -> Iterator[tuple[Mapping[str, Any], Place]]:
    rows = (
        read_embedded_samples(run.path)
        if run.samples == run.path
        else read_json_objects(require_rows_file(run.path, run.samples))
    )
    yield from ((row, Place(str(run.samples), line)) for line, row in rows)


def _read_record(
    value: Mapping[str, Any], place: Place, read: Callable[[Mapping[str, Any], Place], _Row]
) -> _Row:
    with explain_shape_errors(place, NO_ROW):
        return read(value, place)


def _read_aggregate_run(value: Mapping[str, Any], path: Path, place: Place) -> Run:
    results = {result.get("evaluation_result_id"): result for result in value["evaluation_results"]}
    first: Mapping[str, Any] = next(iter(value["evaluation_results"]), {})
    library = get_mapping(value.get("eval_library"), "additional_details")
    details = get_mapping(first.get("score_details"), "details")
    source = get_mapping(first.get("source_data"), "additional_details")
    read_json = partial(_read_embedded_json, place.file)

    has_dataset = source.get("evalstore_dataset", "null") != "null"
    dataset = read_json(source, "evalstore_dataset", {}) if has_dataset else None
    id_ = require_text(value, "evaluation_id")
    has_time = bool(value.get("evaluation_timestamp"))
    counts: dict[str, Any] = {
        name: read_count(details.get(f"evalstore_{name}", 0)) for name in COUNTS
    }
    return Run(
        path=path,
        samples=find_rows_file(value, path),
        id=id_,
        name=require_text(first, "evaluation_name") if first else id_,
        at=require_text(value, "evaluation_timestamp" if has_time else "retrieved_timestamp"),
        model=require_text(value["model_info"], "id"),
        dataset=None if dataset is None else _read_used_artifact(dataset),
        rubrics=_read_used_artifacts(read_json(library, "evalstore_rubrics", [])),
        judges=_read_used_artifacts(read_json(library, "evalstore_judges", [])),
        outputs_sha256=read_text_or(library, "evalstore_outputs_sha256"),
        score=_result_score(results.get(SCORE, first)),
        pass_rate=_result_score(results[PASS_RATE]) if PASS_RATE in results else None,
        checks=_read_summaries(read_json(details, "evalstore_checks", {})),
        harness=_require_texts(read_json(library, "evalstore_harness", {})),
        commit=read_text_or(library, "evalstore_commit") or None,
        log_status=read_text_or(library, "evalstore_log_status"),
        missing_outputs=_require_texts(read_json(details, "evalstore_missing_outputs", {})),
        notes=_read_notes(read_json(details, "evalstore_notes", []), value, path),
        eee_version=_read_eee_version(value),
        rest_score=parse_exact_score(read_text_or(details, "evalstore_rest_score")),
        rest_pass_rate=parse_exact_score(read_text_or(details, "evalstore_rest_pass_rate")),
        **counts,
    )


def _read_embedded_json(
    file: str, holder: Mapping[str, Any], key: str, default: _Stored
) -> _Stored:
    """Return the JSON in a text of `holder`; it must have the type of `default`."""
    if key not in holder:
        return default
    # Without a limit on length: one text may name thousands of questions without an output.
    text = require_text(holder, key).strip()
    found, end = read_leading_value(text, 0, file)
    if end == len(text) and isinstance(found, type(default)):
        return found
    raise ValueError(f"its `{key}` has another shape")


def _read_notes(recorded: Sequence[Any], value: Mapping[str, Any], path: Path) -> tuple[str, ...]:
    """Return a run's recorded notes, and what is doubtful about its numbers."""
    doubt = find_aggregate_doubt(value)
    return (*map(str, recorded), *([f"{path.name}: {doubt}"] if doubt else []))


def _read_eee_version(value: Mapping[str, Any]) -> str:
    label = value.get("schema_version")
    return (parse_label(label) if isinstance(label, str) else None) or ""


def _result_score(result: Mapping[str, Any]) -> Fraction | None:
    found = result.get("score_details")
    if not isinstance(found, dict):
        # In the schema of 0.0.1 it is a text.
        return Fraction(found) if isinstance(found, str) and _DECIMAL.fullmatch(found) else None
    if "evalstore_score" in (details := get_mapping(found, "details")):
        exact = parse_exact_score(details["evalstore_score"])
        # Other programs read the number, so it must agree with the exact score.
        if read_number(found["score"]) != Fraction(repr(write_score(exact))):
            told = format_exact_score(exact) or "none"
            raise ValueError(f"its score {found['score']} contradicts its exact score, {told}")
        return exact
    score = read_number(found["score"])
    return None if score == UNKNOWN and not _allows_minus_one(result["metric_config"]) else score


def _allows_minus_one(metric: Mapping[str, Any]) -> bool:
    """Whether -1 is within the bounds of this metric."""
    least = metric.get("min_score")
    low = least <= UNKNOWN if isinstance(least, int | Decimal) else least == "-Infinity"
    return bool(low) and metric.get("has_unknown_level") is not True


def _read_summaries(checks: Mapping[str, Any]) -> dict[str, CheckSummary]:
    return {id_: _read_summary(check) for id_, check in checks.items()}


def _read_summary(check: Mapping[str, Any]) -> CheckSummary:
    scored, fail, unscored = (read_count(check[key]) for key in ("scored", "fail", "unscored"))
    # Old runs, from before judges were supported, do not count errors.
    errors, ids = read_count(check.get("errors", 0)), check.get("error_ids", [])
    if not isinstance(ids, list) or not all(isinstance(id_, str) for id_ in ids):
        raise ValueError("its `error_ids` are not strings")
    rest = [read_count(check.get(key, 0)) for key in ("partial", "hollow", "left_out")]
    mean = parse_exact_score(check["mean"])
    return CheckSummary(mean, scored, fail, unscored, errors, tuple(ids), *rest)


def _read_used_artifact(value: Mapping[str, Any]) -> UsedArtifact:
    pinned = UsedArtifact(**value)
    required = pinned.ref, pinned.version, pinned.digest, pinned.scoring_digest
    if all(isinstance(part, str | None) for part in astuple(pinned)) and None not in required:
        return pinned
    raise ValueError("a part of a reference is not text")


def _read_used_artifacts(values: Sequence[Mapping[str, Any]]) -> tuple[UsedArtifact, ...]:
    return tuple(map(_read_used_artifact, values))


def _require_texts(value: Mapping[str, Any]) -> dict[str, str]:
    return {key: require_text(value, key) for key in value}
