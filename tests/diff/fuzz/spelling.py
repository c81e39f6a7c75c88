"""Writes one value as YAML in ever other ways: layout, comments, order of keys, quotes, and spellings of numbers."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from random import Random
from typing import Any

_WORD = re.compile(r"[a-z_]{2,}[0-9]*")
_READ_OTHERWISE = frozenset({"null", "true", "false", "yes", "no", "on", "off"})
_COMMENTS = ["", "", "", "  # why", "  # {a: [1", "  # 'a"]


def spelled(random: Random, value: Any) -> str:
    """Return a mapping as a YAML document that reads as this value."""
    return random.choice(["", "# a comment\n", "---\n"]) + "\n".join(_block(random, value, 0)) + "\n"


def _block(random: Random, value: Any, indent: int) -> list[str]:
    lines: list[str] = []
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    if isinstance(value, dict):
        random.shuffle(keys)
    for key in keys:
        head = f"{' ' * indent}{'-' if isinstance(value, list) else _text(random, key) + ':'}"
        if isinstance(value[key], dict | list) and value[key] and random.random() < 0.7:
            lines += [head + random.choice(_COMMENTS), *_block(random, value[key], indent + random.choice([2, 4]))]
        else:
            lines.append(f"{head} {_flow(random, value[key])}{random.choice(_COMMENTS)}")
        if random.random() < 0.1:
            lines.append(random.choice(["", f"{' ' * indent}# between"]))
    return lines


def _flow(random: Random, value: Any) -> str:
    if isinstance(value, dict):
        pairs = [f"{_text(random, key)}: {_flow(random, item)}" for key, item in value.items()]
        random.shuffle(pairs)
        return "{" + random.choice([", ", " , ", ",\n      "]).join(pairs) + "}"
    if isinstance(value, list):
        return "[" + random.choice([", ", " ,"]).join(_flow(random, item) for item in value) + "]"
    if isinstance(value, str):
        return _text(random, value)
    if value is None or isinstance(value, bool):
        return random.choice({None: ["null", "~", "Null"], True: ["true", "True"], False: ["false", "FALSE"]}[value])
    return _number(random, Decimal(value))


def _number(random: Random, number: Decimal) -> str:
    plain = format(number, "f")
    ways = [plain, f"{plain}0" if "." in plain else f"{plain}.0", f"{plain}e0", f"{number:E}"]
    if number == int(number) and number >= 0:
        ways += [f"+{int(number)}", f"{int(number):#x}", f"{int(number)}."]
    return random.choice(ways)


def _text(random: Random, text: str) -> str:
    ways = [json.dumps(text), json.dumps(text)]
    if text.isprintable():
        ways += [json.dumps(text, ensure_ascii=False), "'" + text.replace("'", "''") + "'"]
    if _WORD.fullmatch(text) and text not in _READ_OTHERWISE:
        ways += [text, text]
    return random.choice(ways)
