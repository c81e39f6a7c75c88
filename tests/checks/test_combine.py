"""How checks combine: the six modes, the policies and gates, and what can never move a score."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstore.checks import combine_results
from evalstore.model import CheckResult, Combine, RubricResult, Scoring, UnscoredReason, Verdict, VerdictRule

IDS = [f"c{n}" for n in range(6)]
scores = st.fractions(0, 1, max_denominator=60)
weights = st.one_of(st.just(Fraction(0)), st.fractions(Fraction(1, 100), 50, max_denominator=100))


def scored(id_: str, score: Fraction | int, threshold: Fraction | int = 1) -> CheckResult:
    return CheckResult(id_, "regex", Fraction(score), Verdict.PASS if score >= threshold else Verdict.FAIL)


def unscored(id_: str, why: UnscoredReason = UnscoredReason.MISSING) -> CheckResult:
    return CheckResult(id_, "regex", None, Verdict.UNSCORED, "nothing", why)


def scoring(mode: str = "weighted_avg", **options: object) -> Scoring:
    return Scoring(**{"combine": Combine(mode), "weights": {}, **options})  # type: ignore[arg-type]


def graded(*parts: Fraction | int) -> list[CheckResult]:
    return [scored(id_, part) for id_, part in zip(IDS, parts, strict=False)]


@st.composite
def rubrics(draw: st.DrawFn, mode: Combine | None = None) -> tuple[Scoring, list[CheckResult]]:
    results = [
        draw(
            st.one_of(
                st.builds(scored, st.just(id_), scores, scores),
                st.builds(unscored, st.just(id_), st.sampled_from(UnscoredReason)),
            )
        )
        for id_ in IDS[: draw(st.integers(1, 5))]
    ]
    return Scoring(
        combine=mode or draw(st.sampled_from(Combine)),
        weights=draw(st.dictionaries(st.sampled_from(IDS), weights)),
        required=frozenset(draw(st.sets(st.sampled_from(IDS), max_size=2))),
        threshold=draw(scores),
        missing=draw(st.sampled_from(["skip", "zero"])),
        errors=draw(st.sampled_from(["skip", "zero", "fail"])),
        verdict=draw(st.sampled_from(VerdictRule)),
    ), results


def raised(results: list[CheckResult], at: int, score: Fraction) -> list[CheckResult]:
    """Return the results with one score at least as high, and a verdict that follows it."""
    old = results[at]
    if old.score is None:
        return results
    higher = max(old.score, score)
    verdict = Verdict.PASS if higher == 1 else old.verdict
    return [*results[:at], CheckResult(old.id, old.kind, higher, verdict), *results[at + 1 :]]


@pytest.mark.parametrize(
    ("mode", "parts", "expected"),
    [
        ("all_pass", [1, 1], 1),
        ("all_pass", [1, Fraction(1, 2)], 0),
        ("any_pass", [0, 1], 1),
        ("any_pass", [0, Fraction(1, 2)], 0),
        ("weighted_avg", [1, 0, 0], Fraction(1, 3)),
        ("min", [1, Fraction(1, 3)], Fraction(1, 3)),
        ("max", [0, Fraction(1, 3)], Fraction(1, 3)),
        ("median", [0, 1, Fraction(1, 4)], Fraction(1, 4)),
        ("median", [0, 1], Fraction(1, 2)),
        ("median", [1, 0, Fraction(1, 3), Fraction(2, 3)], Fraction(1, 2)),
        ("median", [Fraction(1, 3)], Fraction(1, 3)),
    ],
)
def test_modes(mode: str, parts: list[Fraction | int], expected: Fraction | int) -> None:
    assert combine_results(scoring(mode), graded(*parts)).score == expected


def test_weights_are_by_id_and_one_where_none_is_written() -> None:
    assert combine_results(scoring(weights={"c1": Fraction(2)}), graded(0, 1)).score == Fraction(2, 3)


def test_a_weight_of_zero_leaves_a_check_out_of_the_average() -> None:
    assert combine_results(scoring(weights={"c1": Fraction(0)}), graded(1, 0)).score == 1


def test_all_pass_uses_the_checks_own_thresholds() -> None:
    half = Fraction(1, 2)
    assert combine_results(scoring("all_pass"), [scored("a", half, half)]).score == 1
    assert combine_results(scoring("all_pass"), [scored("a", half, 1)]).score == 0


@pytest.mark.parametrize(("score", "verdict"), [(Fraction(7, 10), "pass"), (Fraction(699, 1000), "fail")])
def test_the_verdict_is_pass_at_the_threshold(score: Fraction, verdict: str) -> None:
    assert combine_results(scoring(), graded(score)).verdict == verdict


def test_all_checks_that_weigh_have_to_pass_whatever_the_score() -> None:
    half, aside = Fraction(1, 2), {"b": Fraction(0)}
    passing, failing = scored("a", half, half), scored("b", 0)
    of_all = scoring(verdict=VerdictRule.ALL)
    found = [
        combine_results(replace(of_all, weights=aside), [passing, failing]),
        combine_results(of_all, [passing, failing]),
        combine_results(of_all, [passing, unscored("c")]),
        combine_results(replace(of_all, missing="zero"), [passing, unscored("c")]),
        combine_results(replace(of_all, weights=aside, required=frozenset("b")), [passing, failing]),
    ]
    assert [(one.score, one.verdict.value) for one in found] == [
        (half, "pass"),
        (half / 2, "fail"),
        (half, "pass"),
        (half / 2, "fail"),
        (0, "fail"),
    ]


def test_no_scored_check_leaves_the_rubric_unscored_in_every_mode() -> None:
    for mode in Combine:
        result = combine_results(scoring(mode), [unscored("a"), unscored("b", UnscoredReason.ERROR)])
        assert (result.score, result.verdict, result.reason) == (None, Verdict.UNSCORED, "no check was scored")


def test_scored_checks_without_weight_leave_a_weighted_average_unscored() -> None:
    result = combine_results(scoring(weights={"c0": Fraction(0)}), [*graded(1), unscored("b")])
    assert (result.score, result.verdict) == (None, Verdict.UNSCORED)
    assert result.reason == "every scored check has weight 0"


def test_an_unscored_check_is_left_out_of_the_average() -> None:
    assert combine_results(scoring(), [*graded(1), unscored("b")]).score == 1


def test_zero_counts_an_unscored_check_as_failed_and_leaves_its_own_result_unscored() -> None:
    results = [*graded(1), unscored("b")]
    assert combine_results(scoring(missing="zero"), results).score == Fraction(1, 2)
    assert combine_results(scoring("all_pass", missing="zero"), results).score == 0
    assert combine_results(scoring("any_pass", missing="zero"), results).score == 1
    assert combine_results(scoring(missing="zero"), results).checks[1].score is None
    assert combine_results(scoring(missing="zero"), [unscored("b")]).score == 0


def test_each_policy_reads_its_own_reason_only() -> None:
    assert combine_results(scoring(missing="zero"), [*graded(1), unscored("b", UnscoredReason.ERROR)]).score == 1
    assert combine_results(scoring(errors="zero"), [*graded(1), unscored("b")]).score == 1
    assert combine_results(scoring(errors="zero"), [*graded(1), unscored("b", UnscoredReason.ERROR)]).score == Fraction(
        1, 2
    )


def test_errors_fail_makes_the_whole_rubric_zero() -> None:
    result = combine_results(scoring("max", errors="fail"), [*graded(1), unscored("b", UnscoredReason.ERROR)])
    assert (result.score, result.verdict) == (0, Verdict.FAIL)
    assert "b" in result.reason
    assert combine_results(scoring("max", errors="fail"), [*graded(1), unscored("b")]).score == 1


def test_a_gate_that_failed_makes_the_rubric_zero() -> None:
    result = combine_results(scoring("max", required=frozenset({"c1"})), graded(1, 0))
    assert (result.score, result.verdict, result.reason) == (0, Verdict.FAIL, "required and failed: c1")


def test_a_gate_reads_the_verdict_not_the_score() -> None:
    half = Fraction(1, 2)
    gate = scoring(required=frozenset({"a"}))
    assert combine_results(gate, [scored("a", half, half)]).score == half
    assert combine_results(gate, [scored("a", half, 1)]).score == 0


def test_an_unscored_gate_closes_only_when_its_policy_made_it_zero() -> None:
    results = [*graded(1), unscored("gate")]
    gate = frozenset({"gate"})
    assert combine_results(scoring(required=gate), results).score == 1
    assert combine_results(scoring("max", required=gate, missing="zero"), results).score == 0
    assert combine_results(scoring("max", required=gate, errors="zero"), results).score == 1
    assert combine_results(scoring(required=gate), [unscored("gate")]).score is None


def test_a_gate_without_weight_still_closes() -> None:
    closed = scoring(required=frozenset({"c0"}), weights={"c0": Fraction(0)})
    assert combine_results(closed, graded(0, 1)).score == 0


@given(rubrics(Combine.WEIGHTED_AVG), st.fractions(Fraction(1, 1000), 1000).filter(bool))
def test_a_common_factor_on_all_weights_never_moves_a_result(
    rubric: tuple[Scoring, list[CheckResult]], factor: Fraction
) -> None:
    old, results = rubric
    every = {id_: old.weights.get(id_, Fraction(1)) * factor for id_ in IDS}
    new = Scoring(old.combine, every, old.required, old.threshold, old.missing, old.errors)
    assert combine_results(new, results) == combine_results(old, results)


@given(rubrics(), st.data())
def test_the_order_of_the_checks_never_matters(rubric: tuple[Scoring, list[CheckResult]], data: st.DataObject) -> None:
    old, results = rubric
    other = data.draw(st.permutations(results))
    assert _answer(combine_results(old, other)) == _answer(combine_results(old, results))


def _answer(result: RubricResult) -> tuple[Fraction | None, Verdict, str]:
    return result.score, result.verdict, result.reason


@given(rubrics(), st.data())
def test_a_higher_score_of_a_check_never_lowers_the_rubric(
    rubric: tuple[Scoring, list[CheckResult]], data: st.DataObject
) -> None:
    old, results = rubric
    better = raised(results, data.draw(st.integers(0, len(results) - 1)), data.draw(scores))
    before, after = combine_results(old, results).score, combine_results(old, better).score
    assert (before is None) == (after is None)
    assert before is None or after >= before


@given(rubrics())
def test_scores_stay_within_zero_and_one_and_verdicts_follow(rubric: tuple[Scoring, list[CheckResult]]) -> None:
    old, results = rubric
    result = combine_results(old, results)
    assert (result.score is None) == (result.verdict is Verdict.UNSCORED)
    if result.score is not None:
        assert 0 <= result.score <= 1
        if old.verdict is VerdictRule.SCORE:
            assert (result.verdict is Verdict.PASS) == (result.score >= old.threshold)


@given(rubrics())
def test_only_a_weighted_average_reads_weights(rubric: tuple[Scoring, list[CheckResult]]) -> None:
    old, results = rubric
    if old.combine is not Combine.WEIGHTED_AVG:
        plain = replace(old, weights={})
        assert combine_results(plain, results) == combine_results(old, results)


@given(rubrics())
def test_zero_is_never_kinder_than_skip_where_another_check_is_scored(
    rubric: tuple[Scoring, list[CheckResult]],
) -> None:
    old, results = rubric
    skip = Scoring(old.combine, old.weights, old.required, old.threshold)
    zero = Scoring(old.combine, old.weights, old.required, old.threshold, "zero", "zero")
    before, after = combine_results(skip, results).score, combine_results(zero, results).score
    assert before is None or after <= before
    if old.combine in {Combine.MAX, Combine.ANY_PASS} and before is not None and not old.required:
        assert after == before


@given(st.lists(st.booleans(), min_size=1, max_size=6))
def test_modes_that_coincide_on_binary_checks(holds: list[bool]) -> None:
    results = [scored(id_, int(hold)) for id_, hold in zip(IDS, holds, strict=False)]
    for verdicts, values in (("all_pass", "min"), ("any_pass", "max")):
        assert combine_results(scoring(verdicts), results).score == combine_results(scoring(values), results).score
    if len(results) <= 2:
        assert (
            combine_results(scoring("median"), results).score == combine_results(scoring("weighted_avg"), results).score
        )
