"""Merges a rubric whose file has the ids that an earlier release gave its checks, not yet the names of the source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from evalstore.migration.artifact_merge import (
    ConflictSide,
    MergeResult,
    digest_content,
    merge_artifact,
    merge_removed,
    note_parts,
    select_kept,
)
from evalstore.migration.artifact_names import rename_checks
from evalstore.migration.outcome import FileState
from evalstore.migration.part_merge import PartNode

_NAMED = "its checks have the names of the source now: {}"
_KEEPS = "its checks keep the names that an earlier release gave them ({}): --merge gives them those of the source"
_SHOWN = 3


class NamedContent(NamedTuple):
    """What a source gives for a rubric, and other ids that an earlier release gave its checks, by those of now."""

    value: Mapping[str, Any]
    old_names: Mapping[str, str]

    @property
    def digests(self) -> tuple[str, ...]:
        """The digest of what a migration puts into the rubric; where there are old names, then that under them."""
        plain = digest_content(self.value)
        return (plain, digest_content(self.take_old_names())) if self.old_names else (plain,)

    def take_old_names(self) -> dict[str, Any]:
        """Return the rubric with the old names."""
        return rename_checks(self.value, self.old_names)

    def describe_names(self) -> str:
        """Return the first names that differ, old and new."""
        pairs = [f"{old} is {name}" for name, old in self.old_names.items()]
        more = [f"and {len(pairs) - _SHOWN:,} more"] if len(pairs) > _SHOWN else []
        return ", ".join([*pairs[:_SHOWN], *more])


def merge_renamed(
    new: NamedContent,
    ours: Mapping[str, Any] | None,
    base: str,
    side: ConflictSide,
    load_base: Callable[[], PartNode | None],
) -> MergeResult:
    """Return the result of `merge_artifact`; a file with old names is merged under them, for a name is not an edit."""
    if ours is None or not _has_old_names(new, ours, base):
        return merge_artifact(new.value, ours, base, side, load_base)
    result = merge_artifact(new.take_old_names(), ours, base, side, load_base)
    names = new.describe_names()
    if result.state is FileState.KEPT and result.value is None and side is not ConflictSide.BOTH:
        return result._replace(reason=f"{result.reason}; {_KEEPS.format(names)}")
    value = _take_names(result.value or ours, new)
    checks = value.get("checks")
    if not isinstance(checks, list) or len(_list_ids(value)) < len(checks):
        # A check that somebody added has the name that another one is to have, or has none of its own.
        return merge_artifact(new.value, ours, base, ConflictSide.NONE, load_base)
    # Where the file is not the source's, the next merge goes by the parts that are noted in it.
    noted = {} if digest_content(value) == digest_content(new.value) else note_parts(new.value)
    value["x_source"] = {**select_kept(value), **noted}
    if result.state is FileState.CONFLICT:
        return result._replace(value=value)
    reason = "; ".join(filter(None, [result.reason, _NAMED.format(names)]))
    return MergeResult(result.state if result.value else FileState.UPDATED, reason, value)


def merge_renamed_release(new: NamedContent, released: Mapping[str, Any], base: str, side: ConflictSide) -> MergeResult:
    """Return the result of `merge_removed`, for which a name is not an edit either."""
    if not _has_old_names(new, released, base):
        return merge_removed(new.value, released, base, side)
    result = merge_removed(new.take_old_names(), released, base, side)
    return result._replace(value=result.value and _take_names(result.value, new))


def _take_names(value: Mapping[str, Any], new: NamedContent) -> dict[str, Any]:
    return rename_checks(value, {old: name for name, old in new.old_names.items()})


def _has_old_names(new: NamedContent, ours: Mapping[str, Any], base: str) -> bool:
    digests = new.digests
    if base in digests:
        return base != digests[0]
    # The source has changed as well: the names themselves tell.
    there, old, now = _list_ids(ours), {*new.old_names.values()}, {*new.old_names}
    return bool(there & (old - now)) and not there & (now - old)


def _list_ids(rubric: Mapping[str, Any]) -> set[str]:
    checks = rubric.get("checks")
    ids = (check.get("id") for check in checks if isinstance(check, dict)) if isinstance(checks, list) else ()
    return {id_ for id_ in ids if isinstance(id_, str)}
