"""Stored runs back as exact values: those of evalstore whole, others as far as they go."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

from evalstore.documents import read_json, read_row
from evalstore.errors import LoadError, Place
from evalstore.files import read_named
from evalstore.model import CheckResult, Unscored, Verdict
from evalstore.runs.form import PASS_RATE, SCORE, UNKNOWN
from evalstore.runs.lines import read_objects
from evalstore.runs.recorded import recorded_of
from evalstore.runs.values import CheckSummary, Pinned, Row, Run
from evalstore.text import excerpt

_LIMIT = 64 << 20
# `Fraction` would also take 1e999999999, and calculate it.
_EXACT = re.compile("-?[0-9]{1,4000}(?:/0*[1-9][0-9]{0,3999})?")

_PLAIN = re.compile(r"[^/\\\x00]+\.jsonl")


def read_run(path: Path) -> Run:
    """Read the aggregate JSON of a run; `LoadError` when it is none."""
    place = Place(str(path))
    with _worded(place, "this is no run in the form of Every Eval Ever"):
        return _run(read_json(read_named(path, _LIMIT), str(path)).value, path, place)


def read_rows(run: Run) -> Iterator[Row]:
    """Yield the rows of a run in the order of its file; `LoadError` at file:line for one that is none.

    A row without any output is left out. In rows of others, a score of -1 is read as unscored.
    """
    for line, row in read_objects(run.samples):
        place = Place(str(run.samples), line)
        with _worded(place, "this line is no row of a run"):
            found = _row(row, place)
        if found is not None:
            yield found


def _run(value: Mapping[str, Any], path: Path, place: Place) -> Run:
    results = {result.get("evaluation_result_id"): result for result in value["evaluation_results"]}
    first = value["evaluation_results"][0]
    library = _within(value.get("eval_library"), "additional_details")
    details = _within(first["score_details"], "details")
    source = _within(first.get("source_data"), "additional_details")

    def stored(holder: Mapping[str, Any], key: str, default: Any) -> Any:
        return read_row(holder[key].encode(), place.file, 0) if key in holder else default

    return Run(
        path=path,
        samples=path.parent / _plain(library.get("evalstore_samples", f"{path.stem}_samples.jsonl")),
        id=value["evaluation_id"],
        name=first["evaluation_name"],
        at=value.get("evaluation_timestamp", value["retrieved_timestamp"]),
        model=value["model_info"]["id"],
        dataset=_pinned(stored(source, "evalstore_dataset", None)),
        rubrics=tuple(Pinned(**pinned) for pinned in stored(library, "evalstore_rubrics", ())),
        judges=tuple(Pinned(**pinned) for pinned in stored(library, "evalstore_judges", ())),
        outputs_sha256=library.get("evalstore_outputs_sha256", ""),
        score=_score(results.get(SCORE, first)),
        pass_rate=_score(results[PASS_RATE]) if PASS_RATE in results else None,
        scored=int(details.get("evalstore_scored", 0)),
        unscored=int(details.get("evalstore_unscored", 0)),
        checks={id_: _summary(check) for id_, check in stored(details, "evalstore_checks", {}).items()},
        harness=stored(library, "evalstore_harness", {}),
        commit=library.get("evalstore_commit") or None,
        without_output=int(details.get("evalstore_without_output", 0)),
        without_question=int(details.get("evalstore_without_question", 0)),
        notes=tuple(stored(details, "evalstore_notes", ())),
    )


def _row(value: Mapping[str, Any], place: Place) -> Row | None:
    recorded = recorded_of(value, place)
    if recorded is None:
        return None
    details, given = value.get("metadata") or {}, value["input"]
    score, verdict = _grade(value["evaluation"], details)
    checks = read_row(details.get("evalstore_checks", "[]").encode(), place.file, place.line or 0)
    return Row(
        id=recorded.id,
        input=given["raw"],
        reference=_texts(given.get("reference")),
        output=recorded.output,
        score=score,
        verdict=verdict,
        rubric=details.get("evalstore_rubric", ""),
        rubric_digest=details.get("evalstore_rubric_digest", ""),
        checks=tuple(_check(check) for check in checks),
        reason=details.get("evalstore_reason", value.get("error") or ""),
        input_digest=details.get("evalstore_input_digest", ""),
        reference_digest=details.get("evalstore_reference_digest", ""),
        group=details.get("evalstore_group"),
    )


def _grade(evaluation: Mapping[str, Any], details: Mapping[str, Any]) -> tuple[Fraction | None, Verdict]:
    if "evalstore_score" in details:
        return exact_score(details["evalstore_score"]), Verdict(details["evalstore_verdict"])
    if evaluation["score"] == UNKNOWN:
        return None, Verdict.UNSCORED
    return Fraction(evaluation["score"]), Verdict.PASS if evaluation["is_correct"] else Verdict.FAIL


def _score(result: Mapping[str, Any]) -> Fraction | None:
    found = result["score_details"]
    if "evalstore_score" in (details := _within(found, "details")):
        return exact_score(details["evalstore_score"])
    return None if found["score"] == UNKNOWN else Fraction(found["score"])


def exact_score(text: str) -> Fraction | None:
    """Read an exact score as the writer wrote it."""
    if not text:
        return None
    if not _EXACT.fullmatch(text):
        raise ValueError(f"'{excerpt(text, 40)}' is no exact score")
    return Fraction(text)


def _summary(check: Mapping[str, Any]) -> CheckSummary:
    return CheckSummary(exact_score(check["mean"]), check["scored"], check["fail"], check["unscored"])


def _check(check: Mapping[str, Any]) -> CheckResult:
    unscored = check["unscored"] and Unscored(check["unscored"])
    grade = exact_score(check["score"]), Verdict(check["verdict"]), check["reason"], unscored
    return CheckResult(check["id"], check["kind"], *grade, check["engine"])


def _within(value: Any, key: str) -> Mapping[str, Any]:
    """Return a free place of the format; older versions and other writers leave it out."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def _pinned(value: Mapping[str, Any] | None) -> Pinned | None:
    return None if value is None else Pinned(**value)


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(value) if isinstance(value, list) else () if value is None else (value,)


def _plain(name: str) -> str:
    if not _PLAIN.fullmatch(name):
        raise ValueError(f"'{excerpt(name)}' is no file beside it")
    return name


@contextmanager
def _worded(place: Place, sentence: str) -> Iterator[None]:
    """Say of a shape that does not fit what it should have been; which key of it, the error knows."""
    try:
        yield
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise LoadError(f"{sentence}: {_fault(error)}", place=place) from None


def _fault(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"it has no {excerpt(str(error))}"
    return excerpt(str(error)) if isinstance(error, ValueError) else "a value in it has another shape"
