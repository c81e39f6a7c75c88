"""Pass rates without a judge's errors, and what another model shifts: planted truths lie within their intervals."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from typing import NamedTuple

import pytest

from evalstore.agreement import Agreement, Confusion
from evalstore.agreement.comparison import Judgement, JudgementPair, LabelledSides, PairTally
from evalstore.agreement.correction import read_rates
from evalstore.documents import read_yaml
from evalstore.model import Artifact, Kind, Verdict
from evalstore.runs import UsedArtifact
from evalstore.statistics import Rate, correct_share

JUDGE = UsedArtifact("judge/tone@worktree", "1.0.0", "", "")
VERDICTS = {True: Verdict.PASS, False: Verdict.FAIL}


class Planted(NamedTuple):
    """What is true: the share of good outputs, TPR and TNR of the old and of the new model, and the numbers of rows."""

    good: float
    old: tuple[float, float]
    new: tuple[float, float]
    outputs: int
    labels: int

    def passes(self, model: tuple[float, float]) -> float:
        return self.good * model[0] + (1 - self.good) * (1 - model[1])

    def draw(self, chance: random.Random) -> tuple[PairTally, LabelledSides]:
        """Draw a run that both models judge, and labelled rows, half of which are good."""

        def judge(*, is_good: bool) -> list[bool]:
            return [chance.random() < (tpr if is_good else 1 - tnr) for tpr, tnr in (self.old, self.new)]

        pairs, counts = PairTally(), (Counter[str](), Counter[str]())
        for number in range(self.outputs):
            # Scores, of which the verdicts are: a pass is somewhere in the upper half.
            given = [
                Judgement(Fraction(chance.randint(5, 10) if one else chance.randint(0, 4), 10), VERDICTS[one])
                for one in judge(is_good=chance.random() < self.good)
            ]
            pairs.add(JudgementPair(str(number), "kind", *given), str(number))
        for number in range(self.labels):
            is_good = number % 2 == 0
            for count, passed in zip(counts, judge(is_good=is_good), strict=True):
                count[f"{'true' if passed is is_good else 'false'}_{'pass' if passed else 'fail'}"] += 1
        sides = (Agreement(JUDGE, "", "", Fraction(7, 10), Confusion(**count)) for count in counts)
        return pairs, LabelledSides(*sides).correct(pairs, "")


MOVES = (
    Planted(0.7, (0.93, 0.88), (0.85, 0.95), 60, 120),
    Planted(0.5, (0.9, 0.7), (0.7, 0.9), 200, 60),
    Planted(0.9, (0.95, 0.9), (0.99, 0.6), 100, 100),
    Planted(0.2, (0.8, 0.9), (0.8, 0.9), 40, 300),
)


def recover(planted: Planted, draws: int, seed: int) -> Counter[str]:
    """Count the draws in which each planted number lies within its interval."""
    chance, held = random.Random(seed), Counter[str]()  # noqa: S311  # repeatable on purpose
    shift = planted.passes(planted.new) - planted.passes(planted.old)
    for _ in range(draws):
        pairs, labelled = planted.draw(chance)
        found = pairs.summarize()
        # The mean score of a pass is .75, and that of a fail .2.
        for name, moved, true in (("passes", found.passes, shift), ("scores", found.scores, shift * 0.55)):
            held[name] += bool(moved and moved.interval and moved.interval[0] <= true <= moved.interval[1])
        for name, share in zip(("old", "new"), labelled.corrected, strict=True):
            held[name] += bool(share and share.interval[0] <= planted.good <= share.interval[1])
    return held


@pytest.mark.parametrize("planted", MOVES[:1])
def test_a_planted_shift_is_recovered(planted: Planted) -> None:
    held = recover(planted, 200, 2026)
    assert all(held[name] >= 0.94 * 200 for name in ("passes", "scores", "old", "new")), held


@pytest.mark.slow
@pytest.mark.parametrize("planted", MOVES)
def test_planted_shifts_are_recovered_in_a_thousand_draws(planted: Planted) -> None:
    held = recover(planted, 1000, 33)
    assert all(held[name] >= 940 for name in ("passes", "scores", "old", "new")), held


def test_a_corrected_share_is_what_a_pencil_says() -> None:
    units = Counter({(Fraction(1), 1): 70, (Fraction(0), 1): 30})
    found = correct_share(units, Rate(90, 100), Rate(80, 100))
    assert found is not None
    # Of Rogan and Gladen: 70 + 80 less 100, over 90 + 80 less 100.
    assert (found.judged, found.share) == pytest.approx((0.7, 5 / 7))
    assert found.interval[0] < 5 / 7 < found.interval[1]
    # A judge that never errs, on as many rows as one likes, leaves the error of the outputs alone.
    sure = correct_share(units, Rate(10**9, 10**9), Rate(10**9, 10**9))
    assert sure is not None
    assert (sure.share, sure.interval) == (0.7, pytest.approx((0.602, 0.783), abs=2e-3))
    # Fewer labels know less; and what answers one question often counts no more than that question.
    few = correct_share(units, Rate(9, 10), Rate(8, 10))
    often = correct_share(Counter({(Fraction(10), 10): 7, (Fraction(0), 10): 3}), Rate(90, 100), Rate(80, 100))
    assert few is not None
    assert often is not None
    for wide in (few, often):
        assert wide.interval[0] < found.interval[0] < found.interval[1] < wide.interval[1]


@pytest.mark.parametrize(("good", "bad"), [((5, 10), (5, 10)), ((2, 10), (7, 10)), ((0, 0), (7, 10))])
def test_a_judge_like_a_constant_answer_corrects_nothing(good: tuple[int, int], bad: tuple[int, int]) -> None:
    units = Counter({(Fraction(1), 1): 70, (Fraction(0), 1): 30})
    assert correct_share(units, Rate(*good), Rate(*bad)) is None


def test_the_interval_of_kappa_holds_it() -> None:
    for counts in (Confusion(20, 5, 10, 15), Confusion(3, 0, 0, 5), Confusion(76, 9, 8, 7)):
        low, high = counts.kappa_interval or (9, 9)
        assert -1 <= low <= float(counts.kappa or 0) <= high <= 1
        # No agreement of a few outputs is taken as sure.
        assert low < 1
    assert Confusion(7, 0, 0, 0).kappa_interval is None
    counts = Confusion(3, 1, 2, 4)
    assert (counts.tpr, counts.tnr) == (Rate(3, 4), Rate(4, 6))


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        ("tpr: 0.9", "has no validation"),
        ("tpr: 0.9, tnr: 0.8, digest: DIGEST, sample_size: 29, sample_good: 9", "29 labelled rows, and it takes 30"),
        ("tpr: 0.9, tnr: 0.8, digest: DIGEST, sample_size: 50", "how many of its rows are good"),
        ("tpr: 0.9, tnr: 0.8, sample_size: 50, sample_good: 20", "not of its content today"),
        ("tpr: 0.5, tnr: 0.5, digest: DIGEST, sample_size: 50, sample_good: 20", "no better than a constant answer"),
        ("tpr: 0.9, tnr: 0.8, digest: DIGEST, sample_size: 50, sample_good: 50", "that no labelled rows give"),
        (f"tpr: 0.9, tnr: 0.8, digest: DIGEST, sample_size: {10**399}, sample_good: 9", "that no labelled rows give"),
        ("tpr: high, tnr: 0.8, digest: DIGEST, sample_size: 50, sample_good: 20", "that no labelled rows give"),
        ("tpr: 2, tnr: 0.8, digest: DIGEST, sample_size: 50, sample_good: 20", "that no labelled rows give"),
    ],
)
def test_a_validation_that_counts_for_nothing_is_refused(block: str, problem: str) -> None:
    text = 'id: tone\nversion: 1.0.0\ntemplate: "{{ output }}"\nmodel: {id: m}\n'
    digest = Artifact(Kind.JUDGE, "tone", "1.0.0", read_yaml(text, "tone.yaml")).scoring_digest
    document = read_yaml(f"{text}validation: {{{block.replace('DIGEST', digest)}}}\n", "tone.yaml")
    found = read_rates(Artifact(Kind.JUDGE, "tone", "1.0.0", document))
    assert isinstance(found, str)
    assert problem in found
