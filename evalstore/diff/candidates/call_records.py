"""Builds records of tool calls that may change a rubric's score, from what checks ask and ban."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice, permutations, product
from typing import Any

from evalstore.diff.change import Change
from evalstore.diff.kinds import KINDS
from evalstore.diff.limits import CANDIDATES
from evalstore.diff.plain_data import is_short
from evalstore.diff.rubric_state import CheckState
from evalstore.documents import write_canonical

Call = Mapping[str, Any]
Record = tuple[Call, ...]


def build_records(change: Change) -> list[Record]:
    """Return records to try, the shortest first; none unless the edited check has tools or bans."""
    checks = change.edited_checks
    if not checks or any(not KINDS[check.kind].demands_calls for check in checks):
        return []
    if any(check.params["tools"] is None and not check.params["forbidden"] for check in checks):
        return []
    return list_check_records(checks)


def list_check_records(checks: list[CheckState]) -> list[Record]:
    """Return records to which these checks of calls may give different scores.

    Records that have everything a check asks for and a banned tool come first, then the shortest.
    The list is empty if there are too many tools.
    """
    if not all(is_short(check.params["tools"], CANDIDATES.tools) for check in checks):
        return []  # nobody would read such a record, and each one is written out many times
    calls, bans = _list_calls(checks), _list_banned_calls(checks)
    banned = [(*_complete_record(check), call) for check in checks for call in bans]
    variants = chain(
        (record for check in checks for record in _build_variants(check, calls)),
        _merge_records(checks),
    )
    built = chain(banned, sorted(variants, key=len))
    short = (record for record in built if len(record) <= CANDIDATES.record_length)
    # One record may be built in several ways; equal ones have equal canonical JSON.
    found = {write_canonical(list(record)): record for record in short}
    return list(found.values())[: CANDIDATES.records]


def _build_variants(check: CheckState, calls: list[Call]) -> Iterator[Record]:
    """Yield the record that meets all demands, variants of it, then short records.

    A variant has one call less, more calls, or the calls in reverse.
    """
    complete = _complete_record(check)
    yield from ((), complete, complete[::-1])
    yield from (complete[:place] + complete[place + 1 :] for place in range(len(complete)))
    yield from ((*complete, call) for call in calls)
    for entry in check.params["tools"] or ():
        most = entry.get("max", 1)
        counts = {1, 2, most} if most <= CANDIDATES.record_length else {1, 2}
        yield from ((*complete, *[_make_call(entry)] * more) for more in sorted(counts))
    yield from ((call,) for call in calls)
    yield from islice(product(calls, repeat=2), CANDIDATES.records)


def _complete_record(check: CheckState) -> Record:
    """Return the calls that a check asks for."""
    record: list[Call] = []
    for entry in check.params["tools"] or ():
        record += [_make_call(entry)] * min(entry["min"], CANDIDATES.record_length)
    return tuple(record)


def _list_banned_calls(checks: list[CheckState]) -> list[Call]:
    """Return calls of banned tools; those that only some of the checks ban come first."""
    bans = [frozenset(check.params["forbidden"]) for check in checks]
    names = dict.fromkeys(name for check in checks for name in check.params["forbidden"])
    changed_first = sorted(names, key=lambda name: all(name in banned for banned in bans))
    return [{"name": name} for name in changed_first[: CANDIDATES.banned]]


def _merge_records(checks: list[CheckState]) -> Iterator[Record]:
    """Yield records for two checks at once: the calls of one, with one tool as the other wants it.

    That tool is called as often as the other asks for, as often as it allows, and once more.
    """
    for one, other in permutations(checks, 2):
        for entry in other.params["tools"] or ():
            call, least = _make_call(entry), max(entry["min"], 1)
            most = entry.get("max", least)
            for count in sorted({least, most, most + 1}):
                if count <= CANDIDATES.record_length:
                    yield _merge_calls(one.params["tools"] or (), call, count)


def _merge_calls(tools: Iterable[Mapping[str, Any]], call: Call, count: int) -> Record:
    """Return the calls of some tools; `call` replaces those of its own tool, `count` times."""
    record: list[Call] = []
    for asked in tools:
        record += [call] * count if asked["name"] == call["name"] else [_make_call(asked)]
    return tuple(record)


def _list_calls(checks: list[CheckState]) -> list[Call]:
    """Return calls of banned tools, variants of each entry's call, and one of another tool."""
    calls: list[Call] = []
    for check in checks:
        for entry in check.params["tools"] or ():
            args = entry.get("args", {})
            calls += [
                _make_call(entry),
                {"name": entry["name"]},
                {"name": entry["name"], "args": {**args, "other": True}},
            ]
    different = {write_canonical(call): call for call in calls}
    banned = {name for check in checks for name in check.params["forbidden"]}
    other = "another_tool"
    while other in banned or any(call["name"] == other for call in calls):
        other += "_"
    return [
        *_list_banned_calls(checks),
        *list(different.values())[: CANDIDATES.record_calls],
        {"name": other},
    ]


def _make_call(entry: Mapping[str, Any]) -> Call:
    return {"name": entry["name"], **({"args": entry["args"]} if "args" in entry else {})}
