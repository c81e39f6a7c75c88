"""Finds the dialect of a suite by its keys and check types, and checks the keys of objects against a dialect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from evalstore.migration.readers.agentevals.said import Dialect
from evalstore.migration.table import FormatTable

ORDER = ("D0", "D1", "D2", "D2s", "D3", "D4")
_LISTS = ("assertions", "assert", "evaluators")


def load_dialect(name: str, table: FormatTable) -> Dialect:
    """Return a dialect of the table by its name."""
    row = table.form["dialects"][name]
    return Dialect(
        name=name,
        evaluators=tuple(row["evaluators"]),
        appends=row["inherit"] == "append",
        gates=row.get("gates", False),
        limits=row.get("limits", False),
        custom=row.get("custom", False),
        args=row["args"],
    )


@dataclass(frozen=True, slots=True)
class DialectEvidence:
    """A dialect, the key or check type that is evidence for it, and the dialects that know it `also`."""

    dialect: str
    because: str
    also: tuple[str, ...]


def find_dialects(root: Mapping[str, Any], cases: list[Any], table: FormatTable) -> list[DialectEvidence]:
    """Return the dialects with evidence, the most certain first."""
    keys = {key for case in cases if isinstance(case, dict) for key in case}
    types = {type_ for holder in (root, *cases) for type_ in _find_check_types(holder)}
    evidence: dict[str, DialectEvidence] = {}
    for row in table.form["told_by"]:
        if because := _find_evidence(row, root, keys, types):
            evidence.setdefault(row["dialect"], DialectEvidence(row["dialect"], because, tuple(row.get("also", ()))))
    return list(evidence.values())


def is_in_dialect(name: str, row: Mapping[str, Any]) -> bool:
    """Whether a row of the table applies to a dialect, by its `since` and `until`."""
    place = ORDER.index(name)
    return ORDER.index(row.get("since", ORDER[0])) <= place <= ORDER.index(row.get("until", ORDER[-1]))


def _find_evidence(row: Mapping[str, Any], root: Mapping[str, Any], keys: set[str], types: set[str]) -> str:
    if "of" in row and row["of"] not in root:
        return ""
    at_root = [key for key in row.get("root", ()) if key in root]
    values = [key for key, value in row.get("root_values", {}).items() if root.get(key) == value]
    in_case = [key for key in row.get("case", ()) if key in keys]
    matching_types = sorted(type_ for type_ in types if any(fnmatchcase(type_, name) for name in row.get("types", ())))
    return next(iter([*at_root, *values, *in_case, *(f"type {type_}" for type_ in matching_types)]), "")


def _find_check_types(holder: Any) -> Iterator[str]:
    """Yield the types of all checks in a mapping, at any depth."""
    for raw in _find_check_lists(holder):
        for item in raw if isinstance(raw, list) else ():
            if isinstance(item, dict):
                yield from (item["type"],) if isinstance(item.get("type"), str) else ()
                yield from _find_check_types(item)


def _find_check_lists(holder: Any) -> Iterator[Any]:
    for inner in (holder, *(holder.get(key) for key in ("execution", "default_test"))) if _is_mapping(holder) else ():
        yield from (inner[key] for key in _LISTS if key in inner) if _is_mapping(inner) else ()


def _is_mapping(value: Any) -> bool:
    return isinstance(value, dict)
