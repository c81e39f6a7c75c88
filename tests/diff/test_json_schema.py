"""How two JSON Schemas are compared: a table of pairs, places, limits, and random pairs held against the real check."""

from __future__ import annotations

import cProfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evalstore.diff import DiffFinding, compare
from evalstore.documents import read_yaml
from evalstore.errors import SchemaError
from evalstore.languages.schema_comparison import SchemaRelation, compare_schemas
from evalstore.languages.schemas import untrusted
from evalstore.languages.schemas.untrusted import compile_untrusted
from evalstore.model import Artifact, Kind
from tests.rows import each

TABLE = Path(__file__).with_name("schema_pairs.yaml")
PAIRS = [tuple(row) for row in read_yaml(TABLE.read_bytes(), TABLE.name).value]
MIRRORED = {SchemaRelation.TIGHTENED: SchemaRelation.LOOSENED, SchemaRelation.LOOSENED: SchemaRelation.TIGHTENED}
SURE = frozenset({SchemaRelation.TIGHTENED, SchemaRelation.LOOSENED, SchemaRelation.INCOMPARABLE})


@each(PAIRS, name=lambda row: row[0])
def test_what_the_new_schema_is_to_the_old_one(row: tuple[Any, ...]) -> None:
    _, old, new, answer, *is_equal = row
    found, back = compare_schemas(old, new), compare_schemas(new, old)
    assert found.relation == answer
    assert back.relation is MIRRORED.get(found.relation, found.relation)
    assert bool(found.why) is (found.relation is SchemaRelation.ASSUMED)
    assert bool(found.examples) is not bool(is_equal) or found.relation not in SURE
    for value in (*found.examples, *back.examples):
        assert compile_untrusted(old).is_valid(value) is not compile_untrusted(new).is_valid(value)


@each(row[index] for row in PAIRS for index in (1, 2))
def test_a_schema_is_what_it_is(schema: Any) -> None:
    try:
        compile_untrusted(schema)
    except SchemaError:
        return
    compared = compare_schemas(schema, schema)
    assert compared.relation in {SchemaRelation.SAME_NORMAL_FORM, SchemaRelation.ASSUMED}


RUBRIC = """\
id: r
version: "1.0.0"
checks:
  - id: answer
    kind: json_schema
    schema:
      $defs:
        tier:
          enum: [low, high]
      type: object
      properties:
        route: {type: string}
        tier: {$ref: "#/$defs/tier"}
      required:
        - route
scoring:
  combine: all_pass
"""


def finding(edit: tuple[str, str], text: str = RUBRIC) -> DiffFinding:
    assert edit[0] in text
    old, new = (read_yaml(one, f"{side}.yaml") for side, one in (("old", text), ("new", text.replace(*edit))))
    (found,) = compare(*(Artifact(Kind.RUBRIC, "r", "1.0.0", one) for one in (old, new))).findings
    return found


@pytest.mark.parametrize(
    ("edit", "pointer", "old", "new"),
    [
        (("[low, high]", "[low]"), "/$defs/tier/enum", 9, 9),
        (("- route\n", "- route\n        - tier\n"), "/required", 15, 15),
        (("      required:\n        - route\n", ""), "/required", 15, 7),
        (("type: object\n", "type: object\n      minProperties: 2\n"), "/minProperties", 7, 11),
        (("{type: string}", "{type: string, minLength: 1}"), "/properties/route/minLength", 12, 12),
        (("{type: string}", "true"), "/properties/route", 12, 12),
        (("        route: {type: string}\n", ""), "/properties/route", 12, 12),
        (("      type: object\n", "      type: object\n      title: Answer\n"), "/title", 7, 11),
    ],
)
def test_a_finding_stands_at_the_keyword_on_both_sides(edit: tuple[str, str], pointer: str, old: int, new: int) -> None:
    found = finding(edit)
    assert found.old is not None
    assert found.new is not None
    assert f"({pointer})" in found.message
    assert (found.old.file, found.old.line, found.new.file, found.new.line) == ("old.yaml", old, "new.yaml", new)


def test_several_keywords_are_told_in_one_finding_notes_last() -> None:
    many = "type: object\n      title: t\n      minProperties: 2\n      maxProperties: 5\n      not: {required: [x]}\n"
    assert finding(("type: object\n", many)).message == (
        "answer requires more of the JSON (/maxProperties, /minProperties and 1 more)"
    )


