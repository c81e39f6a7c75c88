"""Every part of the logs and results of other tools, replaced by whatever it should not be: a sentence or a reading."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from itertools import islice, product
from pathlib import Path
from typing import Any

import pytest

from evalstore.errors import EvalstoreError
from evalstore.runs import MissingOutput, SeriesFilter, read_outputs

CASES = Path(__file__).parents[1] / "cases" / "imports"
ODD = (None, True, 7, 1.5, "", "x", [], [1], [[]], {}, {"a": None})


def pointers(value: Any) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in inner:
        yield (key,)
        yield from ((key, *pointer) for pointer in pointers(child))


def replaced(document: Any, pointer: tuple[Any, ...], value: Any) -> Any:
    changed = copy.deepcopy(document)
    holder = changed
    for key in pointer[:-1]:
        holder = holder[key]
    holder[pointer[-1]] = value
    return changed


@pytest.mark.heavy
@pytest.mark.parametrize("case", sorted(path.name for path in CASES.iterdir()))
def test_no_odd_part_ends_in_a_traceback(case: str, tmp_path: Path, samples: Callable[[int], int]) -> None:
    document = json.loads((CASES / case).read_text("utf-8"))
    path, read, refused = tmp_path / "file", 0, 0
    stride = 1 if samples(100) == 100 else 11
    for pointer, value in islice(product(pointers(document), ODD), None, None, stride):
        path.write_text(json.dumps(replaced(document, pointer, value)), encoding="utf-8")
        try:
            found = list(read_outputs(path, SeriesFilter({"prompt": "short"} if case == "promptfoo-3.json" else {})))
        except EvalstoreError as error:
            assert error.place is not None
            assert error.place.file == str(path)
            refused += 1
            continue
        read += 1
        for entry in found:
            assert isinstance(entry.id, str)
            if isinstance(entry, MissingOutput):
                refused += "cannot be read" in entry.reason
                continue
            assert isinstance(entry.output.text, str)
            for call in entry.output.tool_calls or ():
                assert isinstance(call["name"], str)
                assert isinstance(call["args"], dict)
    assert read > 500 / stride
    assert refused > 50 / stride
