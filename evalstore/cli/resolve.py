"""`evalstore resolve`: shows exactly what references point at."""

from __future__ import annotations

import click

from evalstore.cli.context import CommandSettings, add_output_options, format_examples
from evalstore.cli.param_types import CONTENT_REF
from evalstore.cli.ref_meanings import show_meanings
from evalstore.errors import ExitCode


@click.command(
    epilog=format_examples(
        "evalstore resolve rubric/answer_style@2.0.0",
        "evalstore resolve 'rubric/answer_style@^2' --format json",
        "evalstore resolve rubric/answer_style@git:HEAD~1 judge/accuracy@worktree",
    )
)
@click.argument("refs", nargs=-1, required=True, type=CONTENT_REF)
@click.option("--strict", is_flag=True, help="A floating reference is an error (exit code 1).")
@add_output_options()
def command(settings: CommandSettings, refs: tuple[str, ...], strict: bool) -> ExitCode:  # noqa: FBT001  # click's flag
    """Say what each of REFS is: version, tag, commit, blob and digests.

    A pin is 1.2.3 or 1.2 (exact), ^1.2, ~1.2 or '>=1.2 <2' (floating), latest, worktree, or git:<revision>.
    """
    return show_meanings(settings, refs, strict=strict)
