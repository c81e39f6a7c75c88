"""Builds records of tool calls on which two versions of a tool_usage check may differ; runs none of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice, product
from typing import Any

from evalstore.diff.change import Change
from evalstore.diff.plain_data import is_short
from evalstore.diff.rubric_state import CheckState
from evalstore.documents import write_canonical

Call = Mapping[str, Any]
Record = tuple[Call, ...]

_KIND = "tool_usage"
_RECORD_LIMIT, _CALL_LIMIT, _LENGTH_LIMIT = 60, 6, 12
_TOOLS_LIMIT = 2_000


def build_records(change: Change) -> list[Record]:
    """Return records to try, the shortest first; none where the edit is of no check with tools or bans of its own."""
    checks = [check for state in change.states for check in state.checks if check.token == change.token]
    if not checks or any(check.kind != _KIND for check in checks):
        return []
    if any(check.params["tools"] is None and not check.params["forbidden"] for check in checks):
        return []
    if not all(is_short(check.params["tools"], _TOOLS_LIMIT) for check in checks):
        return []  # nobody would read it, and each record is written many times over
    # One record may be built in many ways; its canonical JSON tells them apart.
    built = (record for check in checks for record in _build_variants(check, _list_calls(checks)))
    found = {write_canonical(list(record)): record for record in built if len(record) <= _LENGTH_LIMIT}
    return sorted(found.values(), key=len)[:_RECORD_LIMIT]


def _build_variants(check: CheckState, calls: list[Call]) -> Iterator[Record]:
    """Yield the record that meets all demands, then it with a call less, a call more and reversed, then short ones."""
    complete = tuple(
        _make_call(entry) for entry in check.params["tools"] or () for _ in range(min(entry["min"], _LENGTH_LIMIT))
    )
    yield from ((), complete, complete[::-1])
    yield from (complete[:place] + complete[place + 1 :] for place in range(len(complete)))
    yield from ((*complete, call) for call in calls)
    for entry in check.params["tools"] or ():
        most = entry.get("max")
        yield from ((*complete, *[_make_call(entry)] * more) for more in (1, 2, *([] if most is None else [most])))
    yield from ((call,) for call in calls)
    yield from islice(product(calls, repeat=2), _RECORD_LIMIT)


def _list_calls(checks: list[CheckState]) -> list[Call]:
    """Return a call for each entry: as it asks, without arguments, with one more; and for each tool that is banned."""
    calls: list[Call] = []
    for check in checks:
        for entry in check.params["tools"] or ():
            args = entry.get("args", {})
            calls += [
                _make_call(entry),
                {"name": entry["name"]},
                {"name": entry["name"], "args": {**args, "other": True}},
            ]
        calls += [{"name": name} for name in check.params["forbidden"]]
    different = {write_canonical(call): call for call in calls}
    return list(different.values())[:_CALL_LIMIT]


def _make_call(entry: Mapping[str, Any]) -> Call:
    return {"name": entry["name"], **({"args": entry["args"]} if "args" in entry else {})}
