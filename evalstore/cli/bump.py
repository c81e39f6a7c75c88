"""`evalstore bump`: releases artifacts; reads git's author variables, and the clock for the day."""

from __future__ import annotations

import os
from datetime import UTC, datetime

import click

from evalstore.cli.context import CommandSettings, add_output_options, format_examples
from evalstore.cli.option_sections import SectionedCommand
from evalstore.cli.param_types import PROSE, REF, name_artifact, read_ref
from evalstore.cli.progress import make_watch
from evalstore.errors import ExitCode, UsageError

_FEWEST_SIGNED = 3  # tags signed one by one, each by a program of the user's
_CODES = {"rejected": ExitCode.NO, "failed": ExitCode.FAILED}  # of a push; the local release stays
_KINDS = ("rubric/", "judge/", "dataset/")


@click.command(
    cls=SectionedCommand,
    first="--all --dry-run --dependents --level --message --push --sign --no-tag --pre --format",
    epilog=format_examples(
        "evalstore bump rubric/answer_style",
        "evalstore bump --all --dry-run",
        'evalstore bump judge/tone --level minor -m "Ask for a rationale"',
        "evalstore bump judge/tone --dependents --sign --push",
        "evalstore bump --again --push",
    ),
)
@click.argument("refs", nargs=-1, type=REF)
@click.option(
    "--all", "all_", is_flag=True, help="Release everything that changed or was never released."
)
@click.option(
    "--level",
    type=click.Choice(["major", "minor", "patch"]),
    help="At least this bump; turns a pre-release into the final version.",
)
@click.option("--pre", metavar="LABEL", help="Release a pre-release: --pre rc makes 1.3.0-rc.1.")
@click.option(
    "--dependents",
    is_flag=True,
    help="Also move the pins of whatever refers to it, and release that too.",
)
@click.option(
    "--again",
    is_flag=True,
    help=(
        "If an unpushed release has the same version as one on the remote: take theirs, give "
        "mine the next version."
    ),
)
@click.option("--no-tag", is_flag=True, help="Set and commit the versions, without a tag.")
@click.option("--no-commit", is_flag=True, help="Only write the versions into the files.")
@click.option("--dry-run", is_flag=True, help="Show what would be released; write nothing.")
@click.option(
    "--sign",
    is_flag=True,
    help="Sign the commit and the tags with the key of your global git config.",
)
@click.option(
    "--push",
    metavar="[REMOTE]",
    is_flag=False,
    flag_value="",
    help="Push the branch and its release tags, all or nothing, to REMOTE; default: the branch's.",
)
@click.option(
    "-m", "--message", metavar="TEXT", type=PROSE, help="Message of the commit and the tags."
)
@add_output_options()
def command(  # noqa: PLR0913  # one a word of the command line
    settings: CommandSettings,
    refs: tuple[str, ...],
    *,
    all_: bool,
    level: str | None,
    pre: str | None,
    dependents: bool,
    again: bool,
    no_tag: bool,
    no_commit: bool,
    dry_run: bool,
    sign: bool,
    push: str | None,
    message: str | None,
) -> ExitCode:
    """Release REFS (<kind>/<id>): set the version that each change needs, commit and tag, all or
    nothing.

    The working file is released with its uncommitted edits. The commit contains nothing else but
    the ledger, and evalstore.yaml if it is not committed. Staged changes stay staged. An artifact's
    first release has the version its file has. Hooks do not run. A failed push undoes nothing here:
    the exit code is 1 if the remote refuses, and 3 if it cannot be reached.

    --again is for an unpushed release whose version another release on the remote has taken: the
    branch takes theirs in, your edit stays, and is released under the next version, all or nothing.
    """
    from evalstore.api import VARIABLES, BumpOptions, bump, bump_again
    from evalstore.versions import Bump

    if message is not None and not message.strip():
        raise UsageError(
            "the message is empty", hint="write a message, or remove -m to have one written"
        )
    first = name_artifact(push, settings.path) if push else ""
    if first.startswith(_KINDS):
        # click takes the word after --push as its value, although the user meant the first REF.
        refs, push = (str(read_ref(first)), *refs), ""
    if again and (refs or all_ or level or pre or dependents or no_tag or no_commit or dry_run):
        raise UsageError(
            "--again takes no REF, and only --push, --sign and -m",
            hint="evalstore bump --again --push",
        )
    options = BumpOptions(
        refs,
        all_=all_,
        level=Bump(level) if level else None,
        pre=pre,
        dependents=dependents,
        tag=not no_tag,
        commit=not no_commit,
        dry_run=dry_run,
        message=message.strip() if message else None,
        sign=sign,
        push=push or push is not None,
        signature={name: os.environ[name] for name in VARIABLES if name in os.environ},
        today=datetime.now(UTC).date(),
        watch=make_watch("planning", quiet=settings.quiet),
        watch_writing=make_watch("writing", quiet=settings.quiet),
        watch_signing=make_watch("signing", quiet=settings.quiet, fewest=_FEWEST_SIGNED),
    )
    with settings.open_judged_store() as store:
        result = bump_again(store, options) if again else bump(store, options)
    settings.print_warnings(result.findings)
    settings.print_result(result)
    return _CODES.get(result.push.outcome, ExitCode.DONE) if result.push else ExitCode.DONE
