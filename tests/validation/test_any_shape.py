"""Whatever shape a part of a file has, the rules answer with findings and never with an exception."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pytest

from evalstore.documents import read_yaml
from evalstore.lint import make_file_source, make_text_source
from evalstore.model import Findings

CASES = Path(__file__).parents[1] / "cases/validation"
FILES = [
    CASES / "silent-contract-example/files/rubrics/drupal_caching.yaml",
    CASES / "silent-contract-example/files/judges/accuracy.yaml",
    CASES / "references/files/rubrics/refs.yaml",
    CASES / "dataset-shape/files/datasets/q.yaml",
    CASES / "rubric-shape/files/rubrics/shape.yaml",
]
ODD = (None, True, -1, 1.5, "", "x", [], {}, [None], {"": None}, [[1]], {"kind": []})


def replaced(value: Any, odd: Any) -> Iterator[Any]:
    """Yield the value once for every part of it, with that part replaced."""
    yield odd
    if isinstance(value, dict):
        for key, item in value.items():
            yield from ({**value, key: other} for other in replaced(item, odd))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from ([*value[:index], other, *value[index + 1 :]] for other in replaced(item, odd))


@pytest.mark.heavy
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_rules_bear_any_shape(path: Path, check: Callable[..., Findings], samples: Callable[[int], int]) -> None:
    value = read_yaml(path.read_bytes(), path.name).value
    every = (other for odd in ODD for other in replaced(value, odd))
    for other in islice(every, None, None, 1 if samples(100) == 100 else 5):
        data = json.dumps(other, default=float).encode()
        for finding in check([make_text_source(data)]).findings:
            assert finding.message
            assert finding.line == 1


@pytest.mark.parametrize(
    ("line", "column"),
    [
        ('{"id": "a", "inptu": "x"}', 13),
        ('\ufeff {"id": "a", "inptu" : "x"}', 14),
        ('{"id": "inptu", "inptu": "x"}', 17),
        ('{"id": "a", "metadata": {"inptu": 1}, "inptu": "x"}', 39),
        ('{"id": "a", "metadata": {"inptu": 1}, "inp\\u0074u": "x"}', 39),
        ('{"id": "a", "title": "\\"inptu\\": é\\u00e9", "inptu": "x"}', 44),
    ],
)
def test_a_key_is_found_in_its_row_however_it_is_written(
    line: str, column: int, tmp_path: Path, check: Callable[..., Findings]
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(f"{line}\n", encoding="utf-8")
    found = [one for one in check([make_file_source(path, "rows.jsonl")]).findings if one.rule == "key-misspelt"]
    assert [(one.pointer, one.column) for one in found] == [("/inptu", column)]


_ROW_KEYS = [
    "input",
    "expected",
    "expectd",
    "context",
    "tags",
    "tag",
    "group",
    "metadata",
    "bundle",
    "rubric_ref",
    "x_a",
]
_TEXTS = ("", "a text", "A")
_ITEMS = (*_TEXTS, 1, None, True, [], ["a"], {"a": "b"})


def test_what_is_wrong_with_a_row_is_the_same_beside_others_with_its_keys(
    tmp_path: Path, check: Callable[..., Findings], samples: Callable[[int], int]
) -> None:
    def lint(lines: list[str]) -> list[tuple[int | None, object]]:
        path.write_text("".join(lines), encoding="utf-8")
        found = check([make_file_source(path, "rows.jsonl")]).findings
        shown = [(one.line, (one.rule, one.pointer, one.column, one.message, one.hint)) for one in found]
        return [one for one in shown if one[1][0] != "question-id-duplicate"]

    def write_row(keys: list[str]) -> str:
        items = random.choice((_TEXTS, _TEXTS, _ITEMS))
        id_ = random.choice(("", f"q{random.random()}", f"q{random.random()}"))
        return json.dumps({"id": id_, **{key: random.choice(items) for key in keys}}) + "\n"

    path, random = tmp_path / "rows.jsonl", Random(7)  # noqa: S311  # a sample that repeats
    for _ in range(samples(60)):
        keys = random.sample(_ROW_KEYS, random.randint(1, 2))
        lines = [write_row(keys) for _ in range(12)]
        alone = [(number, what) for number, line in enumerate(lines, 1) for _, what in lint([line])]
        assert lint(lines) == alone
