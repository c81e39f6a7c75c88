"""json_schema: a schema, or the question's fields, and which part of the output is JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from evalstore.diff.change import Change, Decision, Proof
from evalstore.diff.changes.edit_script import EditScript
from evalstore.diff.findings import Certainty
from evalstore.diff.kinds import (
    DEEP_JSON,
    ComparedKind,
    Param,
    Params,
    Row,
    UnreadableError,
    list_json_outputs,
    read_one_of,
    read_texts,
    read_typed,
    say_always,
)
from evalstore.diff.limits import COMPARED
from evalstore.diff.plain_data import is_same
from evalstore.diff.rubric_state import CheckState
from evalstore.documents import Pointer, follow_pointer, format_json_pointer, write_canonical
from evalstore.languages.schema_comparison import (
    ANNOTATIONS,
    SchemaComparison,
    SchemaRelation,
    compare_schemas,
)
from evalstore.languages.schemas import (
    SCHEMA_LIST_KEYWORDS,
    SCHEMA_MAP_KEYWORDS,
    SINGLE_SCHEMA_KEYWORDS,
    find_dialect,
)

_SCHEMA, _FIELDS = "schema", "expected_fields"
_NOTES = ANNOTATIONS | {"$schema", "$id"}
_ABSENT = object()
_SAME_VIEW = Proof(
    "only notes, order, names of definitions or keywords that exclude nothing differ, and they "
    "decide nothing"
)
_SAME_MEANING = Proof("every keyword of the schema means the same in both dialects")
_EQUIVALENT = Proof("both schemas accept the same JSON, and neither comes near its limit of steps")
_UNSHOWN = "; no example of it was found"


class _SchemaRule(NamedTuple):
    rule: str
    reason: str = ""
    certainty: Certainty = Certainty.PROVED
    proof: Proof | None = None


_RELATION_RULES = {
    SchemaRelation.SAME_NORMAL_FORM: _SchemaRule(
        "json-schema-annotation-changed", proof=_SAME_VIEW
    ),
    SchemaRelation.EQUIVALENT: _SchemaRule("json-schema-changed", proof=_EQUIVALENT),
    SchemaRelation.TIGHTENED: _SchemaRule(
        "json-schema-tightened", "all JSON that passes now passed before"
    ),
    SchemaRelation.LOOSENED: _SchemaRule(
        "json-schema-loosened", "all JSON that passed before still passes"
    ),
    SchemaRelation.INCOMPARABLE: _SchemaRule(
        "json-schema-changed", "some JSON passed only before, other JSON passes only now"
    ),
    SchemaRelation.ASSUMED: _SchemaRule(
        "json-schema-changed", "the two schemas could not be compared", Certainty.ASSUMED
    ),
}


def find_schema_changes(script: EditScript, token: str) -> Iterator[Change]:
    """Yield the edit of what a check demands of JSON: its schema, or its fields."""
    check, goal = script.current[token], script.goal[token]
    if all(is_same(check.params[name], goal.params[name]) for name in (_SCHEMA, _FIELDS)):
        return
    before, after = (_SCHEMA if one.params[_FIELDS] is None else _FIELDS for one in (check, goal))
    if before == after == _SCHEMA:
        yield _edit_schema(script, check, goal)
    # Validation refuses a check with both.
    elif before == after and check.params[_SCHEMA] is goal.params[_SCHEMA] is None:
        yield _edit_fields(script, check, goal)
    else:
        old, new = (
            {name: one.params[name] for name in (_SCHEMA, _FIELDS)} for one in (check, goal)
        )
        yield _edit_demand(
            script, goal, "json-schema-changed", after, old=old, new=new, at=((before,), (after,))
        )


def _edit_schema(script: EditScript, check: CheckState, goal: CheckState) -> Change:
    old, new = check.params[_SCHEMA], goal.params[_SCHEMA]
    edit = partial(_edit_demand, script, goal, discriminator=[old, new])
    dialects = find_dialect(old), find_dialect(new)
    comparison = compare_schemas(old, new, script.schema_budget)
    if dialects[0] != dialects[1]:
        at: Pointer = (_SCHEMA, "$schema")
        is_same_form = comparison.relation is SchemaRelation.SAME_NORMAL_FORM
        proof = _SAME_MEANING if is_same_form else None
        sides = {"old": dialects[0], "new": dialects[1]}
        return edit("check-engine-changed", _SCHEMA, at=(at, at), proof=proof, **sides)
    known = _RELATION_RULES[comparison.relation]
    # The finding is at the first edited keyword; its message names the others.
    pointers = _find_schema_edits(old, new)
    at = (_SCHEMA, *pointers[0])
    ways = dict.fromkeys((check.params["extract"], goal.params["extract"]))
    written = (list_json_outputs(value, way) for value in comparison.examples for way in ways)
    outputs = tuple(dict.fromkeys(chain.from_iterable(written)))
    decision = Decision(known.certainty, _explain_relation(known, comparison), outputs)
    # The change shows the edited keyword alone; both whole schemas are its `discriminator`, which
    # tells it from other edits.
    before, after = (_find_keyword(side, pointers[0]) for side in (old, new))
    return edit(
        known.rule,
        _SCHEMA,
        keywords=_list_pointers(pointers),
        old=before,
        new=after,
        at=(at, at),
        proof=known.proof,
        decision=decision,
    )


def _find_schema_edits(old: Any, new: Any) -> list[Pointer]:
    """Return where keywords differ; annotations only if nothing else differs."""
    found = list(_iterate_edits(old, new, ()))
    return [pointer for pointer in found if not _is_note(pointer)] or found


def _is_note(pointer: Pointer) -> bool:
    is_name = len(pointer) > 1 and pointer[-2] in SCHEMA_MAP_KEYWORDS
    return bool(pointer) and pointer[-1] in _NOTES and not is_name


def _iterate_edits(old: Any, new: Any, at: Pointer) -> Iterator[Pointer]:
    """Yield where two schemas differ; a schema that one side lacks is one edit as a whole."""
    if is_same(old, new):
        return
    if not (isinstance(old, dict) and isinstance(new, dict)):
        yield at
        return
    for key in sorted({*new, *old}):
        before, after = (side.get(key, _ABSENT) for side in (old, new))
        inner = _pair_schemas(key, before, after)
        for path, sides in inner.items():
            yield from _iterate_edits(*sides, (*at, key, *path))
        if not (inner or is_same(before, after)):
            yield (*at, key)


def _pair_schemas(key: str, old: Any, new: Any) -> dict[Pointer, tuple[Any, Any]]:
    """Return the pairs of schemas inside a keyword by path; none if it is edited as a whole."""
    if key in SCHEMA_MAP_KEYWORDS and isinstance(old, dict) and isinstance(new, dict):
        names = sorted({*new, *old})
        return {(name,): (old.get(name, _ABSENT), new.get(name, _ABSENT)) for name in names}
    if (
        key in SCHEMA_LIST_KEYWORDS
        and isinstance(old, list)
        and isinstance(new, list)
        and len(old) == len(new)
    ):
        return {(index,): sides for index, sides in enumerate(zip(old, new, strict=True))}
    return {(): (old, new)} if key in SINGLE_SCHEMA_KEYWORDS else {}


def _find_keyword(schema: Any, pointer: Pointer) -> Any:
    """Return what a schema has at a pointer; None if it has nothing there."""
    found, value = follow_pointer(schema, pointer)
    return value if found == pointer else None


def _explain_relation(known: _SchemaRule, comparison: SchemaComparison) -> str:
    why = f": {comparison.why}" if comparison.why else ""
    return f"{known.reason}{why}{'' if comparison.examples else _UNSHOWN}"


def _list_pointers(pointers: list[Pointer]) -> str:
    more = len(pointers) - COMPARED.listed_pointers
    shown = map(format_json_pointer, pointers[: COMPARED.listed_pointers])
    text = ", ".join(pointer or "all of it" for pointer in shown)
    return f"{text} and {more} more" if more > 0 else text


def _edit_fields(script: EditScript, check: CheckState, goal: CheckState) -> Change:
    old, new = check.params[_FIELDS], goal.params[_FIELDS]
    more, less = (
        [name for name in one if name not in other] for one, other in ((new, old), (old, new))
    )
    if not (more or less):
        return _edit_demand(script, goal, "list-reordered", _FIELDS, old=old, new=new)
    rule = "json-schema-changed"
    if not (more and less):
        rule = "json-schema-tightened" if more else "json-schema-loosened"
    at = (
        (_FIELDS, *([old.index(less[0])] if less else [])),
        (_FIELDS, *([new.index(more[0])] if more else [])),
    )
    keywords = ", ".join([*(f"+{name}" for name in more), *(f"-{name}" for name in less)])
    decision = Decision(Certainty.BY_DEFINITION, "each named field must be as the question expects")
    return _edit_demand(
        script, goal, rule, _FIELDS, keywords=keywords, old=old, new=new, at=at, decision=decision
    )


def _edit_demand(
    script: EditScript,
    goal: CheckState,
    rule: str,
    name: str,
    *,
    keywords: str = "a schema, or fields",
    **facts: Any,
) -> Change:
    check = script.current[goal.token]
    demand = {name: goal.params[name] for name in (_SCHEMA, _FIELDS)}
    edited = replace(check, params={**check.params, **demand})
    return script.edit_check(rule, name, edited, words={"keywords": keywords}, **facts)


def _read_schema(value: Any) -> Any:
    """Return a JSON Schema as it is."""
    return value if isinstance(value, bool) else read_typed(value, dict)


def _has_fields(params: Params) -> bool:
    return params["expected_fields"] is not None


def _find_question_parts(params: Params) -> Iterator[Pointer]:
    for name in params["expected_fields"] or ():
        yield from (("expected", name), ("also_valid", name))


def _fill_from_reference(check: Params, row: Row) -> dict[str, Any]:
    """Return a schema that asks for the same as the fields; nothing if the question lacks one."""
    if "expected_fields" not in check:
        return {}
    expected, also = row.get("expected"), row.get("also_valid")
    if not isinstance(also, dict | None):
        raise UnreadableError("also_valid is not a mapping")
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


KIND = ComparedKind(
    params={
        "schema": Param(None, _read_schema, rule="json-schema-changed", edits=find_schema_changes),
        "expected_fields": Param(
            None, read_texts, rule="json-schema-changed", edits=find_schema_changes, is_set=True
        ),
        "dialect": Param(
            "strict", read_one_of("strict", "javascript"), rule="check-engine-changed"
        ),
        "extract": Param(
            "auto", read_one_of("auto", "whole", "fence"), rule="check-target-changed"
        ),
    },
    is_binary=say_always,
    assembly_order=-2,
    may_miss=_has_fields,  # a question may not say what they should be
    may_err=say_always,  # JSON beyond the limits, or a schema that takes too many steps
    question_parts=_find_question_parts,
    fill_from_reference=_fill_from_reference,
    ungraded_texts=(
        f"```json\n{DEEP_JSON}\n```",
        DEEP_JSON,
    ),
    reads_more_than_text=_has_fields,
    cost=100,
)
