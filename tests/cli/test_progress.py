"""A bar counts what a long command goes through: on a terminal only, never with --quiet, and never for a moment."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalstore.cli import main, progress, streams
from evalstore.cli.progress import make_count_watch, make_stream_watch, make_watch

# What can take more than two seconds -> the words of its bars.
LONG = {
    "audit": ["grading"],
    "bump": ["planning", "writing", "signing"],
    "diff": ["comparing", "reading rows"],
    "history": ["grading"],
    "list": ["listing"],
    "lock": ["locking", "verifying"],
    "migrate": ["planning", "reading"],
    "score": ["grading"],
    "site": ["writing"],
    "status": ["comparing"],
    "validate": ["validating"],
    "verify": ["verifying"],
}


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
    many = list(range(100))
    assert streams.can_show_bars(quiet=quiet) == drawn
    assert list(make_watch("verifying", quiet=quiet)(many)) == many
    assert capsys.readouterr() == ("", "")  # it was over at once
    monkeypatch.setattr(progress, "_PATIENCE", 0)
    assert list(make_watch("verifying", quiet=quiet)([1, 2, 3])) == [1, 2, 3]
    assert capsys.readouterr() == ("", "")
    assert list(make_watch("verifying", quiet=quiet)(many)) == many
    shown = capsys.readouterr()
    assert shown.out == ""
    assert ("verifying" in shown.err and "100/100" in shown.err and "/s" in shown.err) == drawn


def test_a_thing_may_stand_for_many(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "can_show_bars", lambda **_: True)
    monkeypatch.setattr(progress, "_PATIENCE", 0)
    monkeypatch.setattr(progress, "_UNCOUNTED", 100)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    watch = make_count_watch("copying", quiet=False, weigh=len)
    assert list(watch(["a" * 30, "b", "c" * 69])) == ["a" * 30, "b", "c" * 69]
    shown = capsys.readouterr().err
    assert all(f"  {done}  " in shown for done in (30, 31, 100))


@pytest.mark.parametrize("command", LONG)
def test_what_takes_long_has_a_bar(command: str) -> None:
    folder = Path(main.__file__ or "").parent
    source = (folder / f"{command}.py").read_text("utf-8")
    if "add_judge_options" in source:  # their bar comes with the judges that they hand over
        source += (folder / "judging.py").read_text("utf-8")
    for words in LONG[command]:
        assert f'"{words}"' in source
    assert re.search(r"make_(stream_|count_)?watch\(", source)


def test_grading_draws_its_bar(monkeypatch: pytest.MonkeyPatch, cli: Callable[..., Any], tmp_path: Path) -> None:
    monkeypatch.setattr(progress, "can_show_bars", lambda **_: True)
    monkeypatch.setattr(progress, "_PATIENCE", 0)
    files = {
        "rubrics/r.yaml": "id: r\nversion: 1.0.0\nchecks: [{id: a, kind: format, format: text}]\n"
        "scoring: {combine: min}\n",
        "datasets/d.yaml": "id: d\nversion: 1.0.0\ndefaults: {rubric_ref: rubric/r@worktree}\n"
        "questions: [{id: a, input: x}, {id: b, input: y}, {id: c, input: z}]\n",
        "outputs.jsonl": "".join(f'{{"id": "{id_}", "output": "yes"}}\n' for id_ in "abc"),
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    ran = cli("score", "dataset/d@worktree", "outputs.jsonl", cwd=tmp_path)
    assert (ran.code, "grading" in ran.err) == (0, True)


def test_a_large_diff_counts_its_rows(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "can_show_bars", lambda **_: True)
    monkeypatch.setattr(progress, "_PATIENCE", 0)
    monkeypatch.setattr(progress, "_UNCOUNTED", 500)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert list(make_count_watch("reading rows", quiet=False)(iter("abc"))) == ["a", "b", "c"]
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "reading rows" in shown.err
    assert "  3  " in shown.err


@pytest.mark.parametrize("columns", [40, 80, 120, 200])
@pytest.mark.parametrize(("count", "items"), [(100, 100), (100, 250), (1_000_000, 300), (None, 300)])
def test_a_bar_fits_its_terminal_and_never_goes_past_its_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], columns: int, count: int | None, items: int
) -> None:
    monkeypatch.setattr(progress, "can_show_bars", lambda **_: True)
    monkeypatch.setattr(progress, "_PATIENCE", 0)
    monkeypatch.setattr(progress, "_UNCOUNTED", 500)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(columns))
    if count is None:
        list(make_count_watch("reading rows", quiet=False)(range(items)))
    else:
        list(make_stream_watch("reading rows", quiet=False)(range(items), count))
    drawn = [line.rstrip() for line in re.split(r"[\r\n]|\x1b\[[0-9?]*[a-zA-Z]", capsys.readouterr().err)]
    assert any("reading rows" in line for line in drawn)
    assert max(map(len, drawn)) < columns
    for place, whole in re.findall(r"(\d+)/(\d+)", " ".join(drawn)):
        assert int(place) <= int(whole)
