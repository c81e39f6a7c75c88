"""Reads a file of outputs that people labelled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalstore.errors import LoadError, Place
from evalstore.model import Verdict, is_cosmetic
from evalstore.runs.run_files import read_json_objects
from evalstore.text import find_nearest, make_excerpt

# Fields of the question that a row may hold, where no dataset gives them.
QUESTION_KEYS = ("input", "expected", "context")
_KEYS = ("id", "output", "label", "verdict", *QUESTION_KEYS, "variables")
_SHAPE = 'a row is {"id", "output", "label": "pass" or "fail"}, with "verdict", "input", "expected", "context" if known'
_LABELS = {"pass": Verdict.PASS, "fail": Verdict.FAIL}
_VERDICTS = {**_LABELS, "unscored": Verdict.UNSCORED}


@dataclass(frozen=True, slots=True)
class LabelledRow:
    """One row: `verdict` None is still to be asked for; `question_fields` are those of the question in the row."""

    id: str
    line: int
    label: Verdict
    verdict: Verdict | None
    output: str
    question_fields: Mapping[str, Any]
    variables: Mapping[str, str]
    has_output: bool = True


def read_labels(path: Path) -> Iterator[LabelledRow]:
    """Yield the rows of a file in order; raises `LoadError` for an unclear row and for a repeated id."""
    lines: dict[str, int] = {}
    for line, row in read_json_objects(path):
        place = Place(str(path), line)
        label = _read_label(row, place)
        if label.id in lines:
            first = f"duplicate id '{make_excerpt(label.id, 60)}' (first on line {lines[label.id]})"
            raise LoadError(first, place=place, hint="keep one label for each output")
        lines[label.id] = line
        yield label
    if not lines:
        raise LoadError("has no labelled row", place=Place(str(path)), hint=_SHAPE)


def _read_label(row: Mapping[str, Any], place: Place) -> LabelledRow:
    _check_keys(row, place)
    # A row with a verdict needs no output: nothing is asked about it.
    for key in ("id", "label") if "verdict" in row else ("id", "output", "label"):
        if key not in row:
            raise LoadError(f"this row has no `{key}`", place=place, hint=_SHAPE)
    return LabelledRow(
        id=_read_text(row, "id", place),
        line=place.line or 0,
        label=_read_verdict(row, "label", _LABELS, place),
        verdict=_read_verdict(row, "verdict", _VERDICTS, place) if "verdict" in row else None,
        output=_read_text(row, "output", place) if "output" in row else "",
        question_fields={
            key: _read_text(row, key, place) if key == "input" else row[key]
            for key in QUESTION_KEYS
            if key in row
        },
        variables=_read_variables(row.get("variables", {}), place),
        has_output="output" in row,
    )


def _check_keys(row: Mapping[str, Any], place: Place) -> None:
    for key in row:
        if key not in _KEYS and not is_cosmetic(key):
            guess = find_nearest(key, _KEYS)
            hint = (
                f"did you mean `{guess}`?"
                if guess
                else "put what is not for the judge into `metadata`"
            )
            raise LoadError(
                f"a labelled row has no `{make_excerpt(key, 60)}`", place=place, hint=hint
            )


def _read_text(row: Mapping[str, Any], key: str, place: Place) -> str:
    if not isinstance(text := row[key], str):
        raise LoadError(f"the `{key}` of this row is not text", place=place, hint=_SHAPE)
    return text


def _read_verdict(
    row: Mapping[str, Any], key: str, words: Mapping[str, Verdict], place: Place
) -> Verdict:
    word = row[key]
    if not isinstance(word, str) or word not in words:
        shown = f"'{make_excerpt(word, 60)}'" if isinstance(word, str) else "not text"
        raise LoadError(
            f"the `{key}` of this row is {shown}", place=place, hint=f"write {' or '.join(words)}"
        )
    return words[word]


def _read_variables(value: Any, place: Place) -> Mapping[str, str]:
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        hint = 'write {"<name>": "<text>"}'
        raise LoadError("the `variables` of this row are not texts by name", place=place, hint=hint)
    return value
