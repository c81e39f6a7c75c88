"""NaN and deep nesting come back where nobody reads them; where a grader reads them, the entry alone is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalstore.documents import OpaqueValue, read_legacy_json, read_legacy_yaml
from evalstore.documents.opaque import write_flat
from evalstore.migration import MigrationOutcome, export, migrate
from evalstore.migration.legacy_files import parse_whole, render_legacy
from evalstore.migration.remainder import decode_value, encode_value, is_same_data

LEGAL = {"schema_version": "legal_eval_v1", "dataset": "d", "task_type": "reference_qa", "prompt": "?"}
ANSWERED = LEGAL | {"reference_answers": ["a"]}
NAN = float("nan")
# A file of each format with NaN at places that nobody reads, and the cases that a grader would read it in.
FILES: dict[str, tuple[Any, list[str]]] = {
    "agentevals": (
        {
            "note": NAN,
            "tests": [
                {"id": "a", "criteria": "c", "input": "?", "metadata": {"x": NAN}},
                {"id": "b", "criteria": "c", "input": "?", "expected_output": {"x": NAN}},
            ],
        },
        ["/tests/1"],
    ),
    "skill_creator": ({"evals": [{"id": 1, "prompt": "?", "assertions": ["a"], "took": [NAN]}]}, []),
    "ai_eval": (
        {"questions": [{"id": "a", "input": "?", "criteria": "c", "cost": NAN, "metadata": {"x": -float("inf")}}]},
        [],
    ),
    "legal_eval_v1": (
        [
            ANSWERED | {"id": "a", "metadata": {"x": NAN}, "other": NAN},
            LEGAL | {"id": "b", "task_type": "rubric_qa", "rubric": [{"id": "c", "title": "t", "weight": NAN}]},
        ],
        ["/1"],
    ),
}


@pytest.mark.parametrize("format", FILES)
def test_it_comes_back_and_refuses_no_other_entry(format: str, tmp_path: Path) -> None:  # noqa: A002
    value, refused = FILES[format]
    source = tmp_path / "source.json"
    source.write_text(json.dumps(value))
    report = migrate(source, into=tmp_path / "store", format=format)
    pointers = [entry.pointer for entry in report.entries if entry.outcome is MigrationOutcome.REFUSED]
    assert pointers == refused
    (given,) = export(to=format, store=tmp_path / "store").files
    assert is_same_data(parse_whole(given.text.encode(), "f.json").value, parse_whole(source.read_bytes(), "f").value)
    assert migrate(source, into=tmp_path / "store", format=format).written == ()


def test_yaml_has_its_own_words_for_it() -> None:
    text = "a: .nan\nb: [-.inf, +.INF]\n"
    document = read_legacy_yaml(text, "f.yaml")
    assert document.value == {"a": OpaqueValue("NaN"), "b": [OpaqueValue("-Infinity"), OpaqueValue("Infinity")]}
    assert document.opaque == (("a",), ("b", 0), ("b", 1))
    assert read_legacy_yaml(render_legacy(document.value, "f.yaml"), "").value == document.value


@pytest.mark.parametrize("file", ["f.json", "f.yaml"])
def test_what_is_nested_deep_is_one_text_that_is_the_same_data(file: str) -> None:
    text = '{"a": ' + '{"k": [' * 60 + '1.50, "\u00e9\\n", null, true' + "]}" * 60 + "}"
    value = parse_whole(text.encode(), file).value
    assert isinstance(value, dict)
    assert is_same_data(decode_value(encode_value(value)), value)
    again = render_legacy(value, file)
    assert is_same_data(parse_whole(again.encode(), file).value, value)
    assert json.loads(write_flat(value)) == json.loads(text)


def test_a_number_without_end_and_a_marker_of_ours_come_back() -> None:
    value = read_legacy_json('{"a": 1e999, "x_json": {"x_json": "NaN"}, "b": {"x_pairs": []}}', "f").value
    assert value["a"] == OpaqueValue("1e999")
    assert decode_value(encode_value(value)) == value
