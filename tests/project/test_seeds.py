"""Every requirement of the seeds has a test, or a reason why not; seeds.yaml accounts for every line of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.project.sources import list_test_functions
from tests.shared_data import list_shared

ROOT = Path(__file__).resolve().parents[2]
TABLE: Mapping[str, Any] = yaml.safe_load((ROOT / "tests/project/seeds.yaml").read_text("utf-8"))
NAMES: Mapping[str, str] = TABLE["names"]
ROWS = [(number, row) for number, rows in TABLE["seeds"].items() for row in rows]


def list_lines(row: Mapping[str, Any]) -> Iterator[int]:
    for part in str(row["lines"]).split(","):
        first, _, last = part.strip().partition("-")
        yield from range(int(first), int(last or first) + 1)


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_named_test_exists(name: str) -> None:
    path, _, function = NAMES[name].partition("::")
    assert (ROOT / path).exists()
    assert (
        function in list_test_functions(ROOT / path) if function else path.startswith(("tests/cases/", "tests/schema/"))
    )


def test_every_requirement_has_a_test_or_a_reason() -> None:
    used = [name for _, row in ROWS for name in row.get("tests", ())]
    assert set(used) == set(NAMES)
    for number, row in ROWS:
        keys = row.keys() - {"lines"}
        assert keys in ({"context"}, {"asks", "tests"}, {"asks", "why"}), (number, row)
        assert all(row[key] for key in keys), (number, row)


def test_the_requirements_are_counted() -> None:
    counts = {
        number: {key: sum(key in row for row in rows) for key in ("tests", "why")}
        for number, rows in TABLE["seeds"].items()
    }
    assert counts == TABLE["covered"]


@pytest.mark.parametrize("number", sorted(TABLE["seeds"]))
def test_no_line_of_a_seed_is_left_out(number: str) -> None:
    (path,) = list_shared(f"seeds/{number}_*.txt")
    lines = path.read_text("utf-8").split("\n")
    written = {place for place, line in enumerate(lines, 1) if line.strip()}
    listed = [line for row in TABLE["seeds"][number] for line in list_lines(row)]
    assert sorted(written - set(listed)) == []
    assert len(listed) == len(set(listed))
    assert max(listed) <= len(lines)


def test_there_is_no_other_seed() -> None:
    assert sorted(path.name.partition("_")[0] for path in list_shared("seeds/[0-9][0-9][0-9]_*.txt")) == sorted(
        TABLE["seeds"]
    )
