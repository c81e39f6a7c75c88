"""Rows and aggregates with one odd value anywhere: read, or refused in one sentence at their place; never a traceback."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from evalstore.errors import LoadError
from evalstore.model import CheckResult, Output, Verdict
from evalstore.runs import GradedRow, Run, read_outputs, read_rows, read_run

ODD: tuple[Any, ...] = (None, True, 7, "", "\u2028\x00", [], ["x", 7], {"raw": 7})
# The versions whose shapes differ most.
FOLDERS = [Path(__file__).parent / "versions" / name for name in ("0.0.1", "0.2.0-lists", "0.3.0")]


def paths_of(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where every part of a value stands."""
    yield at
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from paths_of(part, (*at, key))


def spoiled(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the record with each of its parts replaced by each odd value, or taken away."""
    for *above, last in (path for path in paths_of(record) if path):
        for odd in (*ODD, ...):
            whole: Any = copy.deepcopy(record)
            holder = whole
            for key in above:
                holder = holder[key]
            if odd is ...:
                del holder[last]
            else:
                holder[last] = odd
            yield whole


def outcome(read: Any) -> str:
    """Say whether something is read; what is read is what its types say."""
    try:
        for value in read():
            sound(value)
    except LoadError as error:
        assert error.place is not None
        assert "\n" not in error.message
        assert "object has no attribute" not in error.message
        return "refused"
    return "read"


TEXTS = ("id", "input", "rubric", "rubric_digest", "reason", "input_digest", "reference_digest", "name", "at", "kind")


def sound(value: Any) -> None:
    """Refuse a value with a part of another type than it declares."""
    for name in value._fields if hasattr(value, "_fields") else [field.name for field in fields(value)]:
        part = getattr(value, name)
        assert not isinstance(part, list)
        assert isinstance(part, str) or name not in TEXTS
        assert isinstance(part, int) or name not in {"scored", "without_output", "without_question"}
        for inner in part if isinstance(part, tuple) and not isinstance(part, Output) else ():
            assert isinstance(inner, str | dict | CheckResult | GradedRow) or is_dataclass(inner)
            if not isinstance(inner, str | dict):
                sound(inner)
    if hasattr(value, "verdict"):
        assert (value.score is None) == (value.verdict is Verdict.UNSCORED)


@pytest.mark.heavy
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_an_odd_value_in_a_row_is_no_traceback(
    folder: Path, tmp_path: Path, run: Run, samples: Callable[[int], int]
) -> None:
    path, seen = tmp_path / "rows.jsonl", set()
    rows = [json.loads(line) for file in folder.glob("*.jsonl") for line in file.read_bytes().splitlines()]
    held = json.loads((folder / "run.json").read_text("utf-8")).get("detailed_evaluation_results_per_samples", [])
    done = Run(**{**{name: getattr(run, name) for name in Run.__dataclass_fields__}, "samples": path})
    stride = 1 if samples(100) == 100 else 3
    for row in (*rows[2:], *held[:1]):
        for odd in islice(spoiled(row), None, None, stride):
            path.write_text(json.dumps(odd) + "\n", encoding="utf-8")
            seen |= {outcome(lambda: read_outputs(path)), outcome(lambda: read_rows(done))}
    assert seen == {"read", "refused"}


@pytest.mark.heavy
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_an_odd_value_in_an_aggregate_is_no_traceback(
    folder: Path, tmp_path: Path, samples: Callable[[int], int]
) -> None:
    path, seen = tmp_path / "run.json", set()
    stride = 1 if samples(100) == 100 else 3
    for odd in islice(spoiled(json.loads((folder / "run.json").read_text("utf-8"))), None, None, stride):
        path.write_text(json.dumps(odd, indent=1), encoding="utf-8")
        seen.add(outcome(lambda: [read_run(path)]))
    assert seen == {"read", "refused"}


@pytest.mark.heavy
def test_an_odd_value_in_a_run_of_our_own_is_no_traceback(written: Any) -> None:
    done = written()
    record = json.loads(done.path.read_text("utf-8"))
    details = record["eval_library"]["additional_details"]
    for odd in spoiled(details):
        done.path.write_text(json.dumps({**record, "eval_library": {"additional_details": odd}}), encoding="utf-8")
        outcome(lambda: [read_run(done.path)])
    for odd in spoiled(record["evaluation_results"][0]):
        done.path.write_text(json.dumps({**record, "evaluation_results": [odd]}), encoding="utf-8")
        outcome(lambda: [read_run(done.path)])
    first = json.loads(done.samples.read_bytes().split(b"\n")[0])
    for odd in spoiled(first["metadata"]):
        done.samples.write_text(json.dumps({**first, "metadata": odd}), encoding="utf-8")
        outcome(lambda: read_rows(done))
