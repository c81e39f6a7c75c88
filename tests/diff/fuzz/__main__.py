"""The long run: a million pairs under a new seed; prints the precision of each rule, and writes what breaks a claim."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
import time
from collections import Counter
from collections.abc import Iterator

from evalstore.diff import Certainty
from tests.diff.fuzz import fixture
from tests.diff.fuzz.draw import draw, randomness
from tests.diff.fuzz.precision import SETS, format_table, measure
from tests.diff.fuzz.run import Sort, Tally, run
from tests.diff.fuzz.shrink import shrink

_COUNT, _EDITS = 1_000_000, 30
_WRITTEN = 10
_PART = 20  # seconds between two lines of progress


def main() -> int:
    """Run; 1 when a claim broke."""
    asked = _asked()
    _say(f"{asked.count:,} pairs, seed {asked.seed}, {asked.processes} processes")
    began, tally, told = time.monotonic(), Tally(), 0
    for tally in run(asked.seed, asked.count, asked.processes):
        if tally.pairs * _PART >= (told + 1) * asked.count and tally.pairs < asked.count:
            told = tally.pairs * _PART // asked.count
            _say(f"  {tally.pairs:,} pairs in {time.monotonic() - began:,.0f} s, {len(tally.broken)} broken")
    for line in report(tally, time.monotonic() - began):
        _say(line)
    for name in written(tally, asked.seed):
        _say(f"written: {name}")
    return 1 if tally.broken or not _measure_precision(asked) else 0


def _measure_precision(asked: argparse.Namespace) -> bool:
    """Print how many major verdicts on realistic edits are real, by category and rule; False where one claim is wrong."""
    right = True
    for name in SETS:
        results = measure(name, asked.seed, asked.edits, asked.processes)
        for line in format_table(name, results):
            _say(line)
        right = right and not any(one.wrong for one in results)
    return right


def report(tally: Tally, seconds: float) -> Iterator[str]:
    """Tell what was counted."""
    bumps = ", ".join(f"{name} {count:,}" for name, count in tally.bumps.most_common())
    yield f"{tally.pairs:,} pairs, {tally.graded:,} outputs under both sides, {seconds:,.0f} s, {tally.pairs / seconds:,.0f} a second"
    yield f"needed: {bumps}; the slowest comparison took {tally.slowest[0]:.2f} s (pair {tally.slowest[1]})"
    yield ""
    yield "Pairs with one major finding: for how many an output that moves was found, and shown by the comparison itself."
    yield f"{'rule':<36}{'major':>10}{'moved':>10}{'share':>8}{'shown':>8}{'assumed':>9}"
    yield _row(tally, "all of them", set(tally.major))
    yield _row(tally, "what is not assumed", {sort for sort in tally.major if sort[1] is not Certainty.ASSUMED})
    rules = Counter({rule: sum(tally.major[rule, one] for one in Certainty) for rule, _ in tally.major})
    for rule, _ in rules.most_common():
        yield _row(tally, rule, {sort for sort in tally.major if sort[0] == rule})
    yield ""
    yield f"broken claims: {len(tally.broken)}"
    yield from (f"broken once, and not again: pair {index}: {why}" for index, why in tally.unsteady)


def _row(tally: Tally, name: str, sorts: set[Sort]) -> str:
    major, moved, shown = (sum(one[sort] for sort in sorts) for one in (tally.major, tally.moved, tally.shown))
    assumed = sum(tally.major[sort] for sort in sorts if sort[1] is Certainty.ASSUMED)
    shares = [part / max(major, 1) for part in (moved, shown, assumed)]
    return f"{name:<36}{major:>10,}{moved:>10,}{shares[0]:>8.1%}{shares[1]:>8.1%}{shares[2]:>9.0%}"


def written(tally: Tally, seed: int) -> Iterator[str]:
    """Shrink what broke, one of each sort, write it, and yield the names of its folders with what broke."""
    sorts = {
        (what, why.partition(";")[0]): (index, what, why, drawn) for index, what, why, drawn in reversed(tally.broken)
    }
    for index, *broken in list(sorts.values())[:_WRITTEN]:
        pair, smaller = shrink(draw(randomness(seed, index)), tuple(broken))
        name = f"{smaller[0]}-{seed}-{index}"
        fixture.write(fixture.CASES / name, pair, smaller)
        yield f"{name}: {smaller[1]}"


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.diff.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=_COUNT)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1 << 32))
    parser.add_argument("--edits", type=int, default=_EDITS, help="realistic ones, of each category")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    return parser.parse_args()


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
