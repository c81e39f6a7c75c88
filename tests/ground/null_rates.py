"""How often a true null is called significant, and how often the interval holds the mean; and the answers of a gate.

Five nulls are symmetric, six skewed (which the sign-flip test is not made for), and of four a share is estimated.
"""

from __future__ import annotations

import sys

from tests.ground.null_populations import ESTIMATED, NULLS, SIZES, SKEWED, Rates, measure_answers, measure_rates

ANCHORS = {5: (40, 200), 10: (40, 200), 20: (40, 200), 50: (200,)}  # each with how many questions there are


def format_rates(cell: Rates) -> str:
    return f"{cell.false_claims:.3f}/" + ("  - " if cell.coverage is None else f"{cell.coverage:.3f}")


if __name__ == "__main__":
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    print(f"false claims / coverage, of {draws:,} draws each")
    print(f"{'n':>10}" + "".join(f"{size:>12}" for size in SIZES))
    for name in (*NULLS, *SKEWED):
        cells = [measure_rates(name, size, draws, seed=1) for size in SIZES]
        print(f"{name:>10}" + "".join(f"{format_rates(cell):>12}" for cell in cells), flush=True)
    print("estimated: false claims of the outputs / coverage of 0, by anchors of questions")
    pairs = [(anchors, size) for anchors, sizes in ANCHORS.items() for size in sizes]
    print(f"{'':>10}" + "".join(f"{f'{anchors} of {size}':>12}" for anchors, size in pairs))
    for name in ESTIMATED:
        cells = [measure_rates(name, size, draws, seed=1, anchors=anchors) for anchors, size in pairs]
        print(f"{name:>10}" + "".join(f"{format_rates(cell):>12}" for cell in cells), flush=True)
    print("own<-0.02: fails / cannot tell / holds")
    for effect in (0, -0.05):
        for size in (20, 50, 100, 200, 300):
            answers = measure_answers(size, effect, draws, seed=1)
            print(f"{effect:>6} n {size:>4}: {answers.fails:.3f} / {answers.undecided:.3f} / {answers.holds:.3f}")
