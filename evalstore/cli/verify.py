"""`evalstore verify`: checks that releases are still what was released."""

from __future__ import annotations

import click

from evalstore.cli.context import (
    PROBLEM_FORMATS,
    CommandSettings,
    add_output_options,
    format_examples,
)
from evalstore.cli.option_sections import SectionedCommand
from evalstore.cli.param_types import REF
from evalstore.cli.progress import make_watch
from evalstore.errors import ExitCode


@click.command(
    cls=SectionedCommand,
    epilog=format_examples(
        "evalstore verify",
        "evalstore verify rubric/answer_style 'judge/tone@^1'",
        (
            "evalstore verify --lock ../consumer/evalstore.lock   "
            "# against a lock that no one here could rewrite"
        ),
        (
            "evalstore verify --signers ~/.config/evalstore/allowed_signers   "
            "# and signed by one of these"
        ),
        "evalstore verify --remote              # and that the remote has every release",
        "evalstore verify --format json",
    ),
)
@click.argument("refs", metavar="[REF]...", nargs=-1, type=REF)
@click.option(
    "--lock",
    "file",
    type=click.Path(),
    help="A lock kept elsewhere; default: evalstore.lock.",
)
@click.option(
    "--signers",
    type=click.Path(),
    help="Allowed signers kept elsewhere; default: those of evalstore.yaml.",
)
@click.option(
    "--remote",
    is_flag=False,
    flag_value="",
    metavar="[NAME]",
    help="Also compare the tags of the remote NAME; default: the branch's.",
)
@add_output_options(PROBLEM_FORMATS)
def command(
    settings: CommandSettings,
    refs: tuple[str, ...],
    file: str | None,
    signers: str | None,
    remote: str | None,
) -> ExitCode:
    """Check every release, or those of REF: tag, file, ledger line and lock.

    It finds tags that were moved, deleted or made by hand, files with another id or version,
    rewritten ledgers, now or in the past, and versions too low for what changed; if evalstore.yaml
    says `signed: require`, also tags that no allowed signer signed; with --remote, also releases
    that were never pushed. The exit code is 1 for anything but notes.
    """
    from evalstore.api import verify
    from evalstore.files import MIDDLE_FILE, read_user_file
    from evalstore.model.lock import LIMIT, LOCK_FILE, read_lock

    lock = None if file is None else read_lock(read_user_file(settings.path / file, LIMIT), file)
    allowed = None if signers is None else read_user_file(settings.path / signers, MIDDLE_FILE)
    with settings.open_judged_store() as store:
        result = verify(
            store,
            refs,
            lock=lock,
            file=file or LOCK_FILE,
            watch=make_watch("verifying", quiet=settings.quiet),
            remote=remote or remote is not None,
            signers=allowed,
        )
    settings.print_result(result)
    return ExitCode.DONE if result.ok else ExitCode.NO
