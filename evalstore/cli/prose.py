"""The type of an option that people write prose in: it goes into commits and files, so it is UTF-8."""

from __future__ import annotations

import os

import click

from evalstore.errors import UsageError


class ProseType(click.ParamType):  # type: ignore[type-arg]  # generic in later clicks, in 8.1 not
    """Text as it was typed, in any locale."""

    name = "text"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text; raises `UsageError` for bytes that are none."""
        if value.isascii():
            return value
        try:
            value.encode()
        except UnicodeEncodeError:  # the locale knows fewer characters, or the bytes are those of another one
            try:
                return os.fsencode(value).decode()
            except UnicodeError:
                what = param.opts[-1] if param else "the text"
                raise UsageError(f"{what} is not UTF-8", hint="write it in UTF-8") from None
        return value


PROSE = ProseType()
