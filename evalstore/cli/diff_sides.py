"""Reads and compares the two sides of `evalstore diff` and of `git diff`; reads the clock."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from evalstore.cli.context import CommandSettings
from evalstore.cli.param_types import read_ref
from evalstore.errors import EvalstoreError, LoadError
from evalstore.model import Artifact, find_kind

if TYPE_CHECKING:
    from evalstore.api import ArtifactStore, Diff, Judges, Resolved

_FILES = (".yaml", ".yml")
_LIMIT = 1 << 20


@dataclass(frozen=True, slots=True)
class DiffSide:
    """One side of a comparison: its name, and a version from the store or an artifact in a file."""

    name: str
    version: Resolved | Artifact

    @property
    def artifact(self) -> Artifact:
        """The artifact to compare."""
        return self.version if isinstance(self.version, Artifact) else self.version.artifact


def compare_sides(
    sides: tuple[DiffSide, DiffSide],
    store: ArtifactStore | None,
    profile: str | None,
    watch: Callable[[Iterable[Any]], Iterable[Any]] = iter,
    judges: Judges | None = None,
) -> Diff:
    """Compare two sides, under a store's settings if there is one.

    `watch` wraps the iteration over the rows of the new side (a progress bar). The kept replies
    that `judges` names grade the examples.
    """
    from evalstore.api import Profile, compare

    old, new = sides
    chosen = Profile(profile) if profile else None
    diff = compare(
        old.version, new.version, store=store, profile=chosen, watch=watch, judges=judges
    )
    return replace(diff, old=replace(diff.old, ref=old.name), new=replace(diff.new, ref=new.name))


def open_optional_store(
    settings: CommandSettings, stack: ExitStack, *, needed: bool
) -> ArtifactStore | None:
    """Open the store around the directory; None if there is none and none is needed."""
    try:
        return stack.enter_context(settings.open_store())
    except EvalstoreError:
        if needed:
            raise
        return None  # two files are compared without a store, so their references are not loaded


def parse_file_side(data: bytes, word: str) -> DiffSide:
    """Read a file as one side of a comparison; raises `LoadError` if it is not an artifact."""
    from evalstore.documents import read_yaml

    document = read_yaml(data, word)
    value = document.value if isinstance(document.value, dict) else {}
    kind = find_kind(value)
    if kind is None:
        raise LoadError("not a rubric, judge or dataset", place=document.locate())
    return DiffSide(
        word, Artifact(kind, str(value.get("id", "")), str(value.get("version", "")), document)
    )


def read_side(word: str, settings: CommandSettings, store: ArtifactStore | None) -> DiffSide:
    """Read a reference or a file as one side; a reference without a pin is the last release."""
    from evalstore.api import name_side, resolve_side

    if is_file_name(word) or store is None:
        return _read_file_side(word, settings)
    resolved = resolve_side(store, read_ref(word))
    return DiffSide(name_side(resolved), resolved)


def _read_file_side(word: str, settings: CommandSettings) -> DiffSide:
    from evalstore.files import read_user_file

    return parse_file_side(read_user_file(settings.path / word, _LIMIT), word)


def is_file_name(word: str) -> bool:
    """Whether a side is named by a file, not by a reference."""
    return word.endswith(_FILES)
