"""Steps of `on`, edits of them, and outputs in which they find something."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from evalstore.documents import write_canonical
from tests.diff.fuzz.pair import Value

STEPS: list[Any] = [
    *("strip", "strip", "strip_fence", "first_number", "last_line", "last_line", "lower", "lower", "nfkc"),
    *("no_punctuation", "no_articles", "collapse_space", "no_thousands", "no_markup"),
    *({"json_path": "$.a"}, {"json_path": {"path": "$.a", "type": "string"}}, {"json_path": "$['a'][0]"}),
    *({"json_path": {"path": path, "type": type_}} for path in ("$.a", "$") for type_ in ("any", "number", "boolean")),
    *(
        {"regex_group": "a(.*)"},
        {"regex_group": {"pattern": "b|x", "group": 0, "flags": "i"}},
        {"regex_group": "(a)|b"},
        {"regex_group": {"pattern": "(?a:(\\w+))", "group": 1}},
        {"regex_group": {"pattern": "^(.*?)$ # x", "flags": "msx"}},
        {"regex_group": "(?i:(k+))"},
    ),
    {"regex_group": "(.*a.*b.*a.*b.*1)"},
    *(
        {"remove": "a|b"},
        {"remove": {"pattern": "^a", "only_first": True}},
        {"remove": {"pattern": "A", "flags": "i"}},
        "utf16",
    ),
]
UNREAD = frozenset({"composite", "tool_usage"})


def steps(random: Random) -> list[Any]:
    """Return a few steps."""
    return copy.deepcopy([random.choice(STEPS) for _ in range(random.choice([1, 1, 2, 3]))])


def edit(random: Random, check: Value) -> None:
    """Edit the steps of a check, or what becomes of it where they find nothing."""
    how = random.choice(["add", "add", "drop", "swap", "turn", "nothing", "spell"])
    on = check.setdefault("on", [])
    if how == "add":
        on.insert(random.choice([0, len(on), len(on)]), copy.deepcopy(random.choice(STEPS)))
    elif how == "drop" and on:
        on.pop(random.randrange(len(on)))
    elif how == "swap" and on:
        on[random.randrange(len(on))] = copy.deepcopy(random.choice(STEPS))
    elif how == "turn":
        on.reverse()
    elif how == "nothing":
        check["on_nothing"] = "fail" if check.get("on_nothing") == "missing" else "missing"
    elif how == "spell":
        check["on"] = [{"json_path": {"path": "$.a"}} if step == {"json_path": "$.a"} else step for step in on]


def list_steps(sides: Sequence[Value]) -> list[list[Any]]:
    """Return the steps of all checks of some artifacts."""
    checks = (check for side in sides for check in side.get("checks", ()) if isinstance(check, dict))
    return [check["on"] for check in checks if isinstance(check.get("on"), list) and check["on"]]


def wrap(random: Random, text: str, on: Sequence[Any]) -> str:
    """Return an output in which the steps may find a text."""
    for step in reversed(on):
        if random.random() < 0.9:
            text = random.choice(list(_wrappings(text, step)))
    return text


def _wrappings(text: str, step: Any) -> Iterator[str]:
    name = step if isinstance(step, str) else next(iter(step))
    if name == "json_path":
        yield from (write_canonical({"a": value}) for value in (text, [text], [text], 1, None))
    elif name == "regex_group":
        yield from (f"a{text}", f"b{text}", f"x a{text}\nb")
    elif name == "strip_fence":
        yield from (f"```\n{text}\n```", f"~~~json\n{text}\n~~~\n", f"```\n{text}")
    elif name == "first_number":
        yield from (f"x {text}", f"{text} 2", f"1,{text}")
    elif name == "last_line":
        yield from (f"a\n{text}\n", f"b\r\n{text}", f"{text}\nb")
    elif name == "no_markup":
        yield from (f"**{text}**", f"<b>{text}</b>", f"# {text}")
    else:
        yield from (f" {text}\n", text.upper(), f"the {text}.", text)
