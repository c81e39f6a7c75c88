"""tool_usage: tools that must or must not be called, their order, and partial credit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evalstore.checks.tools import TOOL_LIMIT
from evalstore.diff.change import Change
from evalstore.diff.changes.edit_script import EditScript, set_param
from evalstore.diff.kinds import (
    ComparedKind,
    Param,
    Params,
    Row,
    UnreadableError,
    read_count,
    read_one_of,
    read_switch,
    read_text,
    read_texts,
    read_typed,
    say_always,
)
from evalstore.diff.limits import COMPARED
from evalstore.diff.pairing import pair_items
from evalstore.diff.plain_data import describe_value, is_same
from evalstore.diff.rubric_state import CheckState
from evalstore.documents import Pointer, write_canonical

Entry = dict[str, Any]
# The index of an entry in the old list and in the new one; None if the list does not have it.
EntryPlace = tuple[int | None, int | None]

_NAME = "tools"
_READ_KEYS = frozenset({"name", "args", "args_match", "min", "max"})
_DEFAULTS = {"args_match": "subset", "min": 1}
_DEMAND_KEYS = (("min",), ("max",), ("args", "args_match"))
# The first asks for least, the last for most.
_MODES = ("any_order", "in_order", "exact")
_CONSTRAINT = "tool-constraint-changed"
_read_args_match = read_one_of("subset", "exact")


def find_tool_changes(script: EditScript, token: str) -> Iterator[Change]:
    """Yield the edits of a check's `tools`: edited, added and removed entries, and their order."""
    old, new = (side[token].params[_NAME] for side in (script.current, script.goal))
    if old is None or new is None or len(old) + len(new) > COMPARED.items:
        # Without a list, the question's tools count.
        words = {"item": "list"} | ({} if old is None or new is None else {"came": "replaces"})
        edited = set_param(script.current[token], _NAME, new)
        yield script.edit_check(
            "tool-required-changed", _NAME, edited, old=old, new=new, words=words
        )
        return
    # Entries pair by three criteria: equal, the same tool and arguments, the same tool.
    pairs = pair_items(old, new, is_same, _has_same_demand, _has_same_name)
    places: list[EntryPlace] = [(place, pairs.get(place)) for place in range(len(old))]
    for place, after in sorted(pairs.items()):
        yield from _edit_entry(script, token, (place, after))
    yield from _add_entries(script, token, places)
    yield from _remove_entries(script, token, places)
    yield from _order_entries(script, token, places)


def _has_same_demand(one: Entry, other: Entry) -> bool:
    return is_same(_read_demand(one), _read_demand(other))


def _read_demand(entry: Entry) -> list[Any]:
    return [entry["name"], entry.get("args"), "args" in entry and entry["args_match"]]


def _has_same_name(one: Entry, other: Entry) -> bool:
    return bool(one["name"] == other["name"])


def _edit_entry(script: EditScript, token: str, places: tuple[int, int]) -> Iterator[Change]:
    goal: Entry = script.goal[token].params[_NAME][places[1]]
    for keys in _DEMAND_KEYS:
        entry: Entry = script.current[token].params[_NAME][places[0]]
        if is_same(_select_keys(entry, keys), _select_keys(goal, keys)):
            continue
        kept = {key: item for key, item in entry.items() if key not in keys}
        edited_entry = {**kept, **_select_keys(goal, keys)}
        old, new = (_describe_demand(one, keys) for one in (entry, goal))
        edited = _replace_entry(script.current[token], places[0], edited_entry)
        key = next(key for key in reversed(keys) if not is_same(entry.get(key), goal.get(key)))
        at = ((_NAME, places[0], key), (_NAME, places[1], key))
        words = {"name": f"{key} of {describe_value(goal['name'])}"}
        yield script.edit_check(
            "tool-constraint-changed", key, edited, old=old, new=new, at=at, words=words
        )
    check = script.current[token]
    entries = (check.params[_NAME][places[0]], goal)
    yield from script.edit_extra_keys(
        token, entries, at=((_NAME, places[0]), (_NAME, places[1])), known=_READ_KEYS
    )
    script.adopt_check(_replace_entry(check, places[0], goal))


