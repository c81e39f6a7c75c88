"""json_schema: a schema, or fields that the question says, and which part of the output is the JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evalstore.diff.changes.schemas import find_schema_changes
from evalstore.diff.kinds import DEEP_JSON, CheckKind, Param, Row, say_always
from evalstore.diff.params import Params, UnreadableError, read_one_of, read_texts, read_typed
from evalstore.documents import Pointer, write_canonical


def _read_schema(value: Any) -> Any:
    """Return a JSON Schema as it is."""
    return value if isinstance(value, bool) else read_typed(value, dict)


def _has_fields(params: Params) -> bool:
    return params["expected_fields"] is not None


def _find_question_parts(params: Params) -> Iterator[Pointer]:
    for name in params["expected_fields"] or ():
        yield from (("expected", name), ("also_valid", name))


def _fill_from_question(check: Params, row: Row) -> dict[str, Any]:
    """Return the schema that asks for the same as the fields do; nothing where the question lacks one."""
    if "expected_fields" not in check:
        return {}
    expected, also = row.get("expected"), row.get("also_valid")
    if not isinstance(also, dict | None):
        raise UnreadableError("also_valid is no mapping")
    allowed: dict[str, list[Any]] = {}
    for name in check["expected_fields"]:
        values = [expected[name]] if isinstance(expected, dict) and name in expected else []
        allowed[name] = [*values, *read_typed((also or {}).get(name, []), list)]
    if not all(allowed.values()):
        return {}
    fields = {name: {"enum": _drop_duplicates(values)} for name, values in allowed.items()}
    schema = {"type": "object", "required": [*fields], "properties": fields}
    return {"expected_fields": None, "schema": schema}


def _drop_duplicates(values: list[Any]) -> list[Any]:
    return list({write_canonical(value): value for value in values}.values())


def _yield_texts(_: Params) -> Iterator[str]:
    # What tells two schemas apart is built by the comparison, and JSON that another check asks for by the candidates.
    yield from ()


KIND = CheckKind(
    params={
        "schema": Param(None, _read_schema, rule="json-schema-changed", edits=find_schema_changes),
        "expected_fields": Param(None, read_texts, rule="json-schema-changed", edits=find_schema_changes, is_set=True),
        "extract": Param("auto", read_one_of("auto", "whole", "fence"), rule="check-target-changed"),
    },
    is_binary=say_always,
    may_miss=_has_fields,  # a question need not say what they should be
    may_err=say_always,  # JSON beyond the limits, or a schema that takes too many steps
    question_parts=_find_question_parts,
    fill_from_question=_fill_from_question,
    sample_texts=_yield_texts,
    ungraded_texts=(
        f"```json\n{DEEP_JSON}\n```",
        DEEP_JSON,
    ),
    reads_more_than_text=_has_fields,
    cost=100,
)
