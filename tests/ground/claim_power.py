"""Power and false claims of the three claims, by n and shape, beside the paired t-test and McNemar's.

    python -m tests.ground.claim_power [DRAWS]

Of each draw one change a question: `mean`, `verdicts` and `typical` are the claims of an audit of it. Beside them are
the paired t-test and McNemar's mid-p, both at .05. A question passes at .5, and each verdict is that of a
score drawn in A and of the same with the change in B.

Measured with 400 draws each (November 2026), as power of mean / verdicts / typical | t-test / McNemar:

    -.10 ± .10, n 20   .003 / .043 / .902 | .993 / .092
    -.10 ± .10, n 50   .998 / .535 / 1    | 1    / .670
    -.05 ± .05, n 30   .000 / .010 / .990 | 1    / .025
    -.03 ± .05, n 50   .003 / .013 / .873 | .980 / .037
    -.30 ± .30, n 20   .970 / .823 / .905 | .993 / .887
    3 in 4 by 1, n 10  .988 / .935 / .935 | .998 / .988

False claims of five symmetric nulls at seven n: the mean at most .060 of 400 (one in three turns by .5, n 100, where
the t-test has .077; .05 is .028 to .072 of so few draws), verdicts .052, the typical question .052. Of three skewed
ones with a mean of 0 the mean is claimed in at most .040, where the t-test has .705.

Of nulls that have two values, every sample is counted instead of drawn (`count_false_claims`). Of 14 of them at 48 n
from 2 to 250 the mean is claimed in at most .0501 of all samples (before Hall's transformation: .0918). The printed
interval holds it in .94 or more of 646 of 672 cells, .869 at worst: where all but one in fifty rise alike, and none
fell among a hundred, it is too short, and claims nothing.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from math import comb, sqrt
from statistics import fmean, stdev
from typing import NamedTuple

from evalstore.statistics import (
    Conclusion,
    compute_mcnemar_p,
    count_moves,
    count_units,
    estimate_change,
    estimate_mean,
)
from evalstore.statistics.paired_mean import Unit
from evalstore.statistics.student import compute_student_middle

SIZES = (6, 10, 20, 30, 50, 100, 200)
Draw = Callable[[random.Random], float]
LEVEL = 0.05
_SELDOM = 1e-9  # a sample so seldom is left out


def normal(mean: float, spread: float) -> Draw:
    """Return a draw of a change, to the thousandth of a point."""
    return lambda chance: round(chance.gauss(mean, spread), 3)


def rare(share: float, move: float, mean: float = 0.0) -> Draw:
    """Return a draw of a change by `move` in a share of the questions, and by what is left of `mean` in all others."""
    rest = (mean - share * move) / (1 - share)
    return lambda chance: round(move if chance.random() < share else rest, 3)


def either_way(share: float, move: float) -> Draw:
    """Return a draw of a change by `move`, up or down, in a share of the questions."""
    return lambda chance: chance.choice((-move, move)) if chance.random() < share else 0.0


# Of these no more questions fall than rise, and the mean is 0.
SYMMETRIC: Mapping[str, Draw] = {
    "±.10 normal": normal(0, 0.10),
    "±.20 normal": normal(0, 0.20),
    "1 in 5 by 1": either_way(0.2, 1.0),
    "all by 1": either_way(1.0, 1.0),
    "1 in 3 by .5": either_way(1 / 3, 0.5),
}
# Of these the mean is 0, and the typical question moved: that the mean did must not be said.
SKEWED: Mapping[str, Draw] = {
    "1 in 10 falls by 1": rare(0.1, -1.0),
    "1 in 20 falls by 1": rare(0.05, -1.0),
    "1 in 5 rises by .5": rare(0.2, 0.5),
}
MOVED: Mapping[str, Draw] = {
    "-.10 ± .10": normal(-0.10, 0.10),
    "-.05 ± .05": normal(-0.05, 0.05),
    "-.03 ± .05": normal(-0.03, 0.05),
    "-.30 ± .30": normal(-0.30, 0.30),
    "1 in 3 falls by .5": rare(1 / 3, -0.5, -0.5 / 3),
    "3 in 4 fall by 1": rare(0.75, -1.0, -0.75),
}


class FalseClaims(NamedTuple):
    """In which part of all samples the mean is claimed to have moved, and in which its interval holds 0."""

    mean: float
    coverage: float


def count_false_claims(share: Fraction, move: Fraction, size: int) -> FalseClaims:
    """Return the exact rates of a null: a share of the questions moves by `move`, all others make up for it."""
    rest = -share * move / (1 - share)
    claims = coverage = 0.0
    for moved in range(size + 1):
        chance = float(comb(size, moved) * share**moved * (1 - share) ** (size - moved))
        if chance < _SELDOM:
            continue
        units = count_units([move] * moved + [rest] * (size - moved), [None] * size)
        claims += chance * _claims_mean(units)
        coverage += chance * _holds_zero(units)
    return FalseClaims(claims, coverage)


class Rates(NamedTuple):
    """How often each claim was made, and what two tests say."""

    mean: float
    verdicts: float
    typical: float
    t_test: float
    mcnemar: float


def measure_claims(draw: Draw, size: int, draws: int, seed: int = 1) -> Rates:
    """Return how often each claim is made of so many questions."""
    chance = random.Random(f"{size} {seed}")  # noqa: S311  # repeatable on purpose
    found = [tuple(_list_claims(*_draw_pairs(draw, size, chance))) for _ in range(draws)]
    return Rates(*(sum(column) / draws for column in zip(*found, strict=True)))


def _draw_pairs(draw: Draw, size: int, chance: random.Random) -> tuple[list[Fraction], list[Fraction]]:
    """Return the changes of the scores, and of the verdicts."""
    moves = [max(-1.0, min(1.0, draw(chance))) for _ in range(size)]
    starts = [chance.uniform(max(0.0, -move), min(1.0, 1 - move)) for move in moves]
    turned = [Fraction((start + move >= 0.5) - (start >= 0.5)) for start, move in zip(starts, moves, strict=True)]
    return [Fraction(round(move * 1000), 1000) for move in moves], turned


def _list_claims(moves: list[Fraction], turned: list[Fraction]) -> Iterator[bool]:
    alone = [None] * len(moves)
    units, verdicts = count_units(moves, alone), count_units(turned, alone)
    yield _claims_mean(units)
    yield count_moves(verdicts).direction != 0
    yield count_moves(units).direction != 0
    yield compute_t_test(moves) <= LEVEL
    yield compute_mcnemar_p(sum(one < 0 for one in turned), sum(one > 0 for one in turned)) <= LEVEL


def _claims_mean(units: Counter[Unit]) -> bool:
    # Flips of signs take long, and are asked for only where the interval may be a claim.
    return not _holds_zero(units) and estimate_change(units).conclusion is Conclusion.SIGNIFICANT


def _holds_zero(units: Counter[Unit]) -> bool:
    mean = estimate_mean(units)
    return mean is None or mean.interval[0] <= 0 <= mean.interval[1]


def compute_t_test(moves: list[Fraction]) -> float:
    """Return the p of the paired t-test; the test of this module holds it against that of scipy."""
    spread = stdev(map(float, moves))
    if not spread:
        return 0.0 if any(moves) else 1.0
    return 1 - compute_student_middle(abs(fmean(moves)) / spread * sqrt(len(moves)), len(moves) - 1)


if __name__ == "__main__":
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    print(f"{draws:,} draws each: mean / verdicts / typical | paired t-test / McNemar mid-p")
    for title, shapes in (("symmetric nulls", SYMMETRIC), ("skewed nulls", SKEWED), ("moved", MOVED)):
        print(f"{title}\n{'n':>20}" + "".join(f"{size:>32}" for size in SIZES))
        for name, draw in shapes.items():
            cells = [measure_claims(draw, size, draws) for size in SIZES]
            words = (
                f"{one.mean:.3f}/{one.verdicts:.3f}/{one.typical:.3f} | {one.t_test:.3f}/{one.mcnemar:.3f}"
                for one in cells
            )
            print(f"{name:>20}" + "".join(f"{word:>32}" for word in words), flush=True)
