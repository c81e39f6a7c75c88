"""Types of click parameters: references, which a shell completes, and prose."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class

from evalstore.errors import EvalstoreError, RefError, UsageError
from evalstore.files import list_below, read_below

if TYPE_CHECKING:
    from evalstore.model import Ref

_LIMIT = 1 << 20
_KINDS = ("rubric", "judge", "dataset")
_FILE = re.compile(r"([a-z][a-z0-9_]{0,63})\.yaml")
_LINE = re.compile(r"^([0-9A-Za-z.+-]{1,200}) ", re.MULTILINE)  # of a ledger
_NAME = re.compile(rf"(?:{'|'.join(_KINDS)})/[a-z][a-z0-9_]{{0,63}}")


class ReferenceType(click.ParamType):  # type: ignore[type-arg]  # generic in later clicks, in 8.1 not
    """A reference as the user wrote it; a malformed one is a wrong command line."""

    name = "ref"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the reference as it is written; raises `UsageError` when it is none."""
        read_ref(value)
        return value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the artifacts on disk, and after an @ the versions in their ledgers; nothing where a read fails."""
        try:
            start = Path(ctx.find_root().params.get("directory") or ".").resolve()
            names = [name for name in _complete_refs(start, incomplete) if name.startswith(incomplete)]
        except (EvalstoreError, OSError, ValueError):
            return []
        return [CompletionItem(name) for name in names]


REF = ReferenceType()


class FormatChoice(click.Choice):  # type: ignore[type-arg]  # generic in later clicks, in 8.1 not
    """The migration formats of evalstore, and any other name: tables of the user's own are read later."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name as it is."""
        return value


class ProseType(click.ParamType):  # type: ignore[type-arg]  # generic in later clicks, in 8.1 not
    """Text as it was typed, in any locale."""

    name = "text"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text; raises `UsageError` for bytes that are not UTF-8."""
        if value.isascii():
            return value
        try:
            value.encode()
        except UnicodeEncodeError:  # the locale knows fewer characters, or the bytes are those of another one
            try:
                return os.fsencode(value).decode()
            except UnicodeError:
                name = param.opts[-1] if param else "the text"
                raise UsageError(f"{name} is not UTF-8", hint="write it in UTF-8") from None
        return value


PROSE = ProseType()


@add_completion_class
class BashReferenceComplete(BashComplete):
    """Completion for bash that takes `kind/id@version` as one word; by default bash ends a word at an @."""

    source_template = BashComplete.source_template + "COMP_WORDBREAKS=${COMP_WORDBREAKS//@}\n"


def read_ref(text: str) -> Ref:
    """Read a reference of the command line; raises `UsageError` when it is none."""
    from evalstore.model import parse_ref

    try:
        return parse_ref(text)
    except RefError as error:
        raise UsageError(error.message, hint=error.hint) from None


def _complete_refs(start: Path, incomplete: str) -> Iterator[str]:
    # Neither runs git nor parses YAML: whoever presses Tab waits.
    marks = ("evalstore.yaml", ".git")
    root = next(
        (folder for folder in (start, *start.parents) if any((folder / mark).exists() for mark in marks)), start
    )
    name, at, _ = incomplete.partition("@")
    if not at:
        for kind in _KINDS:
            yield from (f"{kind}/{file[1]}" for file in map(_FILE.fullmatch, list_below(root, f"{kind}s")) if file)
    elif _NAME.fullmatch(name):
        ledger = read_below(root, f".evalstore/sums/{name}", _LIMIT).decode()
        yield from (f"{name}@{version}" for version in _LINE.findall(ledger))