def _describe_demand(entry: Entry, keys: tuple[str, ...]) -> Any:
    # Arguments and how they match are one demand: the message shows both if both are written.
    if len(keys) == 1 or "args" not in entry:
        return entry.get(keys[0])
    return entry["args"] if entry["args_match"] == "subset" else {"exactly": entry["args"]}


def _select_keys(entry: Entry, keys: tuple[str, ...]) -> Entry:
    return {key: item for key, item in entry.items() if key in keys}


def _replace_entry(check: CheckState, place: int, entry: Entry) -> CheckState:
    tools = check.params[_NAME]
    return set_param(check, _NAME, [*tools[:place], entry, *tools[place + 1 :]])


def _add_entries(script: EditScript, token: str, places: list[EntryPlace]) -> Iterator[Change]:
    # Entries are added before others are removed, so that a list with the same meaning in the end
    # is proved equal, whatever was exchanged.
    goal: list[Entry] = script.goal[token].params[_NAME]
    for at, entry in enumerate(goal):
        seated = {after: place for place, (_, after) in enumerate(places)}
        if at in seated:
            continue
        place = next((seated[before] + 1 for before in reversed(range(at)) if before in seated), 0)
        places.insert(place, (None, at))
        tools = script.current[token].params[_NAME]
        edited = set_param(script.current[token], _NAME, [*tools[:place], entry, *tools[place:]])
        yield _edit_whole_entry(script, edited, entry, new=entry, at=(None, (_NAME, at)))


def _remove_entries(script: EditScript, token: str, places: list[EntryPlace]) -> Iterator[Change]:
    while (
        place := next((place for place, (_, after) in enumerate(places) if after is None), None)
    ) is not None:
        before, _ = places.pop(place)
        tools = script.current[token].params[_NAME]
        edited = set_param(script.current[token], _NAME, [*tools[:place], *tools[place + 1 :]])
        yield _edit_whole_entry(
            script, edited, tools[place], old=tools[place], at=((_NAME, before), None)
        )


def _edit_whole_entry(script: EditScript, edited: CheckState, entry: Entry, **facts: Any) -> Change:
    given = {key: item for key, item in entry.items() if key != "name"}
    more = {key: item for key, item in given.items() if not is_same(item, _DEFAULTS.get(key))}
    item = describe_value(entry["name"]) + (f" ({describe_value(more)})" if more else "")
    return script.edit_check("tool-required-changed", _NAME, edited, words={"item": item}, **facts)


def _order_entries(script: EditScript, token: str, places: list[EntryPlace]) -> Iterator[Change]:
    order = [after for _, after in places]
    if order == sorted(order, key=lambda after: -1 if after is None else after):
        return
    check, goal = script.current[token], script.goal[token].params[_NAME]
    before, after = (_list_ordered_entries(check, tools) for tools in (check.params[_NAME], goal))
    rule = "list-reordered" if before == after else "tool-order-mode-changed"
    names = [[entry["name"] for entry in tools] for tools in (check.params[_NAME], goal)]
    yield script.edit_check(
        rule, _NAME, set_param(check, _NAME, goal), old=names[0], new=names[1], discriminator=goal
    )


def _list_ordered_entries(check: CheckState, tools: list[Entry]) -> list[str]:
    """Return the entries whose order counts: required ones, and in `exact` all that allow calls."""
    mode = check.params["mode"]
    if mode == "any_order":
        return []
    ordered = [one for one in tools if one["min"] or (mode == "exact" and one.get("max"))]
    return [*map(write_canonical, ordered)]


def count_required_tools(params: Params) -> int | None:
    """Return how many tools a tool_usage check requires; None if the question says that."""
    tools = params["tools"]
    return sum(entry["min"] > 0 for entry in tools) if isinstance(tools, list) else None


def _read_tools(value: Any) -> list[dict[str, Any]]:
    """Return the entries of `tools`, each with its defaults written out."""
    return [_read_tool(entry) for entry in read_typed(value, list)]


