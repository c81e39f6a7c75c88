"""tool_usage: tools that must be called, tools that must not, in which order, and whether a share of them counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evalstore.checks.tools import TOOL_LIMIT
from evalstore.diff.changes.tools import find_tool_changes
from evalstore.diff.kinds import CheckKind, Param, Row, say_always
from evalstore.diff.params import Params, read_count, read_one_of, read_switch, read_text, read_texts, read_typed
from evalstore.documents import Pointer

# From the one that asks for least.
_MODES = ("any_order", "in_order", "exact")
_CONSTRAINT = "tool-constraint-changed"

_read_args_match = read_one_of("subset", "exact")


def count_required_tools(params: Params) -> int | None:
    """Return how many tools a tool_usage check requires, None where the question says."""
    return None if params["tools"] is None else sum(entry["min"] > 0 for entry in params["tools"])


def _read_tools(value: Any) -> list[dict[str, Any]]:
    """Return the entries of a check, each with its defaults written out."""
    return [_read_tool(entry) for entry in read_typed(value, list)]


def _read_tool(value: Any) -> dict[str, Any]:
    entry = {"args_match": "subset", "min": 1, **read_typed(value, dict)}
    limits = {name: read_count(entry[name]) for name in ("min", "max") if name in entry}
    args = {"args": read_typed(entry["args"], dict)} if "args" in entry else {}
    match = _read_args_match(entry["args_match"])
    return {**entry, "name": read_text(entry.get("name")), **args, "args_match": match, **limits}


def _find_question_parts(params: Params) -> Iterator[Pointer]:
    if params["tools"] is None:
        yield ("expected_tools",)


def _fill_from_question(check: Params, row: Row) -> dict[str, Any]:
    if "tools" in check or row.get("expected_tools") is None:
        return {}
    return {"tools": [_read_expected_tool(entry) for entry in read_typed(row["expected_tools"], list)]}


def _read_expected_tool(entry: Any) -> dict[str, Any]:
    if isinstance(entry, dict):
        source = {key: entry[key] for key in ("name", "args") if key in entry}
        return {key: item for key, item in _read_tool(source).items() if key in source}
    return {"name": read_text(entry)}


def _yield_texts(_: Params) -> Iterator[str]:
    # It reads calls, no text: records of them are tried instead.
    yield from ()


def _asks_nothing(params: Params) -> bool:
    if params["tools"] is None or params["forbidden"] or params["mode"] == "exact":
        return False
    return not any(entry["min"] or "max" in entry for entry in params["tools"])


# Tools are compared in the mode that asks for less, and without partial credit.
KIND = CheckKind(
    params={
        # [] is not its absence: then the question's are not asked for.
        "tools": Param(None, _read_tools, rule="tool-required-changed", edits=find_tool_changes),
        "forbidden": Param([], read_texts, rule=_CONSTRAINT, items=(_CONSTRAINT, _CONSTRAINT), is_set=True),
        "mode": Param(
            "any_order",
            read_one_of(*_MODES),
            rule="tool-order-mode-changed",
            comes_first=lambda old, new: _MODES.index(old) > _MODES.index(new),
        ),
        "partial": Param(False, read_switch, rule="check-partial-credit-changed", comes_first=lambda old, _: bool(old)),
    },
    is_binary=lambda params: not params["partial"] or count_required_tools(params) in {0, 1},
    may_miss=say_always,  # an output without a record of calls
    may_err=lambda params: params["tools"] is None or len(params["tools"]) > TOOL_LIMIT,
    question_parts=_find_question_parts,
    fill_from_question=_fill_from_question,
    sample_texts=_yield_texts,
    passes_all=_asks_nothing,
    score_parts=lambda params: count_required_tools(params) or 0,
)
