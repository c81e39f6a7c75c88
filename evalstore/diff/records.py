"""Builds records of tool calls that may tell one list of demands from another; plays none of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice, product
from typing import Any

from evalstore.diff.change import Change
from evalstore.diff.plain import short
from evalstore.diff.state import CheckState
from evalstore.documents import canonical

Call = Mapping[str, Any]
Record = tuple[Call, ...]

_KIND = "tool_usage"
_TRIED, _CALLS, _LONGEST = 60, 6, 12
_READABLE = 2_000


def records(change: Change) -> list[Record]:
    """Return records to try, the shortest first; none where the edit is of no check with tools or bans of its own."""
    checks = [check for state in change.states for check in state.checks if check.token == change.token]
    if not checks or any(check.kind != _KIND for check in checks):
        return []
    if any(check.params["tools"] is None and not check.params["forbidden"] for check in checks):
        return []
    if not all(short(check.params["tools"], _READABLE) for check in checks):
        return []  # nobody would read it, and each record is written many times over
    built = (record for check in checks for record in _built(check, _calls(checks)))
    found = {canonical(list(record)): record for record in built if len(record) <= _LONGEST}
    return sorted(found.values(), key=len)[:_TRIED]


def _built(check: CheckState, calls: list[Call]) -> Iterator[Record]:
    """Yield what meets all demands, without a call, with one more, and turned round; then all of one call or two."""
    whole = tuple(_call(entry) for entry in check.params["tools"] or () for _ in range(min(entry["min"], _LONGEST)))
    yield from ((), whole, whole[::-1])
    yield from (whole[:place] + whole[place + 1 :] for place in range(len(whole)))
    yield from ((*whole, call) for call in calls)
    for entry in check.params["tools"] or ():
        most = entry.get("max")
        yield from ((*whole, *[_call(entry)] * more) for more in (1, 2, *([] if most is None else [most])))
    yield from ((call,) for call in calls)
    yield from islice(product(calls, repeat=2), _TRIED)


def _calls(checks: list[CheckState]) -> list[Call]:
    """Return a call for each entry: as it asks, without arguments, with one more; and for each tool that is banned."""
    calls: list[Call] = []
    for check in checks:
        for entry in check.params["tools"] or ():
            args = entry.get("args", {})
            calls += [_call(entry), {"name": entry["name"]}, {"name": entry["name"], "args": {**args, "other": True}}]
        calls += [{"name": name} for name in check.params["forbidden"]]
    different = {canonical(call): call for call in calls}
    return list(different.values())[:_CALLS]


def _call(entry: Mapping[str, Any]) -> Call:
    return {"name": entry["name"], **({"args": entry["args"]} if "args" in entry else {})}
