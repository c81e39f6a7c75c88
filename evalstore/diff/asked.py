"""What checks read of a question: which parts of it by kind, and their rubric with those parts written into it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from evalstore.diff.kinds import Params, UnreadableError, facts, text, tools
from evalstore.documents import Pointer, canonical

Row = Mapping[str, Any]

_FORMATS = frozenset({"json", "text"})


def written(rubric: Params, row: Row) -> dict[str, Any]:
    """Return a rubric with what its checks read of a question written into them; `UnreadableError` for a misfit."""
    checks = ({**check, **_asked(check, row)} for check in rubric["checks"])
    return {**rubric, "checks": [{key: item for key, item in check.items() if item is not None} for check in checks]}


def _asked(check: Params, row: Row) -> dict[str, Any]:
    kind, expected = check["kind"], row.get("expected")
    if kind == "fact_match" and "facts" not in check:
        return {"facts": facts([] if row.get("expected_facts") is None else row["expected_facts"])}
    if kind == "tool_usage" and "tools" not in check and row.get("expected_tools") is not None:
        return {"tools": [_tool(entry) for entry in _listed(row["expected_tools"])]}
    if kind == "format" and "format" not in check and isinstance(expected, dict):
        wanted = expected.get("format")
        return {"format": wanted} if isinstance(wanted, str) and wanted in _FORMATS else {}
    if kind == "json_schema" and "expected_fields" in check:
        return _schema(check, row)
    return {}


def _listed(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise UnreadableError("it is no list")
    return value


def _tool(entry: Any) -> dict[str, Any]:
    if isinstance(entry, dict):
        given = {key: entry[key] for key in ("name", "args") if key in entry}
        return {key: item for key, item in tools([given])[0].items() if key in given}
    return {"name": text(entry)}


def _schema(check: Params, row: Row) -> dict[str, Any]:
    """Return the schema that asks for the same as the fields do; nothing where the question says nothing of one."""
    expected, also = row.get("expected"), row.get("also_valid")
    if not isinstance(also, dict | None):
        raise UnreadableError("also_valid is no mapping")
    allowed: dict[str, list[Any]] = {}
    for name in check["expected_fields"]:
        values = [expected[name]] if isinstance(expected, dict) and name in expected else []
        allowed[name] = [*values, *_listed((also or {}).get(name, []))]
    if not all(allowed.values()):
        return {}
    fields = {name: {"enum": _different(values)} for name, values in allowed.items()}
    schema = {"type": "object", "required": [*fields], "properties": fields}
    return {"expected_fields": None, "schema": schema}


def _different(values: list[Any]) -> list[Any]:
    return list({canonical(value): value for value in values}.values())


def _nothing(_: Params) -> Iterator[Pointer]:
    yield from ()


def _fields(params: Params) -> Iterator[Pointer]:
    for name in params["expected_fields"] or ():
        yield from (("expected", name), ("also_valid", name))


def _facts(params: Params) -> Iterator[Pointer]:
    if params["facts"] is None:
        yield ("expected_facts",)


def _tools(params: Params) -> Iterator[Pointer]:
    if params["tools"] is None:
        yield ("expected_tools",)


def _format(params: Params) -> Iterator[Pointer]:
    if params["format"] is None:
        yield ("expected", "format")


# What each kind reads of a question by itself; judges and other rubrics are followed where they are named.
READ: Mapping[str, Callable[[Params], Iterator[Pointer]]] = {
    **dict.fromkeys(("must_contain_any", "must_not_contain", "regex", "php_lint", "markdown_structure"), _nothing),
    **dict.fromkeys(("llm_judge", "composite"), _nothing),
    "json_schema": _fields,
    "tool_usage": _tools,
    "fact_match": _facts,
    "format": _format,
}
