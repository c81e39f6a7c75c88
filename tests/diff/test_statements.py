"""The statements of a judge: what an edit of them moves and how far, in a table, and drawn ones against the real checks."""

from __future__ import annotations

import copy
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from evalstore.checks import CheckContext, evaluate
from evalstore.diff import Diff, DiffFinding, Witness, compare
from evalstore.model import JudgeReply
from tests.diff.test_juries import CAREFUL, WAYS, load, prove

POINTS = {"aggregate": "points"}
LAST = "names a cache tag and says why it matters"


def make_rubric(each: list[Any], *, beside: bool = False, **params: Any) -> dict[str, Any]:
    check = {"id": "tone", "kind": "llm_judge", "judge_prompt_ref": "judge/e@1.0.0", "each": each, **params}
    other = {"id": "word", "kind": "must_contain_any", "values": ["tag"]}
    checks = [check, other] if beside else [check]
    return {"id": "r", "version": "1.0.0", "checks": checks, "scoring": {"combine": "weighted_avg"}}


def make_checks(**each: list[Any]) -> dict[str, Any]:
    rubrics = [make_rubric(statements) for statements in each.values()]
    checks = [{**rubric["checks"][0], "id": id_} for rubric, id_ in zip(rubrics, each, strict=True)]
    return {**rubrics[0], "checks": checks}


def weigh(*weights: Any) -> list[Any]:
    return [{"text": f"statement {number}", "weight": weight} for number, weight in enumerate(weights)]


def write(*texts: str) -> list[Any]:
    return list(texts)


def differ(old: list[Any], new: list[Any], **params: Any) -> Diff:
    return compare(make_rubric(old, **params), make_rubric(new, **params))


def read_only(diff: Diff) -> DiffFinding:
    (finding,) = diff.findings
    return finding


STILL = {
    "every weight times two": (weigh(1, 2, 3), weigh(2, 4, 6), {}, "patch"),
    "every weight times a third, one below 0": (weigh(3, -6), weigh(1, -2), {}, "patch"),
    "points, every weight times ten": (weigh(1, -2), weigh(10, -20), POINTS, "patch"),
    "weight 0 added": (weigh(1, 2), weigh(1, 2, 0), {}, "minor"),
    "weight 0 removed": (weigh(1, 0, 2), [weigh(1, 0, 2)[0], weigh(1, 0, 2)[2]], {}, "minor"),
    "weight 0 reworded": (weigh(1, 0), [*weigh(1), {"text": "is other", "weight": 0}], {}, "minor"),
    "weight 0 added to points": (weigh(1, -2), weigh(1, -2, 0), POINTS, "minor"),
    "written out": (write("is kind"), [{"text": "is kind", "weight": 1}], {}, "patch"),
    "a name": (write("is kind"), [{"text": "is kind", "id": "kind"}], {}, "minor"),
    "moved": (write("a b", "c d", "e f"), write("c d", "e f", "a b"), {}, "patch"),
    "doubled, all of them": (write("a b", "c d"), write("a b", "a b", "c d", "c d"), {}, "minor"),
    "one twice instead of weight 2": (
        [{"text": "a b", "weight": 2}, "c d"],
        write("a b", "a b", "c d"),
        {},
        "minor",
    ),
}


@pytest.mark.parametrize("name", STILL)
def test_what_cannot_move_the_score_is_no_major(name: str) -> None:
    old, new, params, level = STILL[name]
    diff = differ(old, new, **params)
    assert str(diff.required_bump) == level
    assert {(str(one.direction), str(one.verdict_direction)) for one in diff.findings} == {("none", "none")}
    assert str(differ(new, old, **params).required_bump) == level


def test_mean_and_points_are_one_score_where_no_weight_is_negative() -> None:
    for weights, level in ((weigh(1, 2), "patch"), (weigh(1, 0, 2), "patch"), (weigh(1, -2), "major")):
        diff = compare(make_rubric(weights, aggregate="mean"), make_rubric(weights, aggregate="points"))
        assert str(diff.required_bump) == level


MOVES = {
    "one of four reworded": (write("a", "b", "c", "d"), write("a", "b", "c", "is kinder"), {}, "either", "1/4"),
    "reworded, of weight 3": (weigh(1, 3), [*weigh(1), {"text": "is other", "weight": 3}], {}, "either", "3/4"),
    "a fifth added": (write("a", "b", "c", "d"), write("a", "b", "c", "d", "e"), {}, "either", "1/5"),
    "one of four removed": (write("a", "b", "c", "d"), write("a", "b", "c"), {}, "either", "1/4"),
    "one weight doubled": (weigh(1, 1), weigh(1, 2), {}, "either", "1/6"),
    "two weights": (weigh(1, 1, 2), weigh(2, 1, 1), {}, "either", "1/4"),
    "doubled": (write("a", "b"), write("a", "b", "b"), {}, "either", "1/6"),
    "a fault added to points": (weigh(2, 2), weigh(2, 2, -1), POINTS, "either", "1/4"),
    "a fault of points forgiven": (weigh(2, 2, -1), weigh(2, 2), POINTS, "either", "1/4"),
    "a fault of points weighs more": (weigh(4, -1), weigh(4, -3), POINTS, "stricter", "1/2"),
}


