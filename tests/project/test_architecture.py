"""The map in ARCHITECTURE.md, held against the package: its layers, its packages, and every name on its walks."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAP = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
RECIPES = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
STEPS = re.findall(r"^\d\. `(evalstore/[\w/]+\.py): ([\w.]+)`", MAP, re.MULTILINE)
WALKS, STEPS_OF_A_WALK, MOST_LINES = 4, 6, 150
MOST_MODULES = 25  # of a room, not counting the rooms within


def layers() -> list[str]:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = config["tool"]["importlinter"]["contracts"]
    return next(contract["layers"] for contract in contracts if contract["type"] == "layers")


def test_the_map_fits_a_few_screens() -> None:
    assert len(MAP.splitlines()) <= MOST_LINES


def test_the_layers_are_those_that_the_build_checks() -> None:
    drawn = MAP.partition("```text\n")[2].partition("\n```")[0]
    assert drawn.splitlines() == layers()


def test_every_package_has_a_row() -> None:
    table = MAP.partition("| package |")[2].partition("\n\n")[0]
    named = {name for line in table.splitlines() for name in re.findall(r"`(\w+)`", line.split("|")[1])}
    assert named == {name for layer in layers() for name in re.split(r"[ :]+", layer)}


def test_there_are_four_walks_of_six_steps() -> None:
    assert len(STEPS) == WALKS * STEPS_OF_A_WALK


@pytest.mark.parametrize(("module", "name"), STEPS, ids=lambda part: part.rpartition("/")[2])
def test_every_step_is_there(module: str, name: str) -> None:
    body = ast.parse((ROOT / module).read_text("utf-8")).body
    for part in name.split("."):
        found = [node for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == part]
        assert found, f"{module} has no {name}"
        body = found[0].body


@pytest.mark.parametrize("room", sorted({path.rpartition("/")[0] for path, _ in STEPS} - {"evalstore/cli"}))
def test_the_room_of_a_step_can_be_read(room: str) -> None:
    """`cli` is left out: a newcomer reads one command of it."""
    assert len([*(ROOT / room).glob("*.py")]) <= MOST_MODULES


def paths() -> list[str]:
    # `max_length` is the kind that the recipe adds; what is in angle brackets stands for any name.
    found = set(re.findall(r"`((?:evalstore|tests|schema|migrations)/[\w./]*)`", MAP + RECIPES))
    return sorted(path for path in found if "max_length" not in path)


@pytest.mark.parametrize("path", paths())
def test_every_path_is_there(path: str) -> None:
    assert (ROOT / path).exists()


def test_the_glossary_has_forty_words() -> None:
    rows = [line for line in RECIPES.partition("## Glossary")[2].splitlines() if re.match(r"\| [a-z]", line)]
    assert len(rows) - 1 >= 40  # without the head
    assert rows[1:] == sorted(rows[1:])


def test_every_class_and_table_named_is_there() -> None:
    code = "\n".join(path.read_text("utf-8") for path in (ROOT / "evalstore").rglob("*.py"))
    named = set(re.findall(r"`([A-Z][A-Za-z]*[a-z][A-Z]\w*|[A-Z]+(?:_[A-Z]+)+)`", MAP + RECIPES))
    assert named
    assert not {name for name in named if not re.search(rf"\b{name}\b", code)}
