"""No command is broken over two lines where a person would copy it, at any width."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import evalstore
from evalstore.cli.main import COMMANDS
from evalstore.report.folding import fold_text
from evalstore.report.text_layout import wrap_lines
from tests.rows import thin

GIT = "git (?:fetch|pull|push|tag|log|config|add|restore|update-ref|remote|switch|show)"
# A command as this test knows it: its name, and every option, path, reference or placeholder that follows directly.
COMMAND = re.compile(
    rf"(?:evalstore (?:{'|'.join(COMMANDS)})|{GIT})(?: (?:--?[a-z][a-z-]*|[A-Z]{{2,}}|[^\s;,.:()'\"]*[/@<][^\s;,.:()]*|\"[^\"]*\"))*"
)


def find_texts() -> Iterator[str]:
    """Every text of the package that names a command; what is filled in later is a word."""
    for path in sorted(Path(evalstore.__file__).parent.rglob("*.py")):
        source = path.read_text("utf-8")
        if not re.search("evalstore |git ", source):
            continue
        nodes = list(ast.walk(ast.parse(source)))
        docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        for node in nodes:
            if id(node) in docstrings:
                continue
            if isinstance(node, ast.JoinedStr):
                parts = (part.value if isinstance(part, ast.Constant) else "rubric/x@1" for part in node.values)
                text = "".join(map(str, parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value
            else:
                continue
            if "\n" not in text and COMMAND.search(text):
                yield text


@cache
def texts() -> list[str]:
    return sorted(set(find_texts()))


def test_there_are_texts_with_commands() -> None:
    assert len(texts()) > 60


@pytest.mark.parametrize("width", thin([30, 80, 60, 200, 100], 2))
def test_no_command_is_wrapped(width: int) -> None:
    for text in texts():
        for filler in range(0, width, 7):
            lines = wrap_lines("x" * filler + f" {text}", width=width, lead="    ", inner="        ")
            for command in COMMAND.findall(text):
                assert any(command in line for line in lines), (command, lines)


@pytest.mark.parametrize(
    "command",
    [
        "evalstore bump judge/tone --dependents --level major",
        'evalstore accept 0a1b2c3d --reason "nobody; says, it"',
        "evalstore -C 'my store' validate --fix rubrics/x.yaml",
        "git push --atomic origin main refs/tags/rubric/x@1.0.0",
        'git config --global user.name "Ada Tester"',
        "git pull --no-rebase --tags origin main",
        "evalstore judge validate judge/tone labels.jsonl --write",
        "pip install 'evalstore[judge]'",
    ],
)
def test_a_command_stays_whole_wherever_it_stands(command: str) -> None:
    for filler in range(100):
        for text in (f"{'x ' * filler}: {command}", f"{'x ' * filler}{command}; then go on with it"):
            assert any(command in line for line in wrap_lines(text, width=60))


def test_prose_is_still_wrapped() -> None:
    prose = (
        "this evalstore has no rule set of that number, and git directories are shared between the working trees of it"
    )
    assert all(len(line) <= 40 for line in wrap_lines(prose, width=40))


@pytest.mark.parametrize("width", range(70, 100, 5))
def test_the_bracket_around_a_command_ends_it(width: int) -> None:
    """No line behind it ends in the backslash by which a shell reads the next one."""
    text = "judges/a.yaml: `validation` is missing (measure it: evalstore judge validate) [judge-unvalidated] " * 2
    folded = fold_text(text, width)
    assert ") \\" not in folded
    assert " ".join(folded.replace(" \\\n", " ").split()) == text.strip()
