"""`evalstore demo`: replays the sample story, and prints its steps as they run, a screen each."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evalstore.cli.context import CommandSettings, add_output_options, format_examples
from evalstore.cli.option_sections import SectionedCommand
from evalstore.cli.streams import find_screen
from evalstore.errors import ExitCode
from evalstore.report.folding import fold_command, fold_text
from evalstore.report.text_layout import Part, Screen
from evalstore.text import make_printable

if TYPE_CHECKING:
    from evalstore.api import CommandResult, StoryStep

_FAREWELL = """
The repository is yours to play in: cd {folder}
  {program} status
  git log --oneline --graph"""
_COLOUR = re.compile(r"(\x1b\[[0-9;]*m)")


@click.command(
    cls=SectionedCommand,
    epilog=format_examples(
        "evalstore demo", "evalstore demo playground --all", "evalstore -C playground status"
    ),
)
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.option(
    "--all",
    "all_",
    is_flag=True,
    help="Show every step, not only the five that lead to the answer.",
)
@add_output_options()
def command(settings: CommandSettings, folder: Path | None, *, all_: bool) -> ExitCode:
    """Replay the sample store and its history into DIR, a new folder to play in (default:
    temporary).

    Every step runs the real commands in a real git repository: a legacy suite is migrated and
    released, a rubric is tightened, the gate fails, stored outputs are scored under both versions,
    and an audit explains the difference in points. On a terminal, each step waits for Enter.
    """
    from evalstore.api import ReplayedStory, read_story, replay_story
    from evalstore.places import find_resource_folder as resource

    story = read_story(resource("sample_repo"))
    target = (
        settings.path / folder if folder else Path(tempfile.mkdtemp(prefix="evalstore-")) / "store"
    )
    screen = find_screen(sys.stdout)
    told = [step for step in story.steps if step.show or all_]
    steps = []
    _print_text(settings, "\n".join(screen.wrap(story.title, inner="", part=Part.HEAD)))
    for step, results in replay_story(
        story, target, {**os.environ, **_describe_screen(settings, screen)}
    ):
        steps.append((step, tuple(results)))
        if step in told:
            _print_step(
                settings, screen, f"{told.index(step) + 1} of {len(told)}: {step.title}", *steps[-1]
            )
            if step is not told[-1]:
                _wait_for_enter(settings)
    _print_text(
        settings, _FAREWELL.format(folder=shlex.quote(str(target)), program=_own_command_line())
    )
    if settings.format != "text":
        settings.print_result(ReplayedStory(target, tuple(steps)))
    return ExitCode.DONE


def _describe_screen(settings: CommandSettings, screen: Screen) -> Mapping[str, str]:
    """Return the variables that make the story's commands write for this terminal.

    For a document they turn colours off.
    """
    if settings.format != "text" or not screen.drawn:
        return {"FORCE_COLOR": "", "CLICOLOR_FORCE": ""}
    return {"FORCE_COLOR": "1", "COLUMNS": str(screen.width)}


def _print_step(
    settings: CommandSettings,
    screen: Screen,
    title: str,
    step: StoryStep,
    results: Sequence[CommandResult],
) -> None:
    _print_text(settings, "\n" + screen.paint(Part.HEAD, f"── {title} ".ljust(screen.width, "─")))
    say = f"{step.say} ({step.author}, {step.date[:10]})"
    _print_text(settings, "\n".join(screen.wrap(say, inner="")))
    for result in results:
        command = fold_command(f"$ evalstore {shlex.join(result.words)}", screen.width)
        _print_text(settings, "\n".join(screen.paint(Part.HEAD, line) for line in command))
        # A warning is one line in a log, and several on a screen.
        _print_text(settings, _join_streams(result.out, fold_text(result.err, screen.width)))
        if result.code:
            _print_text(settings, screen.paint(Part.MAJOR, f"(exit code {result.code})"))


def _join_streams(*streams: str) -> str:
    texts = [stream.rstrip() for stream in streams if stream.strip()]
    return "\n".join(_clean_line(line) for text in texts for line in text.split("\n"))


def _clean_line(line: str) -> str:
    """Return a line of our own command without anything that acts on a terminal.

    Its colours stay.
    """
    parts = _COLOUR.split(line)
    parts[::2] = map(make_printable, parts[::2])  # the parts between two colours
    return "".join(parts)


def _wait_for_enter(settings: CommandSettings) -> None:
    if (
        settings.format == "text"
        and not settings.quiet
        and sys.stdin.isatty()
        and sys.stdout.isatty()
    ):
        sys.stdout.write("\nEnter goes on … ")
        sys.stdout.flush()
        sys.stdin.readline()


def _own_command_line() -> str:
    """Return the command that starts evalstore, which may not be on the path.

    The path of uv (`UV`) is meant only for what uv itself runs.
    """
    on_path = shutil.which("evalstore") and "UV" not in os.environ
    return "evalstore" if on_path else f"{shlex.quote(sys.executable)} -m evalstore"


def _print_text(settings: CommandSettings, text: str) -> None:
    if settings.format == "text" and not settings.quiet:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
