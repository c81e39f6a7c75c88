"""What the words of a command line mean: prose, references and names.

A shell completes the last two.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from fractions import Fraction
from functools import partial
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class

from evalstore.errors import EvalstoreError, RefError, UsageError
from evalstore.files import list_below, read_below
from evalstore.text import make_excerpt

if TYPE_CHECKING:
    from evalstore.model import Ref

KINDS = ("rubric", "judge", "dataset")
ID = "[a-z][a-z0-9_]{0,63}"
# Compiled on first use: most words are references.
_PATH = r"(?P<path>[^\0]+\.ya?ml)(?:@(?P<pin>[^@/]*))?"
_ARTIFACT = rf"(?:{'|'.join(KINDS)})s/{ID}\.yaml"

# The most that the file behind a URL may take (`UrlBudget`), and the environment variable that sets
# it.
_URL_LIMITS = {"size": "EVALSTORE_URL_BYTES", "seconds": "EVALSTORE_URL_SECONDS"}
_LIMIT = 1 << 20
_FILE = re.compile(rf"({ID})\.yaml")
_LINE = re.compile(r"^([0-9A-Za-z.+-]{1,200}) ", re.MULTILINE)  # in a ledger
_NAME = re.compile(rf"(?:{'|'.join(KINDS)})/{ID}")
ONLY_HELP = (
    "Which series to take from a file with several: model=, prompt=, epoch= or "
    "configuration=NAME, where NAME may end in *."
)
MOST_UNGRADED = 0.02  # the share that checks may fail to grade by default, wherever scores are read


def parse_only(_: click.Context, __: click.Parameter, words: tuple[str, ...]) -> dict[str, str]:
    """Read `model=NAME`, `prompt=NAME`, `epoch=NUMBER` or `configuration=NAME`, each part once."""
    pairs = [pair.partition("=") for pair in words]
    selection = {part: name for part, equals, name in pairs if equals}
    if len(selection) < len(pairs):
        raise click.BadParameter(
            "give each once, as model=NAME, prompt=NAME, epoch=NUMBER or configuration=NAME"
        )
    return selection


def check_ref(word: str, directory: Path, *, of_content: bool = False) -> str:
    """Return the reference that a word is, or that the file it names has.

    Raises `UsageError` if it is neither.
    """
    ref = name_artifact(word, directory, of_content=of_content)
    try:
        read_ref(ref)
    except UsageError as error:
        raise UsageError(error.message, hint=_suggest_refs(ref, directory) or error.hint) from None
    return ref


def _suggest_refs(word: str, directory: Path) -> str:
    from evalstore.api import ArtifactStore
    from evalstore.store.resolve import suggest_refs

    with suppress(EvalstoreError), ArtifactStore.open(directory) as store:
        return suggest_refs(store, word)
    return ""


def name_artifact(word: str, directory: Path, *, of_content: bool = False) -> str:
    """Return the reference of an artifact's file in the store around `directory`.

    Any other word stays as it is. Raises `UsageError` for a file that is not an artifact of the
    store.
    """
    match = re.fullmatch(_PATH, word, re.DOTALL)
    if match is None:
        return word
    from evalstore.store.locate import find_enclosing_store, resolve_folder

    # The folder's real path, but the file's own name: no link is followed in its place.
    folder, file = (directory / match["path"]).parent.resolve(), Path(match["path"]).name
    root = find_enclosing_store(resolve_folder(directory))
    if (
        root is None
        or folder.parent != root
        or not re.fullmatch(_ARTIFACT, f"{folder.name}/{file}")
    ):
        raise UsageError(
            f"'{make_excerpt(word)}' is not a file of an artifact in this store",
            hint=(
                "its artifacts are rubrics/<id>.yaml, judges/<id>.yaml and datasets/<id>.yaml; "
                "another store: -C DIR"
            ),
        )
    pin = match["pin"] or ("worktree" if of_content else "")
    return f"{folder.name.removesuffix('s')}/{file.removesuffix('.yaml')}{'@' if pin else ''}{pin}"


def read_ref(text: str) -> Ref:
    """Read a reference from the command line; raises `UsageError` if it is malformed."""
    from evalstore.model import parse_ref

    try:
        return parse_ref(text)
    except RefError as error:
        raise UsageError(error.message, hint=error.hint) from None


class UserFile(click.Path):
    """A file of outputs or of a run: its path or its URL."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path; a URL is not fetched yet."""
        if "://" not in str(value):
            return Path(value)
        from evalstore.runs.remote import UrlBudget, locate_file

        limits = {
            name: self._read_limit(variable, param, ctx) for name, variable in _URL_LIMITS.items()
        }
        budget = UrlBudget()._replace(
            **{name: limit for name, limit in limits.items() if limit is not None}
        )
        return locate_file(str(value), budget, partial(_watch_copy, ctx))

    def _read_limit(
        self, variable: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | None:
        text = os.environ.get(variable, "")
        if text and not re.fullmatch("[1-9][0-9]{0,17}", text):
            self.fail(
                f"{variable} is {make_excerpt(text, 40)}, and not a whole number from 1", param, ctx
            )
        return int(text) if text else None


def _watch_copy(ctx: click.Context | None, pieces: Iterable[bytes]) -> Iterable[bytes]:
    """Show how many bytes of a file have arrived; --quiet may come after the file's name."""
    from evalstore.cli.context import CommandSettings
    from evalstore.cli.progress import make_count_watch

    settings = ctx.find_object(CommandSettings) if ctx else None
    return make_count_watch("copying", quiet=settings is None or settings.quiet, weigh=len)(pieces)


USER_FILE = UserFile()


class NumberRange(click.FloatRange):
    """A finite number within bounds."""

    name = "number"  # in "'80%' is not a valid number"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number; raises `click.BadParameter` for anything else."""
        number = float(super().convert(value, param, ctx))
        if not isfinite(number):
            self.fail(f"{value} is not a number", param, ctx)
        return number


class ExactRange(NumberRange):
    """A number within bounds, exactly as written."""

    def convert(  # type: ignore[override]  # of click's types, it is the number that is exact
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Fraction:
        """Return the number; raises `click.BadParameter` for anything else."""
        return Fraction(repr(super().convert(value, param, ctx)))


class ScoreRange(ExactRange):
    """A score in points of 100.

    A score below 1 is read as a fraction, as in files, and 1 may be either.
    """

    def convert(  # type: ignore[override]  # of click's types, it is the number that is exact
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Fraction:
        """Return the score as a fraction of 1; raises `click.BadParameter` for anything else."""
        score = super().convert(value, param, ctx)
        if score == 1:
            self.fail("1 may mean one point of 100 or all of them: write 0.01 or 100", param, ctx)
        return score / 100 if score > 1 else score


SHARE = ExactRange(0, 1)
SCORE = ScoreRange(0, 100)


class KnownName(click.ParamType):  # type: ignore[type-arg]  # generic in later clicks, in 8.1 not
    """One of many names, which a shell completes; the command itself checks which exist.

    `list_names` gets the directory of `-C` and what has been typed.
    """

    def __init__(self, name: str, list_names: Callable[[Path, str], Iterable[str]]) -> None:
        self.name = name
        self._list_names = list_names

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the names that begin with the typed text; nothing if reading fails."""
        try:
            start = Path(ctx.find_root().params.get("directory") or ".").resolve()
            names = [
                name for name in self._list_names(start, incomplete) if name.startswith(incomplete)
            ]
        except (EvalstoreError, OSError, ValueError):
            return []
        return [CompletionItem(name) for name in names]


class ReferenceType(KnownName):
    """A reference as the user wrote it, or an artifact's file.

    A malformed one is a wrong command line. With `of_content` a file means its present content,
    else the artifact whatever its version.
    """

    def __init__(self, *, of_content: bool = False) -> None:
        super().__init__("ref", _complete_refs)
        self._of_content = of_content

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the reference; raises `UsageError` if it is malformed."""
        directory = ctx.find_root().params.get("directory") if ctx else None
        return check_ref(value, Path(directory or "."), of_content=self._of_content)


class FormatChoice(click.Choice):  # type: ignore[type-arg]  # generic in later clicks, in 8.1 not
    """The migration formats of evalstore.

    For an unknown name, the migration suggests the nearest one.
    """

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
        except (
            UnicodeEncodeError
        ):  # the locale has fewer characters, or the bytes come from another one
            try:
                return os.fsencode(value).decode()
            except UnicodeError:
                name = param.opts[-1] if param else "the text"
                raise UsageError(f"{name} is not UTF-8", hint="write it in UTF-8") from None
        return value


PROSE = ProseType()


@add_completion_class
class BashReferenceComplete(BashComplete):
    """Completion for bash that treats `kind/id@version` as one word.

    By default bash ends a word at an @.
    """

    source_template = BashComplete.source_template + "COMP_WORDBREAKS=${COMP_WORDBREAKS//@}\n"


def _find_marked_folder(start: Path) -> Path:
    """Return the nearest folder that looks like the root of a store, else `start`."""
    for folder in (start, *start.parents):
        if any((folder / mark).exists() for mark in ("evalstore.yaml", ".git")):
            return folder
    return start


def _complete_refs(start: Path, incomplete: str) -> Iterator[str]:
    # Neither runs git nor parses YAML: whoever pressed Tab is waiting.
    root = _find_marked_folder(start)
    name, at, _ = incomplete.partition("@")
    if not at:
        for kind in KINDS:
            files = map(_FILE.fullmatch, list_below(root, f"{kind}s"))
            yield from (f"{kind}/{file[1]}" for file in files if file)
    elif _NAME.fullmatch(name):
        ledger = read_below(root, f".evalstore/sums/{name}", _LIMIT).decode()
        yield from (f"{name}@{version}" for version in _LINE.findall(ledger))


def _list_topics(_: Path, __: str) -> Iterable[str]:
    from evalstore.catalogue import list_names
    from evalstore.catalogue.schemas import list_schema_names

    return dict.fromkeys([*list_names(), *list_schema_names()])


def _list_fingerprints(directory: Path, _: str) -> Iterable[str]:
    from datetime import UTC, datetime

    from evalstore.api import ArtifactStore
    from evalstore.catalogue import list_changes

    with ArtifactStore.open(directory) as store:
        return [
            change.finding.fingerprint for change in list_changes(store, datetime.now(UTC).date())
        ]


def _list_kinds_to_write(_: Path, __: str) -> Iterable[str]:
    from evalstore.catalogue.starters import SCORE_TYPES
    from evalstore.model.check_schemas import list_check_kinds

    return [*list_check_kinds(), *SCORE_TYPES]


REF = ReferenceType()
CONTENT_REF = ReferenceType(of_content=True)
TOPIC = KnownName("name", _list_topics)
CHECK_KIND = KnownName("kind", _list_kinds_to_write)
CHANGE = KnownName("fingerprint", _list_fingerprints)
