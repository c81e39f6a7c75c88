"""Finds whether an edit of the demands on tool calls makes a check stricter or looser."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalstore.checks.tools import TOOL_LIMIT, ToolEntry
from evalstore.diff.change import Change
from evalstore.diff.deciders.unmoved import is_all_tools_threshold
from evalstore.diff.direction import EITHER, LOOSER, NONE, STRICTER, flip_direction
from evalstore.diff.findings import Direction
from evalstore.diff.kinds.tool_usage import count_required_tools
from evalstore.model import ToolCall


def find_tool_demand_direction(change: Change) -> Direction:
    """Return the direction of the check's score for an edit of its tools, or forbidden tools."""
    return _direct_edit(change, partial=_counts_shares(change))


def find_tool_verdict_direction(change: Change) -> Direction:
    """Return the direction of the check's verdict.

    If passing needs all tools, a smaller share of them does not matter.
    """
    return _direct_edit(
        change,
        partial=_counts_shares(change) and not all(map(is_all_tools_threshold, change.checks)),
    )


def _counts_shares(change: Change) -> bool:
    # With at most one required tool, before and after, the share of called tools is all or nothing.
    several = any(count_required_tools(check.params) not in {0, 1} for check in change.checks)
    return bool(change.checks[1].params["partial"]) and several


def _direct_edit(change: Change, *, partial: bool) -> Direction:
    before, after = (check.params["tools"] for check in change.checks)
    if change.name == "forbidden":
        return _direct_forbidden(change)
    if before is None or after is None or max(len(before), len(after)) > TOOL_LIMIT:
        return EITHER
    # In mode `exact`, an entry asks for calls, and also allows them: both directions are possible.
    if change.checks[1].params["mode"] == "exact":
        return EITHER
    # An edit leaves every other entry as the same object.
    removed = [entry for entry in before if not any(entry is other for other in after)]
    added = [entry for entry in after if not any(entry is other for other in before)]
    if len(removed) == len(added) == 1:
        return _direct_entry_edit(_read_entry(removed[0]), _read_entry(added[0]), partial=partial)
    if len(removed) + len(added) != 1:
        return EITHER
    # One more required tool makes the share of every other tool smaller.
    direction = EITHER if partial and (removed or added)[0]["min"] else STRICTER
    return direction if added else flip_direction(direction)


def _direct_forbidden(change: Change) -> Direction:
    check = min(change.checks, key=lambda side: len(side.params["forbidden"]))
    tools = check.params["tools"]
    if tools is None and not check.params["forbidden"]:
        return EITHER  # without tools and without this, there may be nothing to grade
    if tools is not None and len(tools) > TOOL_LIMIT:
        return EITHER
    return STRICTER if change.old is None else LOOSER


def _read_entry(entry: Mapping[str, Any]) -> ToolEntry:
    """Return an entry as scoring reads it: `args_match` has no meaning without `args`."""
    exact = "args" in entry and entry["args_match"] == "exact"
    return ToolEntry(entry["name"], entry.get("args"), exact, entry["min"], entry.get("max"))


def _direct_entry_edit(old: ToolEntry, new: ToolEntry, *, partial: bool) -> Direction:
    tightened = _direct_tightened(old, new, partial=partial)
    loosened = _direct_tightened(new, old, partial=partial)
    return tightened or (flip_direction(loosened) if loosened else EITHER)


def _direct_tightened(loose: ToolEntry, tight: ToolEntry, *, partial: bool) -> Direction | None:
    """Return the direction from `loose` to `tight`; None if `tight` does not accept fewer calls."""
    if loose.least != tight.least:
        if loose.least > tight.least:
            return None
        becomes_one_share_more = partial and not loose.least
        return EITHER if becomes_one_share_more else STRICTER
    if loose.most != tight.most:
        lowered = loose.most is None or (tight.most is not None and tight.most < loose.most)
        return STRICTER if lowered else None
    if not _covers_entry(loose, tight):
        return None
    if _covers_entry(tight, loose):
        return NONE
    # With a `max`, fewer calls match the entry now, so fewer of them exceed it.
    if tight.most is None:
        return STRICTER
    return EITHER if tight.least else LOOSER


def _covers_entry(wide: ToolEntry, narrow: ToolEntry) -> bool:
    """Whether every call that matches `narrow` also matches `wide`."""
    if wide.name != narrow.name or (narrow.args is None and wide.args is not None):
        return False
    bare = wide.args is None
    return bare or (
        (narrow.exact or not wide.exact) and wide.is_match(ToolCall(narrow.name, narrow.args))
    )
