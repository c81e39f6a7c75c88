"""The tables of renderers, whose keys are names of classes: a class that is renamed must not lose its renderer."""

from __future__ import annotations

import ast
import re
from functools import cache
from importlib import import_module
from pathlib import Path

import evalstore
from evalstore.report import RENDERERS
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


def list_renderers(module: str) -> set[str]:
    """List what the names of a module's renderers end in: nothing for the first of its results."""
    names = vars(import_module(f"evalstore.report.{module}"))
    found = (re.fullmatch(r"(?:text|document|markdown|html)(?:_(\w+))?", name) for name in names)
    return {match[1] or "" for match in found if match}


def test_no_renderer_goes_unused() -> None:
    used = {module.partition(".")[::2] for module in RENDERERS.values()}
    for module in {name for name, _ in used}:
        assert list_renderers(module) <= {suffix for name, suffix in used if name == module}
