"""What a dataset's comparison says of a question's reference, against the real scorer: rubrics, composites, judges."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise, product
from random import Random
from typing import Any

import pytest

from evalstore.checks import CheckContext, evaluate
from evalstore.diff import Diff, Direction, compare, question_comparison
from evalstore.diff.direction import join_directions
from evalstore.diff.limits import COMPARED
from evalstore.diff.question_rubrics import fill_rubric
from evalstore.documents import compute_digest, read_json, write_canonical
from evalstore.errors import RefError
from evalstore.model import Artifact, JudgeCall, JudgeReply, UnscoredReason, Verdict, parse_ref
from evalstore.model.question_params import list_question_values
from evalstore.versions import Bump
from tests.rows import thin

Mapping = dict[str, Any]
Store = dict[str, Mapping]
FIELDS: dict[str, list[Any]] = {
    "expected": [None, "text", {}, {"format": "json"}, {"format": "text", "a": 1}, {"a": 1}, {"a": True}, {"a": 1.0}],
    "also_valid": [None, {}, {"a": [2]}, {"a": [2, True]}, {"b": [1]}, {"a": [1]}, {"a": "misfit"}],
    "expected_facts": [None, [], ["a"], ["a", "ab"], ["ab"], ["A"], [{"id": "x", "value": "a"}], ["a", "b"], "misfit"],
    "expected_tools": [None, [], ["a"], ["a", "b"], ["b", "a"], [{"name": "a", "args": {"n": 1}}], [1]],
    "context": [None, "", "c"],
    "criteria": [None, "d"],
    "format": [None, "json"],
    "names": [None, [], ["a"], ["a", "ab"], ["b", "a"], ["A"], ["x", 1], "misfit"],
    "least": [None, 1, 2, "misfit"],
    "pattern": [None, "", "a", "a+", "ab?", "(", ["misfit"]],
    "shape": [None, {}, {"required": ["a"]}, {"properties": {"a": {"const": 1}}}, False, "misfit"],
    "rule": [None, "", "is a", "is b", ["misfit"]],
    "statements": [
        None,
        [],
        ["x"],
        ["x", "y"],
        [{"text": "x", "weight": 1}],
        [{"text": "x", "weight": -2}],
        ["y", "x"],
    ],
}
TEXTS = ["", "a", "ab", "b a", "x", '{"a": 1}', '{"a": 2}', '{"a": true, "b": 1}', "{}"]
RECORDS = [None, [], [{"name": "a"}], [{"name": "b"}, {"name": "a", "args": {"n": 1}}], [{"name": "a"}, {"name": "b"}]]
OUTPUTS = [
    {"output": text, **({} if calls is None else {"tool_calls": calls})} for text, calls in product(TEXTS, RECORDS)
]
TEMPLATES = [
    "{{ output }}",
    "{{ output }} {{ expected }}",
    "{{#context}}{{ output }}{{/context}}",
    "{{ fact }} {{ expected }}",
    "{{ output }} {{ rule }}",
    "{{ output }} {{ statement }}",
]
PLAIN: list[Mapping] = [
    {"kind": "fact_match"},
    {"kind": "fact_match", "facts": ["a"]},
    {"kind": "fact_match", "threshold": 0.5, "case_sensitive": True},
    {"kind": "tool_usage"},
    {"kind": "tool_usage", "forbidden": ["b"], "partial": True},
    {"kind": "tool_usage", "mode": "exact"},
    {"kind": "tool_usage", "tools": [{"name": "a"}]},
    {"kind": "format"},
    {"kind": "format", "min_chars": 1},
    {"kind": "format", "format": "text"},
    {"kind": "json_schema", "expected_fields": ["a"]},
    {"kind": "json_schema", "expected_fields": ["a", "b"], "negate": True},
    {"kind": "must_contain_any", "values": ["a"]},
    {"kind": "llm_judge", "judge_prompt_ref": "judge/j0@1.0.0"},
    {"kind": "llm_judge", "judge_prompt_ref": "judge/j1@1.0.0"},
    {"kind": "llm_judge", "jury": {"members": [{"judge_prompt_ref": "judge/j2@1.0.0"}], "aggregate": "min"}},
    {"kind": "fact_match", "judge_prompt_ref": "judge/j3@1.0.0"},
]
VALUES: list[Mapping] = [
    {"kind": "must_contain_any", "values": {"from": "names"}},
    {"kind": "must_contain_any", "values": {"from": "names"}, "min_matches": {"from": "least"}},
    {"kind": "must_not_contain", "values": {"from": "names"}, "case_sensitive": True},
    {"kind": "regex", "pattern": {"from": "pattern"}, "flags": "i"},
    {"kind": "json_schema", "schema": {"from": "shape"}},
    {"kind": "fact_match", "facts": {"from": "names"}, "threshold": 0.5},
    {"kind": "fact_match", "facts": {"from": "expected_facts"}},
    {"kind": "tool_usage", "tools": [{"name": "a"}], "forbidden": {"from": "names"}},
    {"kind": "format", "min_chars": {"from": "least"}},
    {"kind": "json_schema", "expected_fields": {"from": "names"}},
    {"kind": "markdown_structure", "min_paragraphs": {"from": "least"}, "required_sections": {"from": "names"}},
    {"kind": "llm_judge", "judge_prompt_ref": "judge/j4@1.0.0", "variables": {"rule": {"from": "rule"}}},
    {"kind": "llm_judge", "judge_prompt_ref": "judge/j5@1.0.0", "each": {"from": "statements"}},
]
VALUE_KEYS = sorted({key for key in FIELDS if f"'from': '{key}'" in str(VALUES)})
JUDGES: Store = {
    f"judge/j{place}@1.0.0": {
        "id": f"j{place}",
        "version": "1.0.0",
        "template": template,
        "variables": ["fact", "rule", "statement"],
        "model": {"id": "m"},
    }
    for place, template in enumerate(TEMPLATES)
}


KEYS = {
    "fact_match": "expected_facts",
    "tool_usage": "expected_tools",
    "format": "expected",
    "json_schema": "also_valid",
}
REF = "rubric/outer@1.0.0"


def rubric(random: Random, id_: str, *refs: str) -> Mapping:
    kinds = random.choice((PLAIN[:13], PLAIN[:13], PLAIN, VALUES, VALUES))
    checks = random.choices(kinds, k=random.choice((1, 1, 2)))
    checks += [{"kind": "composite", "rubric_ref": ref} for ref in refs if random.random() < 0.2]
    combine = random.choice(("all_pass", "any_pass", "weighted_avg", "weighted_avg", "min", "max", "median"))
    ids = [f"c{place}" for place in range(len(checks))]
    scoring: Mapping = {"combine": combine, "missing": random.choice(("skip", "zero"))}
    if random.random() < 0.3:
        scoring["weights"] = {ids[0]: 0}
    if random.random() < 0.2:
        scoring["required"] = ids[-1:]
    checks = [{"id": own, **check} for own, check in zip(ids, checks, strict=True)]
    return {"id": id_, "version": "1.0.0", "checks": copy.deepcopy(checks), "scoring": scoring}


def store(random: Random) -> Store:
    inner, outer = rubric(random, "inner"), rubric(random, "outer", "rubric/inner@1.0.0")
    return {**JUDGES, "rubric/inner@1.0.0": inner, "rubric/outer@1.0.0": outer}


def row(random: Random) -> Mapping:
    given = {key: random.choice(some) for key, some in FIELDS.items() if random.random() < 0.7}
    return {"id": "q", "input": "i", **{key: item for key, item in given.items() if item is not None}}


def edited(random: Random, old: Mapping, held: Store) -> Mapping:
    new = copy.deepcopy(old)
    read = [KEYS[check["kind"]] for check in held[REF]["checks"] if check["kind"] in KEYS]
    read += [key for key in VALUE_KEYS if f"'from': '{key}'" in str(held)]
    for key in random.choices([*sorted(FIELDS), *read * 6], k=random.choice((1, 1, 1, 2))):
        if isinstance(new.get(key), list) and random.random() < 0.7:
            new[key].append(random.choice(("a", "b", "ab")))
        elif isinstance(new.get(key), dict) and random.random() < 0.7:
            new[key]["a"] = [2, random.choice((1, True))] if key == "also_valid" else random.choice((1, 2, True))
        else:
            new[key] = copy.deepcopy(random.choice(FIELDS[key]))
    return {key: item for key, item in new.items() if item is not None}


def context(held: Store) -> CheckContext:
    def load(ref: str) -> Artifact:
        if ref not in held:
            raise RefError(f"{ref} is not there")
        document = read_json(json.dumps(held[ref]), "f.json")
        return Artifact(parse_ref(ref).kind, document.value["id"], document.value["version"], document)

    def ask(call: JudgeCall) -> JudgeReply:
        return JudgeReply(f'{{"score": {int(compute_digest(call.prompt), 16) % 3 / 2}}}')

    return CheckContext(load=load, ask=ask)


def difference(old: Mapping, new: Mapping, held: Store, ref: str = REF) -> Diff:
    sides = ({"id": "d", "version": "1.0.0", "defaults": {"rubric_ref": ref}, "questions": [one]} for one in (old, new))
    return compare(*sides, load=context(held).load)


def prove(old: Mapping, new: Mapping, held: Store) -> Diff:
    diff, grades = difference(old, new, held), context(held)
    told = [f"{finding.level} {finding.direction} {finding.message}" for finding in diff.findings]
    score = verdict = Direction.NONE
    for finding in diff.findings:
        score, verdict = join_directions(score, finding.direction), join_directions(verdict, finding.verdict_direction)
    for output in OUTPUTS:
        before, after = (evaluate(held[REF], output, one, context=grades) for one in (old, new))
        if diff.required_bump < Bump.MAJOR:
            assert (before.score, before.verdict) == (after.score, after.verdict), (told, output)
        if before.score is None or after.score is None:
            continue
        assert moved(before.score, after.score) in {Direction.NONE, score} or score is Direction.EITHER, (told, output)
        passed = moved(before.verdict is Verdict.PASS, after.verdict is Verdict.PASS)
        assert passed in {Direction.NONE, verdict} or verdict is Direction.EITHER, (told, output)
    return diff


def moved(old: Any, new: Any) -> Direction:
    return Direction.NONE if old == new else Direction.LOOSER if new > old else Direction.STRICTER


@pytest.mark.parametrize("seed", thin(range(2), 2))
def test_what_is_claimed_of_a_reference_holds_for_every_output(seed: int, samples: Callable[[int], int]) -> None:
    random = Random(seed)  # noqa: S311  # chance, not secrets
    found = set()
    for _ in range(samples(200)):
        held, old = store(random), row(random)
        new = edited(random, old, held)
        diff = prove(old, new, held)
        found |= {(finding.rule, finding.level, finding.direction) for finding in diff.findings}
        assert (diff.findings == ()) is (write_canonical(old) == write_canonical(new))
    rules = {rule for rule, _, _ in found}
    assert {"question-reference-changed", "question-reference-unread", "question-value-changed"} <= rules
    assert rules - {rule for rule in rules if rule.startswith("question-")}, "no value was judged by its kind's rules"
    assert {Direction.NONE, Direction.EITHER} <= {direction for _, _, direction in found}


@pytest.mark.heavy
def test_what_is_written_into_a_rubric_scores_as_the_question_does(samples: Callable[[int], int]) -> None:
    random = Random(7)  # noqa: S311  # chance, not secrets
    compared = 0
    plain = [check for check in (*PLAIN, *VALUES) if "judge" not in str(check)]
    for check, _ in product(plain, range(samples(32))):
        asked, one = {"checks": [check], "scoring": {"combine": "min"}}, row(random)
        if "misfit" in str(one) or one.get("expected_tools") == [1] or one.get("names") == ["x", 1]:
            continue
        if not all(one.get(value.key) for value in list_question_values(check)):
            continue
        for output in OUTPUTS:
            assert evaluate(asked, output, one).score == evaluate(fill_rubric(asked, one).value, output).score, (
                check,
                one,
            )
            compared += 1
    assert compared > 200


UNREAD = {"id": "outer", "version": "1.0.0", "checks": [PLAIN[12]], "scoring": {"combine": "min"}}


def test_a_reference_that_nothing_reads_is_a_patch() -> None:
    for key, some in FIELDS.items():
        extra = key in VALUE_KEYS and key != "expected_facts"
        for value in some[1:]:
            diff = difference({"id": "q", "input": "i"}, {"id": "q", "input": "i", key: value}, {REF: UNREAD})
            assert [(finding.rule, finding.level) for finding in diff.findings] == [
                ("extension-field-changed", Bump.MINOR) if extra else ("question-reference-unread", Bump.PATCH)
            ]


@pytest.mark.parametrize(
    ("held", "ref", "more", "why"),
    [
        ({}, REF, {}, "rubric/outer@1.0.0 is not there"),
        ({"rubric/outer": UNREAD}, "rubric/outer", {}, "rubric/outer floats"),
        ({"rubric/outer@^1.0": UNREAD}, "rubric/outer@^1.0", {}, "rubric/outer@^1.0 floats"),
        ({REF: UNREAD}, REF, {"bundle": "chat"}, "its bundle may read it"),
        ({REF: UNREAD}, REF, {"rubric_ref": None}, "it names no rubric, and any rubric may read it"),
        ({REF: {**UNREAD, "checks": [{"kind": "other"}]}}, REF, {}, "cannot be read in full"),
        ({REF: {**UNREAD, "checks": [{**PLAIN[12], "extra": 1}]}}, REF, {}, "cannot be read in full"),
        ({REF: {**UNREAD, "checks": [PLAIN[13]]}}, REF, {}, "judge/j0@1.0.0 is not there"),
        (
            {REF: {**UNREAD, "checks": [{"kind": "llm_judge", "judge_prompt_ref": "judge/j0"}]}, **JUDGES},
            REF,
            {},
            "judge/j0 floats, or cannot be read",
        ),
        (
            {REF: {**UNREAD, "checks": [{"kind": "composite", "rubric_ref": REF}]}},
            REF,
            {},
            "is nested too deeply",
        ),
        ({REF: {**UNREAD, "checks": [PLAIN[14]]}, **JUDGES}, REF, {}, "judge/j1@1.0.0 reads it"),
    ],
)
def test_what_cannot_be_known_stays_major(held: Store, ref: str, more: Mapping, why: str) -> None:
    old = {"id": "q", "input": "i", **more}
    (finding,) = difference(old, {**old, "expected": "x"}, held, ref).findings
    assert (finding.rule, finding.level) == ("question-reference-changed", Bump.MAJOR)
    assert finding.direction is Direction.EITHER
    assert why in finding.message


def test_without_a_store_a_reference_stays_major() -> None:
    sides = ({"questions": [{"id": "q", "input": "i", "rubric_ref": REF, "expected": text}]} for text in "ab")
    (finding,) = compare(*sides).findings
    assert (finding.level, finding.message) == (Bump.MAJOR, "expected of q: a → b; its rubric is not available")


@pytest.mark.heavy
def test_of_many_edits_the_first_are_compared_and_the_rest_stay_major(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(question_comparison, "COMPARED", COMPARED._replace(questions=300))
    held = {REF: {**UNREAD, "checks": [{"kind": "fact_match"}]}}
    sides = (
        {
            "id": "d",
            "defaults": {"rubric_ref": REF},
            "questions": [
                {"id": f"q{place}", "input": "i", "expected_facts": [str(place), *more]} for place in range(310)
            ],
        }
        for more in ([], ["b", "b"])
    )
    found = compare(*sides, load=context(held).load).findings
    assert {finding.level for finding in found} == {Bump.MAJOR}
    assert [len(finding.children) for finding in found] == [1] * 300 + [0] * 10
    assert "too much changes to compare item by item" in found[-1].message


NAMES = {**UNREAD, "checks": [{"kind": "must_not_contain", "values": {"from": "banned"}}]}


@pytest.mark.parametrize(
    ("check", "old", "new", "rule", "direction", "message"),
    [
        (VALUES[0], {"names": ["a"]}, {"names": ["a", "b"]}, "contain-phrase-added", "looser", "also accepts 'b'"),
        (VALUES[0], {"names": ["a"]}, {"names": ["a", "ab"]}, "phrase-redundant", "none", "which has no effect"),
        (VALUES[2], {"names": ["a"]}, {"names": ["a", "b"]}, "ban-phrase-added", "stricter", "also bans 'b'"),
        (VALUES[3], {"pattern": "a+"}, {"pattern": "a"}, "regex-pattern-equivalent", "none", ""),
        (VALUES[3], {"pattern": "a|b"}, {"pattern": "a"}, "regex-pattern-narrowed", "stricter", ""),
        (VALUES[4], {"shape": {"required": ["a"]}}, {"shape": {}}, "check-applicability-changed", "either", "is now"),
        (VALUES[6], {"expected_facts": ["a"]}, {"expected_facts": ["b"]}, "fact-changed", "either", ""),
        (
            VALUES[12],
            {"statements": ["x"]},
            {"statements": ["y"]},
            "check-statements-changed",
            "either",
            'about "[-x-] {+y+}"',
        ),
    ],
)
def test_a_value_is_judged_by_the_rules_of_its_kind(  # a row a case
    check: Mapping, old: Mapping, new: Mapping, rule: str, direction: str, message: str
) -> None:
    held = {REF: {**UNREAD, "checks": [check]}, **JUDGES}
    (finding,) = difference({"id": "q", "input": "i", **old}, {"id": "q", "input": "i", **new}, held).findings
    assert (finding.rule, str(finding.direction)) == (rule, direction)
    assert message in finding.message
    assert finding.pointer == f"/questions/0/{next(iter(new))}"


def compare_defaults(old: Mapping, new: Mapping, rows: list[Mapping], held: Store) -> Diff:
    sides = ({"id": "d", "defaults": {"rubric_ref": REF, **side}, "questions": rows} for side in (old, new))
    return compare(*sides, load=context(held).load)


def test_a_default_that_a_check_reads_is_judged_as_each_question_has_it() -> None:
    rows = [{"id": f"q{number}", "input": "i"} for number in range(3)] + [{"id": "own", "input": "i", "banned": ["c"]}]
    (finding,) = compare_defaults({"banned": ["a"]}, {"banned": ["a", "b"]}, rows, {REF: NAMES}).findings
    assert (finding.rule, str(finding.direction), finding.pointer) == (
        "ban-phrase-added",
        "stricter",
        "/defaults/banned",
    )
    assert finding.message.startswith("the default of 3 questions: ")


def test_a_default_is_judged_whatever_else_the_questions_give_to_other_checks() -> None:
    held = {REF: {**UNREAD, "checks": [*NAMES["checks"], VALUES[0]], "scoring": {"combine": "weighted_avg"}}}
    rows = [{"id": f"q{number}", "input": "i", "names": [str(number)]} for number in range(3)]
    (finding,) = compare_defaults({"banned": ["a"]}, {"banned": ["a", "b"]}, rows, held).findings
    assert (finding.rule, str(finding.direction)) == ("ban-phrase-added", "stricter")


def test_a_default_of_questions_that_differ_is_judged_for_each_of_them() -> None:
    held = {REF: {**UNREAD, "checks": [VALUES[1]]}}
    rows = [{"id": f"q{number}", "input": "i", "least": number} for number in (1, 2)]
    (finding,) = compare_defaults({"names": ["a", "b"]}, {"names": ["a", "b", "c"]}, rows, held).findings
    assert (finding.rule, finding.level, str(finding.direction)) == ("contain-phrase-added", Bump.MAJOR, "looser")
    assert (finding.questions, finding.question_ids) == (2, ("q1", "q2"))


def test_a_value_that_moves_from_the_question_to_the_defaults_moves_nothing() -> None:
    sides = (
        {"id": "d", "defaults": {"rubric_ref": REF}, "questions": [{"id": "q", "input": "i", "banned": ["a"]}]},
        {"id": "d", "defaults": {"rubric_ref": REF, "banned": ["a"]}, "questions": [{"id": "q", "input": "i"}]},
    )
    assert compare(*sides, load=context({REF: NAMES}).load).required_bump < Bump.MAJOR


def test_an_extra_key_stays_minor_where_no_check_reads_it() -> None:
    held = {REF: NAMES}
    (finding,) = difference({"id": "q", "input": "i"}, {"id": "q", "input": "i", "severity": "high"}, held).findings
    assert (finding.rule, finding.level) == ("extension-field-changed", Bump.MINOR)
    (unknown,) = difference({"id": "q", "input": "i"}, {"id": "q", "input": "i", "severity": "high"}, {}).findings
    assert (unknown.rule, unknown.level) == ("question-value-changed", Bump.MAJOR)


OTHER = "rubric/other@1.0.0"
FACTS = {**UNREAD, "checks": [{"kind": "fact_match"}]}


@pytest.mark.parametrize("first", ["default", "own"])
@pytest.mark.parametrize(
    ("read", "key", "old", "new", "rule", "direction"),
    [
        (FACTS, "expected_facts", ["a"], ["b"], "question-reference-changed", "either"),
        (NAMES, "banned", ["a"], ["a", "b"], "ban-phrase-added", "stricter"),
    ],
)
def test_a_default_is_judged_by_the_rubric_of_each_question(
    read: Mapping, key: str, old: Any, new: Any, rule: str, direction: str, first: str
) -> None:
    rows = [{"id": "q", "input": "i"}, {"id": "own", "input": "i", "rubric_ref": OTHER}]
    rows = rows if first == "default" else rows[::-1]
    held = {REF: UNREAD, OTHER: read}
    (finding,) = compare_defaults({key: old}, {key: new}, rows, held).findings
    assert (finding.rule, finding.level, str(finding.direction)) == (rule, Bump.MAJOR, direction)
    moved = [evaluate(held[OTHER], "b", {**rows[1], key: value}).score for value in (old, new)]
    assert moved[0] != moved[1]
    # Where the default's own rubric reads it and no question is graded by that, nothing moves.
    rows = [{"id": "own", "input": "i", "rubric_ref": OTHER}]
    diff = compare_defaults({key: old}, {key: new}, rows, {REF: read, OTHER: UNREAD})
    assert diff.required_bump < Bump.MAJOR


def test_a_default_that_two_rubrics_read_is_judged_by_each() -> None:
    rows = [{"id": "q", "input": "i"}, {"id": "own", "input": "i", "rubric_ref": OTHER}]
    wants = {**UNREAD, "checks": [{"kind": "must_contain_any", "values": {"from": "banned"}}]}
    diff = compare_defaults({"banned": ["a"]}, {"banned": ["a", "b"]}, rows, {REF: NAMES, OTHER: wants})
    assert [(one.rule, str(one.direction), one.question_ids) for one in diff.findings] == [
        ("ban-phrase-added", "stricter", ("q",)),
        ("contain-phrase-added", "looser", ("own",)),
    ]
    assert (diff.required_bump, str(diff.total.direction)) == (Bump.MAJOR, "either")


def test_a_default_of_a_question_without_a_rubric_is_not_told_unread() -> None:
    rows = [{"id": "q", "input": "i", "rubric_ref": None}, {"id": "own", "input": "i", "rubric_ref": OTHER}]
    (finding,) = compare_defaults({"expected": "a"}, {"expected": "b"}, rows, {REF: UNREAD, OTHER: UNREAD}).findings
    assert (finding.level, str(finding.direction)) == (Bump.MAJOR, "either")


def test_a_default_is_judged_as_a_renamed_question_has_it() -> None:
    sides = [
        {"id": "d", "defaults": {"rubric_ref": REF, "banned": banned}, "questions": [{"id": id_, "input": "i"}]}
        for id_, banned in (("q", ["a"]), ("r", ["a", "b"]))
    ]
    found = {one.rule: one for one in compare(*sides, load=context({REF: NAMES}).load).findings}
    assert found.keys() == {"question-id-renamed", "ban-phrase-added"}


@pytest.mark.parametrize(
    ("check", "key", "spellings"),
    [
        (VALUES[0], "names", ["a", ["a"]]),
        (VALUES[0], "names", [4, Decimal("4.0"), "4", ["4"]]),
        (VALUES[8], "least", [2, Decimal("2.0"), 2.0]),
        ({"kind": "tool_usage", "tools": {"from": "names"}}, "names", ["a", ["a"], [{"name": "a"}]]),
        ({"kind": "fact_match", "facts": {"from": "names"}}, "names", ["a", ["a"], [{"id": "x", "value": "a"}]]),
        (VALUES[12], "statements", ["x", ["x"], [{"text": "x", "weight": 1}]]),
    ],
)
def test_the_spellings_of_a_value_mean_one_thing(check: Mapping, key: str, spellings: list[Any]) -> None:
    held = {REF: {**UNREAD, "checks": [check]}, **JUDGES}
    rows = [{"id": "q", "input": "i", key: value} for value in spellings]
    for old, new in pairwise(rows):
        assert difference(old, new, held).required_bump < Bump.MAJOR
        for output in OUTPUTS:
            results = [evaluate(held[REF], output, row, context=context(held)) for row in (old, new)]
            assert results[0].score == results[1].score
            assert not any(one.unscored is UnscoredReason.ERROR for one in results[0].checks)


SHARED: list[Mapping] = [
    {"kind": "must_contain_any", "values": {"from": "k"}},
    {"kind": "must_contain_any", "values": ["a"], "min_matches": {"from": "k"}},
    {"kind": "regex", "pattern": {"from": "k"}},
    {"kind": "json_schema", "schema": {"from": "k"}},
    {"kind": "fact_match", "facts": {"from": "k"}},
    {"kind": "tool_usage", "tools": {"from": "k"}},
    {"kind": "tool_usage", "forbidden": {"from": "k"}},
    {"kind": "format", "min_chars": {"from": "k"}},
]


@pytest.mark.parametrize("one", thin(range(len(SHARED)), 3))
def test_two_checks_that_want_one_key_in_two_types_are_compared(one: int) -> None:
    for other in SHARED:
        old = {**UNREAD, "checks": [{"id": "a", **SHARED[one]}, {"id": "b", **other}]}
        new = {**old, "checks": [{**old["checks"][0], "negate": True}, old["checks"][1]]}
        assert compare(old, new).required_bump is Bump.MAJOR
        for values in (["a", "b"], [1, 2], [["a"], ["b"]], [{}, {"required": ["a"]}]):
            rows = [{"id": "q", "input": "i", "k": value} for value in values]
            assert difference(*rows, {REF: old}).required_bump is Bump.MAJOR


def test_what_a_check_says_itself_beside_values_of_the_question_is_read_as_ever() -> None:
    for wrong in ({"mode": "sometimes"}, {"partial": 1}, {"forbidden": "a"}):
        old = {**UNREAD, "checks": [{"id": "a", "kind": "tool_usage", "tools": {"from": "k"}}]}
        new = {**old, "checks": [{**old["checks"][0], **wrong}]}
        assert compare(old, new).required_bump is Bump.MAJOR


@pytest.mark.parametrize("facts", [[""], [" "], ["a", "\n"], [{"id": "x", "value": ""}], [{"value": "\t\u00a0"}]])
@pytest.mark.parametrize("more", [{}, {"judge_prompt_ref": "judge/j3@1.0.0"}])
def test_blank_facts_are_never_a_score(facts: list[Any], more: Mapping) -> None:
    asked = {**UNREAD, "checks": [{"kind": "fact_match", **more}]}
    literal = {**UNREAD, "checks": [{"kind": "fact_match", "facts": facts, **more}]}
    taken = {**UNREAD, "checks": [{"kind": "fact_match", "facts": {"from": "names"}, **more}]}
    row = {"id": "q", "input": "i", "expected_facts": facts, "names": facts}
    for held in (asked, literal, taken):
        (graded,) = evaluate(held, "a", row, context=context(JUDGES)).checks
        assert (graded.score, graded.unscored) == (None, UnscoredReason.ERROR), graded.reason
    # And the diff does not take them for facts that every output states.
    diff = difference(row, {**row, "expected_facts": ["a"]}, {REF: asked, **JUDGES})
    assert (diff.required_bump, diff.total.direction) == (Bump.MAJOR, Direction.EITHER)


@pytest.mark.parametrize("tools", [[""], [" "], ["a", ""], [{"name": ""}], [{"name": " ", "args": {}}]])
def test_tools_without_a_name_are_never_a_score(tools: list[Any]) -> None:
    held = {**UNREAD, "checks": [{"kind": "tool_usage"}]}
    row = {"id": "q", "input": "i", "expected_tools": tools}
    (graded,) = evaluate(held, OUTPUTS[2], row).checks
    assert (graded.score, graded.unscored) == (None, UnscoredReason.ERROR)
    assert difference(row, {**row, "expected_tools": ["a"]}, {REF: held}).required_bump is Bump.MAJOR


def test_a_default_that_is_removed_is_named_in_plain_words() -> None:
    rows = [{"id": "q1", "input": "a"}]
    old = {"id": "d", "version": "1.0.0", "questions": rows, "defaults": {"rubric_ref": "rubric/r@1.0.0"}}
    (used,) = compare(old, {**old, "defaults": {}}).findings
    assert used.message == "the default of 1 question: graded by no rubric (was rubric/r@1.0.0)"
    assert (used.reason, used.pointer) == ("without a rubric a question is not graded", "/defaults/rubric_ref")
    old = {**old, "questions": [{**rows[0], "rubric_ref": "rubric/r@1.0.0"}]}
    (unused,) = compare(old, {**old, "defaults": {}}).findings
    assert unused.message == "the default that no question uses: graded by no rubric (was rubric/r@1.0.0)"


def test_an_edit_of_a_reference_is_judged_without_the_other_edits_of_its_question() -> None:
    checks = [{"kind": "fact_match"}, {"kind": "must_contain_any", "values": {"from": "names"}}]
    held = {REF: {"id": "r", "version": "1.0.0", "checks": checks, "scoring": {"combine": "weighted_avg"}}}
    old = {"id": "q", "input": "i", "expected_facts": ["x", "y"], "names": ["tag"]}
    rows = [[old], [{**old, "expected_facts": ["x"]}], [{**old, "expected_facts": ["x"], "names": ["tags"]}]]
    sides = [{"id": "d", "defaults": {"rubric_ref": REF}, "questions": some} for some in rows]
    alone, both = (compare(sides[0], side, load=context(held).load) for side in sides[1:])
    (facts,) = alone.findings
    assert facts.max_shift == Fraction(1, 4)
    assert [finding.max_shift for finding in both.findings] == [Fraction(1, 4), Fraction(1, 2)]
    assert both.total.max_shift == Fraction(3, 4)
