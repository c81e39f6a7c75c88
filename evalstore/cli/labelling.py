"""Asks a person whether each output of a run is good, one key per verdict.

Each answer is saved at once.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evalstore.cli.context import CommandSettings
from evalstore.cli.streams import find_screen
from evalstore.errors import RefusedError, UsageError
from evalstore.model import Verdict
from evalstore.text import count_noun, make_excerpt

if TYPE_CHECKING:
    from evalstore.api import LabelFile
    from evalstore.report.text_layout import Screen
    from evalstore.runs import GradedRow, Run
    from evalstore.runs.run_view import RunView

_LABELS = {"p": Verdict.PASS, "f": Verdict.FAIL}
_SKIP, _UNDO, _QUIT = "s", "u", "q"
_PROMPT = "p pass, f fail, s skip, u undo, q quit: "
_WORDS = {"p": "pass", "f": "fail", _SKIP: "skipped", _UNDO: "undone", _QUIT: ""}


def require_terminal(settings: CommandSettings, *, failed: bool) -> None:
    """Raise `UsageError` if nobody can be asked, or if a grader would choose what to label."""
    if failed:
        raise UsageError(
            "--failed leaves what a grader has chosen, and labels are to judge graders",
            hint="leave out --failed; --check and --question choose by what was asked",
        )
    if settings.format != "text":
        raise UsageError(f"--label asks at a terminal, and prints no {settings.format}")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "--label asks at a terminal, and this is not one",
            hint='a label is a line {"id", "output", "label": "pass" or "fail"}',
        )


def label_run(settings: CommandSettings, view: RunView, file: Path) -> None:
    """Ask for a label for each output that has none in `file` yet.

    The order does not depend on any grader.
    """
    from evalstore.api import open_label_file, order_for_labels
    from evalstore.files import refuse_links_below
    from evalstore.runs.records import can_be_graded
    from evalstore.store.locate import find_top

    path = settings.path / file
    if top := find_top(path.parent.resolve()):
        refuse_links_below(top, path)
    rows = order_for_labels(view.rows)
    if not rows or not can_be_graded(settings.path / view.run.path):
        raise RefusedError(f"{view.run.path} has no output to label")
    with open_label_file(path) as labels:
        todo = [row for row in rows if not labels.has_label(row)]
        sentence = f"{count_noun(len(rows), 'output')}, {len(rows) - len(todo):,} labelled before"
        sys.stdout.write(f"{sentence}. What graders said is not shown.\n")
        try:
            _ask_all(labels, todo, with_reference=view.run.dataset is None)
        finally:
            passed, failed = (labels.counts[label] for label in _LABELS.values())
            counted = f"{passed + failed:,} labelled now ({passed:,} pass, {failed:,} fail)"
            left = sum(not labels.has_label(row) for row in todo)
            sys.stdout.write(f"{counted}, {left:,} left; in {make_excerpt(str(file))}\n")
    settings.next_steps = (_suggest_validation(view.run, file),)


def _ask_all(labels: LabelFile, todo: list[GradedRow], *, with_reference: bool) -> None:
    number = 0
    while number < len(todo):
        row, screen = todo[number], find_screen(sys.stdout)
        lines = _format_output(row, f"{number + 1:,} of {len(todo):,}", screen)
        sys.stdout.write(screen.fit("\n".join(lines)) + "\n")
        key = _ask_key()
        if key in _LABELS:
            labels.add_label(row, _LABELS[key], with_reference=with_reference)
            number += 1
        elif key == _SKIP:
            number += 1
        elif key == _UNDO:
            last = labels.remove_last()
            number = next((at for at, one in enumerate(todo) if one is last), number)
        else:
            return


def _ask_key() -> str:
    """Return the key that was pressed, one of those in `_WORDS`.

    End of input means quit.
    """
    sys.stdout.write(_PROMPT)
    sys.stdout.flush()
    key = ""
    while key not in _WORDS or not key:
        try:
            key = click.getchar().lower()
        except EOFError:
            key = _QUIT
        except KeyboardInterrupt:
            sys.stdout.write("\n")  # what was labelled gets its own line
            raise
    sys.stdout.write(f"{_WORDS[key]}\n")
    return key


def _format_output(row: GradedRow, number: str, screen: Screen) -> Iterator[str]:
    from evalstore.report.run_view import format_whole
    from evalstore.report.run_words import name_output
    from evalstore.report.text_layout import Part

    yield ""
    yield screen.paint(Part.HEAD, make_excerpt(f"{number}  {name_output(row)}", screen.width))
    asked = row.input if row.asked is None else row.asked
    for name, text in (("asked", asked), ("expected", "\n".join(row.reference))):
        if text:
            yield from format_whole(name, text, screen, None)
    yield from format_whole("answered", row.output.text, screen, None)
    if calls := len(row.output.tool_calls or ()):
        yield f"  and {count_noun(calls, 'tool call')}"


def _suggest_validation(run: Run, file: Path) -> str:
    judge = run.judges[0].ref.partition("@")[0] if len(run.judges) == 1 else "JUDGE"
    pinned = run.dataset is not None and run.dataset.tag is not None
    against = f" --against {run.dataset.ref}" if run.dataset and pinned else ""
    return f"evalstore judge validate {judge} --labels {shlex.quote(str(file))}{against}"
