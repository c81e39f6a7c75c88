"""Good files pass, bad files are refused in exactly the words that stand beside them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Read = Callable[[str], dict[str, Any]]
Check = Callable[[dict[str, Any], Any], list[str]]

CASES = Path(__file__).parent / "cases"
SCHEMA = Path(__file__).parents[2] / "schema"
GOOD = sorted(CASES.rglob("good/*.yaml"))
BAD = sorted(CASES.rglob("bad/*.yaml"))


def name(path: Path) -> str:
    return path.relative_to(CASES).as_posix()


def schema_name(path: Path) -> str:
    return path.parents[1].relative_to(CASES).as_posix()


def in_a_rubric(check: dict[str, Any]) -> dict[str, Any]:
    return {"id": "a", "version": "1.0.0", "checks": [check], "scoring": {"combine": "all_pass"}}


@pytest.mark.parametrize("path", GOOD, ids=name)
def test_good_files_pass(path: Path, schema_of: Read, document: Callable[[Path], Any], complaints: Check) -> None:
    assert complaints(schema_of(schema_name(path)), document(path)) == []


@pytest.mark.parametrize("path", BAD, ids=name)
def test_bad_files_are_refused_in_these_words(
    path: Path, schema_of: Read, document: Callable[[Path], Any], complaints: Check
) -> None:
    said = complaints(schema_of(schema_name(path)), document(path))
    expected = path.with_suffix(".expect").read_text(encoding="utf-8").splitlines()
    # A line may stop early: where a long pattern ends the message, its beginning says enough.
    assert len(said) == len(expected), "\n".join(said)
    assert [line for line, start in zip(said, expected, strict=True) if not line.startswith(start)] == []


@pytest.mark.parametrize("path", [p for p in GOOD + BAD if p.parents[2].name == "checks"], ids=name)
def test_a_rubric_says_of_a_check_what_its_own_schema_says(
    path: Path, schema_of: Read, document: Callable[[Path], Any], complaints: Check
) -> None:
    check = document(path)
    own = complaints(schema_of(schema_name(path)), {**check, "kind": path.parents[1].name})
    within = complaints(schema_of("rubric"), in_a_rubric({**check, "kind": path.parents[1].name}))
    assert [line.removeprefix("/checks/0") for line in within] == [line.replace("/: ", ": ") for line in own]


def test_every_schema_has_good_and_bad_files() -> None:
    schemas = {p.relative_to(SCHEMA).as_posix().removesuffix(".schema.json") for p in SCHEMA.rglob("*.schema.json")}
    for paths in (GOOD, BAD):
        assert {schema_name(path) for path in paths} == {s for s in schemas if not s.startswith(("base/", "output/"))}
