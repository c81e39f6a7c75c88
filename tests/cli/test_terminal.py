"""A long answer on a terminal, which is a pseudo-terminal here, goes through the pager that the reader has chosen."""

from __future__ import annotations

import os
import pty
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalstore.cli.streams import needs_pager

LONG = "a line\n" * 200


def test_a_pager_is_for_long_texts_on_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PAGER", raising=False)
    keeper, end = pty.openpty()
    with os.fdopen(keeper, "rb"), os.fdopen(end, "r+b", buffering=0) as terminal:
        # Not in a fixture: pytest puts its own streams back between the two.
        monkeypatch.setattr(sys, "stdin", terminal)
        monkeypatch.setattr(sys, "stdout", terminal)
        cases = [("TERM", "xterm", True), ("PAGER", "cat", True), ("PAGER", "", False)]
        cases += [("PAGER", "cat", True), ("TERM", "dumb", False), ("TERM", "", False)]
        for name, value, wanted in cases:
            monkeypatch.setenv(name, value)
            assert needs_pager(LONG) == wanted, (name, value)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.delenv("PAGER")
        assert not needs_pager("one line\n")


def read_terminal(argv: list[str], folder: Path, **variables: str) -> tuple[int, str]:
    """Run a command on a pseudo-terminal of its own; return its exit code and all that it showed."""
    child, end = pty.fork()
    if not child:
        os.chdir(folder)
        os.execve(  # noqa: S606  # no shell is wanted
            argv[0], argv, {**os.environ, "TERM": "xterm", "LINES": "10", **variables}
        )
    shown = bytearray()
    try:
        while said := os.read(end, 65536):
            shown += said
    except OSError:  # how Linux says that the other side has ended
        pass
    os.close(end)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), shown.decode()


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize(("pager", "first"), [("sed s/^/paged:/", "paged:"), ("no-such-pager", "")])
def test_a_long_run_goes_through_the_pager(cli: Callable[..., Any], tmp_path: Path, pager: str, first: str) -> None:
    assert cli("init", "--example", cwd=tmp_path).code == 0
    argv = [sys.executable, "-m", "evalstore", "show", "runs/help_desk-worktree-model_a.json"]
    code, shown = read_terminal(argv, tmp_path, PAGER=pager, NO_COLOR="1")
    assert code == 0
    assert shown.startswith(f"{first}dataset/help_desk")
    assert "gives_a_reason" in shown
