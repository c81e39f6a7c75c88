"""`evalstore init`: makes a store."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from evalstore.cli.context import CommandSettings, add_output_options, format_examples, read_clock
from evalstore.cli.option_sections import SectionedCommand

if TYPE_CHECKING:
    from evalstore.store.init import CreatedStore


@click.command(
    cls=SectionedCommand,
    epilog=format_examples(
        "evalstore init",
        "evalstore init first --example     # with one of each, and a first score",
        "evalstore init evals",
        "evalstore -C ~/project init evals --ci github --pre-commit --diff-driver",
        "evalstore init --merge-driver      # in every clone",
    ),
)
@click.argument("directory", default=".", metavar="[DIR]", type=click.Path())
@click.option(
    "--example",
    is_flag=True,
    help="Add one of each artifact, outputs to grade, and their first score.",
)
@click.option(
    "--ci",
    type=click.Choice(["github", "gitlab"]),
    help="Write a CI pipeline that runs the gate on every change.",
)
@click.option("--pre-commit", is_flag=True, help="Add the gate to pre-commit, before git push.")
@click.option(
    "--diff-driver",
    is_flag=True,
    help="Let git diff show what changed in artifacts, in this clone.",
)
@click.option(
    "--merge-driver",
    is_flag=True,
    help="Let git merge artifacts by item and ledgers by line, in this clone.",
)
@click.option("--idea", is_flag=True, help="Map the schemas for JetBrains editors, too.")
@add_output_options()
def command(  # noqa: PLR0913  # the options of the command line
    settings: CommandSettings,
    directory: str,
    *,
    example: bool,
    ci: str | None,
    pre_commit: bool,
    diff_driver: bool,
    merge_driver: bool,
    idea: bool,
) -> None:
    """Make a store in DIR, or add evalstore to the repository around it.

    Creates the git repository if there is none, the folders, evalstore.yaml and the schemas. Adds
    the schemas to the repository's VS Code settings, leaving every other byte as it is. No existing
    file is overwritten.
    """
    from evalstore.store.init import Integrations, Pipeline, create_store

    integrations = Integrations(
        Pipeline(ci) if ci else None, pre_commit, diff_driver, merge_driver, idea
    )
    result = create_store(settings.path / directory, integrations)
    for name, reason in result.kept:
        settings.print_message(f"kept {name}: {reason}")
    if example:
        result = _add_example(result)
    settings.print_result(result, at=result.root)


def _add_example(result: CreatedStore) -> CreatedStore:
    """Write the first artifacts into a new store, and score its outputs by the unreleased files."""
    from evalstore.api import DATASET, OUTPUTS, ArtifactStore, score, write_first_store
    from evalstore.store.init import ExampleRun

    written = write_first_store(result.root)
    if not written:
        return result
    with ArtifactStore.open(result.root) as store:
        out = result.root / "runs"
        run = score(
            DATASET,
            result.root / OUTPUTS,
            store=store,
            out=out,
            at=read_clock(),
            worktree="unreleased",
        )
    name = run.path.relative_to(result.root).as_posix()
    example = ExampleRun(name, run.score, DATASET, OUTPUTS)
    return replace(result, written=(*result.written, *written), example=example)