def test_it_is_said_where_nothing_shows_a_change() -> None:
    bounded = RUBRIC.replace("{type: string}", "{type: number, not: {minimum: 10}}")
    unshown = finding(("not: {minimum: 10}", "exclusiveMaximum: 10"), bounded)
    assert unshown.witness is None
    assert unshown.reason == (
        "the two schemas could not be compared: neither could be proved to accept all that the other accepts; "
        "no example of it was found"
    )


@pytest.mark.heavy
def test_schemas_that_a_limit_of_steps_may_separate_are_no_patch(monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = {"items": {"type": "number", "multipleOf": 1}}, {"items": {"type": "integer"}}
    assert compare_schemas(old, new).why.startswith("they accept the same")
    monkeypatch.setattr(untrusted, "_GUARD", replace(untrusted._GUARD, steps=untrusted.STEPS // 100))
    long = [1] * 1_667  # a list that takes one of them too many steps
    assert compile_untrusted(new).is_valid(long)
    with pytest.raises(SchemaError, match="too many steps"):
        compile_untrusted(old).is_valid(long)


def test_an_annotation_and_an_order_take_no_steps() -> None:
    long = {"a": [{"b": 1}] * 200}
    for old, new in (
        ({"type": "array"}, {"type": "array", "format": "date"}),
        ({"enum": [{"b": 2}, {"b": 1}]}, {"enum": [{"b": 1}, {"b": 2}]}),
        (
            {"additionalProperties": False, "properties": {"b": {}}},
            {"unevaluatedProperties": False, "properties": {"b": {}}},
        ),
        ({"type": "array", "minItems": 0, "uniqueItems": False}, {"type": "array"}),
        ({"const": 1}, {"enum": [1]}),
        ({"not": {"not": {"maxItems": 5}}}, {"maxItems": 5}),
        ({"anyOf": [{"type": "array"}, {"type": "null"}]}, {"type": ["array", "null"]}),
        ({"type": "integer", "minimum": 3, "maximum": 3}, {"const": 3}),
        ({"contains": {"const": 1}, "minContains": 0}, {}),
    ):
        wholes = [{"additionalProperties": {"items": {"allOf": [part] * 9}}} for part in (old, new)]
        assert compare_schemas(*wholes).relation is SchemaRelation.SAME_NORMAL_FORM
        assert _count_steps(wholes[0], long) == _count_steps(wholes[1], long)


def _count_steps(schema: Any, value: Any) -> int:
    runs: list[Any] = []
    compiled = compile_untrusted(schema)
    start = compiled._start_run  # the steps are not part of an answer
    replace(compiled, _start_run=lambda: runs.append(start()) or runs[0]).find_first_violation(value)
    return runs[0].budget.spent  # type: ignore[no-any-return]


def test_the_output_shown_is_where_the_check_looks() -> None:
    for extract, text in (("auto", '{"route":""}'), ("whole", '{"route":""}'), ("fence", '```json\n{"route":""}\n```')):
        text_of = RUBRIC.replace("kind: json_schema", f"kind: json_schema\n    extract: {extract}")
        witness = finding(("- route\n", "- route\n        - tier\n"), text_of).witness
        assert witness is not None
        assert (witness.output, witness.old_verdict, witness.new_verdict) == (text, "pass", "fail")


def test_turning_the_check_round_turns_the_direction_round() -> None:
    negated = RUBRIC.replace("kind: json_schema", "kind: json_schema\n    negate: true")
    found = finding(("[low, high]", "[low]"), negated)
    assert (found.rule, found.direction, found.certainty) == ("json-schema-tightened", "looser", "proved")


def nested(depth: int, leaf: Any) -> Any:
    for _ in range(depth):
        leaf = {"properties": {"a": leaf, "b": {"type": "string"}}, "required": ["a"]}
    return leaf


def doubled(depth: int, leaf: Any, key: str) -> Any:
    parts = {f"d{n}": {key: [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(depth)}
    return {"$ref": "#/$defs/d0", "$defs": {**parts, f"d{depth}": leaf}}


LARGE: dict[str, Callable[[int], Any]] = {
    "wide": lambda n: {"properties": {f"a{i}": {"type": "integer", "minimum": n} for i in range(350)}},
    "deep": lambda n: nested(18, {"minimum": n}),
    "too wide": lambda n: {"properties": {f"a{i}": {"minimum": n} for i in range(2000)}},
    "doubled": lambda n: doubled(9, {"minimum": n}, "allOf"),
    "doubled too often": lambda n: doubled(30, {"minimum": n}, "anyOf"),
    "long enum": lambda n: {"enum": [f"v{i}" for i in range(n, 1400 + n)]},
    "many branches": lambda n: {"anyOf": [{"required": [f"k{i}"], "minProperties": n} for i in range(240)]},
    "choices of choices": lambda n: {
        "allOf": [{"anyOf": [{"minimum": i + n}, {"maximum": -i}, {"required": [f"a{i}"]}]} for i in range(40)]
    },
    "many denied": lambda n: {
        "allOf": [{"not": {"required": [f"a{i}", f"b{i}"], "minProperties": n}} for i in range(60)]
    },
    "many patterns": lambda n: {"patternProperties": {f"^a{i}": {"minimum": n} for i in range(100)}},
    "a pattern that never ends": lambda n: {"pattern": "^(a+)+$", "enum": ["a" * 40 + f"!{i + n}" for i in range(50)]},
    "long patterns": lambda n: {"allOf": [{"pattern": "a" * (3000 + n) + str(i)} for i in range(20)]},
    "long tuple": lambda n: {"prefixItems": [{"minimum": n}] * 400, "minItems": 400},
    "many contained": lambda n: {"allOf": [{"contains": {"const": i}, "minContains": 1 + n} for i in range(150)]},
    "huge counts": lambda n: {"minLength": 10**9 + n, "minItems": 10**9 + n, "minProperties": 10**9 + n},
    "long numbers": lambda n: {"allOf": [{"multipleOf": 10**300 + i, "minimum": 10**390 + n} for i in range(200)]},
    "a long chain": lambda n: {
        "dependentRequired": {f"a{i}": [f"a{i + 1}"] for i in range(450)},
        "required": [f"a{n}"],
    },
    "all different": lambda n: {"type": "array", "uniqueItems": True, "minItems": 300 + n},
}

# What others of the table show, and takes seconds here.
LONG = {
    "wide",
    "choices of choices",
    "many denied",
    "many patterns",
    "long tuple",
    "many contained",
    "a long chain",
    "many branches",
    "long numbers",
    "all different",
    "huge counts",
}


def count_calls(answer: Callable[[], Any]) -> tuple[Any, int]:
    """Return an answer, and how many calls of Python functions it took: the same on every machine."""
    profile = cProfile.Profile(builtins=False)
    found = profile.runcall(answer)
    return found, sum(entry.callcount for entry in profile.getstats())


@pytest.mark.heavy
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in LARGE]
)
def test_any_input_is_answered_in_few_steps(name: str) -> None:
    old, new = LARGE[name](0), LARGE[name](1)
    found, calls = count_calls(lambda: compare_schemas(old, new))
    assert (
        calls < 6_000_000
    )  # the largest takes 2.7 million; where work is not bounded by steps, it is a thousand times
    back = compare_schemas(new, old)
    assert back.relation is MIRRORED.get(found.relation, found.relation)
    assert compare_schemas(old, old).relation in {SchemaRelation.SAME_NORMAL_FORM, SchemaRelation.ASSUMED}


def test_a_new_keyword_is_shown_alone_and_not_as_the_schema_around_it() -> None:
    old = {"type": "object", "properties": {"a": {"type": "string"}}}
    new = {**old, "properties": {**old["properties"], "b": {"enum": [1, 2]}}}
    check = {"id": "c", "kind": "json_schema"}
    sides = [
        {"id": "r", "version": "1.0.0", "checks": [{**check, "schema": one}], "scoring": {"combine": "min"}}
        for one in (old, new)
    ]
    (finding,) = compare(*sides).findings
    assert (finding.before, finding.after) == (None, {"enum": [1, 2]})
    (back,) = compare(*reversed(sides)).findings
    assert (back.before, back.after) == ({"enum": [1, 2]}, None)
