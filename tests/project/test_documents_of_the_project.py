"""What the project says of itself is true: the README's tables come from the code."""

from __future__ import annotations

from pathlib import Path

from evalstore.checks import KINDS
from evalstore.cli.main import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")


def test_the_readme_lists_every_command_as_the_command_line_does() -> None:
    table = "\n".join(f"| `{name}` | {what} |" for name, what in COMMANDS.items())
    assert f"| command | what it does |\n|---|---|\n{table}\n" in README


def test_the_readme_names_every_check_kind() -> None:
    named = README.split("check kinds are ")[1].split(".\n")[0].split("`")[1::2]
    assert sorted(named) == list(KINDS), "run `python tests/project/generate.py`"
