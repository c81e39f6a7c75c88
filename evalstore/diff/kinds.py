"""What a comparison knows of each check kind: its parameters with their defaults, and which answers it can give."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeVar

from evalstore.checks.jury import AGGREGATES
from evalstore.checks.tools import MANY

Params = Mapping[str, Any]
Typed = TypeVar("Typed")
REQUIRED: Any = ...  # the default of a parameter that has none

# Markdown has six levels.
DEEPEST_HEADING = 6


class UnreadableError(ValueError):
    """A value that the schema refuses; its document is then compared as plain data, and fails closed."""


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter: what its absence means, and how its value is brought to one spelling."""

    default: Any
    read: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class KindFacts:
    """One kind; what is asked of its parameters holds for every output; `reads_bar`: the threshold moves its score."""

    params: Mapping[str, Param]
    binary: Callable[[Params], bool]
    may_miss: Callable[[Params], bool]
    may_err: Callable[[Params], bool]
    reads_bar: Callable[[Params], bool] = lambda _: False


def read_params(kind: str, value: Params) -> dict[str, Any]:
    """Return the parameters of a check's mapping, each in its one spelling, defaults written out."""
    read: dict[str, Any] = {}
    for name, param in KINDS[kind].params.items():
        if name not in value and param.default is REQUIRED:
            raise UnreadableError(f"{name} is missing")
        read[name] = param.read(value[name]) if name in value else param.default
    return read


def text(value: Any) -> str:
    """Read a text."""
    return _typed(value, str)


def switch(value: Any) -> bool:
    """Read true or false."""
    return _typed(value, bool)


def whole(value: Any) -> int:
    """Read an integer; 2.0 is one."""
    if isinstance(value, bool) or not hasattr(value, "as_integer_ratio") or value != int(value):
        raise UnreadableError(f"{value!r} is no integer")
    return int(value)


def count(value: Any) -> int:
    """Read an integer that is not negative."""
    if (number := whole(value)) < 0:
        raise UnreadableError(f"{number} is below 0")
    return number


def texts(value: Any) -> list[str]:
    """Read a list of texts."""
    return [text(item) for item in _typed(value, list)]


def flags(value: Any) -> str:
    """Read the flags of a regex, text or list, as sorted letters."""
    return "".join(sorted(set("".join(texts(value)) if isinstance(value, list) else text(value))))


def tools(value: Any) -> list[dict[str, Any]]:
    """Read the entries of a tool_usage check, each with its defaults written out."""
    return [_tool(entry) for entry in _typed(value, list)]


def _tool(value: Any) -> dict[str, Any]:
    entry = {"args_match": "subset", "min": 1, **_typed(value, dict)}
    limits = {name: count(entry[name]) for name in ("min", "max") if name in entry}
    args = {"args": _typed(entry["args"], dict)} if "args" in entry else {}
    return {**entry, "name": text(entry.get("name")), **args, "args_match": _args_match(entry["args_match"]), **limits}


def facts(value: Any) -> list[str]:
    """Read a list of facts as the texts that are looked for; their ids are names for people."""
    return texts([fact.get("value") if isinstance(fact, dict) else fact for fact in _typed(value, list)])


def mapping(value: Any) -> dict[str, Any]:
    """Read a mapping as it is."""
    return _typed(value, dict)


def jury(value: Any) -> dict[str, Any]:
    """Read a jury: at least one member, each with its weight written out."""
    read: dict[str, Any] = _typed(value, dict)
    if not (members := [_member(member) for member in _typed(read.get("members"), list)]):
        raise UnreadableError("a jury has no members")
    return {**read, "members": members, "aggregate": _aggregate(read.get("aggregate"))}


def _member(value: Any) -> dict[str, Any]:
    weight = _typed(value, dict).get("weight", 1)
    if isinstance(weight, bool) or not isinstance(weight, int | Decimal) or weight < 0:
        raise UnreadableError(f"{weight!r} is no weight")
    return {**value, "judge_prompt_ref": text(value.get("judge_prompt_ref")), "weight": weight}


def schema(value: Any) -> Any:
    """Read a JSON Schema as it is."""
    return value if isinstance(value, bool) else _typed(value, dict)


def one_of(*words: str) -> Callable[[Any], str]:
    """Return a reader of one of `words`."""

    def read(value: Any) -> str:
        if value not in words:
            raise UnreadableError(f"{value!r} is none of {words}")
        return text(value)

    return read


