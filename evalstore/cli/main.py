"""The root of the command line: finds the command that the arguments name, and runs it."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

import click

from evalstore.about import COMPLETE_VARIABLE, VERSION
from evalstore.cli.context import CommandSettings
from evalstore.cli.process import READER_LEFT, end_process, prepare_process, run_action
from evalstore.cli.streams import write_safely
from evalstore.errors import ExitCode, UsageError
from evalstore.text import find_nearest

# What people do -> name -> help; each name is the module `evalstore.cli.<name>`.
GROUPS = {
    "Write": {
        "init": "Make a store, or add evalstore to a repository.",
        "new": "Start a rubric, a judge or a dataset.",
        "migrate": "Turn legacy grader files into a store, losing nothing.",
        "export": "Export migrated artifacts to the format they came from.",
        "validate": "Check artifacts: schema, ids, versions, references.",
        "list": "List the artifacts and their released versions.",
        "resolve": "Show exactly what a reference points at.",
    },
    "Release": {
        "diff": "Show which changes can move a score, and the bump they need.",
        "status": "List what changed since its release, and the bump it needs.",
        "bump": "Release artifacts: version, commit and tag, all or nothing.",
        "log": "List the releases of an artifact, and what each changed.",
        "blame": "Show who last changed each part of an artifact, and when.",
        "impact": "Show what depends on an artifact, and what would move with it.",
        "accept": "Accept one change at a lower level, in a reviewed file.",
        "lock": "Lock every reference to its present version and content.",
        "verify": "Check that no release, tag or ledger was altered.",
        "gate": "Check a pull request: validate, verify and status in one.",
    },
    "Score": {
        "score": "Grade stored outputs under the rubrics of a dataset.",
        "show": "Show an artifact at a version, or a run output by output.",
        "judge": "Measure a judge: agreement with people, noise, another model.",
    },
    "Explain": {
        "audit": "Explain why two runs score differently, in points that add up.",
        "explain": "Explain a check kind, a key, a rule or a change, with an example.",
        "comparable": "Show whether scores of two versions, commits or runs can be compared.",
        "history": "Grade runs under other versions: what flips, and who moved the score.",
        "site": "Write the store as static pages: artifacts, versions, runs, audits.",
        "demo": "Replay the sample store and its history into a folder to play in.",
    },
}
# The everyday commands, which `--help` shows.
FIRST = frozenset(
    (
        "init",
        "new",
        "migrate",
        "validate",
        "diff",
        "status",
        "bump",
        "gate",
        "score",
        "show",
        "audit",
        "judge",
        "explain",
    )
)
# Commands that programs call and no help lists.
HIDDEN = frozenset({"git-driver"})
# An old name -> how to do the same thing now.
MOVED = {
    "replay": "evalstore history RUN --rubric REF",
    "bisect": "evalstore history REF --run RUN --bisect",
    "rules": "evalstore explain --rules",
    "schema": "evalstore explain --schema NAME",
    "probe": "evalstore explain examples: write examples in the rubric",
    "infer": "evalstore audit RUN_A RUN_B: it finds the releases of a run that names none",
    "index": "evalstore list --format json, in each store",
}
# Removed options, by command -> how to do the same thing now.
GONE_OPTIONS = {
    "migrate --table": "evalstore new dataset NAME begins one by hand",
    "migrate --explain": "evalstore validate FILE says which format a file has",
    "export --table": "evalstore export --to FORMAT gives back what came from one of its formats",
    "diff --textconv": (
        "evalstore git-driver textconv FILE; evalstore init --merge-driver writes git's settings "
        "again"
    ),
    "diff --git-driver": (
        "evalstore git-driver diff; evalstore init --merge-driver writes git's settings again"
    ),
    "diff --git-merge": (
        "evalstore git-driver merge; evalstore init --merge-driver writes git's settings again"
    ),
    "audit --static": (
        "evalstore audit RUN_A RUN_B compares two records as pairs where they cannot be graded "
        "again"
    ),
    "audit --records": (
        "evalstore audit RUN_A RUN_B compares two records as pairs where they cannot be graded "
        "again"
    ),
    "score --jobs": (
        "evalstore score --engine dask grades with one process per core of this machine"
    ),
    "diff --suggest": (
        "evalstore diff shows what each edit needs; try another one and compare again"
    ),
}
COMMANDS = {name: what for commands in GROUPS.values() for name, what in commands.items()}


_ALL = "evalstore.all"  # key in click's context: whether --all was given


class LazyCommandGroup(click.Group):
    """A group that imports a command only when it runs, so that `--help` costs nothing."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Note `--all` before `--help` does anything, because click answers `--help` at once."""
        ctx.meta[_ALL] = "--all" in args
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in table order."""
        return list(COMMANDS)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command of a command line.

        Raises `UsageError`, with the nearest name, for a misspelt one.
        """
        if args and args[0] in MOVED:
            raise UsageError(f"the command {args[0]} is gone", hint=MOVED[args[0]])
        if (
            args
            and args[0] not in COMMANDS.keys() | HIDDEN
            and (nearest := find_nearest(args[0], COMMANDS))
        ):
            raise UsageError(
                f"there is no command {args[0]!r}", hint=f"did you mean evalstore {nearest}?"
            )
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command."""
        if cmd_name not in COMMANDS.keys() | HIDDEN:
            return None
        command: click.Command = import_module(
            f"evalstore.cli.{cmd_name.replace('-', '_')}"
        ).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the tables of commands, by what people do, without importing them.

        They list the everyday commands, or all.
        """
        shown = COMMANDS if ctx.meta.get(_ALL) else FIRST
        width = max(map(len, shown))
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(name.ljust(width), what) for name, what in commands.items() if name in shown]
                )
        if shown is FIRST:
            formatter.write_paragraph()
            formatter.write_text(
                f"{len(COMMANDS) - len(FIRST)} more commands: evalstore --help --all"
            )


