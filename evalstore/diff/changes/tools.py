"""Changes of the tools that a tool_usage check lists: entries paired, then edited one demand at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evalstore.diff.change import Change
from evalstore.diff.changes.walk import EditScript, with_param
from evalstore.diff.pair import pair_items
from evalstore.diff.plain import is_same, describe_value
from evalstore.diff.state import CheckState
from evalstore.documents import canonical

Entry = dict[str, Any]
# Where an entry stood, and where it goes to.
Seat = tuple[int | None, int | None]

_NAME = "tools"
_READ = frozenset({"name", "args", "args_match", "min", "max"})
_PLAIN = {"args_match": "subset", "min": 1}
_ASKED = (("min",), ("max",), ("args", "args_match"))
_LISTED = 100


def tool_changes(walk: EditScript, token: str) -> Iterator[Change]:
    """Yield the edits of a check's `tools`: demands of one entry, entries that come and go, and their order."""
    old, new = (side[token].params[_NAME] for side in (walk.current, walk.goal))
    if old is None or new is None or len(old) + len(new) > _LISTED:
        item = "tools of its own" if old is None or new is None else "another list"
        done = with_param(walk.current[token], _NAME, new)
        yield walk.edit_check("tool-required-changed", _NAME, done, old=old, new=new, words={"item": item})
        return
    pairs = pair_items(old, new, is_same, _mean_the_same, _have_one_name)
    seats: list[Seat] = [(place, pairs.get(place)) for place in range(len(old))]
    for place, after in sorted(pairs.items()):
        yield from _entry_changes(walk, token, (place, after))
    yield from _added(walk, token, seats)
    yield from _removed(walk, token, seats)
    yield from _ordered(walk, token, seats)


def _mean_the_same(one: Entry, other: Entry) -> bool:
    meant = ([entry["name"], entry.get("args"), "args" in entry and entry["args_match"]] for entry in (one, other))
    return is_same(*meant)


def _have_one_name(one: Entry, other: Entry) -> bool:
    return bool(one["name"] == other["name"])


def _entry_changes(walk: EditScript, token: str, places: tuple[int, int]) -> Iterator[Change]:
    goal: Entry = walk.goal[token].params[_NAME][places[1]]
    for keys in _ASKED:
        entry: Entry = walk.current[token].params[_NAME][places[0]]
        if all((key in entry) is (key in goal) and is_same(entry.get(key), goal.get(key)) for key in keys):
            continue
        edited = {**{key: item for key, item in entry.items() if key not in keys}, **_part(goal, keys)}
        old, new = (_told(one, keys) for one in (entry, goal))
        done = _with(walk.current[token], places[0], edited)
        key = next(key for key in reversed(keys) if not is_same(entry.get(key), goal.get(key)))
        at = ((_NAME, places[0], key), (_NAME, places[1], key))
        words = {"name": f"{key} of {describe_value(goal['name'])}"}
        yield walk.edit_check("tool-constraint-changed", key, done, old=old, new=new, at=at, words=words)
    check = walk.current[token]
    entries = (check.params[_NAME][places[0]], goal)
    yield from walk.edit_extra_keys(token, entries, at=((_NAME, places[0]), (_NAME, places[1])), known=_READ)
    walk.adopt_check(_with(check, places[0], goal))


def _told(entry: Entry, keys: tuple[str, ...]) -> Any:
    # Arguments and how they match are one demand, and are told in full where both are written.
    if len(keys) == 1 or "args" not in entry:
        return entry.get(keys[0])
    return entry["args"] if entry["args_match"] == "subset" else {"exactly": entry["args"]}


def _part(entry: Entry, keys: tuple[str, ...]) -> Entry:
    return {key: item for key, item in entry.items() if key in keys}


def _with(check: CheckState, place: int, entry: Entry) -> CheckState:
    tools = check.params[_NAME]
    return with_param(check, _NAME, [*tools[:place], entry, *tools[place + 1 :]])


def _added(walk: EditScript, token: str, seats: list[Seat]) -> Iterator[Change]:
    # What is added comes before what is removed: then lists that are equal are proved equal, whatever was exchanged.
    goal: list[Entry] = walk.goal[token].params[_NAME]
    for at, entry in enumerate(goal):
        seated = {after: place for place, (_, after) in enumerate(seats)}
        if at in seated:
            continue
        place = next((seated[before] + 1 for before in reversed(range(at)) if before in seated), 0)
        seats.insert(place, (None, at))
        tools = walk.current[token].params[_NAME]
        done = with_param(walk.current[token], _NAME, [*tools[:place], entry, *tools[place:]])
        yield _one(walk, done, entry, new=entry, at=(None, (_NAME, at)))


def _removed(walk: EditScript, token: str, seats: list[Seat]) -> Iterator[Change]:
    while (place := next((place for place, (_, after) in enumerate(seats) if after is None), None)) is not None:
        before, _ = seats.pop(place)
        tools = walk.current[token].params[_NAME]
        done = with_param(walk.current[token], _NAME, [*tools[:place], *tools[place + 1 :]])
        yield _one(walk, done, tools[place], old=tools[place], at=((_NAME, before), None))


def _one(walk: EditScript, done: CheckState, entry: Entry, **facts: Any) -> Change:
    more = {key: item for key, item in entry.items() if key != "name" and not is_same(item, _PLAIN.get(key))}
    item = describe_value(entry["name"]) + (f" ({describe_value(more)})" if more else "")
    return walk.edit_check("tool-required-changed", _NAME, done, words={"item": item}, **facts)


def _ordered(walk: EditScript, token: str, seats: list[Seat]) -> Iterator[Change]:
    order = [after for _, after in seats]
    if order == sorted(order, key=lambda after: -1 if after is None else after):
        return
    check, goal = walk.current[token], walk.goal[token].params[_NAME]
    rule = "list-reordered" if _queue(check, check.params[_NAME]) == _queue(check, goal) else "tool-order-mode-changed"
    names = [[entry["name"] for entry in tools] for tools in (check.params[_NAME], goal)]
    yield walk.edit_check(rule, _NAME, with_param(check, _NAME, goal), old=names[0], new=names[1], discriminator=goal)


def _queue(check: CheckState, tools: list[Entry]) -> list[str]:
    """Return the entries whose order counts: in `in_order` those that are required, in `exact` all that take calls."""
    mode = check.params["mode"]
    if mode == "any_order":
        return []
    return [canonical(entry) for entry in tools if entry["min"] or (mode == "exact" and entry.get("max"))]
