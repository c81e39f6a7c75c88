"""`evalstore demo`: replays the sample story, and prints each step as it runs."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evalstore.cli.context import CommandSettings, add_output_options, format_examples
from evalstore.errors import ExitCode
from evalstore.report.screen import PAPER
from evalstore.report.text_layout import wrap_lines
from evalstore.text import make_printable

if TYPE_CHECKING:
    from evalstore.demo import CommandResult, StoryStep

_FAREWELL = """
The repository is yours to play in:

  cd {folder}
  {program} status
  git log --oneline --graph"""


@click.command(epilog=format_examples("evalstore demo playground", "evalstore -C playground status"))
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@add_output_options()
def command(settings: CommandSettings, folder: Path) -> ExitCode:
    """Replay the sample store and its history into DIR, a new folder to play in.

    Every step runs the real commands in a real git repository: a legacy suite is migrated and released, a
    rubric is tightened, the gate says no, stored outputs are scored under both versions, and an audit says in
    points why the score moved.
    """
    from evalstore.demo import ReplayedStory, read_story, replay_story
    from evalstore.resources import find_resource_folder as resource

    story = read_story(resource("sample_repo"))
    target = settings.path / folder
    steps = []
    _print_text(settings, f"{story.title}\n")
    for number, (step, results) in enumerate(replay_story(story, target, os.environ), start=1):
        steps.append((step, tuple(results)))
        if step.show:
            _print_step(settings, number, *steps[-1])
    _print_text(settings, _FAREWELL.format(folder=shlex.quote(str(target)), program=_own_command_line()))
    if settings.format != "text":
        settings.print_result(ReplayedStory(target, tuple(steps)))
    return ExitCode.DONE


def _print_step(settings: CommandSettings, number: int, step: StoryStep, results: Sequence[CommandResult]) -> None:
    _print_text(settings, f"\n── {number}. {step.title} ".ljust(PAPER.width, "─"))
    _print_text(settings, "\n".join(wrap_lines(f"{step.say} ({step.author}, {step.date[:10]})")) + "\n")
    for command_ in results:
        _print_text(settings, f"$ evalstore {shlex.join(command_.words)}")
        _print_text(settings, _join_streams(command_.out, command_.err))
        if command_.code:
            _print_text(settings, f"(exit code {command_.code})")


def _join_streams(*streams: str) -> str:
    return "\n".join(
        make_printable(line) for stream in streams for line in stream.rstrip().split("\n") if stream.strip()
    )


def _own_command_line() -> str:
    """Return how to start evalstore: from a checkout's own environment it is not on the path."""
    return "evalstore" if shutil.which("evalstore") else f"{shlex.quote(sys.executable)} -m evalstore"


def _print_text(settings: CommandSettings, text: str) -> None:
    if settings.format == "text" and not settings.quiet:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