_args_match = one_of("subset", "exact")
_aggregate = one_of(*AGGREGATES)


def _typed(value: Any, type_: type[Typed]) -> Typed:
    if type(value) is not type_:
        raise UnreadableError(f"{value!r} is no {type_.__name__}")
    return value


def required_tools(params: Params) -> int | None:
    """Return how many tools a tool_usage check requires, None where the question says."""
    return None if params["tools"] is None else sum(entry["min"] > 0 for entry in params["tools"])


def _always(_: Params) -> bool:
    return True


def _never(_: Params) -> bool:
    return False


def _one_fact(params: Params) -> bool:
    return params["judge_prompt_ref"] is None and params["facts"] is not None and len(params["facts"]) == 1


def _by_majority(params: Params) -> bool:
    # A member votes by the check's threshold.
    return params["jury"] is not None and params["jury"]["aggregate"] == "majority"


_OFF = Param(False, switch)
_COUNT = Param(0, count)

# A kind errs where a limit, a judge, another engine or another artifact can stop it.
KINDS: Mapping[str, KindFacts] = {
    "must_contain_any": KindFacts(
        {"values": Param(REQUIRED, texts), "case_sensitive": _OFF, "min_matches": Param(1, whole)},
        _always,
        _never,
        _never,
    ),
    "must_not_contain": KindFacts({"values": Param(REQUIRED, texts), "case_sensitive": _OFF}, _always, _never, _never),
    "regex": KindFacts(
        {
            "pattern": Param(REQUIRED, text),
            "flags": Param("", flags),
            "mode": Param("search", one_of("search", "match", "fullmatch")),
        },
        _always,
        _never,
        _always,
    ),
    "json_schema": KindFacts(
        {
            "schema": Param(None, schema),
            "expected_fields": Param(None, texts),
            "extract": Param("auto", one_of("auto", "whole", "fence")),
        },
        _always,
        lambda params: params["expected_fields"] is not None,  # a question need not say what they should be
        _always,
    ),
    "php_lint": KindFacts(
        {"on_no_code": Param("pass", one_of("pass", "fail", "unscored"))},
        _always,
        lambda params: params["on_no_code"] == "unscored",
        _always,
    ),
    "markdown_structure": KindFacts(
        {
            "dialect": Param("commonmark", one_of("commonmark", "lines")),
            "min_headings": _COUNT,
            "max_heading_level": Param(DEEPEST_HEADING, count),
            "no_h1": _OFF,
            "required_sections": Param([], texts),
            "forbidden_patterns": Param([], texts),
            "min_code_blocks": _COUNT,
            "min_paragraphs": _COUNT,
        },
        _always,
        _never,
        lambda params: params["dialect"] == "commonmark",
    ),
    "tool_usage": KindFacts(
        {
            "tools": Param(None, tools),  # [] is not its absence: then the question's are not asked for
            "forbidden": Param([], texts),
            "mode": Param("any_order", one_of("any_order", "in_order", "exact")),
            "partial": _OFF,
        },
        lambda params: not params["partial"] or required_tools(params) in {0, 1},
        _always,  # an output without a record of calls
        lambda params: params["tools"] is None or len(params["tools"]) > MANY,
    ),
    "format": KindFacts(
        {
            "format": Param(None, one_of("json", "text")),
            "min_chars": Param(None, count),  # 0 is not its absence: a limit says that there is something to grade
            "max_chars": Param(None, count),
        },
        _always,
        lambda params: params["format"] is params["min_chars"] is params["max_chars"] is None,
        lambda params: params["format"] != "text",
    ),
    "fact_match": KindFacts(
        {"facts": Param(None, facts), "case_sensitive": _OFF, "judge_prompt_ref": Param(None, text)},
        _one_fact,
        lambda params: not params["facts"],
        lambda params: params["facts"] is None or params["judge_prompt_ref"] is not None,
    ),
    "llm_judge": KindFacts(
        {
            "judge_prompt_ref": Param(None, text),
            "jury": Param(None, jury),
            "variables": Param({}, mapping),
            "model": Param({}, mapping),
            "samples": Param(1, whole),
        },
        _never,
        _never,
        _always,
        reads_bar=_by_majority,
    ),
    "composite": KindFacts({"rubric_ref": Param(REQUIRED, text)}, _never, _always, _always),
}