@pytest.mark.parametrize("name", MOVES)
def test_an_edit_of_a_statement_is_bounded_by_its_share(name: str) -> None:
    old, new, params, direction, bound = MOVES[name]
    finding = read_only(differ(old, new, **params))
    assert (str(finding.level), str(finding.direction)) == ("major", direction)
    assert (finding.max_shift, finding.max_shift_scored) == (1, Fraction(bound))
    beside = next(one for one in differ(old, new, beside=True, **params).findings)
    assert beside.max_shift_scored == Fraction(bound) / 2


def test_mean_to_points_is_stricter_except_where_only_a_fault_is_applicable() -> None:
    """Then points have no score, and the output leaves the mean of the run."""
    for negate in (False, True):
        old, new = (make_rubric(weigh(1, -1), aggregate=one, negate=negate) for one in ("mean", "points"))
        assert str(read_only(compare(old, new)).direction) == "either"
        assert str(read_only(compare(new, old)).direction) == "either"


CERTAIN = {
    "removed": (write("a", "b", "c", "d"), write("a", "b", "c")),
    "added": (write("a", "b", "c"), write("a", "b", "c", "d")),
    "weighed": (weigh(1, 1), weigh(1, 5)),
    "doubled": (write("a", "b"), write("a", "b", "b")),
}


@pytest.mark.parametrize("name", CERTAIN)
def test_replies_show_what_an_edit_moves(name: str) -> None:
    finding = read_only(differ(*CERTAIN[name]))
    assert finding.is_certain
    assert isinstance(finding.witness, Witness)
    assert finding.witness.old_score != finding.witness.new_score
    assert finding.witness.judged
    assert finding.max_shift is not None
    assert abs((finding.witness.new_score or 0) - (finding.witness.old_score or 0)) <= finding.max_shift


def test_only_replies_to_both_wordings_show_what_other_words_move() -> None:
    finding = read_only(differ(write("a", "b", "c", "is kind"), write("a", "b", "c", "is kinder")))
    assert not finding.is_certain
    assert isinstance(finding.witness, Witness)
    assert abs((finding.witness.new_score or 0) - (finding.witness.old_score or 0)) == Fraction(1, 4)


SAID = {
    "moved": (
        write("a b", "c d", "e f"),
        write("c d", "e f", "a b"),
        ['the order of the statements of tone changes: "a b" moves from 1 to 3'],
    ),
    "doubled": (write("a b", "c d"), write("a b", "c d", "a b"), ['tone asks about "a b" twice']),
    "halved": (write("a b", "c d", "a b"), write("a b", "c d"), ['tone no longer asks about "a b" twice']),
    "split": (
        write("is kind", LAST),
        write("is kind", "names a cache tag", "says why it matters"),
        [f'tone splits "{LAST}" into "names a cache tag" and "says why it matters"'],
    ),
    "joined": (
        write("is kind", "names a cache tag", "says why it matters"),
        write("is kind", LAST),
        [f'tone joins "names a cache tag" and "says why it matters" into "{LAST}"'],
    ),
    "reworded and moved": (
        write("names a cache tag in it", "is kind"),
        write("is kind", "names a cache bin in it"),
        [
            'tone asks about "names a cache [-tag-] {+bin+} in it"',
            'the order of the statements of tone changes: "is kind" moves from 2 to 1',
        ],
    ),
    "weighed": (weigh(1, 1), weigh(1, 2), ['tone weighs "statement 1" 2 (was 1)']),
    "rescaled": (weigh(1, 2), weigh(2, 4), ["tone gives 2 statements other weights: 1, 2 → 2, 4"]),
    "reworded and weighed": (
        [{"text": "names a cache tag", "weight": 1}, "is kind"],
        [{"text": "names a cache bin", "weight": 2}, "is kind"],
        ['tone weighs "names a cache tag" 2 (was 1)', 'tone asks about "names a cache [-tag-] {+bin+}"'],
    ),
}


@pytest.mark.parametrize("name", SAID)
def test_what_a_person_did_is_said_as_that(name: str) -> None:
    old, new, messages = SAID[name]
    assert [finding.message for finding in differ(old, new).findings] == messages


