"""Every edit of a tool_usage check, one by one and several together, against the real scorer on all short records."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from evalstore.checks import prepare_rubric
from evalstore.diff import DiffFinding, Direction, compare
from evalstore.diff.changes.rubric import find_rubric_changes
from evalstore.diff.classify import classify
from evalstore.diff.effects.edits import attach_effects
from evalstore.diff.pairing import pair_checks
from evalstore.diff.plain_data import make_plain
from evalstore.diff.rubric_state import RubricState, read_rubric_state
from evalstore.model import Output, Question, RubricResult, Sample, Verdict
from evalstore.places import find_resource_folder
from evalstore.versions import Bump
from tests.diff.case_pairs import make_rubric

Mapping = dict[str, Any]
CALLS: list[Mapping] = [
    {"name": "a"},
    {"name": "a", "args": {"n": 1}},
    {"name": "a", "args": {"n": True}},
    {"name": "a", "args": {"n": 1, "m": 2}},
    {"name": "a", "args": "text"},
    {"name": "b"},
]
RECORDS = [Output("", record) for length in range(4) for record in product(CALLS, repeat=length)]
RECORDS += [Output("", tuple(CALLS[place] for place in places)) for places in product((1, 5), repeat=4)]
RECORDS += [Output("", tuple([CALLS[1]] * length)) for length in (4, 5, 6)] + [Output("")]
ARGS: list[Mapping] = [{}, {}, {"args": {}}, {"args": {"n": 1}}, {"args": {"n": True}}, {"args_match": "exact"}]
ARGS += [{"args": {"n": 1}, "args_match": "exact"}, {"args": {"n": 1, "m": 2}}, {"args": {}, "args_match": "exact"}]


def entry(random: Random) -> Mapping:
    limits = {key: random.choice((0, 1, 1, 2, 3)) for key in ("min", "max") if random.random() < 0.4}
    return {"name": random.choice("aab"), **copy.deepcopy(random.choice(ARGS)), **limits}


def rubric(random: Random) -> Mapping:
    check: Mapping = {"id": "t", "kind": "tool_usage"}
    if random.random() < 0.9:
        check["tools"] = [entry(random) for _ in range(random.choice((1, 1, 2, 3)))]
    if random.random() < 0.3:
        check["forbidden"] = random.choices("abc", k=random.choice((1, 2)))
    check["mode"] = random.choice(("any_order", "in_order", "exact"))
    check["partial"] = random.random() < 0.5
    check["negate"] = random.random() < 0.2
    check["threshold"] = random.choice((1, 1, 0.5, 0.3, 0))
    checks = [check]
    if random.random() < 0.5:
        checks.append({"id": "o", "kind": "must_contain_any", "values": ["z"], "min_matches": random.choice((0, 1))})
    scoring: Mapping = {"combine": random.choice(("all_pass", "any_pass", "weighted_avg", "min", "median"))}
    if random.random() < 0.2:
        scoring["required"] = ["t"]
    scoring["missing"] = random.choice(("skip", "zero"))
    return {"id": "r", "version": "1.0.0", "checks": checks, "scoring": scoring}


def edited(random: Random, old: Mapping) -> Mapping:
    new = copy.deepcopy(old)
    check = new["checks"][0]
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        tools = check.get("tools", [])
        how = random.choice(("add", "drop", "field", "field", "turn", "double", "forbid", "mode", "partial", "own"))
        if how == "add":
            check.setdefault("tools", []).insert(random.randint(0, len(tools)), entry(random))
        elif how == "drop" and len(tools) > 1:
            tools.pop(random.randrange(len(tools)))
        elif how == "field" and tools:
            one, other = random.choice(tools), {**entry(random), **random.choice(ARGS)}
            key = random.choice(("min", "max", "args", "args_match", "name"))
            one.pop(key, None)
            one.update({key: other[key]} if key in other else {"name": one.get("name", "b")})
        elif how == "turn":
            random.shuffle(tools)
        elif how == "double" and tools:
            tools.append(copy.deepcopy(tools[0]))
        elif how == "forbid":
            check["forbidden"] = [*check.get("forbidden", []), random.choice("abc")][-2:]
        elif how == "mode":
            check["mode"] = random.choice(("any_order", "in_order", "exact"))
        elif how == "partial":
            check["partial"] = not check["partial"]
        elif how == "own" and random.random() < 0.2:
            check.pop("tools", None)
    return new


def results(state: RubricState) -> list[RubricResult]:
    grade = prepare_rubric(make_rubric(state))
    return [grade(Sample(output)) for output in RECORDS]


def states(old: Mapping, new: Mapping) -> tuple[RubricState, RubricState]:
    before, after = read_rubric_state(make_plain(old)), read_rubric_state(make_plain(new))
    assert before is not None
    assert after is not None
    return before, after


def moved(old: Fraction | None, new: Fraction | None) -> Direction:
    if old is None or new is None or old == new:
        return Direction.NONE
    return Direction.LOOSER if new > old else Direction.STRICTER


def hold(claim: DiffFinding, old: list[RubricResult], new: list[RubricResult]) -> None:
    for output, before, after in zip(RECORDS, old, new, strict=True):
        told = f"{claim.rule} {claim.level} {claim.directions} {claim.message}: {output} {before} {after}"
        if claim.level < Bump.MAJOR:
            assert (before.score, before.verdict) == (after.score, after.verdict), told
        assert claim.directions[0] in {Direction.EITHER, moved(before.score, after.score)} or (
            moved(before.score, after.score) is Direction.NONE
        ), told
        passed = [None if one.score is None else Fraction(one.verdict is Verdict.PASS) for one in (before, after)]
        assert moved(*passed) in {Direction.NONE, claim.directions[1]} or claim.directions[1] is Direction.EITHER, told


def prove(old: Mapping, new: Mapping) -> list[DiffFinding]:
    before, after = states(old, new)
    claims = []
    steps, _ = attach_effects(list(find_rubric_changes(before, pair_checks(before, after))), None)
    for step in steps:
        claims.append(classify(step))
        hold(claims[-1], *(results(state) for state in step.states))
    if all(claim.level < Bump.MAJOR for claim in claims):
        assert [(one.score, one.verdict) for one in results(before)] == [
            (one.score, one.verdict) for one in results(after)
        ]
    diff = compare(old, new)
    assert (diff.required_bump < Bump.MAJOR) is all(claim.level < Bump.MAJOR for claim in claims)
    # The witness of a finding is of its edit alone, that of the total of all.
    alone = [finding.witness for finding in diff.findings] if len(diff.findings) == 1 else []
    for witness in filter(None, [*alone, diff.total.witness]):
        row = witness.question
        question = None if row is None else Question(row["id"], row["input"], row)
        shown = Sample(Output(witness.output, witness.tool_calls), question)
        played = [prepare_rubric(make_rubric(state))(shown) for state in (before, after)]
        assert [one.score for one in played] == [witness.old_score, witness.new_score]
        assert [one.verdict for one in played] == [witness.old_verdict, witness.new_verdict]
        assert (played[0].score, played[0].verdict) != (played[1].score, played[1].verdict)
    assert compare(old, old).findings == ()
    return claims


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (0, 2, 3))])
def test_what_is_claimed_of_an_edit_holds_on_every_short_record(seed: int, samples: Callable[[int], int]) -> None:
    random = Random(seed)  # noqa: S311  # chance, not secrets
    claims: list[DiffFinding] = []
    for _ in range(samples(240)):
        old = rubric(random)
        claims += prove(old, edited(random, old))
    found = {(claim.rule, claim.directions[0]) for claim in claims}
    assert "unclassified-change" not in {rule for rule, _ in found}
    assert len({rule for rule, _ in found}) > 3
    assert {Direction.STRICTER, Direction.LOOSER, Direction.EITHER} <= {direction for _, direction in found}


def check(*tools: Mapping, **more: Any) -> Mapping:
    return {"id": "r", "version": "1.0.0", "checks": [{"kind": "tool_usage", "tools": [*tools], **more}], **SCORING}


SCORING: Mapping = {"scoring": {"combine": "min"}}
SEARCH, READ = {"name": "search"}, {"name": "read", "args": {"page": 1}}


@pytest.mark.parametrize(
    ("old", "new", "calls"),
    [
        (check(SEARCH), check(SEARCH, READ), (SEARCH,)),
        (check(SEARCH), check(SEARCH, forbidden=["drop"]), (SEARCH, {"name": "drop"})),
        (check(SEARCH, READ, mode="in_order"), check(SEARCH, READ, mode="exact"), (SEARCH, READ, SEARCH)),
        (check(SEARCH, READ), check(SEARCH, READ, mode="in_order"), (READ, SEARCH)),
        (check({**SEARCH, "max": 2}), check({**SEARCH, "max": 1}), (SEARCH, SEARCH)),
    ],
)
def test_a_record_of_calls_shows_what_moves(old: Mapping, new: Mapping, calls: tuple[Mapping, ...]) -> None:
    for sides, scores in (((old, new), (1, 0)), ((new, old), (0, 1))):
        (finding,) = compare(*sides).findings
        assert finding.witness is not None
        assert (finding.witness.tool_calls, finding.witness.output) == (calls, "An answer.")
        assert [finding.witness.old_score, finding.witness.new_score] == [*scores]


def test_the_other_checks_are_passed_by_a_text_beside_the_calls() -> None:
    other = {"kind": "must_contain_any", "values": ["done"]}
    old, new = ({**one, "checks": [*one["checks"], other]} for one in (check(SEARCH), check(SEARCH, READ)))
    (finding,) = compare(old, new).findings
    assert finding.witness is not None
    assert (finding.witness.output, finding.witness.tool_calls) == ("done", (SEARCH,))


@pytest.mark.parametrize(("old", "new", "verb"), [(None, 1, "gains"), (1, None, "loses"), (60, 61, "replaces")])
def test_a_list_that_is_not_compared_item_by_item_is_named(old: int | None, new: int | None, verb: str) -> None:
    sides = [check(*[{"name": f"t{number}"} for number in range(count or 0)]) for count in (old, new)]
    for side, count in zip(sides, (old, new), strict=True):
        if count is None:
            del side["checks"][0]["tools"]
    (finding,) = [one for one in compare(*sides).findings if one.rule == "tool-required-changed"]
    assert finding.message.endswith(f" {verb} the tool list")


def test_the_calls_are_told_in_text_and_json(cli: Any, tmp_path: Path) -> None:
    for name, value in (("old", check(SEARCH)), ("new", check(SEARCH, {**READ, "args": {"page": 1.5}}))):
        (tmp_path / f"{name}.yaml").write_text(json.dumps(value))
    told = cli("-C", tmp_path, "diff", "old.yaml", "new.yaml").out
    shown = 'shown by the output "An answer." with the calls [{"name":"search"}] goes from 100 (pass) to 0 (fail)'
    assert shown in " ".join(told.split())
    (tmp_path / "old.yaml").write_text(json.dumps(check({**READ, "args": {"page": 1.5}})))
    (tmp_path / "new.yaml").write_text(json.dumps(check({**READ, "args": {"page": 2.5}})))
    document = json.loads(cli("-C", tmp_path, "diff", "old.yaml", "new.yaml", "--format", "json").out)
    schema = json.loads((find_resource_folder("schema") / "output" / "diff.schema.json").read_text("utf-8"))
    Draft202012Validator(schema).validate(document)
    assert document["findings"][0]["witness"]["tool_calls"] == [{"name": "read", "args": {"page": 1.5}}]
