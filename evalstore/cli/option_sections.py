"""Lays out the options of a command's --help: those used most first, then the others, each sort under its heading."""

from __future__ import annotations

from typing import Any

import click

_FIRST, _MORE = "Options", "More options"


class SectionedCommand(click.Command):
    """A command whose --help lists the options of `first`, in that order, before the others.

    An option whose class has a `section` is listed under it; without `first` all the others are
    first.
    """

    def __init__(self, *args: Any, first: str = "", **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.first = first.split()

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a table for each section."""
        for title, options in self.list_sections(ctx).items():
            rows = [option.get_help_record(ctx) for option in options]
            with formatter.section(title):
                formatter.write_dl([row for row in rows if row])

    def list_sections(self, ctx: click.Context) -> dict[str, list[click.Option]]:
        """Return the options of each section that has some."""
        options = [option for option in self.get_params(ctx) if isinstance(option, click.Option)]
        by_name = {name: option for option in options for name in option.opts}
        first = [by_name[name] for name in self.first]
        sections: dict[str, list[click.Option]] = {_FIRST: first, _MORE: []}
        for option in options:
            if option not in first:
                plain = _MORE if self.first else _FIRST
                sections.setdefault(getattr(option, "section", plain), []).append(option)
        return {title: members for title, members in sections.items() if members}
