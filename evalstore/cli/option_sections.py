"""Lays out the options in a command's --help.

The most used come first, then the others; those of judges take one line.
"""

from __future__ import annotations

from typing import Any

import click

_FIRST, _MORE = "Options", "More options"
_HELP = "--help"
_JUDGES = (
    "Judges are asked as evalstore.yaml and the environment say: evalstore explain "
    "settings.judge. --offline asks nobody."
)


class JudgeOption(click.Option):
    """A setting of judges: one topic explains them all, so no --help lists them."""


class SectionedCommand(click.Command):
    """A command whose --help lists the options in `first`, in that order, before the others.

    Without `first`, all options are first. What all commands share is not listed: --help itself,
    and the settings of judges, which are explained in one place.
    """

    def __init__(self, *args: Any, first: str = "", **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.first = first.split()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words of this command; an error knows whose --help to name."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx  # an option without its value has none
            raise

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a table for each section, and, if judges are asked, where that is explained."""
        for title, options in self.list_sections(ctx).items():
            rows = [option.get_help_record(ctx) for option in options]
            with formatter.section(title):
                formatter.write_dl([row for row in rows if row])
        if any("--offline" in option.opts for option in self.get_params(ctx)):
            formatter.write_paragraph()
            formatter.write_text(_JUDGES)

    def list_sections(self, ctx: click.Context) -> dict[str, list[click.Option]]:
        """Return the options of each section that has any."""
        options = [one for one in self.get_params(ctx) if isinstance(one, click.Option)]
        options = [one for one in options if _HELP not in one.opts]
        options = [one for one in options if not isinstance(one, JudgeOption)]
        by_name = {name: option for option in options for name in option.opts}
        first = [by_name[name] for name in self.first] or options
        more = [option for option in options if option not in first]
        return {_FIRST: first, _MORE: more} if more else {_FIRST: first}