def _read_tool(value: Any) -> dict[str, Any]:
    entry = {**_DEFAULTS, **read_typed(value, dict)}
    limits = {name: read_count(entry[name]) for name in ("min", "max") if name in entry}
    args = {"args": read_typed(entry["args"], dict)} if "args" in entry else {}
    match = _read_args_match(entry["args_match"])
    return {**entry, "name": read_text(entry.get("name")), **args, "args_match": match, **limits}


def _find_question_parts(params: Params) -> Iterator[Pointer]:
    if params["tools"] is None:
        yield ("expected_tools",)


def _fill_from_reference(check: Params, row: Row) -> dict[str, Any]:
    if "tools" in check or row.get("expected_tools") is None:
        return {}
    return {
        "tools": [_read_expected_tool(entry) for entry in read_typed(row["expected_tools"], list)]
    }


def _read_expected_tool(entry: Any) -> dict[str, Any]:
    if not str(entry.get("name", "") if isinstance(entry, dict) else entry).strip():
        raise UnreadableError("a tool has no name")
    if isinstance(entry, dict):
        source = {key: entry[key] for key in ("name", "args") if key in entry}
        return {key: item for key, item in _read_tool(source).items() if key in source}
    return {"name": read_text(entry)}


def _asks_nothing(params: Params) -> bool:
    if params["tools"] is None or params["forbidden"] or params["mode"] == "exact":
        return False
    return not any(entry["min"] or "max" in entry for entry in params["tools"])


def _drop_repeated(entries: list[Entry]) -> list[Entry]:
    kept: list[Entry] = []
    for entry in entries:
        if not any(is_same(entry, other) for other in kept):
            kept.append(entry)
    return kept


def _simplify(params: Params) -> Params:
    """Return parameters with the same answers, without what has no effect."""
    if params["tools"] is None or len(params["tools"]) > TOOL_LIMIT:
        return params
    mode, partial = params["mode"], params["partial"]
    if (count_required_tools(params) or 0) < 2:  # noqa: PLR2004  # order and shares need two tools
        mode, partial = "any_order" if mode == "in_order" else mode, False
    # How arguments match has no effect without arguments.
    idle = {"args_match": _DEFAULTS["args_match"]}
    tools = [entry if "args" in entry else {**entry, **idle} for entry in params["tools"]]
    forbidden = params["forbidden"]
    if mode == "exact":
        # A call of a tool that no entry names is one too many anyway.
        named = {entry["name"] for entry in tools}
        forbidden = [name for name in forbidden if name in named]
    if mode != "exact":
        tools = [entry for entry in tools if entry["min"] or "max" in entry]
    if mode == "any_order" and not partial:
        tools = _drop_repeated(tools)
    return {**params, "tools": tools, "forbidden": forbidden, "mode": mode, "partial": partial}


# Edits of tools are compared in the mode that asks for less, and without partial credit.
KIND = ComparedKind(
    params={
        # An empty list differs from none: with it, the question's tools are not asked for.
        "tools": Param(None, _read_tools, rule="tool-required-changed", edits=find_tool_changes),
        "forbidden": Param(
            [], read_texts, rule=_CONSTRAINT, items=(_CONSTRAINT, _CONSTRAINT), is_set=True
        ),
        "mode": Param(
            "any_order",
            read_one_of(*_MODES),
            rule="tool-order-mode-changed",
            comes_first=lambda old, new: _MODES.index(old) > _MODES.index(new),
        ),
        "partial": Param(
            False,
            read_switch,
            rule="check-partial-credit-changed",
            comes_first=lambda old, _: bool(old),
        ),
    },
    is_binary=lambda params: not params["partial"] or count_required_tools(params) in {0, 1},
    may_miss=say_always,  # an output may have no recorded calls
    may_err=lambda params: params["tools"] is None or len(params["tools"]) > TOOL_LIMIT,
    demands_calls=True,
    question_parts=_find_question_parts,
    fill_from_reference=_fill_from_reference,
    simplify=_simplify,
    passes_all=_asks_nothing,
    score_parts=lambda params: count_required_tools(params) or 0,
)
