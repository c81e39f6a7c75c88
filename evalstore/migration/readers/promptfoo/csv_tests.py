"""Reads tests from a table: columns for variables, and special columns that begin with `__`."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from io import StringIO
from typing import Any

from evalstore.migration.javascript.values import trim_space
from evalstore.migration.readers.promptfoo.texts import split_at_commas, split_fields

_EXPECTED, _METADATA = "__expected", "__metadata:"
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
_ASSERTION = re.compile(
    r"(?P<type>(?:not-)?[a-z0-9]+(?:-[a-z0-9]+|:[a-z]+(?:-[a-z]+)+)*)"
    r"(?:\((?P<threshold>[0-9]+(?:\.[0-9]+)?)\))?(?::(?P<value>.*))?",
    re.DOTALL,
)
_LISTS = frozenset({"contains-all", "contains-any", "icontains-all", "icontains-any"})
_WHOLE = frozenset({"contains-json", "is-json"})  # types whose value is not trimmed
_RATED = frozenset(
    {"answer-relevance", "classifier", "context-faithfulness", "context-recall"}
    | {"context-relevance", "cost", "latency", "levenshtein", "perplexity-score", "perplexity"}
    | {"rouge-n", "similar", "starts-with"}
)
_THRESHOLD = Decimal("0.75")  # of those that are rated, where the row says none
_SCRIPTS = (".js", ".cjs", ".mjs", ".ts", ".cts", ".mts")
_CODE = {
    "javascript:": "javascript",
    "fn:": "javascript",
    "eval:": "javascript",
    "python:": "python",
}
_JUDGED = ("grade:", "llm-rubric:")
# Columns of one value, and the key of the test that they become.
_COLUMNS = {"__description": "description", "__providerOutput": "providerOutput"}
_OPTIONS = {"__prefix": "prefix", "__suffix": "suffix"}


class TableError(Exception):
    """The program cannot read a table; the message says why."""


def read_table(text: str) -> list[dict[str, str]]:
    """Return the rows of a table, by the names of its columns. Raises `TableError`."""
    rows = list(csv.reader(StringIO(text.removeprefix("\ufeff"), newline=""), strict=True))
    if not rows:
        return []
    names, *others = rows
    for number, row in enumerate(others, start=2):
        if len(row) != len(names):
            raise TableError(f"row {number} has {len(row)} columns where {len(names)} belong")
    return [dict(zip(names, row, strict=True)) for row in others]


def read_table_test(
    row: Mapping[str, str], types: Mapping[str, Any], *, quotes: bool
) -> dict[str, Any]:
    """Return the test in a row; `types` are the known types of assertions.

    `quotes`: a list of texts in one cell is split like quoted CSV fields.
    """
    columns = {trim_space(name): cell for name, cell in row.items()}
    cells = [trim_space(columns[name]) for name in columns if name.startswith(_EXPECTED)]
    found = [read_assertion(cell, types, quotes=quotes) for cell in cells if cell]
    for name, cell in columns.items():
        if name.startswith("__config:"):
            _set_threshold(found, name, cell)
    metric = {"metric": columns["__metric"]} if columns.get("__metric") else {}
    options = {key: columns[name] for name, key in _OPTIONS.items() if name in columns}
    metadata = dict(_read_metadata(columns))
    threshold = read_number(columns.get("__threshold", ""))
    return {
        "vars": {name: cell for name, cell in columns.items() if not name.startswith("__")},
        "assert": [assertion | metric for assertion in found],
        **{key: columns[name] for name, key in _COLUMNS.items() if columns.get(name)},
        **({"options": options} if options else {}),
        **({"metadata": metadata} if metadata else {}),
        **({} if threshold is None else {"threshold": threshold}),
    }


def read_number(cell: str) -> Decimal | None:
    """Return the number that a cell is; None for any other cell."""
    return Decimal(trim_space(cell)) if _NUMBER.fullmatch(trim_space(cell)) else None


def _set_threshold(found: list[dict[str, Any]], name: str, cell: str) -> None:
    match = re.fullmatch(r"__config:__expected([1-9][0-9]*)?:threshold", name)
    number = read_number(cell)
    if match is None or number is None:
        raise TableError(f"the program stops at the column {name}")
    place = int(match[1] or 1) - 1
    if place < len(found):
        found[place]["threshold"] = number


def _read_metadata(columns: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    for name, cell in columns.items():
        if name.startswith(_METADATA) and trim_space(cell):
            key = name.removeprefix(_METADATA)
            parts = [trim_space(part).replace("\\,", ",") for part in re.split(r"(?<!\\),", cell)]
            yield (key.removesuffix("[]"), parts) if key.endswith("[]") else (key, cell)


def read_assertion(cell: str, types: Mapping[str, Any], *, quotes: bool) -> dict[str, Any]:
    """Return the assertion in a cell: `type(threshold):value`, else a text to equal."""
    for start, type_ in _CODE.items():
        if cell.startswith(start):
            return {"type": type_, "value": trim_space(cell.removeprefix(start))}
    for start in _JUDGED:
        if cell.startswith(start):
            return {"type": "llm-rubric", "value": cell.removeprefix(start)}
    if cell.startswith("file://") and (cell.endswith((*_SCRIPTS, ".py")) or ".py:" in cell):
        return {"type": "javascript" if cell.endswith(_SCRIPTS) else "python", "value": cell}
    match = _ASSERTION.fullmatch(cell)
    base = match["type"].removeprefix("not-") if match else ""
    if match is None or base not in types:
        return {"type": "equals", "value": cell}
    value: Any = match["value"]
    if base in _LISTS:
        split = split_fields if quotes else split_at_commas
        value = split(value) if value else value
    elif base not in _WHOLE and value is not None:
        value = trim_space(value)
    said = {} if value is None else {"value": value}
    if base not in _RATED:
        return {"type": match["type"], **said}
    threshold = Decimal(match["threshold"]) if match["threshold"] else _THRESHOLD
    return {"type": match["type"], **said, "threshold": threshold}
