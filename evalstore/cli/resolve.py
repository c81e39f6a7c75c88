"""`evalstore resolve`: shows exactly what references point at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from evalstore.cli.context import CommandSettings, add_output_options, format_examples
from evalstore.cli.option_sections import SectionedCommand
from evalstore.cli.param_types import CONTENT_REF
from evalstore.errors import ExitCode

if TYPE_CHECKING:
    from evalstore.store import Resolved


@click.command(
    cls=SectionedCommand,
    epilog=format_examples(
        "evalstore resolve rubric/answer_style@2.0.0",
        "evalstore resolve 'rubric/answer_style@^2' --format json",
        "evalstore resolve rubric/answer_style@git:HEAD~1 judge/accuracy@worktree",
    ),
)
@click.argument("refs", nargs=-1, required=True, type=CONTENT_REF)
@click.option("--strict", is_flag=True, help="A floating reference is an error (exit code 1).")
@add_output_options()
def command(
    settings: CommandSettings,
    refs: tuple[str, ...],
    strict: bool,  # noqa: FBT001  # click's flag
) -> ExitCode:
    """Show the version, tag, commit, blob and digests of each of REFS.

    A pin is exact (1.2.3, 1.2), floating (^1.2, ~1.2, '>=1.2 <2', latest), worktree, or
    git:<revision>.
    """
    return show_meanings(settings, refs, strict=strict)


def show_meanings(
    settings: CommandSettings, refs: Sequence[str], *, strict: bool = False
) -> ExitCode:
    """Print what references mean, and which of them float.

    A floating one is an error with `strict`, or if the settings forbid it.
    """
    from evalstore.store.resolve import Resolution

    with settings.open_store() as store:
        resolved = store.resolve_all(refs)
        policy = store.settings.get("unpinned", "warn")
        strict = strict or store.strict or policy == "forbid"
    settings.print_result(Resolution(resolved))
    floating = [target for target in resolved if target.floating]
    if strict or policy != "allow":
        for target in floating:
            settings.print_message(_describe_floating(target, "error" if strict else "warning"))
    return ExitCode.NO if strict and floating else ExitCode.DONE


def _describe_floating(resolved: Resolved, level: str) -> str:
    why = "floats" if "@" in resolved.ref else "has no pin"
    return (
        f"{level}: {resolved.ref} {why}: today it is {resolved.name}@{resolved.version}; pin that "
        "to keep it"
    )
