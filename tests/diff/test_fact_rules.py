"""Every edit of a list of facts against the real scorer, on every text that states some of them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from random import Random
from typing import Any

import pytest

from evalstore.checks import prepare_rubric
from evalstore.diff import DiffFinding, Direction, compare
from evalstore.diff.changes.rubric import find_rubric_changes
from evalstore.diff.classify import classify
from evalstore.diff.effects.edits import attach_effects
from evalstore.diff.pairing import pair_checks
from evalstore.diff.plain_data import make_plain
from evalstore.diff.rubric_state import RubricState, read_rubric_state
from evalstore.model import Output, RubricResult, Sample, Verdict
from evalstore.versions import Bump
from tests.diff.case_pairs import make_rubric

Mapping = dict[str, Any]
FACTS = ["a", "b", "ab", "A", "a  b", "a b", " b\n", "abc", "c", "\u03a3", "\u03c2", "\u0130"]
TEXTS = [
    "",
    *(" - ".join(some) for size in (1, 2, 3) for some in combinations(FACTS, size)),
    " - ".join(FACTS),
    "aabbc",
]
OUTPUTS = [Sample(Output(text)) for text in TEXTS]


def rubric(random: Random) -> Mapping:
    check: Mapping = {"id": "f", "kind": "fact_match", "threshold": random.choice((1, 1, 1, 0.5, 0.3, 0))}
    check["facts"] = random.choices(FACTS, k=random.choice((1, 1, 2, 3, 4)))
    check["case_sensitive"] = random.random() < 0.3
    check["negate"] = random.random() < 0.2
    other = {"id": "o", "kind": "must_contain_any", "values": ["z"], "min_matches": random.choice((0, 1))}
    combine = random.choice(("all_pass", "any_pass", "weighted_avg", "min", "median"))
    scoring = {"combine": combine, "required": random.choice(([], [], ["f"]))}
    return {"id": "r", "version": "1.0.0", "checks": [check, other][: random.choice((1, 2))], "scoring": scoring}


def edited(random: Random, old: Mapping) -> Mapping:
    check, *others = old["checks"]
    facts = list(check["facts"])
    how = random.choice(("add", "add", "drop", "swap", "turn", "double", "new", "id"))
    if how == "add":
        facts.insert(random.randint(0, len(facts)), random.choice(FACTS))
    elif how == "drop" and len(facts) > 1:
        facts.pop(random.randrange(len(facts)))
    elif how == "swap":
        facts[random.randrange(len(facts))] = random.choice(FACTS)
    elif how == "turn":
        random.shuffle(facts)
    elif how == "double":
        facts = [*facts, *facts]
    elif how == "new":
        facts = random.choices(FACTS, k=3)
    elif how == "id":
        facts[0] = {"id": "x", "value": facts[0]}
    return {**old, "checks": [{**check, "facts": facts}, *others]}


def results(state: RubricState) -> list[RubricResult]:
    grade = prepare_rubric(make_rubric(state))
    return [grade(sample) for sample in OUTPUTS]


def moves(pairs: list[tuple[Any, Any]]) -> set[Direction]:
    return {Direction.LOOSER if new > old else Direction.STRICTER for old, new in pairs if old != new}


def prove(old: Mapping, new: Mapping) -> list[DiffFinding]:
    before, after = read_rubric_state(make_plain(old)), read_rubric_state(make_plain(new))
    assert before is not None
    assert after is not None
    claims = []
    for step in attach_effects(list(find_rubric_changes(before, pair_checks(before, after))), None)[0]:
        claim = classify(step)
        claims.append(claim)
        answers = list(zip(*(results(state) for state in step.states), strict=True))
        seen = moves([(one.score, other.score) for one, other in answers])
        passed = moves([(one.verdict is Verdict.PASS, other.verdict is Verdict.PASS) for one, other in answers])
        told = f"{claim.rule} {claim.level} {claim.directions}: {seen} {passed}"
        if claim.level < Bump.MAJOR:
            assert seen | passed == set(), told
        for claimed, found in zip(claim.directions, (seen, passed), strict=True):
            assert claimed is Direction.EITHER or found <= {claimed}, told
    # The whole rubric may prove what no edit does by itself; then no text moves.
    bump = compare(old, new).required_bump
    assert bump < Bump.MAJOR or any(claim.level is Bump.MAJOR for claim in claims)
    if bump < Bump.MAJOR:
        assert (
            moves([(one.score, other.score) for one, other in zip(results(before), results(after), strict=True)])
            == set()
        )
    return claims


@pytest.mark.heavy
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))])
def test_what_is_claimed_of_facts_holds_on_every_text(seed: int) -> None:
    random = Random(seed)  # noqa: S311  # chance, not secrets
    claims: list[DiffFinding] = []
    for _ in range(60):
        old = rubric(random)
        claims += prove(old, edited(random, old))
    assert {claim.directions[0] for claim in claims} == set(Direction)
    assert {"fact-changed", "list-reordered"} <= {claim.rule for claim in claims}


def test_a_move_that_is_none_or_one_way_is_always_told(samples: Callable[[int], int]) -> None:
    """Of lists without a judge nothing is left open: one text or another shows each way that is not ruled out.

    Except of letters whose lower case depends on what is beside them.
    """
    random = Random(1)  # noqa: S311  # chance, not secrets
    for _ in range(samples(300)):
        old = {**rubric(random), "scoring": {"combine": "min"}}
        old["checks"] = [{"id": "f", "kind": "fact_match", "facts": old["checks"][0]["facts"]}]
        new = edited(random, old)
        if not set("İΣς").isdisjoint(str((old, new))):
            continue
        states = [read_rubric_state(make_plain(one)) for one in (old, new)]
        seen = moves([(one.score, other.score) for one, other in zip(*map(results, filter(None, states)), strict=True)])
        told = compare(old, new).findings
        claimed = {finding.direction for finding in told}
        assert (seen == set()) is (claimed <= {Direction.NONE}), (old, new, seen)
        assert (len(seen) == 2) is (claimed == {Direction.EITHER}), (old, new, seen, claimed)
