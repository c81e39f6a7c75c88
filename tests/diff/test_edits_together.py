"""The whole diff decides: what edits do together is the level, checks pair by content, and unchanged ones do not count."""

from __future__ import annotations

import copy
from fractions import Fraction
from itertools import combinations
from random import Random
from typing import Any

import pytest

from evalstore.checks import evaluate
from evalstore.diff import Diff, Direction, compare
from evalstore.versions import Bump
from tests.rows import thin

Rubric = dict[str, Any]
WORDS = [f"w{number}" for number in range(6)]


def ban(id_: str, *values: str) -> Rubric:
    return {"id": id_, "kind": "must_not_contain", "values": list(values)}


def want(id_: str, *values: str) -> Rubric:
    return {"id": id_, "kind": "must_contain_any", "values": list(values)}


def ask(id_: str, words: str) -> Rubric:
    judge = "judge/meets@1.0.0"
    return {"id": id_, "kind": "llm_judge", "judge_prompt_ref": judge, "variables": {"criterion": words}}


def rubric(*checks: Rubric, combine: str = "weighted_avg", **scoring: Any) -> Rubric:
    return {"id": "r", "version": "1.0.0", "checks": list(checks), "scoring": {"combine": combine, **scoring}}


def list_rules(diff: Diff) -> list[str]:
    return sorted(finding.rule for finding in diff.findings)


def test_two_checks_that_swap_contents_are_renamed() -> None:
    diff = compare(rubric(want("a", "x"), want("b", "y")), rubric(want("a", "y"), want("b", "x")))
    assert (diff.required_bump, list_rules(diff)) == (Bump.MINOR, ["check-renamed", "check-renamed", "check-reordered"])


def test_checks_that_stay_by_name_are_edited_in_place_though_one_now_says_what_the_other_said() -> None:
    old = rubric(want("fruit", "pear"), want("snack", "pear", "kiwi"))
    new = rubric(want("fruit", "pear", "kiwi"), want("snack", "pear", "kiwi", "plum"))
    assert list_rules(compare(old, new)) == ["contain-phrase-added", "contain-phrase-added"]
    shifted = rubric(want("fruit", "plum"), want("snack", "pear"), want("third", "pear", "kiwi"))
    assert list_rules(compare(old, shifted)) == ["check-added", "check-renamed", "check-renamed"]


def test_a_first_statement_that_is_inserted_is_one_major() -> None:
    said = ["Names a date", "Says who pays the postage", "Is polite to whoever asks"]
    old = rubric(*(ask(f"s{number}", words) for number, words in enumerate(said)))
    new = rubric(*(ask(f"s{number}", words) for number, words in enumerate(["Gives a source", *said])))
    diff = compare(old, new)
    assert [finding.rule for finding in diff.findings if finding.level is Bump.MAJOR] == ["check-added"]


def test_a_statement_that_moves_and_is_reworded_is_one_edit_of_its_words() -> None:
    old = rubric(ask("s1", "Names the last day of the month"), ask("s2", "Says who pays"))
    new = rubric(
        ask("s1", "Gives a source"), ask("s2", "Names the last working day of the month"), ask("s3", "Says who pays")
    )
    majors = [finding.rule for finding in compare(old, new).findings if finding.level is Bump.MAJOR]
    assert sorted(majors) == ["check-added", "check-variables-changed"]


@pytest.mark.parametrize("beside", thin([12, 0, 8, 40], 4))
@pytest.mark.parametrize("combine", ["all_pass", "min"])
def test_a_ban_that_is_split_in_two_is_a_patch_beside_any_number_of_checks(beside: int, combine: str) -> None:
    others = [want(f"k{number}", f"word {number}") for number in range(beside)]
    old, new = [ban("ban", "x", "y")], [ban("ban1", "x"), ban("ban2", "y")]
    assert (
        compare(rubric(*old, *others, combine=combine), rubric(*new, *others, combine=combine)).required_bump
        is Bump.PATCH
    )
    assert (
        compare(rubric(*new, *others, combine=combine), rubric(*old, *others, combine=combine)).required_bump
        is Bump.PATCH
    )


@pytest.mark.parametrize("beside", [0, 14])
def test_edits_that_take_each_other_back_say_so_and_need_a_minor(beside: int) -> None:
    others = [want(f"k{number}", f"word {number}") for number in range(beside)]
    old = rubric(want("a", "x"), ban("b", "x"), *others)
    new = rubric({**want("a", "x"), "negate": True}, {**ban("b", "x"), "negate": True}, *others)
    diff = compare(old, new)
    assert diff.required_bump is Bump.MINOR
    assert {(finding.rule, str(finding.direction), finding.witness) for finding in diff.findings} == {
        ("check-negate-changed", "none", None)
    }
    assert {finding.reason for finding in diff.findings} == {
        "the other edits take it back: all together move no score and no verdict"
    }
    alone = compare(old, rubric(*new["checks"][:1], *old["checks"][1:]))
    assert alone.required_bump is Bump.MAJOR


