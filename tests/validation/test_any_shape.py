"""Whatever shape a part of a file has, the rules answer with findings and never with an exception."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
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
