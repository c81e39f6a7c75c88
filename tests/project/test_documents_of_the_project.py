"""What the project says of itself is true: the README's tables come from the code."""

from __future__ import annotations

from pathlib import Path

from evalstore.checks import KINDS, PENDING
from evalstore.cli.main import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")


def test_the_readme_lists_every_command_as_the_command_line_does() -> None:
    table = "\n".join(f"| `{name}` | {what} |" for name, what in COMMANDS.items())
    assert f"| command | what it does |\n|---|---|\n{table}\n" in README


def test_the_readme_says_which_check_kinds_run() -> None:
    kinds, running = README.split("Eleven check kinds have their schema today: ")[1].split("run:\n", 1)
    assert set(kinds.split("`")[1::2]) == {*KINDS, *PENDING}
    assert set(running.split("; the others")[0].split("`")[1::2]) == set(KINDS)
