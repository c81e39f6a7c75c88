"""Reads a run's rows as questions.

Rows that ask the same are one question, and each further row has a note.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalstore.documents import Document, Pointer, compute_digest, format_json_pointer
from evalstore.errors import LoadError, Place
from evalstore.migration.artifact_names import UniqueLabels
from evalstore.migration.extraction import LegacyCase, MigrationNote
from evalstore.migration.outcome import MigrationOutcome
from evalstore.migration.value_readings import describe_type
from evalstore.model import Verdict
from evalstore.runs.eee_versions import find_row_doubt, find_row_gaps
from evalstore.runs.graded_rows import read_graded_row
from evalstore.runs.record_fields import explain_shape_errors
from evalstore.text import find_nearest, make_excerpt

_TWIN = (
    "{id} is also the row at {first}, which asks something else; here it is {own}, and `score` "
    "takes its output for that of {id}"
)


def extract_questions(
    rows: Sequence[Any], at: Pointer, document: Document, problems: Mapping[Any, str] | None = None
) -> tuple[tuple[LegacyCase, ...], tuple[MigrationNote, ...]]:
    """Return the questions of the rows at the pointer `at`, and a note on each repeated row.

    Rows of the same evaluation and sample with the same content are one question. `problems` says
    by place why a row is refused.
    """
    items = list(_read_samples(rows, at, document, problems or {}))
    cases = tuple(item for item in items if isinstance(item, LegacyCase))
    return cases, tuple(item for item in items if isinstance(item, MigrationNote))


def _read_samples(
    rows: Sequence[Any], at: Pointer, document: Document, problems: Mapping[Any, str]
) -> Iterator[LegacyCase | MigrationNote]:
    first: dict[str, Pointer] = {}
    ids: dict[str, str] = {}
    names = UniqueLabels({str(row["sample_id"]) for row in rows if not _find_row_problem(row)})
    for index, row in enumerate(rows):
        pointer = (*at, index)
        if problem := problems.get(index) or _find_row_problem(row):
            yield LegacyCase(pointer, row, MigrationOutcome.REFUSED, (problem,))
            continue
        id_, question_fields = str(row["sample_id"]), _map_question(row)
        outcome, reasons = _rate_row(row, document.locate(pointer))
        # A sample is the same question only with the same evaluation and the same content.
        key = compute_digest([row.get("evaluation_name"), id_, question_fields])
        if key in ids:
            repeat = f"another row of the question {ids[key]}"
            yield MigrationNote(pointer, outcome, "; ".join([repeat, *reasons]), question=ids[key])
            continue
        ids[key] = id_
        if id_ in first:
            ids[key] = names.claim(id_)
            twin_note = _TWIN.format(id=id_, first=format_json_pointer(first[id_]), own=ids[key])
            outcome, reasons = MigrationOutcome.LOSSY, (twin_note, *reasons)
        first.setdefault(id_, pointer)
        question = {"id": ids[key], **question_fields, **_map_source(row, pointer, question_fields)}
        yield LegacyCase(pointer, row, outcome, reasons, question)


def _find_row_problem(row: Any) -> str:
    """Return why a row is not a question; empty if it is."""
    if not isinstance(row, dict):
        return f"the row is {describe_type(row)} where an object belongs"
    id_ = row.get("sample_id")
    if isinstance(id_, bool) or not isinstance(id_, str | int) or id_ == "":
        near = find_nearest("sample_id", row.keys() - {"sample_id"})
        hint = (
            f"; it has {make_excerpt(near, 60)!r}, which no version has"
            if "sample_id" not in row and near
            else ""
        )
        doubt = find_row_doubt(row)
        return "; ".join(
            filter(None, [f"it has no sample_id that is a text or a whole number{hint}", doubt])
        )
    if not isinstance(_read_input(row).get("raw"), str):
        return "it does not say in a text what the model was asked (input.raw)"
    return ""


def _read_input(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the input of a row as a mapping; the samples in early aggregates are flat."""
    # Samples in early aggregates: flat, with other names.
    if isinstance(row.get("input"), str):
        flat = {
            "raw": "input",
            "reference": "ground_truth",
            "formatted": "prompt",
            "choices": "choices",
        }
        return {name: row.get(key) for name, key in flat.items()}
    value = row.get("input")
    return value if isinstance(value, dict) else {}


def _map_question(row: Mapping[str, Any]) -> dict[str, Any]:
    source = _read_input(row)
    reference = source.get("reference")
    expected = reference[0] if isinstance(reference, list) and len(reference) == 1 else reference
    optional = {
        "expected": expected,
        "choices": source.get("choices"),
        "formatted": source.get("formatted"),
    }
    return {
        "input": source["raw"],
        **{key: value for key, value in optional.items() if value is not None and value != []},
    }


def _map_source(
    row: Mapping[str, Any], pointer: Pointer, question_fields: Mapping[str, Any]
) -> dict[str, Any]:
    name, sample_hash, metadata = (
        row.get("evaluation_name"),
        row.get("sample_hash"),
        row.get("metadata"),
    )
    source = {
        "pointer": format_json_pointer(pointer),
        **({"evaluation_name": name} if name is not None else {}),
    }
    if sample_hash is not None:
        source |= {
            "sample_hash": sample_hash,
            "recipe": _find_hash_recipe(sample_hash, question_fields),
        }
    return {
        **({"metadata": metadata} if isinstance(metadata, dict) and metadata else {}),
        "x_source": source,
    }


def _find_hash_recipe(sample_hash: Any, question_fields: Mapping[str, Any]) -> str:
    """Return the programs whose recipe gives a sample's hash.

    Hashes by different recipes cannot be compared.
    """
    expected = question_fields.get("expected", [])
    several = expected if isinstance(expected, list) else [expected]
    if not all(isinstance(text, str) for text in several):
        return "unknown"
    raw = question_fields["input"]
    whole = {"raw": raw, "reference": several}
    # How each program hashes a sample, as read in its source.
    texts = {
        "inspect": raw + "".join(several),
        "openeval": json.dumps(whole, sort_keys=True, separators=(",", ":")),
    }
    if several:
        first = {"raw": raw, "reference": several[0]}
        texts |= {"helm": raw + several[0], "lm_eval": json.dumps(first, sort_keys=True)}
    names = [name for name, text in texts.items() if sample_hash == _hash_text(text)]
    return " or ".join(sorted(names)) or "unknown"


def _hash_text(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _rate_row(row: Mapping[str, Any], place: Place) -> tuple[MigrationOutcome, tuple[str, ...]]:
    """Return a row's outcome, and why.

    It may not be a row of a run, contradict its schema version, or have no output or no score.
    """
    doubts = (find_row_doubt(row), find_row_gaps(row)) if "response" not in row else ()
    doubt = "; ".join(filter(None, doubts))
    try:
        with explain_shape_errors(place, "it is not a row of a run"):
            grade = read_graded_row(row, place)
    except LoadError as error:
        reason = f"its question is kept, its row cannot be read: {error.message}"
        return MigrationOutcome.LOSSY, tuple(filter(None, [reason, doubt]))
    if grade is None:
        return MigrationOutcome.MIGRATED, tuple(filter(None, ["its model gave no output", doubt]))
    unknown = grade.verdict is Verdict.UNSCORED and "response" not in row
    unscored = "it has no score: -1 says unknown" if unknown else ""
    return MigrationOutcome.MIGRATED, tuple(filter(None, [unscored, doubt]))
