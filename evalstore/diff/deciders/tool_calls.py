"""Demands on tool calls: what an edit of one of them does, in each mode, with partial credit or without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalstore.checks.tools import TOOL_LIMIT, ToolEntry, count_room
from evalstore.diff.change import Change, Proof
from evalstore.diff.deciders.bounds import is_full_share_threshold
from evalstore.diff.direction import EITHER, LOOSER, NONE, STRICTER, VERDICT_MODES, flip_direction
from evalstore.diff.findings import Direction
from evalstore.diff.kinds.tool_usage import count_required_tools
from evalstore.diff.rubric_state import CheckState
from evalstore.model import ToolCall
from evalstore.versions import Bump

_EXACT, _ANY_ORDER = "exact", "any_order"


@dataclass(frozen=True, slots=True)
class _EntryContext:
    """What stands around an entry that changes: the other entries, the mode, and whether a share of them counts."""

    others: Sequence[ToolEntry]
    mode: str
    partial: bool

    @property
    def exact(self) -> bool:
        return self.mode == _EXACT

    @property
    def requires(self) -> bool:
        return any(tool.least for tool in self.others)

    def alone(self, tool: ToolEntry) -> bool:
        """Whether no other entry means calls of this name."""
        return all(other.name != tool.name for other in self.others)


def read_tool_entry(entry: Mapping[str, Any]) -> ToolEntry:
    """Return an entry as scoring reads it; how arguments match is nothing without arguments."""
    exact = "args" in entry and entry["args_match"] == "exact"
    return ToolEntry(entry["name"], entry.get("args"), exact, entry["min"], entry.get("max"))


def find_tool_demand_direction(change: Change) -> Direction:
    """Return what an edit of the tools, or of the forbidden ones, does to the check's score."""
    return _direct_edit(change, partial=_counts_shares(change))


def find_tool_verdict_direction(change: Change) -> Direction:
    """Return what it does to the check's verdict: where only all pass the bar, a share counts as nothing."""
    return _direct_edit(change, partial=_counts_shares(change) and not all(map(is_all_tools_threshold, change.checks)))


def prove_demand_idle(change: Change) -> Proof | None:
    """Prove that the edit asks for nothing more and nothing less, whatever the calls."""
    if _direct_edit(change, partial=_counts_shares(change)) is not NONE:
        return None
    return Proof("the demand changes nothing: the others imply it, or it asks for nothing")


def prove_one_order(change: Change) -> Proof | None:
    """Prove that there is one order at most: no two tools are required, and other calls are free to stand between."""
    if any(check.params["mode"] == _EXACT or _may_order(check) for check in change.checks):
        return None
    return Proof("at most one tool is required, so there is no order to keep")


def prove_one_share(change: Change) -> Proof | None:
    """Prove that a share of the required tools is all or nothing: there is one of them at most."""
    if _may_order(change.checks[1]):
        return None
    return Proof("at most one tool is required, so its share is all or nothing")


def prove_tool_share_unread(change: Change) -> Proof | None:
    """Prove that only the check's share moves, and the rubric reads its verdict alone, which tells all from some."""
    sides = zip(change.checks, change.states, strict=True)
    # Where a gate is open its score is 1, and where it is shut the rubric's is 0.
    read = any(rubric.combine not in VERDICT_MODES and (check.negate or not check.is_gate) for check, rubric in sides)
    if read or not all(map(is_all_tools_threshold, change.checks)):
        return None
    if change.name != "partial" and find_tool_verdict_direction(change) is not NONE:
        return None
    return Proof(
        "the rubric reads the check's verdict alone, and only calling every tool reaches its threshold", Bump.MINOR
    )


def is_all_tools_threshold(check: CheckState) -> bool:
    """Whether the check's verdict tells only a full share from all others."""
    bar, number = check.threshold, count_required_tools(check.params)
    if bar is None or number is None:
        return bar == 1 and not check.negate
    return is_full_share_threshold(check, number)


def _may_order(check: CheckState) -> bool:
    """Whether more than one tool may be required."""
    return count_required_tools(check.params) not in {0, 1}


def _counts_shares(change: Change) -> bool:
    # With one required tool at most, before and after, a share of them is all or nothing.
    return bool(change.checks[1].params["partial"]) and any(map(_may_order, change.checks))


def _direct_edit(change: Change, *, partial: bool) -> Direction:
    before, after = (check.params["tools"] for check in change.checks)
    if change.name == "forbidden":
        return _direct_forbidden(change)
    if before is None or after is None or max(len(before), len(after)) > TOOL_LIMIT:
        return EITHER
    mode = change.checks[1].params["mode"]
    # One edit leaves every other entry the very value that it was.
    shorter, longer = sorted((before, after), key=len)
    place = next((place for place, entry in enumerate(shorter) if entry is not longer[place]), len(shorter))
    swapped = len(shorter) == len(longer)
    rest = shorter[place + 1 :] if swapped else shorter[place:]
    if place == len(longer) or any(one is not other for one, other in zip(rest, longer[place + 1 :], strict=True)):
        return EITHER
    context = _EntryContext([read_tool_entry(entry) for entry in (*shorter[:place], *rest)], mode, partial)
    if swapped:
        return _direct_entry_edit(read_tool_entry(before[place]), read_tool_entry(after[place]), context)
    direction = _direct_added(read_tool_entry(longer[place]), context)
    return direction if longer is after else flip_direction(direction)


