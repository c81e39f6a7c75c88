"""`evalstore verify`: checks that releases are still what was released."""

from __future__ import annotations

import click

from evalstore.cli.context import PROBLEM_FORMATS, CommandSettings, add_output_options, format_examples
from evalstore.cli.param_types import REF
from evalstore.cli.progress import make_watch
from evalstore.errors import ExitCode


@click.command(
    epilog=format_examples(
        "evalstore verify",
        "evalstore verify rubric/answer_style 'judge/tone@^1'",
        "evalstore verify --lock ../consumer/evalstore.lock   # against a lock that no one here could rewrite",
        "evalstore verify --remote              # and that the remote has every release",
        "evalstore verify --format json",
    )
)
@click.argument("refs", metavar="[REF]...", nargs=-1, type=REF)
@click.option("--lock", "file", type=click.Path(), help="A lock that is kept elsewhere; by default evalstore.lock.")
@click.option(
    "--remote",
    is_flag=False,
    flag_value="",
    metavar="[NAME]",
    help="Compare the tags of a remote, too; without NAME that of the branch.",
)
@add_output_options(PROBLEM_FORMATS)
def command(settings: CommandSettings, refs: tuple[str, ...], file: str | None, remote: str | None) -> ExitCode:
    """Look at every release, or those of REF: its tag, its file, its line in the ledger, and what the lock says.

    Finds tags that were moved, deleted or made by hand, files of another id or version, other bytes under an id, and
    ledgers that were rewritten; with --remote also releases that were never pushed. Notes answer 0, anything else 1.
    """
    from evalstore.files import read_user_file
    from evalstore.integrity import verify
    from evalstore.model.lock import LIMIT, read_lock

    found = remote or remote is not None
    watch = make_watch("verifying", quiet=settings.quiet)
    with settings.open_judged_store() as store:
        if file is None:
            result = verify(store, refs, watch=watch, remote=found)
        else:
            lock = read_lock(read_user_file(settings.path / file, LIMIT), file)
            result = verify(store, refs, lock=lock, file=file, watch=watch, remote=found)
    settings.print_result(result)
    return ExitCode.DONE if result.ok else ExitCode.NO