@click.command(
    cls=LazyCommandGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Every command has examples: evalstore COMMAND --help.",
    invoke_without_command=True,
    subcommand_metavar="COMMAND [ARGS]...",
)
@click.option(
    "-C",
    "directory",
    metavar="DIR",
    type=click.Path(),
    default=".",
    help="Run as if started in DIR, like git.",
)
@click.option("--all", is_flag=True, expose_value=False, help="With --help: every command.")
@click.version_option(VERSION, prog_name="evalstore")
@click.pass_context
def group(ctx: click.Context, directory: str) -> ExitCode | None:
    """Know when your eval's rubric changed, and how many points it moved."""
    ctx.obj.directory = directory
    if ctx.invoked_subcommand:
        return None
    # click's own output differs between versions.
    write_safely(sys.stderr, ctx.get_help() + "\n")
    return ExitCode.USAGE


def main(argv: list[str] | None = None) -> None:
    """Run the command line, and exit the process with the right code."""
    prepare_process()
    if COMPLETE_VARIABLE in os.environ:
        import_module("evalstore.cli.param_types")
    settings = CommandSettings.guess_from_arguments(argv if argv is not None else sys.argv[1:])
    end_process(run_action(lambda: _run_click(argv, settings), settings), settings)


def _make_usage_error(error: click.UsageError) -> UsageError:
    command = error.ctx.command_path if error.ctx else "evalstore"
    message = " ".join(error.format_message().split())
    if isinstance(error, click.NoSuchOption):  # click's releases quote it differently
        message = message.replace(f"option: {error.option_name}", f"option '{error.option_name}'")
    wrong = error.param if isinstance(error, click.BadParameter) else None
    if isinstance(wrong, click.Argument) and isinstance(wrong.type, click.Choice):
        message = error.message  # click names the argument by the list of its choices
    if isinstance(error, click.NoSuchOption) and error.ctx and error.ctx.parent is None:
        return UsageError(
            message, hint="options other than -C follow the command; see evalstore --help"
        )
    if isinstance(error, click.NoSuchOption) and (
        hint := _find_gone_option(command, error.option_name)
    ):
        return UsageError(f"the option {error.option_name} is gone", hint=hint)
    return UsageError(message, hint=f"see {command} --help")


def _find_gone_option(command: str, option: str) -> str:
    return GONE_OPTIONS.get(f"{command.removeprefix('evalstore ')} {option}", "")


def _run_click(argv: list[str] | None, settings: CommandSettings) -> int:
    stdout = sys.stdout
    try:
        result: Any = group.main(argv, prog_name="evalstore", standalone_mode=False, obj=settings)
        return int(result or ExitCode.DONE)
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.UsageError as error:
        raise _make_usage_error(error) from None
    except click.Abort:
        raise KeyboardInterrupt from None
    except SystemExit as error:
        # click exits like this after a completion, and when the reader has closed stdout, which
        # click then replaces.
        return int(error.code or 0) if sys.stdout is stdout else READER_LEFT
