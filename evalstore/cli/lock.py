"""`evalstore lock`: writes down what every reference means, or checks it."""

from __future__ import annotations

import click

from evalstore.cli.context import (
    PLAIN_FORMATS,
    PROBLEM_FORMATS,
    CommandSettings,
    add_output_options,
    format_examples,
)
from evalstore.cli.option_sections import SectionedCommand
from evalstore.cli.param_types import REF
from evalstore.cli.progress import make_watch
from evalstore.errors import ExitCode, UsageError


@click.command(
    cls=SectionedCommand,
    epilog=format_examples(
        "evalstore lock                        # locks new references, keeps locked ones",
        (
            "evalstore lock --check                "
            "# in CI: exits 1 when a tag moved or the lock is behind"
        ),
        "evalstore lock --check --format github",
        "evalstore lock --update               # moves floating references to the newest releases",
        "evalstore lock --update judge/tone    # only the references to one artifact",
    ),
)
@click.argument("refs", metavar="[REF]...", nargs=-1, type=REF)
@click.option(
    "--check",
    is_flag=True,
    help="Write nothing; exit 1 if anything moved or is not locked.",
)
@click.option(
    "--update",
    is_flag=True,
    help="Move floating references (REF, or all) to their newest releases.",
)
@add_output_options(PROBLEM_FORMATS)
def command(
    settings: CommandSettings, refs: tuple[str, ...], *, check: bool, update: bool
) -> ExitCode:
    """Write evalstore.lock: version, tag, commit and digests of every reference, and every ledger.

    A locked floating reference no longer floats: validate, resolve and score use the locked
    version. Content that has changed since it was locked is refused, and never locked again
    silently.
    """
    from evalstore.api import check_lock, lock

    if check and (update or refs):
        raise UsageError(
            "--check writes nothing, so it takes neither --update nor REF",
            hint="evalstore verify REF",
        )
    if refs and not update:
        raise UsageError("REF needs --update", hint=f"evalstore lock --update {refs[0]}")
    if not check and settings.format not in PLAIN_FORMATS:
        raise UsageError(
            f"{settings.format} lists what --check finds",
            hint="evalstore lock writes as text or json",
        )
    watch = make_watch("verifying" if check else "locking", quiet=settings.quiet)
    with settings.open_judged_store() as store:
        verification = check_lock(store, watch=watch) if check else None
        settings.print_result(verification or lock(store, refs, update=update, watch=watch))
    return ExitCode.NO if verification and not verification.ok else ExitCode.DONE
