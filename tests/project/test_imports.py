"""No module of the package needs itself, however the need is written: at the top, within a function, for types alone."""

from __future__ import annotations

import ast
from collections.abc import Set as AbstractSet

from tests.project.sources import list_nodes, parse_modules


def name_of(path: str) -> str:
    parts = ("evalstore", *path.removesuffix(".py").split("/"))
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path: str, modules: AbstractSet[str]) -> set[str]:
    found = set()
    for node in list_nodes(path):
        if isinstance(node, ast.ImportFrom) and node.module:
            # `from package import module` needs the module, `from package import name` what the package defines.
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in modules else node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found & modules


def circles() -> list[list[str]]:
    """Return the strongly connected components of more than one module (Tarjan, 1972)."""
    names = {path: name_of(path) for path in parse_modules()}
    modules = {*names.values()}
    graph = {name: imported(path, modules) - {name} for path, name in names.items()}
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        number[name] = low[name] = len(number)
        stack.append(name)
        for other in graph[name]:
            if other not in number:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], number[other])
        if low[name] == number[name]:
            component = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(component) > 1:
                found.append(sorted(component))

    for name in graph:
        if name not in number:
            visit(name)
    return found


def test_imports_run_in_no_circle() -> None:
    assert circles() == []
