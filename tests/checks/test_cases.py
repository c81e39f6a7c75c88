"""Every file of tests/cases/checks/<kind>: a check, and what it answers for each output."""

from __future__ import annotations

import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from evalstore.checks import evaluate
from evalstore.documents import read_yaml

ROOT = Path(__file__).resolve().parents[1] / "cases" / "checks"
FILES = sorted(ROOT.glob("*/*.yaml"))


def _cases() -> list[Any]:
    cases: list[Any] = []
    for path in FILES:
        document = read_yaml(path.read_bytes(), path.name).value
        name = f"{path.parent.name}-{path.stem}"
        cases += [
            pytest.param(document["check"], case, id=f"{name}-{n}") for n, case in enumerate(document["cases"], 1)
        ]
    return cases


@pytest.mark.parametrize(("check", "case"), _cases())
def test_the_check_answers_as_the_file_says(check: dict[str, Any], case: dict[str, Any]) -> None:
    if case.get("needs") == "php" and shutil.which("php") is None:
        pytest.skip("no php here")
    rubric = {"checks": [check], "scoring": {"combine": "weighted_avg"}}
    output = {"output": case.get("output", "") * case.get("times", 1), "tool_calls": case.get("tool_calls")}
    (answer,) = evaluate(rubric, output, case.get("question")).checks
    score = None if case["score"] is None else Fraction(case["score"])
    assert (answer.score, answer.verdict, answer.unscored) == (score, case["verdict"], case.get("unscored"))
    assert case.get("reason", "") in answer.reason
    assert answer.reason


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_file_is_about_the_kind_of_its_folder(path: Path) -> None:
    document = read_yaml(path.read_bytes(), path.name).value
    assert document["check"]["kind"] == path.parent.name
    assert set(document) <= {"about", "check", "cases"}
