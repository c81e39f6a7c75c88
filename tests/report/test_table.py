"""The tables of renderers, whose keys are names of classes: a class that is renamed must not lose its renderer."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import evalstore
from evalstore.report import FITTED_TO_SCREEN, RENDERERS
from evalstore.report.json_values import KEYS
from evalstore.report.reports import PROBLEM_REPORTS
from tests.rows import each

PACKAGE = Path(evalstore.__file__).parent


@cache
def classes() -> set[str]:
    return {
        node.name
        for path in PACKAGE.rglob("*.py")
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.ClassDef)
    }


@each(sorted({*RENDERERS, *PROBLEM_REPORTS, *KEYS}))
def test_every_key_is_a_class_of_the_package(name: str) -> None:
    assert name in classes()


def test_what_has_problems_is_rendered_too() -> None:
    assert PROBLEM_REPORTS.keys() <= RENDERERS.keys()
    assert set(RENDERERS.values()) >= FITTED_TO_SCREEN
