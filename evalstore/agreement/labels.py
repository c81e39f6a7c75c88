"""Reads labelled outputs; several for one question are told apart by `sample` and text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from evalstore.errors import LoadError, Place
from evalstore.model import Verdict, is_cosmetic
from evalstore.runs.run_files import read_json_objects
from evalstore.text import find_nearest, make_excerpt

# Fields of the question that a row may contain if no dataset supplies them.
QUESTION_KEYS = ("input", "expected", "context")
_KEYS = ("id", "sample", "output", "label", "verdict", *QUESTION_KEYS, "variables")
_SHAPE = (
    'a row is {"id", "output", "label": "pass" or "fail"}, with "sample", "verdict", "input", '
    '"expected", "context" if known'
)
_LABELS = {"pass": Verdict.PASS, "fail": Verdict.FAIL}
_VERDICTS = {**_LABELS, "unscored": Verdict.UNSCORED}


class LabelledOutput(NamedTuple):
    """Which output a label is for: its question, its sample number, and the digest of its text.

    Outputs of several runs may have the same number: their texts distinguish them.
    """

    id: str
    sample: int
    digest: bytes | None


def identify_output(id_: str, sample: int, output: str | None) -> LabelledOutput:
    """Return what identifies an output among those that may be labelled."""
    text = None if output is None else output.encode("utf-8", "surrogatepass")
    digest = None if text is None else blake2b(text, digest_size=16).digest()
    return LabelledOutput(id_, sample, digest)


@dataclass(frozen=True, slots=True)
class LabelledRow:
    """One row; if `verdict` is None, the judge must still be asked.

    `question_fields` are those of the question in the row.
    """

    id: str
    line: int
    label: Verdict
    verdict: Verdict | None
    output: str
    question_fields: Mapping[str, Any]
    variables: Mapping[str, str]
    has_output: bool = True
    sample: int = 0

    @property
    def labelled_output(self) -> LabelledOutput:
        """The output that the row is about."""
        return identify_output(self.id, self.sample, self.output if self.has_output else None)


def read_labels(path: Path) -> Iterator[LabelledRow]:
    """Yield the rows of a file in order.

    Raises `LoadError` for an unclear row, and for a second label of one output.
    """
    lines: dict[LabelledOutput, int] = {}
    for line, row in read_json_objects(path):
        place = Place(str(path), line)
        label = _read_label(row, place)
        if first := lines.get(label.labelled_output):
            name = make_excerpt(label.id, 60)
            raise LoadError(
                f"a second label of one output of '{name}' (the first is on line {first})",
                place=place,
                hint=(
                    'keep one label for each output; several to one question have a "sample": 0, '
                    "1, …"
                ),
            )
        lines[label.labelled_output] = line
        yield label
    if not lines:
        raise LoadError("has no labelled row", place=Place(str(path)), hint=_SHAPE)


def _read_question_fields(row: Mapping[str, Any], place: Place) -> dict[str, Any]:
    fields = {key: row[key] for key in QUESTION_KEYS if key in row}
    return fields | ({"input": _read_text(row, "input", place)} if "input" in fields else {})


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
        question_fields=_read_question_fields(row, place),
        variables=_read_variables(row.get("variables", {}), place),
        has_output="output" in row,
        sample=_read_sample(row.get("sample", 0), place),
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
                f"`{make_excerpt(key, 60)}` is not a key of a labelled row", place=place, hint=hint
            )


def _read_text(row: Mapping[str, Any], key: str, place: Place) -> str:
    if not isinstance(text := row[key], str):
        raise LoadError(f"the `{key}` of this row is not text", place=place, hint=_SHAPE)
    return text


def _read_sample(value: Any, place: Place) -> int:
    if type(value) is not int or value < 0:
        raise LoadError("the `sample` of this row is not a whole number from 0", place=place)
    return value


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
