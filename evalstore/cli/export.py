"""`evalstore export`: writes migrated artifacts in the format they came from."""

from __future__ import annotations

import click

from evalstore.api import list_formats
from evalstore.cli.context import CommandSettings, add_output_options, format_examples
from evalstore.cli.option_sections import SectionedCommand
from evalstore.cli.param_types import FormatChoice, ReferenceType
from evalstore.errors import ExitCode, UsageError
from evalstore.runs.run_names import is_run_path


class _RunOrReference(ReferenceType):
    """The path of a run below the store, or a reference to what to export."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return a path as it is; raises `UsageError` for what is neither path nor reference."""
        if is_run_path(value):
            return value
        return super().convert(value, param, ctx)


@click.command(
    cls=SectionedCommand,
    epilog=format_examples(
        "evalstore export --to ai_best_practices --out legacy",
        "evalstore export --to ai_best_practices dataset/drupal_forms > evals.json",
        "evalstore export --to ai_best_practices --out old dataset/drupal_forms@1.0.0",
    ),
)
@click.argument("refs", nargs=-1, metavar="[REF|RUN]...", type=_RunOrReference(of_content=True))
@click.option(
    "--to",
    "format_",
    type=FormatChoice(list_formats()),
    metavar="FORMAT",
    required=True,
    help=f"The format to write: {', '.join(list_formats())}.",
)
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(),
    help="Write the files below DIR, under the names they came with.",
)
@add_output_options()
def command(
    settings: CommandSettings, refs: tuple[str, ...], format_: str, out: str | None
) -> ExitCode:
    """Export datasets and their rubrics to a legacy format, equal as data to what was migrated.

    Without REF: all datasets that came from the format, each at its last release, or from disk if
    it has none. What cannot be exported is named, and the exit code is 1; the rest is written. Runs
    (every_eval_ever) are copied from runs/ with their rows: all of them, those that a REF came
    from, or those named by their path. Without --out, a single file goes to stdout.
    """
    from evalstore.api import export
    from evalstore.report.written import describe_refusal

    result = export(
        refs,
        to=format_,
        store=settings.path,
        out=settings.path / out if out else None,
    )
    if out is None and len(result.files) > 1 and settings.format == "text":
        raise UsageError(
            f"{len(result.files)} files cannot go to stdout",
            hint="name a folder with --out"
            + (" or one dataset" if len({file.ref for file in result.files}) > 1 else ""),
        )
    settings.print_result(result)
    for file in result.files if out is None else ():
        for key in file.left_out:
            settings.print_message(f"left out, because {format_} cannot express it: {key}")
        for pin in file.behind:
            settings.print_message(f"{pin.dataset} pins {pin.pin}, its source is at {pin.version}")
    for refused in result.refused if out is None else ():
        settings.print_message(describe_refusal(refused))
    return ExitCode.NO if result.refused else ExitCode.DONE
