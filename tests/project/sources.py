"""The modules of the package as syntax trees, which several tests walk."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import evalstore

PACKAGE = Path(evalstore.__file__).parent

_Node = TypeVar("_Node", bound=ast.AST)


@cache
def parse_modules() -> dict[str, ast.Module]:
    """Parse every module once for a process, by its path in the package."""
    files = sorted(PACKAGE.rglob("*.py"))
    return {path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text("utf-8")) for path in files}


@cache
def _map_nodes(path: str) -> dict[type[ast.AST], list[Any]]:
    """Map each type of node of a module to all that are of it: a walk over all modules takes a second."""
    found: dict[type[ast.AST], list[Any]] = {}
    for node in ast.walk(parse_modules()[path]):
        found.setdefault(type(node), []).append(node)
    return found


def list_nodes(path: str, *types: type[_Node]) -> Iterator[_Node]:
    """Yield the nodes of a module that are of one of the types, wherever they stand."""
    for type_ in types:
        yield from _map_nodes(path).get(type_, ())


@cache
def list_test_functions(path: Path) -> frozenset[str]:
    """List the names of the functions of a file of tests."""
    tree = ast.parse(path.read_text("utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
