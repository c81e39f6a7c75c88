"""References on a command line: a malformed one is a wrong command line, and a shell completes what there is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

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
    """A reference in the words of the user, which `parse_ref` has read once."""

    name = "ref"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the reference as it is written; raises `UsageError` when it is none."""
        read_ref(value)
        return value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the artifacts on disk, and after an @ what their ledgers list; nothing where anything is odd."""
        try:
            start = Path(ctx.find_root().params.get("directory") or ".").resolve()
            found = [one for one in _complete_refs(start, incomplete) if one.startswith(incomplete)]
        except (EvalstoreError, OSError, ValueError):
            return []
        return [CompletionItem(one) for one in found]


REF = ReferenceType()


def read_ref(text: str) -> Ref:
    """Read a reference of the command line; raises `UsageError` when it is none."""
    from evalstore.model import parse_ref

    try:
        return parse_ref(text)
    except RefError as error:
        raise UsageError(error.message, hint=error.hint) from None


def _complete_refs(start: Path, incomplete: str) -> Iterator[str]:
    # No git and no file is parsed: whoever presses Tab waits.
    marks = ("evalstore.yaml", ".git")
    root = next((one for one in (start, *start.parents) if any((one / mark).exists() for mark in marks)), start)
    name, at, _ = incomplete.partition("@")
    if not at:
        for kind in _KINDS:
            yield from (f"{kind}/{file[1]}" for file in map(_FILE.fullmatch, list_below(root, f"{kind}s")) if file)
    elif _NAME.fullmatch(name):
        ledger = read_below(root, f".evalstore/sums/{name}", _LIMIT).decode()
        yield from (f"{name}@{version}" for version in _LINE.findall(ledger))
