"""Rubrics, and edits of them: small ones at random, and those at the edge of what a decider proves."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from decimal import Decimal
from random import Random
from typing import Any

from tests.diff.fuzz import patterns, schemas, steps
from tests.diff.fuzz.checks import AGGREGATES, FACTS, JUDGES, RUBRICS, SIMPLE, TARGETS, check, jury, member, tool
from tests.diff.fuzz.inlining import inlined
from tests.diff.fuzz.pair import Value
from tests.diff.fuzz.words import BARS, PHRASES, TOOLS, WEIGHTS, Make, one_of, optional

MODES = ["all_pass", "any_pass", "weighted_avg", "weighted_avg", "min", "max", "median"]
_LISTS: Mapping[str, list[Any]] = {
    "values": PHRASES,
    "required_sections": PHRASES,
    "forbidden_patterns": PHRASES,
    "forbidden": TOOLS,
    "facts": FACTS,
    "targets": TARGETS,
}
# A check says one of these, or the other.
_EITHER = ({"judge_prompt_ref", "jury"}, {"schema", "expected_fields"})
_NEEDED = ("values", "pattern", "rubric_ref")
# What may be left out, and means this.
_DEFAULTS: Mapping[str, Value] = {
    "must_contain_any": {"case_sensitive": False, "min_matches": 1, "threshold": 1, "negate": False},
    "must_not_contain": {"case_sensitive": False, "threshold": 1},
    "regex": {"flags": "", "mode": "search"},
    "json_schema": {"extract": "auto", "dialect": "strict"},
    "php_lint": {"on_no_code": "pass"},
    "markdown_structure": {"dialect": "commonmark", "min_headings": 0, "max_heading_level": 6, "required_sections": []},
    "tool_usage": {"forbidden": [], "mode": "any_order", "partial": False},
    "llm_judge": {"samples": 1, "variables": {}, "threshold": Decimal("0.7"), "model": {}},
    "fact_match": {"case_sensitive": False, "threshold": 1},
    "target_match": {"mode": "exact", "tolerance": 0, "relative": 0, "threshold": 1},
    "limits": {"threshold": 1, "negate": False},
    "format": {"negate": False},
    "composite": {"negate": False},
}

Edit = Callable[[Random, Value, Mapping[str, Value]], None]


def rubric(random: Random, id_: str = "r", prefix: str = "c", *, inner: bool = False) -> Value:
    """Return a rubric; an inner one holds no composite."""
    checks = [check(random, SIMPLE if inner else ()) for _ in range(random.choice([1, 1, 2, 2, 3]))]
    for index, one in enumerate(checks):
        if random.random() < 0.9:
            one["id"] = f"{prefix}{index}"
    return {"id": id_, "version": "1.0.0", "checks": checks, "scoring": scoring(random, ids(checks))}


def scoring(random: Random, names: list[str]) -> Value:
    """Return how the checks with these names combine."""
    makes: Mapping[str, Make] = {
        "weights": lambda random: {name: random.choice(WEIGHTS) for name in names if random.random() < 0.7},
        "required": lambda random: [name for name in names if random.random() < 0.4],
        "threshold": one_of(*BARS),
        "missing": one_of("skip", "zero"),
        "errors": one_of("skip", "zero", "fail"),
        "verdict": one_of("score", "all"),
    }
    return {"combine": random.choice(MODES), **optional(random, makes)}


def ids(checks: list[Value]) -> list[str]:
    """Return the written ids of some checks."""
    return [one["id"] for one in checks if "id" in one]


def edit(random: Random, value: Value, refs: Mapping[str, Value]) -> None:
    """Edit a rubric; what the draw does not fit stays as it is."""
    random.choice(_EDITS)(random, value, refs)


def _list(random: Random, value: Value, _: Mapping[str, Value]) -> None:
    found = [(name, one[name]) for one in value["checks"] for name in _LISTS if one.get(name)]
    if not found:
        return
    name, items = random.choice(found)
    how = random.choice(["add", "drop", "swap", "turn", "double", "join", "case"])
    if how == "add":
        items.append(copy.deepcopy(random.choice(_LISTS[name])))
    elif how == "drop" and len(items) > 1:
        items.pop(random.randrange(len(items)))
    elif how == "swap":
        items[random.randrange(len(items))] = copy.deepcopy(random.choice(_LISTS[name]))
    elif how == "turn":
        items.reverse()
    elif how == "double":
        items.append(copy.deepcopy(items[0]))
    elif how == "join" and isinstance(items[0], str):
        items.append(random.choice([items[0] + random.choice(PHRASES), random.choice(PHRASES) + items[0]]))
    elif how == "case" and isinstance(items[0], str):
        items[0] = random.choice([items[0].swapcase(), items[0].lower(), items[0].upper()])


def _param(random: Random, value: Value, _: Mapping[str, Value]) -> None:
    one = random.choice(value["checks"])
    other = check(random, (one["kind"],))
    keys = sorted({*other, *one} - {"id", "kind"})
    key = random.choice(keys) if keys else "negate"
    changed = next((names for names in _EITHER if key in names and one["kind"] != "fact_match"), {key})
    for name in changed:
        one.pop(name, None)
    one.update({name: item for name, item in other.items() if name in changed or (name in _NEEDED and name not in one)})
    if one["kind"] in {"llm_judge", "json_schema"} and changed.isdisjoint(one) and len(changed) > 1:
        one.update({name: item for name, item in other.items() if name in changed})


def _respelled(random: Random, value: Value, _: Mapping[str, Value]) -> None:
    """Write a default out, or leave it out, in a check or in the scoring."""
    one = random.choice(value["checks"])
    places = [
        (one, _DEFAULTS[one["kind"]]),
        (value["scoring"], {"missing": "skip", "errors": "skip", "threshold": Decimal("0.7"), "verdict": "score"}),
    ]
    place, defaults = random.choice(places)
    name = random.choice(list(defaults))
    if name in place and place[name] == defaults[name]:
        del place[name]
    elif name not in place:
        place[name] = copy.deepcopy(defaults[name])


def _schema(random: Random, value: Value, _: Mapping[str, Value]) -> None:
    for one in value["checks"]:
        if "schema" in one and one["kind"] == "json_schema":
            one["schema"] = schemas.edited(random, one["schema"])


def _pattern(random: Random, value: Value, _: Mapping[str, Value]) -> None:
    for one in value["checks"]:
        if one["kind"] == "regex":
            patterns.edit(random, one)


def _steps(random: Random, value: Value, _: Mapping[str, Value]) -> None:
    read = [one for one in value["checks"] if one["kind"] not in steps.UNREAD]
    if read:
        steps.edit(random, random.choice(read))


def _tools(random: Random, value: Value, _: Mapping[str, Value]) -> None:
    for one in value["checks"]:
        if one["kind"] != "tool_usage" or not (tools := one.get("tools")):
            continue
        how = random.choice(["add", "drop", "turn", "double", "edit", "edit"])
        if how == "add":
            tools.append(tool(random))
        elif how == "drop":
            tools.pop(random.randrange(len(tools)))
        elif how == "turn":
            tools.reverse()
        elif how == "double":
            tools.append(copy.deepcopy(random.choice(tools)))
        else:
            place, other = random.choice(tools), tool(random)
            for name in ("args", "args_match", "min", "max"):
                if random.random() < 0.4:
                    place.pop(name, None)
                    place.update({name: other[name]} if name in other else {})


def _jury(random: Random, value: Value, _: Mapping[str, Value]) -> None:
    for one in value["checks"]:
        if "jury" in one and random.random() < 0.9:
            random.choice(_JURY)(random, one["jury"])
        elif "jury" in one:
            one["jury"] = jury(random)
        elif one["kind"] == "llm_judge" and random.random() < 0.3:
            seat = {"judge_prompt_ref": one.pop("judge_prompt_ref")}
            one["jury"] = {"aggregate": random.choice(AGGREGATES), "members": [seat]}


def _one_less(random: Random, panel: Value) -> None:
    if len(panel["members"]) > 1:
        panel["members"].pop(random.randrange(len(panel["members"])))


def _reweighed(random: Random, panel: Value) -> None:
    factor = random.choice([2, 2, 3, 0])
    for seat in panel["members"]:
        seat["weight"] = seat.get("weight", 1) * factor


_JURY: list[Callable[[Random, Value], Any]] = [
    _one_less,
    _reweighed,
    lambda random, panel: panel["members"].append(member(random)),
    lambda _, panel: panel["members"].reverse(),
    lambda random, panel: panel.update(aggregate=random.choice(AGGREGATES)),
    lambda random, panel: panel.update(aggregate=random.choice(AGGREGATES)),
    lambda random, panel: random.choice(panel["members"]).update(weight=random.choice(WEIGHTS)),
    lambda random, panel: random.choice(panel["members"]).update(judge_prompt_ref=random.choice(JUDGES)),
]


def _ref(random: Random, value: Value, _: Mapping[str, Value]) -> None:
    for one in value["checks"]:
        for name, items in (("judge_prompt_ref", JUDGES), ("rubric_ref", RUBRICS)):
            if name in one:
                one[name] = random.choice(items[:3])


def _checks(random: Random, value: Value, _: Mapping[str, Value]) -> None:
    checks = value["checks"]
    index, fresh = random.randrange(len(checks)), f"n{random.randrange(1000)}"
    how = random.choice(["add", "drop", "rename", "turn", "nameless", "kind", "ghost", "literal", "note", "double"])
    one = checks[index]
    if how == "add":
        checks.insert(index, {"id": fresh, **check(random)})
    elif how == "ghost":
        checks.append({"id": fresh, **check(random)})
        value["scoring"].setdefault("weights", {})[fresh] = 0
    elif how == "double":
        checks.append({**copy.deepcopy(one), "id": fresh})
    elif how == "drop" and len(checks) > 1:
        checks.pop(index)
    elif how == "rename":
        _rename(value, one, fresh)
    elif how == "turn":
        checks.reverse()
    elif how == "nameless":
        one.pop("id", None)
    elif how == "note":
        one[random.choice(["description", "x_note", "severity"])] = fresh
    elif how == "kind":
        checks[index] = {**({"id": one["id"]} if "id" in one else {}), **check(random)}
    elif how == "literal" and one["kind"] in {"must_contain_any", "must_not_contain"}:
        checks[index] = _as_pattern(random, one)


def _rename(value: Value, one: Value, fresh: str) -> None:
    old, weights = one.get("id"), value["scoring"].get("weights", {})
    one["id"] = fresh
    if old in weights:
        weights[fresh] = weights.pop(old)
    value["scoring"] |= {"required": [fresh if name == old else name for name in value["scoring"].get("required", [])]}


def _as_pattern(random: Random, one: Value) -> Value:
    rest = {name: one[name] for name in ("id", "negate", "threshold") if name in one}
    if one["kind"] == "must_not_contain":
        rest["negate"] = not rest.get("negate", False)
    text = "|".join("".join(f"\\{char}" if char in "#." else char for char in phrase) for phrase in one["values"])
    flags = {} if one.get("case_sensitive", False) or random.random() < 0.2 else {"flags": "i"}
    return {"kind": "regex", "pattern": text, **flags, **rest}


def _scoring(random: Random, value: Value, _: Mapping[str, Value]) -> None:
    scored, names = value["scoring"], ids(value["checks"])
    how = random.choice(
        [
            *("combine", "combine", "weight", "rescale", "threshold", "threshold", "required", "missing", "errors"),
            "verdict",
        ]
    )
    weights = scored.setdefault("weights", {}) if how in {"weight", "rescale"} else {}
    if how == "combine":
        scored["combine"] = random.choice(MODES)
    elif how == "weight" and names:
        weights[random.choice(names)] = random.choice(WEIGHTS)
    elif how == "rescale" and len(names) == len(value["checks"]):
        factor = random.choice([Decimal("0.1"), 3, 7])
        weights.update({name: weights.get(name, 1) * factor for name in names})
    elif how == "required" and names:
        scored["required"] = [name for name in names if random.random() < 0.5]
    elif how in {"threshold", "missing", "errors", "verdict"}:
        words = {
            "threshold": BARS,
            "verdict": ["score", "all"],
            "missing": ["skip", "zero"],
            "errors": ["skip", "zero", "fail"],
        }
        scored[how] = random.choice(words[how])


def _root(random: Random, value: Value, _: Mapping[str, Value]) -> None:
    place = random.choice([value, value["scoring"], *value["checks"]])
    name = random.choice(["title", "tags", "x_note", "strange", "id"])
    if place is value or name != "id":
        place[name] = random.choice([["a"], "s", 1, None])


def _swap(random: Random, value: Value, refs: Mapping[str, Value]) -> None:
    """Take any part of another rubric of the same shape, whatever comes of it."""
    other = rubric(random)
    if random.random() < 0.5:
        value["scoring"] = other["scoring"]
    else:
        value["checks"][random.randrange(len(value["checks"]))] = other["checks"][0]
    if len(set(ids(value["checks"]))) < len(ids(value["checks"])):
        _checks(random, value, refs)


_EDITS: list[Edit] = [
    *[_list] * 5, *[_param] * 4, *[_respelled] * 2, *[_schema] * 3, *[_pattern] * 3, *[_tools] * 3, *[_jury] * 3, _ref, _ref,
    *[inlined] * 2, *[_checks] * 4, *[_scoring] * 5, *[_steps] * 3, _root, _swap,
]  # fmt: skip
