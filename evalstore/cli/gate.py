"""`evalstore gate`: validate, verify and status of a change as one check; reads the clock."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from evalstore.cli.context import (
    PROBLEM_FORMATS,
    CommandSettings,
    add_output_options,
    format_examples,
)
from evalstore.cli.option_sections import SectionedCommand
from evalstore.cli.progress import make_watch
from evalstore.errors import ExitCode, UsageError

_STEPS = {"validate": "validating", "verify": "verifying", "status": "comparing"}


@click.command(
    cls=SectionedCommand,
    epilog=format_examples(
        "evalstore gate --base origin/main",
        "evalstore gate --base HEAD~1 --strict --format json",
        "evalstore gate --base origin/main --signers ~/.config/evalstore/allowed_signers",
        "evalstore gate --base origin/main --format github --write markdown=/tmp/comment.md",
    ),
)
@click.option(
    "--base", metavar="REV", required=True, help="The commit that the change is merged into."
)
@click.option(
    "--strict",
    is_flag=True,
    help="Fail on every finding, and on every setting that the change loosens.",
)
@click.option(
    "--signers",
    type=click.Path(),
    help="Allowed signers kept elsewhere; default: those of the base.",
)
@click.option(
    "--write",
    "files",
    metavar="FORMAT=FILE",
    multiple=True,
    help="Also write the result to FILE, in another format.",
)
@add_output_options(PROBLEM_FORMATS)
def command(
    settings: CommandSettings,
    *,
    base: str,
    strict: bool,
    signers: str | None,
    files: tuple[str, ...],
) -> ExitCode:
    """Check a change before it is merged: validate, verify and status in one, with one answer.

    The change cannot bring the rules that judge it. Settings, tag prefix, ledgers, lock, signers
    and acceptances are those of --base, and releases made since are judged as part of the change. A
    setting that the change loosens is a finding, which fails with --strict (or with `strict: true`,
    then or now). So are a store that lost releases, a new signer, and a file that differs from what
    HEAD holds because git rewrites it, by more than its line ends.

    Exits 1 if the change must not be merged.
    """
    from evalstore.api import GateOptions, check_change
    from evalstore.files import MIDDLE_FILE, read_user_file, refuse_links_below
    from evalstore.store.locate import find_top

    outputs = [_parse_output(text) for text in files]
    allowed = None if signers is None else read_user_file(settings.path / signers, MIDDLE_FILE)
    watches = {name: make_watch(label, quiet=settings.quiet) for name, label in _STEPS.items()}
    with settings.open_store() as store:
        # A link in place of a folder would let another store answer.
        for top in {find_top(Path.cwd()), store.repository.top}:
            if top is not None:
                refuse_links_below(top, settings.path)
        options = GateOptions(datetime.now(UTC), strict, allowed, settings.verbose, watches)
        result = check_change(store, base, options, folder=settings.path.resolve())
    for format_, file in outputs:
        settings.write_result(result, format_, file)
    settings.print_result(result)
    return ExitCode.DONE if result.ok else ExitCode.NO


def _parse_output(text: str) -> tuple[str, Path]:
    """Return the format and the file in `FORMAT=FILE`."""
    format_, equals, file = text.partition("=")
    if format_ not in PROBLEM_FORMATS or not equals or not file:
        raise UsageError(
            f"--write {text!r} is not FORMAT=FILE",
            hint=f"FORMAT is one of {', '.join(PROBLEM_FORMATS)}",
        )
    return format_, Path(file)