def test_an_edit_beside_a_removed_and_an_added_check_is_judged_without_the_two() -> None:
    old, new = rubric(want("says", "a1"), want("x", "q")), rubric(want("says", "a1", "b1"), want("y", "z"))
    half = Fraction(1, 2)
    assert {(finding.rule, finding.max_shift) for finding in compare(old, new).findings} == {
        ("check-removed", half),
        ("contain-phrase-added", half),
        ("check-added", half),
    }


def test_equal_edits_have_equal_bounds() -> None:
    names = [f"w{number}" for number in range(4)]
    less, more = (rubric(*(want(one, one) for one in some)) for some in (names[:2], names))
    for sides in ((less, more), (more, less)):
        assert [finding.max_shift for finding in compare(*sides).findings] == [Fraction(1, 4)] * 2


def test_a_new_check_is_judged_beside_the_new_weights() -> None:
    two, three = [want("a", "x"), want("b", "y")], [want("a", "x"), want("b", "y"), want("c", "z")]
    old, new = rubric(*two), rubric(*three, weights={"a": 40, "b": 40, "c": 20})
    for sides in ((old, new), (new, old)):
        shifts = {finding.rule: finding.max_shift for finding in compare(*sides).findings}
        assert shifts.pop("check-weights-rescaled") == 0
        assert [*shifts.values()] == [Fraction(1, 5)]


@pytest.mark.parametrize("combine", ["all_pass", "min", "any_pass", "max"])
def test_a_check_that_gives_outputs_a_score_that_had_none_moves_them_either_way(combine: str) -> None:
    facts = {"id": "facts", "kind": "fact_match"}
    old, new = rubric(facts, combine=combine), rubric(facts, want("a", "x"), combine=combine)
    for sides in ((old, new), (new, old)):
        (finding,) = compare(*sides).findings
        assert finding.directions == (Direction.EITHER, Direction.EITHER)


def test_edits_that_move_nothing_alone_are_major_where_all_of_them_move() -> None:
    old, new = (rubric(want("a", *said), want("b", *said), combine="all_pass") for said in ("x", "xy"))
    diff = compare(old, new)
    assert diff.required_bump is Bump.MAJOR
    assert sorted((finding.rule, finding.reason[:10]) for finding in diff.findings) == [
        ("contain-phrase-added", "by itself "),
        ("phrase-redundant", "the checks"),
    ]


@pytest.mark.parametrize("seed", thin(range(6), 6))
def test_what_is_below_major_moves_no_output(seed: int) -> None:
    chance = Random(seed)  # noqa: S311  # no secret
    texts = [" ".join(some) for size in range(4) for some in combinations(WORDS, size)]
    for _ in range(12):
        old = draw(chance)
        new = edit(chance, old)
        diff = compare(old, new)
        if diff.required_bump < Bump.MAJOR:
            for text in texts:
                before, after = evaluate(old, text), evaluate(new, text)
                assert (before.score, before.verdict) == (after.score, after.verdict), (old, new, text, diff.findings)


def draw(chance: Random) -> Rubric:
    checks = [
        chance.choice((ban, want))(f"c{number}", *chance.sample(WORDS, chance.randint(1, 3)))
        for number in range(chance.randint(2, 16))
    ]
    combine = chance.choice(["weighted_avg", "all_pass", "any_pass", "min", "max", "median"])
    weights = {check["id"]: chance.randint(1, 3) for check in checks}
    return rubric(
        *checks, combine=combine, weights=weights, required=chance.sample(sorted(weights), chance.randint(0, 1))
    )


def edit(chance: Random, old: Rubric) -> Rubric:
    """Return a rubric after edits of which some take each other back."""
    new = copy.deepcopy(old)
    checks, weights = new["checks"], new["scoring"]["weights"]
    one, other = chance.sample(range(len(checks)), 2)
    step = chance.randrange(5)
    if step == 0:  # the contents change places, and perhaps the weights
        checks[one]["values"], checks[other]["values"] = checks[other]["values"], checks[one]["values"]
        checks[one]["kind"], checks[other]["kind"] = checks[other]["kind"], checks[one]["kind"]
        if chance.random() < 0.5:
            a, b = checks[one]["id"], checks[other]["id"]
            weights[a], weights[b] = weights[b], weights[a]
    elif step == 1:  # a list is split, and perhaps its weight
        values = checks[one]["values"]
        checks[one]["values"] = values[:1]
        checks.append({**checks[one], "id": "split", "values": values[1:] or values})
    elif step == 2:
        checks[one]["values"] = checks[one]["values"] + checks[other]["values"]
    elif step == 3:
        weights[checks[one]["id"]] *= 2
        weights[checks[other]["id"]] += 1
    else:
        checks[one], checks[other] = checks[other], checks[one]
        checks[one]["negate"] = chance.random() < 0.3
    return new
