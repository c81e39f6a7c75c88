"""The modules of the package as syntax trees, which several tests walk."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import evalstore

PACKAGE = Path(evalstore.__file__).parent


@cache
def parse_modules() -> dict[str, ast.Module]:
    """Parse every module once for a process, by its path in the package."""
    files = sorted(PACKAGE.rglob("*.py"))
    return {path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text("utf-8")) for path in files}


@cache
def list_nodes(path: str) -> tuple[ast.ImportFrom | ast.Import | ast.Attribute | ast.Call, ...]:
    """List what a module imports, every name behind a dot, and every call, wherever it stands."""
    nodes = ast.walk(parse_modules()[path])
    return tuple(node for node in nodes if isinstance(node, ast.ImportFrom | ast.Import | ast.Attribute | ast.Call))


@cache
def list_test_functions(path: Path) -> frozenset[str]:
    """List the names of the functions of a file of tests."""
    tree = ast.parse(path.read_text("utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
