"""Decides what a migration does to an existing artifact: a merge of last time, source, and file.

The base is a digest, because it is only ever compared: what was last migrated, without what people
and releases move.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from enum import StrEnum
from typing import Any, NamedTuple

from evalstore.documents import compute_digest
from evalstore.migration.artifact_names import REF_KEYS, replace_refs
from evalstore.migration.extraction import VERSION
from evalstore.migration.folded_values import expand_columns
from evalstore.migration.merging.part_merge import (
    PartNode,
    build_parts,
    count_notes,
    merge_parts,
    note_tree,
    read_tree,
)
from evalstore.migration.merging.stored_artifacts import ORIGIN_KEYS, index_rows
from evalstore.migration.outcome import FileState
from evalstore.migration.row_origins import fill_rows, fold_rows
from evalstore.text import LONG_DIGEST, make_excerpt
from evalstore.versions import find_version

_FORCED = "it was changed at the source and here: --force took the source's side"
_SEEN = (
    "it was changed at the source and here: --keep left yours, and notes that the source's was seen"
)
_BOTH = "it was changed at the source and here: --merge took both"
_CONFLICT = (
    "it was changed at the source and here: the file stays; --force takes its side, --keep yours, "
    "--merge both"
)
_CLASH = "both sides changed {}: the file stays; --force takes the source's side, --keep yours"
_NO_TRACE = (
    "both sides changed it, and no commit has what was last migrated, so --merge cannot tell "
    "who changed what: the file stays; --force takes the source's side, --keep yours"
)
_HERE = "it was changed here, not at the source"
_SOURCE = "the source changed"
_REMOVED = "it was removed here, and stays so: --force writes it again"
_REMOVED_CONFLICT = (
    "it was removed here and changed at the source: --force writes it again, --keep leaves it"
)
_RESTORED = "it was removed here: --force wrote it again"
_UNREAD = "it cannot be read as an artifact, so it is kept"
_NO_BASE = (
    "it does not say what was last migrated: the file stays; --force takes the source's side, "
    "--keep yours"
)


_PARTS = "parts"
_ORIGIN = frozenset({*ORIGIN_KEYS, _PARTS})
_SHOWN = 3  # parts named in a conflict
_MOST_NOTED = 10_000  # parts, some 30 bytes each: a YAML file has a limit of 1 MiB


class ConflictSide(StrEnum):
    """Whose side wins if an artifact changed at the source and in the store.

    It is none, one, or both.
    """

    NONE = "none"
    SOURCE = "source"
    STORE = "store"
    BOTH = "both"


class MergeResult(NamedTuple):
    """What happens to a file: its state, why, and the value to write.

    The value is None if only its origin changes.
    """

    state: FileState
    reason: str
    value: Mapping[str, Any] | None


def digest_content(value: Mapping[str, Any]) -> str:
    """Return the digest of what a migration writes.

    It covers no id, version, pinned version or origin. It is as short as a noted base: it guards
    against an oversight, not an enemy, who could write any base.
    """
    return _digest_value(expand_columns(select_content(value)))


def select_content(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a migration writes: no id, version or origin, and a dataset's rows filled in."""
    value = fill_rows(value)
    content = {key: item for key, item in value.items() if key not in {"id", "version", "x_source"}}
    return content | {"x_source": select_kept(value)}