def _direct_forbidden(change: Change) -> Direction:
    check = min(change.checks, key=lambda side: len(side.params["forbidden"]))
    name, tools = change.item, check.params["tools"]
    if name in check.params["forbidden"]:
        return NONE
    if tools is None:  # without tools and without this, there may be nothing to grade
        more = STRICTER if check.params["forbidden"] else EITHER
    elif len(tools) > TOOL_LIMIT:
        more = EITHER
    else:
        context = _EntryContext([read_tool_entry(entry) for entry in tools], check.params["mode"], partial=True)
        more = NONE if _is_implied(ToolEntry(name, least=0, most=0), context) else STRICTER
    return more if change.old is None else flip_direction(more)


def _direct_added(tool: ToolEntry, context: _EntryContext) -> Direction:
    if _is_implied(tool, context):
        return NONE
    shares = context.partial and bool(tool.least) and context.requires
    if not shares and (not context.exact or not count_room(tool)):
        return STRICTER
    # What nobody asked for was one call too many before.
    return LOOSER if context.exact and not tool.least and context.alone(tool) else EITHER


def _is_implied(tool: ToolEntry, context: _EntryContext) -> bool:
    """Whether an entry asks for nothing that the others do not ask for, and lets nothing through."""
    if context.exact and count_room(tool):
        return False
    if context.exact and not tool.least and context.alone(tool):
        return True
    enough = not tool.least or (
        context.mode == _ANY_ORDER
        and not context.partial
        and any(other.least >= tool.least and _covers_entry(tool, other) for other in context.others)
    )
    # With partial credit, too many calls of a required tool cost its share only.
    few = tool.most is None or any(
        other.most is not None and other.most <= tool.most and _covers_entry(other, tool)
        for other in context.others
        if not (context.partial and other.least)
    )
    return enough and few


def _direct_entry_edit(old: ToolEntry, new: ToolEntry, context: _EntryContext) -> Direction:
    if _asks_nothing(old) and _asks_nothing(new):
        return NONE
    tightened, loosened = _direct_tightened(old, new, context), _direct_tightened(new, old, context)
    return tightened or (flip_direction(loosened) if loosened else EITHER)


def _direct_tightened(loose: ToolEntry, tight: ToolEntry, context: _EntryContext) -> Direction | None:
    """Return what an entry does that takes fewer calls than another; None where it does not, or is not known to."""
    if loose.least != tight.least:
        return _direct_raised_minimum(loose, tight, context) if loose.least < tight.least else None
    if loose.most != tight.most:
        lowered = loose.most is None or (tight.most is not None and tight.most < loose.most)
        return _direct_lowered_maximum(loose, tight, context) if lowered else None
    if not _covers_entry(loose, tight):
        return None
    return NONE if _covers_entry(tight, loose) else _direct_narrowed_args(tight, context)


def _direct_raised_minimum(lower: ToolEntry, higher: ToolEntry, context: _EntryContext) -> Direction:
    """Return what a higher `min` does."""
    becomes_one_share_more = context.partial and not lower.least and context.requires
    says_how_many = context.exact and higher.most is None
    return EITHER if becomes_one_share_more or says_how_many else STRICTER


def _direct_lowered_maximum(wider: ToolEntry, tighter: ToolEntry, context: _EntryContext) -> Direction:
    """Return what a lower `max` does; in `exact`, an entry without one takes its `min`."""
    if not context.exact or wider.most is not None or tighter.most is None or tighter.most < wider.least:
        return STRICTER
    if tighter.most == wider.least:
        return NONE if context.alone(wider) else STRICTER
    return LOOSER if context.alone(wider) else EITHER


def _direct_narrowed_args(tool: ToolEntry, context: _EntryContext) -> Direction:
    """Return what arguments do that fewer calls fit: those that no longer do are freed from the entry's `max`."""
    if tool.most is None or (context.exact and context.alone(tool)):
        return STRICTER
    return EITHER if tool.least or context.exact else LOOSER


def _covers_entry(wide: ToolEntry, narrow: ToolEntry) -> bool:
    """Whether every call that the one entry means is meant by the other."""
    if wide.name != narrow.name or (narrow.args is None and wide.args is not None):
        return False
    bare = wide.args is None
    return bare or ((narrow.exact or not wide.exact) and wide.is_match(ToolCall(narrow.name, narrow.args)))


def _asks_nothing(tool: ToolEntry) -> bool:
    return not tool.least and tool.most is None
