"""`evalstore init`: makes a store."""

from __future__ import annotations

import click

from evalstore.cli.context import CommandSettings, add_output_options, format_examples


@click.command(
    epilog=format_examples(
        "evalstore init",
        "evalstore init rulers",
        "evalstore -C ~/project init evals --ci github --pre-commit --diff-driver",
    )
)
@click.argument("directory", default=".", metavar="[DIR]", type=click.Path())
@click.option("--ci", type=click.Choice(["github", "gitlab"]), help="Write a pipeline that is the gate for changes.")
@click.option("--pre-commit", is_flag=True, help="Add a hook of pre-commit that validates the store.")
@click.option("--diff-driver", is_flag=True, help="Let git diff show what changed in rulers, by .gitattributes.")
@click.option("--idea", is_flag=True, help="Map the schemas for JetBrains editors, too.")
@add_output_options()
def command(  # noqa: PLR0913  # the options of the command line
    settings: CommandSettings, directory: str, *, ci: str | None, pre_commit: bool, diff_driver: bool, idea: bool
) -> None:
    """Make a store in DIR, or add evalstore to the repository around it.

    Makes the git repository if there is none, the folders, evalstore.yaml, and the schemas. The schemas are added to
    the settings of VS Code at the root of the repository, where every other byte stays, comments too. A file that is
    there already is never overwritten.
    """
    from evalstore.store.init import Integrations, Pipeline, create_store

    integrations = Integrations(Pipeline(ci) if ci else None, pre_commit, diff_driver, idea)
    result = create_store(settings.path / directory, integrations)
    for name, reason in result.kept:
        settings.print_message(f"kept {name}: {reason}")
    settings.print_result(result)
