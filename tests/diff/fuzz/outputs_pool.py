"""A large pool of outputs for a pair of realistic artifacts: what both sides look for, alone and together, and near misses."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from itertools import chain, combinations, islice, product
from random import Random
from typing import Any

from evalstore.documents import write_canonical
from tests.diff.fuzz.pair import Pair, Value

# Texts that are joined, texts in the pool, instances of one schema, records of calls.
_JOINED, _TEXTS, _INSTANCES, _RECORDS = 40, 700, 160, 150
_LISTS = ("values", "required_sections", "forbidden_patterns", "facts", "expected_facts")
# What people's models write: refusals, headings, code, JSON, blanks.
COMMON = [
    "",
    "I cannot help with that.",
    "Yes.",
    "no",
    "# Title\n\nSome text.",
    "## Part\n\nText.\n\n## Other part\n\nMore.",
    "### Deep\n\ntext",
    "One paragraph.\n\nAnother one.\n\nA third.",
    "```php\n$x = 1;\n```",
    "```php\n$x = ;\n```",
    "```python\nprint(1)\n```",
    "- one\n- two",
    "1. one\n2. two",
    "x" * 40,
    "word " * 30,
    "{}",
    "[1, 2]",
    "2024-05-01",
    "42",
    "Title\n=====\n\ntext",
    "```\n# no heading\n```",
    "#no blank",
    "    # indented",
    "> ## quoted\n\ntext",
    "line\nline\n",
]


def list_texts(random: Random, pair: Pair, more: list[str]) -> list[str]:
    """Return texts to grade, the plain ones first."""
    sides = [pair.old, pair.new, *pair.refs.values()]
    wanted = list(dict.fromkeys(chain(more, *map(_find_wanted, sides))))
    sized = list(dict.fromkeys(text for side in sides for text in _find_sized(side)))
    json = list(dict.fromkeys(text for side in sides for text in _find_json(random, side)))
    lonely = [text for part in wanted for text in (part, part.upper(), part.lower(), f"The {part}.", f"{part}\n")]
    sections = [f"{'#' * level} {part}\n\ntext" for part in wanted for level in (1, 2, 3)]
    few = random.sample(wanted + sections, min(len(wanted + sections), _JOINED))
    pairs = ["\n\n".join(pair_) for pair_ in combinations([*wanted[:_JOINED], *COMMON[1:10]], 2)]
    triples = ["\n\n".join(random.sample(few, min(3, len(few)))) for _ in range(120)] if few else []
    fenced = [f"Here:\n\n```json\n{text}\n```\n" for text in json[:60]]
    beside = [f"{part}\n\n{text}" for part in (*few[:8], "\n".join(wanted)) for text in (*fenced[:12], *COMMON[1:])]
    everything = "\n\n".join(wanted)
    plain = [*COMMON, *lonely, *sized, *json, *fenced, everything, *sections]
    rest = [*pairs, *triples, *beside, *(f"{everything}\n\n{text}" for text in (*fenced[:40], *COMMON))]
    rest += ["\n\n".join(part for part in wanted if part != left) for left in wanted]
    random.shuffle(rest)
    return list(dict.fromkeys([*plain, *rest]))[:_TEXTS]


def list_records(random: Random, pair: Pair) -> list[list[Value] | None]:
    """Return records of tool calls; None, no record, comes first."""
    calls: dict[str, Value] = {}
    for side in (pair.old, pair.new, *pair.refs.values()):
        for tool in _find_tools(side):
            args = tool.get("args", {})
            for call in (
                {"name": tool["name"]},
                {"name": tool["name"], "args": args},
                {"name": tool["name"], "args": {**args, "extra": 1}},
            ):
                calls[write_canonical(call)] = call
    if not calls:
        return [None]
    few = list(calls.values())
    records: list[list[Value]] = [[], *([call] for call in few), list(few), list(reversed(few))]
    records += [list(both) for both in islice(product(few, repeat=2), 50)]
    records += [[random.choice(few) for _ in range(random.randint(2, 6))] for _ in range(60)]
    return [None, *records][:_RECORDS]


def _find_wanted(side: Value) -> Iterator[str]:
    """Yield what the checks and questions of an artifact look for."""
    for holder in (*side.get("checks", ()), *side.get("questions", ())):
        for name in _LISTS:
            for item in holder.get(name) or ():
                yield item["value"] if isinstance(item, dict) else item
        expected = holder.get("expected")
        if expected is not None:
            yield expected if isinstance(expected, str) else write_canonical(expected)


def _find_sized(side: Value) -> Iterator[str]:
    for check in side.get("checks", ()):
        for name in ("min_chars", "max_chars"):
            if isinstance(size := check.get(name), int):
                for length in (size, size + 1, max(size - 1, 0), size + 10):
                    yield "x" * length
                    yield f'"{"x" * max(length - 2, 0)}"'
        for count in range(5):
            if check["kind"] == "markdown_structure":
                yield "\n\n".join(["## Part\n\ntext"] * count)
                yield "\n\n".join(["```\ncode\n```"] * count)
                yield "\n\n".join(["Paragraph."] * count)
                yield f"{'#' * (count + 1)} Head"


def _find_json(random: Random, side: Value) -> Iterator[str]:
    for check in side.get("checks", ()):
        if isinstance(schema := check.get("schema"), dict):
            found = list(islice(_instances(schema, 2), 4000))
            yield from map(write_canonical, random.sample(found, min(len(found), _INSTANCES)))
        fields = check.get("expected_fields")
        if fields:
            yield write_canonical(dict.fromkeys(fields, "x"))


def _instances(schema: Any, depth: int) -> Iterator[Any]:
    """Yield values near what a schema asks for: of every property a few, all together, with one left out, one more."""
    if not isinstance(schema, dict):
        yield from (1, "a")
        return
    yield from schema.get("enum", ())
    if "const" in schema:
        yield schema["const"]
    parts = [part for key in ("anyOf", "oneOf", "allOf") for part in schema.get(key, ())]
    for part in (*parts, *(schema[key] for key in ("if", "then", "else", "not") if key in schema)):
        yield from islice(_instances(part, depth - 1), 12)
    types = schema.get("type", "object" if "properties" in schema else ())
    for type_ in [types] if isinstance(types, str) else types:
        yield from _typed(type_, schema, depth)
    properties = {name: value for part in [schema, *parts] for name, value in part.get("properties", {}).items()}
    if properties and depth:
        options = {name: list(islice(_instances(part, depth - 1), 9)) for name, part in properties.items()}
        base = {name: values[0] if values else 1 for name, values in options.items()}
        yield base
        yield {}
        yield {**base, "surprise": 1}
        for name, values in options.items():
            yield {key: item for key, item in base.items() if key != name}
            yield from ({**base, name: item} for item in (*values, None, 1, "a", True, Decimal("0.5")))
            yield {name: base[name]}
        names = list(options)
        for values in islice(product(*((*options[name], _GONE) for name in names)), 1500):
            yield {name: item for name, item in zip(names, values, strict=True) if item is not _GONE}


_GONE = object()


def _typed(type_: str, schema: Value, depth: int) -> Iterator[Any]:
    if type_ == "string":
        lengths = {schema.get(key) for key in ("minLength", "maxLength")} - {None}
        yield from ("a", "", "2024-05-01", "not a date", "ABC-123")
        yield from ("a" * length for low in lengths for length in (low, low + 1, max(low - 1, 0)))
    elif type_ in {"integer", "number"}:
        bounds = {schema.get(key) for key in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")} - {None}
        yield from (0, 1, 3, -1, Decimal("0.5"), 1000)
        yield from (number for bound in bounds for number in (bound, bound + 1, bound - 1, bound + Decimal("0.5")))
    elif type_ == "array":
        items = list(islice(_instances(schema.get("items", {"type": "string"}), depth - 1), 4)) or [1]
        sizes = {schema.get(key) for key in ("minItems", "maxItems")} - {None}
        yield from ([], [items[0]], [items[0]] * 2, items)
        yield from ([items[0]] * size for low in sizes for size in (low, low + 1, max(low - 1, 0)))
    else:
        yield from {"boolean": (True, False), "null": (None,), "object": ({}, {"surprise": 1})}.get(type_, ())


def _find_tools(side: Value) -> Iterator[Value]:
    for holder in (*side.get("checks", ()), *side.get("questions", ())):
        for name in ("tools", "forbidden", "expected_tools"):
            yield from (tool if isinstance(tool, dict) else {"name": tool} for tool in holder.get(name) or ())
