"""Shared by every command: settings, and the printing of results and errors.

The clock and the output options are here, too.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

from evalstore.cli.streams import find_screen, needs_pager, write_safely
from evalstore.errors import FindingsError, GitError
from evalstore.report.folding import fold_command
from evalstore.report.formats import FORMATS
from evalstore.report.text_layout import Part
from evalstore.text import escape_ci_commands, hide_url_secrets, make_printable

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    import click

    from evalstore.api import ArtifactStore
    from evalstore.errors import EvalstoreError, ExitCode

PLAIN_FORMATS = ("text", "json")
_TEXT_FORMATS = ("text", "everything")
_NEXT = "next: "
PROBLEM_FORMATS = (*PLAIN_FORMATS, *FORMATS)  # for a command that finds problems
_EXAMPLE = 74  # columns of an example: click indents by four, and keeps two free
_EPOCH_DIGITS = 10  # of SOURCE_DATE_EPOCH: a time before the year 2287

_F = TypeVar("_F", bound=Callable[..., Any])


@dataclass(slots=True)
class CommandSettings:
    """The options of this process, filled in as click reads them."""

    directory: str = "."
    format: str = "text"
    quiet: bool = False
    verbose: bool = False
    next_steps: tuple[str, ...] = ()

    @classmethod
    def guess_from_arguments(cls, argv: list[str]) -> CommandSettings:
        """Guess format and verbosity from the raw arguments.

        Errors that occur before click has read them need both.
        """
        words = [word for arg in argv for word in arg.split("=", 1)]
        formats = [word for flag, word in pairwise(words) if flag == "--format"]
        known = [word for word in formats if word in PROBLEM_FORMATS]
        return cls(format=[*known, "text"][0], verbose=bool({"-v", "--verbose"} & set(argv)))

    @property
    def path(self) -> Path:
        """The directory that `-C` names."""
        from pathlib import Path

        return Path(self.directory)

    def open_store(self) -> ArtifactStore:
        """Open the store of the directory."""
        from evalstore.api import ArtifactStore

        return ArtifactStore.open(self.path)

    def open_judged_store(self) -> ArtifactStore:
        """Open the store for a command that would pass if there were nothing to check.

        Raises if there is no artifact.
        """
        from evalstore.store.store_detection import require_artifacts

        store = self.open_store()
        try:
            require_artifacts(store)
        except BaseException:
            store.close()
            raise
        return store

    def print_result(
        self, result: Any, *, paged: bool = False, then: str = "", at: Path | None = None
    ) -> None:
        """Print a result on stdout in the requested format, and note what to do next after a text.

        `paged` sends a long text on a terminal through the pager. `then` is the next command if the
        result does not know it, and `at` the folder in which to run it, if not that of -C.
        """
        if self.quiet and self.format == "text":
            return
        from evalstore.report import render

        locate = make_locator(self.path) if self.format in FORMATS else str
        result_screen = find_screen(sys.stdout)._replace(whole=self.verbose)
        text = render(result, self.format, screen=result_screen, locate=locate)
        text = text if self.format == "github" else escape_ci_commands(text)
        text = text if text.endswith("\n") or not text else text + "\n"
        if paged and self.format == "text" and needs_pager(text):
            # As in git: a text that fits one screen is left there, colours pass, nothing is cleared
            # at the end.
            import click

            os.environ.setdefault("LESS", "FRX")
            click.echo_via_pager(text, color=bool(result_screen.colours))
        else:
            sys.stdout.write(text)
        if self.format in _TEXT_FORMATS:
            from evalstore.report.next_steps import find_next_steps

            steps = [then] if then else find_next_steps(result)
            self.next_steps = tuple(_place_steps(steps, at or self.path))

    def write_result(self, result: Any, format_: str, file: Path) -> None:
        """Write a result to a file in a format."""
        from evalstore.files import write_below
        from evalstore.report import render

        path = self.require_no_link(file)
        text = render(
            result, format_, locate=make_locator(self.path) if format_ in FORMATS else str
        )
        data = f"{text.rstrip()}\n".encode()
        write_below(path.parent, path.name, data, label=str(file))

    def require_no_link(self, file: Path) -> Path:
        """Return the path at which to write a file of ours.

        Raises if something in the repository leads it elsewhere.
        """
        from evalstore.files import refuse_links_below
        from evalstore.store.locate import find_top

        path = self.path / file
        folder = path.parent.resolve()
        if top := find_top(folder):
            refuse_links_below(top, path)
        return folder / path.name

    def print_next_steps(self) -> None:
        """Print the next commands on stderr, so that they can be pasted."""
        if not self.next_steps:
            return
        sys.stdout.flush()  # both may lead to one file
        screen = find_screen(sys.stderr)
        lines = [line for step in self.next_steps for line in screen.fold(step, len(_NEXT))]
        for index, line in enumerate(lines):
            # A word wider than the screen stays whole: cut, it could not be pasted.
            safe = escape_ci_commands(
                make_printable(f"{' ' * len(_NEXT) if index else _NEXT}{line}")
            )
            write_safely(sys.stderr, screen.paint(Part.QUIET, safe) + "\n")

    def print_message(self, line: str) -> None:
        """Print a message that is not the result, on stderr."""
        if not self.quiet:
            self._write_message(line)

    @staticmethod
    def _write_message(line: str) -> None:
        screen = find_screen(sys.stderr)
        write_safely(
            sys.stderr,
            screen.fit(screen.paint_lead(escape_ci_commands(make_printable(line)))) + "\n",
        )

    def print_warnings(self, notes: Iterable[str]) -> None:
        """Print the notes of a result as warnings, on stderr."""
        for note in notes:
            self.print_message(f"warning: {note}")

    def print_error(self, error: EvalstoreError, code: ExitCode | None = None) -> ExitCode:
        """Print an error and its hint on stderr, and return its exit code.

        If the format is JSON or annotations, the error goes to stdout as well. The other formats
        print nothing on stdout: an empty list of problems would say that there are none.
        """
        code = error.exit_code if code is None else code
        _hide_secrets(error)
        if self.format == "json":
            from evalstore.report.text_layout import dump_json

            write_safely(sys.stdout, dump_json(_error_document(error, code)) + "\n")
        if self.format == "github":
            from evalstore.report.formats.github import format_annotation

            write_safely(sys.stdout, format_annotation(error) + "\n")
        hints = [f"hint: {error.hint}"] if error.hint else []
        for line in (
            *(error.lines if isinstance(error, FindingsError) else ()),
            f"error: {error}",
            *hints,
        ):
            self._write_message(line)
        return code


def add_output_options(formats: Iterable[str] = PLAIN_FORMATS) -> Callable[[_F], _F]:
    """Add --format, --quiet and --verbose to a command.

    click stores them in its `CommandSettings`.
    """
    import click

    def store_value(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
        if ctx.resilient_parsing:
            return value
        setattr(ctx.find_object(CommandSettings), str(param.name), value)
        return value

    def decorate(function: _F) -> _F:
        for decorator in (
            click.option(
                "-v",
                "--verbose",
                is_flag=True,
                expose_value=False,
                callback=store_value,
                help="Print long lists in full.",
            ),
            click.option(
                "-q",
                "--quiet",
                is_flag=True,
                expose_value=False,
                callback=store_value,
                help="Print only errors; the exit code is the answer.",
            ),
            click.option(
                "--format",
                type=click.Choice(list(formats)),
                default="text",
                show_default=True,
                expose_value=False,
                callback=store_value,
                help="Output format.",
            ),
        ):
            function = decorator(function)
        # The wrapper takes one argument less.
        return click.pass_obj(function)  # type: ignore[return-value]

    return decorate


def format_examples(*lines: str) -> str:
    """Return an epilog of examples that click keeps as written.

    Its lines fit a narrow terminal. For a longer one, the comment goes above the command, and the
    command is continued after a backslash.
    """
    rows = [
        row for line in lines for row in (_fold_example(line) if len(line) > _EXAMPLE else [line])
    ]
    return "\b\nExamples:\n" + "\n".join(f"  {row}" for row in rows)


def _fold_example(line: str) -> Iterator[str]:
    command, _, comment = line.partition("  #")
    if comment:
        yield f"#{comment}"
    yield from fold_command(command.rstrip(), _EXAMPLE)


def read_clock() -> datetime:
    """Return the time that dates a run or a validation: now, or SOURCE_DATE_EPOCH if it is set.

    Expiry dates are compared with the real clock instead.
    """
    from datetime import UTC, datetime

    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    if epoch.isascii() and epoch.isdigit() and len(epoch) <= _EPOCH_DIGITS:
        return datetime.fromtimestamp(int(epoch), UTC)
    return datetime.now(UTC)


def make_locator(directory: Path) -> Callable[[str], str]:
    """Return a function from a file's name in a report to its path in the repository.

    CI systems want that path. A name is relative to the store, or to `directory`, as on the command
    line. A file that does not exist belongs to the store: it is deleted, or not written yet.
    """
    from pathlib import Path

    folders = _search_folders(directory)

    def locate(file: str) -> str:
        for folder in folders:
            path = os.path.normpath(folder / file)
            if os.path.lexists(path) and Path(path).is_relative_to(folders[-1]):
                return Path(path).relative_to(folders[-1]).as_posix()
        missing = Path(os.path.normpath(folders[0] / file))
        return (
            missing.relative_to(folders[-1]) if missing.is_relative_to(folders[-1]) else Path(file)
        ).as_posix()

    return locate


def _hide_secrets(error: EvalstoreError) -> None:
    """Remove the secrets from every URL that an error quotes: logs are kept, and many read them."""
    error.message = hide_url_secrets(error.message)
    error.hint = hide_url_secrets(error.hint) if error.hint else None
    error.place = error.place and error.place._replace(file=hide_url_secrets(error.place.file))


def _error_document(error: EvalstoreError, code: ExitCode) -> dict[str, Any]:
    place = error.place
    return {
        "error": {
            "message": error.message,
            "file": place.file if place else None,
            "line": place.line if place else None,
            "column": place.column if place else None,
            "hint": error.hint,
            "exit_code": int(code),
            **({"findings": list(error.lines)} if isinstance(error, FindingsError) else {}),
        }
    }


def _place_steps(steps: Sequence[str], folder: Path) -> Iterator[str]:
    """Yield commands as they run from the shell's folder: with `-C`, unless they change folders."""
    is_here = folder.resolve() == folder.cwd()
    if steps and steps[0].startswith("cd "):
        is_here, steps = True, steps[1:] if is_here else steps
    for step in steps:
        program, _, words = step.partition(" ")
        is_placed = is_here or program not in {"evalstore", "git"} or words.startswith("-C ")
        yield step if is_placed else f"{program} -C {shlex.quote(str(folder))} {words}"


def _search_folders(directory: Path) -> list[Path]:
    from evalstore.store.locate import find_root, find_top, resolve_folder

    try:
        start = resolve_folder(directory)
        top = find_top(start) or start
        return [find_root(start, top)[0], start, top]
    except GitError:
        return [directory]
