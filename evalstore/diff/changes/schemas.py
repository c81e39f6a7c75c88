"""Changes of what a json_schema check asks for: a schema, compared by what it lets through, or fields."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from evalstore.diff.change import Change, Decision, Proof
from evalstore.diff.changes.walk import EditScript
from evalstore.diff.deciders.schema_edits import edits, outputs_of
from evalstore.diff.findings import Certainty
from evalstore.diff.plain import is_same
from evalstore.diff.state import CheckState
from evalstore.documents import Pointer, json_pointer
from evalstore.schema_inclusion.compare import Comparison, Relation, compare_schemas
from evalstore.schema_inclusion.normalization import dialect

_SCHEMA, _FIELDS = "schema", "expected_fields"
_LISTED = 2
_SAME_VIEW = Proof("nothing that decides differs: notes, order and names of definitions are not read")
_EQUIVALENT = Proof("both schemas let the same JSON through, all that both get through in the check's steps")
_UNSHOWN = "; no JSON was found that shows it"


class _SchemaRule(NamedTuple):
    rule: str
    reason: str = ""
    certainty: Certainty = Certainty.PROVED
    proof: Proof | None = None


_DECISIONS = {
    Relation.SAME_VIEW: _SchemaRule("json-schema-annotation-changed", proof=_SAME_VIEW),
    Relation.EQUIVALENT: _SchemaRule("json-schema-changed", proof=_EQUIVALENT),
    Relation.TIGHTENED: _SchemaRule("json-schema-tightened", "all JSON that passes now passed before"),
    Relation.LOOSENED: _SchemaRule("json-schema-loosened", "all JSON that passed before passes now"),
    Relation.INCOMPARABLE: _SchemaRule("json-schema-changed", "some JSON passes before only, and other JSON now only"),
    Relation.ASSUMED: _SchemaRule("json-schema-changed", "the two could not be compared", Certainty.ASSUMED),
}


def find_schema_changes(walk: EditScript, token: str) -> Iterator[Change]:
    """Yield the edit of what a check asks of JSON; its schema and its fields change together, as one takes turns."""
    check, goal = walk.current[token], walk.goal[token]
    if all(is_same(check.params[name], goal.params[name]) for name in (_SCHEMA, _FIELDS)):
        return
    asks = {_asks(check), _asks(goal)}
    if asks == {_SCHEMA}:
        yield _of_schemas(walk, check, goal)
    elif asks == {_FIELDS}:
        yield _of_fields(walk, check, goal)
    else:
        old, new = ({name: one.params[name] for name in (_SCHEMA, _FIELDS)} for one in (check, goal))
        name = _SCHEMA if goal.params[_FIELDS] is None else _FIELDS
        before = _SCHEMA if check.params[_FIELDS] is None else _FIELDS
        yield _edit(walk, goal, "json-schema-changed", name, old=old, new=new, at=((before,), (name,)))


def _asks(check: CheckState) -> str:
    # The check's own schema refuses both together, and neither.
    if check.params[_FIELDS] is None:
        return _SCHEMA
    return _FIELDS if check.params[_SCHEMA] is None else ""


def _of_schemas(walk: EditScript, check: CheckState, goal: CheckState) -> Change:
    old, new = check.params[_SCHEMA], goal.params[_SCHEMA]
    if dialect(old) != dialect(new):
        at: Pointer = (_SCHEMA, "$schema")
        facts: dict[str, Any] = {"old": dialect(old), "new": dialect(new), "at": (at, at), "discriminator": [old, new]}
        return _edit(walk, goal, "check-engine-changed", _SCHEMA, **facts)
    compared = compare_schemas(old, new, walk.schema_budget)
    decision = _DECISIONS[compared.relation]
    told = edits(old, new)
    at = (_SCHEMA, *told[0])
    ways = dict.fromkeys((check.params["extract"], goal.params["extract"]))
    outputs = tuple(text for value in compared.shown for way in ways for text in outputs_of(value, way))
    decided = Decision(decision.certainty, _reason(decision, compared), tuple(dict.fromkeys(outputs)))
    facts = {"old": old, "new": new, "at": (at, at), "proof": decision.proof, "decision": decided}
    return _edit(walk, goal, decision.rule, _SCHEMA, keywords=_listed(told), **facts)


def _reason(decision: _SchemaRule, compared: Comparison) -> str:
    why = f": {compared.why}" if compared.why else ""
    return f"{decision.reason}{why}{'' if compared.shown else _UNSHOWN}"


def _listed(pointers: list[Pointer]) -> str:
    more = len(pointers) - _LISTED
    told = ", ".join(json_pointer(pointer) or "all of it" for pointer in pointers[:_LISTED])
    return f"{told} and {more} more" if more > 0 else told


def _of_fields(walk: EditScript, check: CheckState, goal: CheckState) -> Change:
    old, new = check.params[_FIELDS], goal.params[_FIELDS]
    more, less = ([name for name in one if name not in other] for one, other in ((new, old), (old, new)))
    if not (more or less):
        return _edit(walk, goal, "list-reordered", _FIELDS, old=old, new=new)
    rule = "json-schema-changed"
    if not (more and less):
        rule = "json-schema-tightened" if more else "json-schema-loosened"
    at = ((_FIELDS, *([old.index(less[0])] if less else [])), (_FIELDS, *([new.index(more[0])] if more else [])))
    keywords = ", ".join([*(f"+{name}" for name in more), *(f"-{name}" for name in less)])
    decided = Decision(Certainty.BY_DEFINITION, "each named field has to be as the question expects it")
    return _edit(walk, goal, rule, _FIELDS, keywords=keywords, old=old, new=new, at=at, decision=decided)


def _edit(
    walk: EditScript, goal: CheckState, rule: str, name: str, *, keywords: str = "a schema, or fields", **facts: Any
) -> Change:
    check = walk.current[goal.token]
    asked = {name: goal.params[name] for name in (_SCHEMA, _FIELDS)}
    done = replace(check, params={**check.params, **asked})
    return walk.edit_check(rule, name, done, words={"keywords": keywords}, **facts)
