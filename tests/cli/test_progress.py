"""A bar counts what a long command goes through: on a terminal only, never with --quiet, and never for a few things."""

from __future__ import annotations

import sys

import pytest

from evalstore.cli import streams
from evalstore.cli.progress import make_watch


@pytest.mark.parametrize(
    ("terminal", "term", "quiet"),
    [(True, "xterm", False), (True, "dumb", False), (True, "xterm", True), (False, "xterm", False)],
)
def test_a_bar_is_drawn_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, terminal: bool, term: str, quiet: bool
) -> None:
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    drawn = terminal and term == "xterm" and not quiet
    assert streams.can_show_bars(quiet=quiet) == drawn
    assert list(make_watch("verifying", quiet=quiet)([1, 2, 3])) == [1, 2, 3]
    assert capsys.readouterr() == ("", "")
    many = list(range(100))
    assert list(make_watch("verifying", quiet=quiet)(many)) == many
    shown = capsys.readouterr()
    assert shown.out == ""
    assert ("verifying" in shown.err and "100/100" in shown.err) == drawn
