"""Commands reach the use cases through `evalstore.api` alone, as programs do; what it offers is where it says."""

from __future__ import annotations

import ast
import re
from importlib import import_module

import evalstore.api
from tests.project.sources import list_nodes, parse_modules

USE_CASES = frozenset(
    {"agreement", "audits", "demo", "diff", "integrity", "judging", "migration", "provenance"}
    | {"references", "release", "scoring", "site", "status", "transactions"}
)


def list_imports(path: str) -> list[str]:
    return [node.module for node in list_nodes(path, ast.ImportFrom) if node.module]


def is_use_case(module: str) -> bool:
    found = re.match(r"evalstore\.(\w+)", module)
    return bool(found) and found[1] in USE_CASES


def test_commands_import_use_cases_through_the_door_alone() -> None:
    commands = [path for path in parse_modules() if path.startswith("cli/")]
    assert len(commands) > 30
    found = {(path, module) for path in commands for module in list_imports(path) if is_use_case(module)}
    assert found == set()


def test_the_door_offers_what_it_says_to_a_checker() -> None:
    block = next(
        node for node in parse_modules()["api/__init__.py"].body if isinstance(node, ast.If) and is_for_checkers(node)
    )
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    offered = {alias.name: node.module for node in imports for alias in node.names}
    for module, names in evalstore.api._NAMES.items():
        for name in names:
            assert offered.pop(name) == module
            assert hasattr(import_module(module), name)
    assert offered == {}


def is_for_checkers(node: ast.If) -> bool:
    return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