def select_kept(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `x_source` of an artifact without its origin."""
    source = value.get("x_source")
    return (
        {key: item for key, item in source.items() if key not in _ORIGIN}
        if isinstance(source, dict)
        else {}
    )


def _digest_value(value: Any) -> str:
    return compute_digest(_strip_pins(value))[:LONG_DIGEST]


def merge_artifact(
    new: Mapping[str, Any],
    ours: Mapping[str, Any] | None,
    base: str,
    side: ConflictSide,
    load_base: Callable[[], PartNode | None],
) -> MergeResult:
    """Return what happens to an artifact.

    `new` is what the source gives, `ours` the file, and `base` the last digest. `load_base` returns
    the digests of its parts, if there is a trace of it. A value to write has the version of the
    file, or a higher one in the source itself, and keeps its pins.
    """
    if ours is None:
        return MergeResult(FileState.CONFLICT, _UNREAD, None)
    theirs, own = digest_content(new), digest_content(ours)
    if own == theirs and not _is_later(new, ours):
        return MergeResult(FileState.UNCHANGED, "", None)
    merged = keep_pins(new, ours) | {"version": _choose_version(new, ours)}
    if own in {theirs, base}:
        return MergeResult(FileState.UPDATED, _SOURCE, merged)
    if theirs == base:
        return MergeResult(FileState.KEPT, _HERE, None)
    if side is ConflictSide.SOURCE:
        return MergeResult(FileState.UPDATED, _FORCED, merged)
    if side is ConflictSide.STORE:
        seen = {**select_kept(ours), **note_parts(new)}
        return MergeResult(FileState.KEPT, _SEEN, {**ours, "x_source": seen})
    if side is ConflictSide.BOTH and base:
        return _merge_sides(merged, ours, load_base())
    return MergeResult(FileState.CONFLICT, _CONFLICT if base else _NO_BASE, merged)


def _merge_sides(
    forced: Mapping[str, Any], ours: Mapping[str, Any], base: PartNode | None
) -> MergeResult:
    """Return both sides' changes.

    If they overlap, return a conflict with the source's side as `forced`.
    """
    if base is None:
        return MergeResult(FileState.CONFLICT, _NO_TRACE, forced)
    theirs = select_content(forced)
    sides = (build_parts(side, _digest_value, base) for side in (select_content(ours), theirs))
    both, clashes = merge_parts(base, *sides)
    if clashes:
        return MergeResult(
            FileState.CONFLICT,
            _CLASH.format(_name_parts([".".join(place) for place in clashes])),
            forced,
        )
    source = {**theirs["x_source"], **note_parts(theirs)}
    head = {"id": forced["id"], "version": forced["version"]}
    return MergeResult(
        FileState.UPDATED, _BOTH, fold_rows(head | both.build_value() | {"x_source": source})
    )


def _name_parts(places: Sequence[str]) -> str:
    more = [f"{len(places) - _SHOWN:,} more parts"] if len(places) > _SHOWN else []
    names = [*map(make_excerpt, places[:_SHOWN]), *more]
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def digest_parts(value: Mapping[str, Any]) -> PartNode:
    """Return the digests of an artifact's parts."""
    return build_parts(select_content(value), _digest_value)


def read_base_parts(value: Mapping[str, Any]) -> PartNode | None:
    """Return the digests of the last migrated parts, or None.

    They are as `--merge` or `--keep` noted them.
    """
    source = value.get("x_source")
    head = source if isinstance(source, dict) else {}
    noted = head.get(_PARTS)
    if not isinstance(noted, dict) or noted.get("x_source") != str(head.get("base"))[:LONG_DIGEST]:
        return None
    return read_tree({key: item for key, item in noted.items() if key != "x_source"})


def note_parts(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an `x_source` says about the last migrated parts.

    `x_source` among them is a digest of all. If there are too many, only those of whole items are
    noted, or none.
    """
    parts = digest_parts(value)
    for deep in (True, False):
        noted = note_tree(parts, deep=deep)
        if count_notes(noted) <= _MOST_NOTED:
            return {_PARTS: {"x_source": digest_content(value), **noted}}
    return {}


def merge_removed(
    new: Mapping[str, Any], released: Mapping[str, Any], base: str, side: ConflictSide
) -> MergeResult:
    """Return what happens to an artifact whose file somebody removed.

    Its last release takes its place.
    """
    merged = keep_pins(new, released) | {"version": _choose_version(new, released)}
    if side is ConflictSide.SOURCE:
        return MergeResult(FileState.NEW, _RESTORED, merged)
    if side is ConflictSide.STORE or digest_content(new) in {base, digest_content(released)}:
        return MergeResult(FileState.KEPT, _REMOVED, None)
    return MergeResult(FileState.CONFLICT, _REMOVED_CONFLICT, merged)


def keep_pins(new: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    """Return `new` with references pinned as in `ours`, unless the source pins a higher version."""
    pins: dict[str, str] = {}
    for ref in list_refs({key: item for key, item in ours.items() if key != "questions"}):
        pins.setdefault(_name_of(ref), ref)
    # A dataset pins per question.
    rows = index_rows(ours.get("questions"))
    pinned = replace_refs(
        {key: item for key, item in new.items() if key != "questions"},
        lambda ref: choose_pin(ref, pins.get(_name_of(ref))),
    )
    questions = [_pin_question(row, rows.get(row["id"], {})) for row in new.get("questions", ())]
    return {key: questions if key == "questions" else pinned[key] for key in new}


def _pin_question(row: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    own = ours.get("rubric_ref")
    if "rubric_ref" not in row or not isinstance(own, str):
        return dict(row)
    return {**row, "rubric_ref": choose_pin(row["rubric_ref"], own)}


def choose_pin(new: str, ours: str | None) -> str:
    """Return the higher of two references to one artifact; `new` for another artifact."""
    if ours is None or not is_same_artifact(ours, new):
        return new
    versions = find_version(new.partition("@")[2]), find_version(ours.partition("@")[2])
    # A range, or a pin to the working file, is a deliberate choice.
    return new if versions[0] and versions[1] and versions[0] > versions[1] else ours


def is_same_artifact(ref: str, other: str) -> bool:
    """Whether two references mean one artifact, whatever version they pin."""
    return _name_of(ref) == _name_of(other)


def _choose_version(new: Mapping[str, Any], ours: Mapping[str, Any]) -> Any:
    return new["version"] if _is_later(new, ours) else ours.get("version", new["version"])


def _is_later(new: Mapping[str, Any], ours: Mapping[str, Any]) -> bool:
    """Whether the source states a version above that of the file.

    `VERSION`, with which every migration begins, is ours, and states nothing.
    """
    stated, own = find_version(str(new["version"])), find_version(str(ours.get("version")))
    return new["version"] != VERSION and stated is not None and own is not None and stated > own


def _strip_pins(value: Any) -> Any:
    if isinstance(value, list):
        return [_strip_pins(item) for item in value]
    # A source is exported with its digits: 1 and 1.0 differ, which canonical JSON takes for one
    # number.
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return ["number", str(value)]
    if not isinstance(value, dict):
        return value
    return {key: _strip_item(key, item) for key, item in value.items()}


def _strip_item(key: str, item: Any) -> Any:
    return _name_of(item) if key in REF_KEYS and isinstance(item, str) else _strip_pins(item)


def list_refs(value: Any) -> list[str]:
    """Return the references to rubrics and judges within a value."""
    if isinstance(value, list):
        return [ref for item in value for ref in list_refs(item)]
    if not isinstance(value, dict):
        return []
    own = [item for key, item in value.items() if key in REF_KEYS and isinstance(item, str)]
    return own + [ref for item in value.values() for ref in list_refs(item)]


def _name_of(ref: str) -> str:
    return ref.partition("@")[0]
