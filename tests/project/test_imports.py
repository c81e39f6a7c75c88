"""No module needs itself, however the need is written: at the top, in a function, for types, by `import_module`."""

from __future__ import annotations

import ast
from collections.abc import Set as AbstractSet

from tests.project.sources import list_nodes, parse_modules


def name_of(path: str) -> str:
    parts = ("evalstore", *path.removesuffix(".py").split("/"))
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path: str, modules: AbstractSet[str]) -> set[str]:
    found = set()
    for node in list_nodes(path, ast.ImportFrom, ast.Import, ast.Call):
        if isinstance(node, ast.ImportFrom) and node.module:
            # `from package import module` needs the module, `from package import name` what the package defines.
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in modules else node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Call):
            found |= set(names_of_late_import(node))
    return found & modules


def names_of_late_import(call: ast.Call) -> list[str]:
    """Return the module that `import_module("name")` or `__import__("name")` imports; a computed name is not read."""
    function = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if function not in {"import_module", "__import__"} or not call.args:
        return []
    return [call.args[0].value] if isinstance(call.args[0], ast.Constant) else []


def test_late_imports_are_read() -> None:
    calls = list(ast.walk(ast.parse('a.import_module("x.y"); __import__("z"); import_module(f"{n}")')))
    assert [names_of_late_import(call) for call in calls if isinstance(call, ast.Call)] == [["x.y"], ["z"], []]


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
