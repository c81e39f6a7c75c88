"""Labelled rows are read strictly: what is unclear is refused at its line, before anybody is asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalstore.agreement.labels import LabelledRow, read_labels
from evalstore.errors import LoadError
from evalstore.model import Verdict

ROW = {"id": "a", "output": "x", "label": "pass"}


def read(tmp_path: Path, *rows: Any) -> list[LabelledRow]:
    path = tmp_path / "labels.jsonl"
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows), "utf-8")
    return list(read_labels(path))


def test_a_row_is_what_it_says(tmp_path: Path) -> None:
    one, two, three = read(
        tmp_path,
        ROW,
        "",
        {"id": "b", "label": "fail", "verdict": "pass", "metadata": {"by": "Ada"}, "x_note": 1},
        {**ROW, "id": "c", "verdict": "unscored", "input": "?", "expected": {"a": [1]}, "variables": {"k": "v"}},
    )
    assert one == LabelledRow("a", 1, Verdict.PASS, None, "x", {}, {})
    assert two == LabelledRow("b", 3, Verdict.FAIL, Verdict.PASS, "", {}, {}, has_output=False)
    assert (three.verdict, three.question_fields, three.variables) == (
        Verdict.UNSCORED,
        {"input": "?", "expected": {"a": [1]}},
        {"k": "v"},
    )


@pytest.mark.parametrize(
    ("row", "words", "hint"),
    [
        ({"output": "x", "label": "pass"}, "this row has no `id`", "a row is"),
        ({"id": "b", "label": "pass"}, "this row has no `output`", "a row is"),
        ({"id": "b", "output": "x"}, "this row has no `label`", "a row is"),
        ({**ROW, "label": "good"}, "the `label` of this row is 'good'", "write pass or fail"),
        ({**ROW, "label": "Pass"}, "the `label` of this row is 'Pass'", "write pass or fail"),
        ({**ROW, "label": True}, "the `label` of this row is not text", "write pass or fail"),
        ({**ROW, "label": 1}, "the `label` of this row is not text", "write pass or fail"),
        ({**ROW, "label": None}, "the `label` of this row is not text", "write pass or fail"),
        ({**ROW, "label": "unscored"}, "the `label` of this row is 'unscored'", "write pass or fail"),
        ({**ROW, "verdict": "maybe"}, "the `verdict` of this row is 'maybe'", "write pass or fail or unscored"),
        ({**ROW, "verdict": None}, "the `verdict` of this row is not text", "write pass or fail or unscored"),
        ({**ROW, "verdcit": "pass"}, "`verdcit` is not a key of a labelled row", "did you mean `verdict`?"),
        ({**ROW, "labeler": "Ada"}, "`labeler` is not a key of a labelled row", None),
        ({**ROW, "annotated_by": "Ada"}, "`annotated_by` is not a key of a labelled row", "into `metadata`"),
        ({**ROW, "id": 1}, "the `id` of this row is not text", "a row is"),
        ({**ROW, "output": ["x"]}, "the `output` of this row is not text", "a row is"),
        ({**ROW, "input": None}, "the `input` of this row is not text", "a row is"),
        ({**ROW, "variables": ["x"]}, "the `variables` of this row are not texts by name", "<name>"),
        ({**ROW, "variables": {"k": 1}}, "the `variables` of this row are not texts by name", "<name>"),
        ({**ROW, "sample": "1"}, "the `sample` of this row is not a whole number from 0", None),
        ({**ROW, "sample": -1}, "the `sample` of this row is not a whole number from 0", None),
        ({**ROW, "sample": True}, "the `sample` of this row is not a whole number from 0", None),
        ("[1]", "a line is one JSON object", None),
        ("{'id': 1}", "not JSON", None),
        ('{"id": "b", "id": "b"}', "duplicate key", None),
        ('{"id": "b\\ud800"}', "half a surrogate pair", None),
        ("\x1b[2J", "not JSON", None),
    ],
)
def test_an_unclear_row_is_refused_at_its_line(tmp_path: Path, row: Any, words: str, hint: str | None) -> None:
    with pytest.raises(LoadError) as refused:
        read(tmp_path, {**ROW, "id": "first"}, row)
    assert words in refused.value.message
    assert str(refused.value.place).startswith(f"{tmp_path / 'labels.jsonl'}:2")
    assert hint is None or hint in str(refused.value.hint)


@pytest.mark.parametrize(
    "second",
    [{**ROW, "label": "fail"}, {**ROW, "sample": 0}, {**ROW, "verdict": "fail", "input": "?"}],
)
def test_an_output_has_one_label(tmp_path: Path, second: dict[str, Any]) -> None:
    words = "a second label of one output of 'a' \\(the first is on line 1\\)"
    with pytest.raises(LoadError, match=words) as refused:
        read(tmp_path, ROW, {**ROW, "id": "b"}, second)
    assert str(refused.value.place).endswith(":3")
    assert '"sample": 0, 1' in str(refused.value.hint)


def test_a_question_has_several_outputs(tmp_path: Path) -> None:
    bare = {"id": "a", "label": "fail", "verdict": "fail"}
    rows = [ROW, {**ROW, "output": "y"}, {**ROW, "sample": 1}, {**ROW, "output": "y", "sample": 1}]
    found = read(tmp_path, *rows, bare, {**bare, "sample": 2})
    assert [(row.output, row.sample) for row in found] == [("x", 0), ("y", 0), ("x", 1), ("y", 1), ("", 0), ("", 2)]


@pytest.mark.parametrize("rows", [[], [""], ["", "  "]])
def test_no_row_is_no_measurement(tmp_path: Path, rows: list[str]) -> None:
    with pytest.raises(LoadError, match="has no labelled row"):
        read(tmp_path, *rows)


def test_a_file_is_streamed(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text(f"{json.dumps(ROW)}\n{{broken\n", "utf-8")
    rows = read_labels(path)
    assert next(rows).id == "a"
    with pytest.raises(LoadError):
        next(rows)
