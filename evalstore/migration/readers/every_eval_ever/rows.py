"""Rows and samples of Every Eval Ever as questions, each once however many rows it has; their scores stay theirs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalstore.documents import Document, Pointer, digest, json_pointer
from evalstore.errors import LoadError, Place
from evalstore.migration.names import UniqueLabels
from evalstore.migration.outcome import MigrationOutcome
from evalstore.migration.taken import LegacyCase, MigrationNote
from evalstore.migration.words import named
from evalstore.model import Verdict
from evalstore.runs.graded import graded_of
from evalstore.runs.labels import row_doubt
from evalstore.runs.shape import worded
from evalstore.text import excerpt, nearest

_TWIN = (
    "{id} is also the row at {first}, which asks something else; here it is {own}, and `score` takes its output for "
    "that of {id}"
)


def questions_of(rows: Sequence[Any], at: Pointer, document: Document) -> tuple[tuple[LegacyCase, ...], tuple[MigrationNote, ...]]:
    """Return the questions of rows that stand at `at`, and a note on each further row of a question.

    A question is a sample of an evaluation with its own content: rows of one sample that ask the same are one question.
    """
    found = list(_taken(rows, at, document))
    cases = tuple(one for one in found if isinstance(one, LegacyCase))
    return cases, tuple(one for one in found if isinstance(one, MigrationNote))


def _taken(rows: Sequence[Any], at: Pointer, document: Document) -> Iterator[LegacyCase | MigrationNote]:
    first: dict[str, Pointer] = {}
    own: dict[str, str] = {}
    names = UniqueLabels({str(row["sample_id"]) for row in rows if not _problem(row)})
    for index, row in enumerate(rows):
        pointer = (*at, index)
        if problem := _problem(row):
            yield LegacyCase(pointer, row, MigrationOutcome.REFUSED, (problem,))
            continue
        id_, asked = str(row["sample_id"]), _asked(row)
        outcome, reasons = _odd(row, document.place(pointer))
        key = digest([row.get("evaluation_name"), id_, asked])
        if key in own:
            again = f"another row of the question {own[key]}"
            yield MigrationNote(pointer, outcome, "; ".join([again, *reasons]), question=own[key])
            continue
        own[key] = id_
        if id_ in first:
            own[key] = names.claim(id_)
            twin = _TWIN.format(id=id_, first=json_pointer(first[id_]), own=own[key])
            outcome, reasons = MigrationOutcome.LOSSY, (twin, *reasons)
        first.setdefault(id_, pointer)
        question = {"id": own[key], **asked, **_told(row, pointer, asked)}
        yield LegacyCase(pointer, row, outcome, reasons, question)


def _problem(row: Any) -> str:
    """Return why a row is no question; empty when it is one."""
    if not isinstance(row, dict):
        return f"the row is {named(row)} where an object belongs"
    id_ = row.get("sample_id")
    if isinstance(id_, bool) or not isinstance(id_, str | int) or id_ == "":
        near = nearest("sample_id", row.keys() - {"sample_id"})
        other = f"; it has {excerpt(near, 60)!r}, which no version has" if "sample_id" not in row and near else ""
        doubt = row_doubt(row)
        return "; ".join(filter(None, [f"it has no sample_id that is a text or a whole number{other}", doubt]))
    if not isinstance(_given(row).get("raw"), str):
        return "it does not say in a text what the model was asked (input.raw)"
    return ""


def _given(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a row was asked; the samples that the first aggregates hold are flat."""
    if isinstance(row.get("input"), str):
        flat = {"raw": "input", "reference": "ground_truth", "formatted": "prompt", "choices": "choices"}
        return {name: row.get(key) for name, key in flat.items()}
    given = row.get("input")
    return given if isinstance(given, dict) else {}


def _asked(row: Mapping[str, Any]) -> dict[str, Any]:
    given = _given(row)
    reference = given.get("reference")
    one = reference[0] if isinstance(reference, list) and len(reference) == 1 else reference
    said = {"expected": one, "choices": given.get("choices"), "formatted": given.get("formatted")}
    return {"input": given["raw"], **{key: value for key, value in said.items() if value is not None and value != []}}


def _told(row: Mapping[str, Any], pointer: Pointer, asked: Mapping[str, Any]) -> dict[str, Any]:
    name, hashed, metadata = row.get("evaluation_name"), row.get("sample_hash"), row.get("metadata")
    source = {
        "pointer": json_pointer(pointer),
        **({"evaluation_name": name} if name is not None else {}),
        **({"sample_hash": hashed, "recipe": _recipe(hashed, asked)} if hashed is not None else {}),
    }
    return {**({"metadata": metadata} if isinstance(metadata, dict) and metadata else {}), "x_source": source}


def _recipe(hashed: Any, asked: Mapping[str, Any]) -> str:
    """Name the programs whose recipe gives a sample's hash: four are about, and tell nothing across each other."""
    expected = asked.get("expected", [])
    several = expected if isinstance(expected, list) else [expected]
    if not all(isinstance(text, str) for text in several):
        return "unknown"
    raw = asked["input"]
    texts = {
        "helm": [raw + text for text in several[:1]],
        "inspect": [raw + "".join(several)],
        "lm_eval": [json.dumps({"raw": raw, "reference": text}, sort_keys=True) for text in several[:1]],
        "openeval": [json.dumps({"raw": raw, "reference": several}, sort_keys=True, separators=(",", ":"))],
    }
    found = [name for name, said in texts.items() if hashed in map(_sha256, said)]
    return " or ".join(found) or "unknown"


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _odd(row: Mapping[str, Any], place: Place) -> tuple[MigrationOutcome, tuple[str, ...]]:
    """Say what is odd about a row of a run: one that evalstore cannot read as such, a label that lies, no grade."""
    doubt = row_doubt(row) if "response" not in row else ""
    try:
        with worded(place, "it is no row of a run"):
            graded = graded_of(row, place)
    except LoadError as error:
        reason = f"its question is kept, its row cannot be read: {error.message}"
        return MigrationOutcome.LOSSY, tuple(filter(None, [reason, doubt]))
    if graded is None:
        return MigrationOutcome.MIGRATED, tuple(filter(None, ["its model gave no output", doubt]))
    unknown = graded.verdict is Verdict.UNSCORED and "response" not in row
    return MigrationOutcome.MIGRATED, tuple(filter(None, ["it has no score: -1 says unknown" if unknown else "", doubt]))