def test_a_statement_that_goes_to_another_check_is_said_so() -> None:
    tone, facts = ["is kind", "greets the reader"], ["is right", "cites its source"]
    sides = [
        make_checks(tone=[*tone, "names a tag"], facts=facts),
        make_checks(tone=tone, facts=[*facts, "names a tag"]),
    ]
    messages = {finding.message for finding in compare(*sides).findings}
    assert messages == {
        'tone no longer asks about "names a tag", which moves to facts',
        'facts also asks about "names a tag", which moves from tone',
    }


def test_all_edits_of_statements_together_have_the_sum_of_their_shares() -> None:
    old = write("first", "second", "third", "fourth", "fifth")
    diff = differ(old, write("first one", "second", "third", "fourth", "the fifth"))
    assert diff.total.max_shift_scored == Fraction(2, 5)


TEXTS = st.sampled_from(["s", "t", "u", "v"])
WEIGHTS = st.sampled_from([1, 1, 2, 3, 0, -1, -2])
EACH = st.lists(
    st.builds(lambda text, weight: {"text": text, "weight": weight}, TEXTS, WEIGHTS), min_size=1, max_size=4
)


@st.composite
def edited(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    who = draw(
        st.just({"judge_prompt_ref": "judge/e@1.0.0"})
        | WAYS.map(
            lambda way: {
                "jury": {
                    "members": [{"judge_prompt_ref": f"judge/e@{number}.0.0"} for number in (1, 2)],
                    "aggregate": way,
                }
            }
        )
    )
    check = {
        "id": "c0",
        "kind": "llm_judge",
        **who,
        "each": draw(EACH),
        "aggregate": draw(st.sampled_from(["mean", "points"])),
        "negate": draw(st.booleans()),
    }
    other = {"id": "c1", "kind": "must_contain_any", "values": ["x"]}
    scoring = {
        "combine": draw(
            st.sampled_from(["all_pass", "any_pass", "weighted_avg", "weighted_avg", "min", "max", "median"])
        ),
        "errors": draw(st.sampled_from(["skip", "zero", "fail"])),
        "required": draw(st.sampled_from([[], [], ["c0"]])),
    }
    old = {
        "id": "r",
        "version": "1.0.0",
        "checks": [check, *([other] if draw(st.booleans()) else [])],
        "scoring": scoring,
    }
    new = copy.deepcopy(old)
    each = new["checks"][0]["each"]
    for _ in range(draw(st.sampled_from([1, 1, 2, 3]))):
        at = draw(st.integers(0, len(each) - 1))
        match draw(st.sampled_from(["add", "drop", "word", "weigh", "scale", "turn", "double", "way"])):
            case "add":
                each.insert(at, {"text": draw(TEXTS), "weight": draw(WEIGHTS)})
            case "drop" if len(each) > 1:
                each.pop(at)
            case "word":
                each[at]["text"] = draw(TEXTS)
            case "weigh":
                each[at]["weight"] = draw(WEIGHTS)
            case "scale":
                for one in each:
                    one["weight"] *= 3
            case "turn":
                each.reverse()
            case "double":
                each.append(dict(each[at]))
            case "way":
                new["checks"][0]["aggregate"] = draw(st.sampled_from(["mean", "points"]))
    return old, new


@seed(20261129)
@settings(CAREFUL, max_examples=60)
@given(pair=edited())
def test_whatever_the_judges_say_of_statements_no_claim_is_broken(pair: tuple[dict[str, Any], dict[str, Any]]) -> None:
    prove(*pair)


def test_a_statement_that_is_not_applicable_leaves_the_bound_of_the_others() -> None:
    """Of three statements one is removed: a third of the score, and half of it where another does not apply."""
    finding = read_only(differ(write("a b", "c d", "e f"), write("a b", "c d")))
    assert (finding.max_shift, finding.max_shift_scored) == (1, Fraction(1, 3))
    said = {"a b": '{"level": "high"}', "c d": '{"verdict": "n/a"}', "e f": '{"level": "low"}'}
    context = CheckContext(
        load,
        lambda call: JudgeReply(next(reply for text, reply in said.items() if text in call.prompt)),
        {"id": "m"},
    )
    scores = [
        evaluate(make_rubric(write(*texts)), "y", context=context).score
        for texts in (("a b", "c d", "e f"), ("a b", "c d"))
    ]
    assert scores == [Fraction(1, 2), 1]


def test_all_edits_of_statements_together_have_what_judges_may_say() -> None:
    """It is supposed, so nothing is certain; a share that changes by definition is."""
    diff = differ(write("a b", "c d", "e f"), write("a b", "c x", "e y"))
    assert isinstance(diff.total.witness, Witness)
    assert [one.about for one in diff.total.witness.judged] == [
        '"c d"',
        '"e f"',
        '"c x"',
        '"e y"',
        "every other statement",
    ]
    assert (diff.total.witness.supposed, diff.is_shown, diff.certain, diff.possible) == (True, False, 0, 2)
