"""Builds the checks of one case from the rows of a table; what a row cannot make a check of is told apart."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from evalstore.checks import KINDS
from evalstore.documents import Pointer
from evalstore.errors import LoadError
from evalstore.migration.artifact_names import UniqueLabels, make_id, make_slug
from evalstore.migration.extraction import ArtifactDraft, MigrationNote
from evalstore.migration.outcome import MigrationOutcome
from evalstore.migration.remainder import encode_value
from evalstore.migration.table import CheckRow, FormatTable, get_path, has_path, split_path
from evalstore.migration.unknown_keys import describe_type, describe_unknown_keys
from evalstore.migration.value_readings import read_value
from evalstore.model import Kind
from evalstore.text import make_excerpt
from evalstore.validation.shape import is_valid_by_schema, load_schema

_NO_SORT = "no row of the table is for items whose {} is {}"


@dataclass(slots=True)
class RowChecks:
    """The checks of one case by id and their weights; leftovers that no row makes a check of, with their notes."""

    by_id: dict[str, dict[str, Any]] = field(default_factory=dict)
    weights: dict[str, Any] = field(default_factory=dict)
    leftovers: list[dict[str, Any]] = field(default_factory=list)
    notes: list[MigrationNote] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    names: UniqueLabels = field(default_factory=UniqueLabels)

    def set_aside(self, value: Any, at: Pointer, reason: str) -> None:
        """Keep a part that no row is for as a leftover, with a note."""
        self.leftovers.append({"value": encode_value(value), "reason": reason})
        self.notes.append(MigrationNote(at, MigrationOutcome.UNMAPPED, reason))


def collect_checks(case: Mapping[str, Any], at: Pointer, table: FormatTable) -> RowChecks:
    """Return the checks that a case asks for. Raises `LoadError` for a value that the table does not foresee."""
    checks = RowChecks()
    for row in table.checks:
        if has_path(case, row.key):
            value, pointer = get_path(case, row.key), (*at, *split_path(case, row.key))
            for one, part in _list_parts(row, value, pointer, checks):
                _add_checks(one, part, checks)
    return checks


def _list_parts(row: CheckRow, value: Any, at: Pointer, checks: RowChecks) -> Iterator[tuple[CheckRow, Any]]:
    """Yield the row itself with the value; of a list whose items name their sort, the row of each item's sort."""
    if not row.by:
        yield row, value
        return
    if not isinstance(value, list | None):
        raise LoadError(f"{row.key} is {describe_type(value)} where the table wants a list")
    options = {option.key: option for option in row.options}
    for index, item in enumerate(value or ()):
        sort = item.get(row.by) if isinstance(item, dict) else None
        option = options.get(sort) if isinstance(sort, str) else None
        place = (*at, index)
        if option is None:
            checks.set_aside(item, place, _NO_SORT.format(row.by, _describe_sort(sort)))
            continue
        known = (row.by, row.value)
        for key in (key for key in item if key not in known):
            reason = "; ".join(describe_unknown_keys([key], known))
            checks.notes.append(MigrationNote((*place, key), MigrationOutcome.UNMAPPED, reason))
        yield option, item.get(row.value)


def _describe_sort(sort: Any) -> str:
    return repr(make_excerpt(sort)) if isinstance(sort, str) else describe_type(sort)


def _add_checks(row: CheckRow, raw: Any, checks: RowChecks) -> None:
    reading = read_value(raw, row)
    if reading.outcome is MigrationOutcome.REFUSED:
        raise LoadError("; ".join(reading.reasons))
    (checks.losses if reading.outcome is MigrationOutcome.LOSSY else checks.remarks).extend(reading.reasons)
    built = list(build_checks(row, reading.value))
    checks.losses += [f"{row.key}: {row.lossy}"] if built and row.lossy else []
    name = make_id(make_slug(row.id or row.key) or row.kind)
    for number, check in enumerate(built, start=1):
        if problem := _find_problem(check):
            raise LoadError(f"{row.key} makes no check: {problem}")
        id_ = checks.names.claim(name if len(built) == 1 else f"{name}_{number}")
        checks.by_id[id_] = check
        checks.weights |= {} if row.weight is None else {id_: row.weight}


def build_checks(row: CheckRow, value: Any) -> Iterator[dict[str, Any]]:
    """Yield the checks that a value asks for: one, or where the row says so one for each item; none for nothing."""
    if value is None or value is False or value in ([], {}):
        return
    head = {"kind": row.kind, **({"judge_prompt_ref": make_judge_ref(row.judge)} if row.judge else {})}
    if row.options:
        yield {**head, **value, **row.parameters}
        return
    for part in value if row.is_each and isinstance(value, list) else [value]:
        check = {**head, **row.parameters}
        yield _set_path(check, row.into, _spell_part(row, part)) if row.into else check


def make_judge_ref(id_: str) -> str:
    """Return the reference to a judge of the table."""
    return ArtifactDraft(Kind.JUDGE, id_, {}).ref


def _spell_part(row: CheckRow, part: Any) -> Any:
    """Return the value of a parameter: texts are escaped where the row says so, and several patterns become one."""
    if row.escaped and isinstance(part, str | list):
        texts = [row.escaped.replace("{}", re.escape(text)) for text in ([part] if isinstance(part, str) else part)]
        part = texts if isinstance(part, list) else texts[0]
    # A parameter that is a list takes a text as its only item; a pattern is one text.
    if (
        isinstance(part, str)
        and load_schema(f"checks/{row.kind}")["properties"].get(row.into, {}).get("type") == "array"
    ):
        return [part]
    if row.kind == "regex" and isinstance(part, list):
        return part[0] if len(part) == 1 else "|".join(f"(?:{pattern})" for pattern in part)
    return part


def _set_path(value: Mapping[str, Any], path: str, part: Any) -> dict[str, Any]:
    key, _, rest = path.partition("/")
    return {**value, key: _set_path(value.get(key) or {}, rest, part) if rest else part}


def _find_problem(check: Mapping[str, Any]) -> str:
    """Return why a check cannot be graded; empty where it can."""
    kind = check["kind"]
    if not is_valid_by_schema(f"checks/{kind}", check):
        return f"its value is none that {kind} takes"
    return next((problem.message for problem in KINDS[kind].find_problems(check) if problem.blocks), "")
