"""SECURITY.md names a test and a figure for every promise, and every test that it names exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.project.sources import list_test_functions
from tests.rows import each

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "SECURITY.md").read_text("utf-8")
NAMES = sorted(set(re.findall(r"`(tests/[\w/.]+\.py(?:::\w+)?)`", PAGE)))
ROWS = re.findall(r"^\| (P\d+) \| (.+?) \| (.+?) \| (.+?) \|$", PAGE, re.MULTILINE)


@each(NAMES)
def test_a_named_test_exists(name: str) -> None:
    path, _, function = name.partition("::")
    assert (ROOT / path).is_file()
    assert not function or function in list_test_functions(ROOT / path)


def test_every_promise_has_a_test_and_a_figure() -> None:
    assert [number for number, *_ in ROWS] == [f"P{number}" for number in range(1, 21)]
    for number, promise, tests, figure in ROWS:
        assert promise.endswith("."), number
        assert re.findall(r"`tests/[\w/.]+", tests), number
        assert re.search(r"\d|every|byte for byte", figure), number


# Lists of the tests that the page counts: the figure, and the words that follow it there.
COUNTED = [
    ("tests/cli/test_promises.py", ("READS", "WRITES"), "command lines in a store with links to outside"),
    ("tests/cli/test_promises.py", ("READS",), "command lines under 3 hash seeds"),
    ("tests/cli/test_promises.py", ("READS",), "command lines: 0 files changed"),
    ("tests/store/test_hostile.py", ("KEYS",), "settings that name a program"),
    ("tests/validation/test_hostile.py", ("FILES",), "files, 28 patterns"),
    ("tests/release/test_gate_hostile.py", ("RED",), "edits by an author of every file"),
    ("tests/report/payloads.py", ("TERMINAL", "BIDI", "COMMANDS", "MARKDOWN", "HTML"), "payloads in every format"),
]


@pytest.mark.parametrize(("path", "lists", "words"), COUNTED, ids=lambda value: value if " " in value else "")
def test_the_figures_are_those_of_the_tests(path: str, lists: tuple[str, ...], words: str) -> None:
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    values = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    count = sum(
        len(value.keys if isinstance(value := values[name], ast.Dict) else value.elts)  # type: ignore[attr-defined]
        for name in lists
    )
    assert f"{count} {words}" in PAGE


def test_what_is_not_promised_and_how_to_report_is_said() -> None:
    titles = re.findall(r"^## (.+)$", PAGE, re.MULTILINE)
    assert titles == ["What is promised", "What is not promised", "How to report"]
