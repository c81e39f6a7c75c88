"""Reads and compares the two sides of `evalstore diff` and of `git diff`; reads the clock."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from evalstore.cli.context import CommandSettings
from evalstore.cli.ref_words import read_ref
from evalstore.errors import EvalstoreError, LoadError, UsageError
from evalstore.model import Artifact, PinType, find_kind
from evalstore.versions import Version, find_version

if TYPE_CHECKING:
    from evalstore.diff import ComparisonSettings, Diff
    from evalstore.diff.findings import SettingChange
    from evalstore.store import ArtifactStore, Resolved

_FILES = (".yaml", ".yml")
_LIMIT = 1 << 20


@dataclass(frozen=True, slots=True)
class DiffSide:
    """One side of a comparison: its name, its artifact, and whether it is a release or the working tree.

    `resolved` is where it stands in the store, and `settings` are those of evalstore.yaml there; None where it is a
    file by itself.
    """

    name: str
    artifact: Artifact
    resolved: Resolved | None = None
    release: Version | None = None
    working: bool = False
    settings: Mapping[str, Any] | None = None


def compare_sides(
    sides: tuple[DiffSide, DiffSide],
    store: ArtifactStore | None,
    profile: str | None,
    watch: Callable[[Iterable[Any]], Iterable[Any]] = lambda rows: rows,
) -> Diff:
    """Compare two sides, under a store's settings if there is one; raises `UsageError` for artifacts of two kinds.

    `watch` wraps the iteration over the rows of each side (a progress bar).
    """
    from evalstore.diff import compare

    old, new = sides
    if old.artifact.kind is not new.artifact.kind:
        raise UsageError(f"{old.name} is a {old.artifact.kind} and {new.name} a {new.artifact.kind}")
    rows = None
    if store and old.resolved and new.resolved:
        before, after = store.pair_rows(old.resolved, new.resolved)
        rows = watch(before), watch(after)
    load = make_loader(store, working=new.working) if store else None
    diff = compare(
        old.artifact, new.artifact, load=load, rows=rows, terms=_read_comparison_settings(old, new, store, profile)
    )
    notes = _describe_moved_references(old, new, store) if store else ()
    diff = replace(diff, notes=notes, settings=_find_setting_changes(old, new, load))
    return replace(diff, old=replace(diff.old, ref=old.name), new=replace(diff.new, ref=new.name))


def _find_setting_changes(
    old: DiffSide, new: DiffSide, load: Callable[[str], Artifact] | None
) -> tuple[SettingChange, ...]:
    from evalstore.diff.score_settings import find_setting_changes

    if old.settings is None or new.settings is None or load is None:
        return ()
    return tuple(find_setting_changes(old.settings, new.settings, new.artifact, load))


def make_loader(store: ArtifactStore, *, working: bool) -> Callable[[str], Artifact]:
    """Return a function that loads references: from working files, or from releases."""
    from evalstore.status.comparison import make_working_loader

    return make_working_loader(store) if working else store.load


def open_optional_store(settings: CommandSettings, stack: ExitStack, *, needed: bool) -> ArtifactStore | None:
    """Open the store around the directory; None where there is none, and none is needed."""
    try:
        return stack.enter_context(settings.open_store())
    except EvalstoreError:
        if needed:
            raise
        return None  # two files are compared without a store; their references are then not loaded


def parse_file_side(data: bytes, word: str) -> DiffSide:
    """Read a file as one side of a comparison; raises `LoadError` for anything but an artifact."""
    from evalstore.documents import read_yaml

    document = read_yaml(data, word)
    value = document.value if isinstance(document.value, dict) else {}
    kind = find_kind(value)
    if kind is None:
        raise LoadError("this is no rubric, judge or dataset", place=document.locate())
    return DiffSide(word, Artifact(kind, str(value.get("id", "")), str(value.get("version", "")), document))


def read_side(word: str, settings: CommandSettings, store: ArtifactStore | None) -> DiffSide:
    """Read a reference or a file as one side; a reference without a pin is the last release."""
    from evalstore.status.acceptances import read_settings_at

    if is_file_name(word) or store is None:
        return _read_file_side(word, settings)
    ref = read_ref(word)
    # Without a pin it is the last release, even where a lock holds an older one.
    resolved = (store if ref.pin else store.without_lock()).resolve(ref)
    pin = resolved.version if ref.names_release else ref.pin
    release = find_version(resolved.version) if resolved.tag else None
    working = ref.type is PinType.WORKTREE
    settings_there = read_settings_at(store, resolved.commit) if resolved.commit else store.settings
    return DiffSide(f"{ref.name}@{pin}", resolved.artifact, resolved, release, working, settings_there)


def _read_file_side(word: str, settings: CommandSettings) -> DiffSide:
    from evalstore.files import read_user_file

    return parse_file_side(read_user_file(settings.path / word, _LIMIT), word)


def is_file_name(word: str) -> bool:
    """Whether a side is named as a file, not as a reference."""
    return word.endswith(_FILES)


def _describe_moved_references(old: DiffSide, new: DiffSide, store: ArtifactStore) -> tuple[str, ...]:
    """Return a sentence for each reference whose text stayed but which means another version than at the release."""
    from evalstore.status.acceptances import read_base_settings
    from evalstore.status.drift import describe_moved_references

    name = old.artifact.name
    if not (old.release and new.working and new.name == f"{name}@worktree"):
        return ()
    return describe_moved_references(store, name, old.release, read_base_settings(store).without_opinions)


def _read_comparison_settings(
    old: DiffSide, new: DiffSide, store: ArtifactStore | None, profile: str | None
) -> ComparisonSettings:
    from evalstore.diff import ComparisonSettings, Profile

    requested = Profile(profile) if profile else None
    if store is None:
        return ComparisonSettings(requested or Profile.SCORE)
    from evalstore.status.acceptances import read_change_policy

    policy = read_change_policy(store, datetime.now(UTC).date(), requested)
    same = old.artifact.name == new.artifact.name
    return policy.restrict_to_change(old.artifact.name, old.release) if old.release and same else policy.settings
