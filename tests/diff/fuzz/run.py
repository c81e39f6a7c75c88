"""Runs pairs by their numbers, in several processes, and counts what was said of them and what was true."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import islice

from evalstore.diff import Certainty
from evalstore.diff.change import Scope
from evalstore.diff.rules import RULES
from evalstore.versions import Bump
from tests.diff.fuzz.claims import Held, hold
from tests.diff.fuzz.draw import draw, randomness
from tests.diff.fuzz.outputs import samples
from tests.diff.fuzz.pair import Drawn
from tests.diff.fuzz.suites import draw_outputs, is_suite

FEW, MANY = 8, 20
_CHUNK = 500
_CLOSELY = 6  # one pair of so many is looked at closely
_KEPT = 40  # of what broke

Sort = tuple[str, Certainty]  # of a finding: its rule, and how surely


@dataclass(slots=True)
class Tally:
    """What was counted: pairs by bump; of pairs with one major finding, by rule and certainty, how many moved.

    `shown`: with an output that the comparison itself shows; `unsteady`: what broke a claim once, and not again.
    """

    pairs: int = 0
    graded: int = 0
    bumps: Counter[str] = field(default_factory=Counter)
    major: Counter[Sort] = field(default_factory=Counter)
    moved: Counter[Sort] = field(default_factory=Counter)
    shown: Counter[Sort] = field(default_factory=Counter)
    slowest: tuple[float, int] = (0.0, 0)
    broken: list[tuple[int, str, str, Drawn]] = field(default_factory=list)
    unsteady: list[tuple[int, str]] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Count together."""
        self.pairs += other.pairs
        self.graded += other.graded
        for name in ("bumps", "major", "moved", "shown"):
            getattr(self, name).update(getattr(other, name))
        self.slowest = max(self.slowest, other.slowest)
        self.broken = (self.broken + other.broken)[:_KEPT]
        self.unsteady = (self.unsteady + other.unsteady)[:_KEPT]


def run(seed: int, count: int, processes: int = 1) -> Iterator[Tally]:
    """Yield the tally so far, ever again, until all pairs are done."""
    chunks = [(seed, start, min(start + _CHUNK, count)) for start in range(0, count, _CHUNK)]
    total = Tally()
    if processes == 1:
        for chunk in chunks:
            total.add(run_some(chunk))
            yield total
        return
    with ProcessPoolExecutor(processes) as pool:
        for tally in pool.map(run_some, chunks):
            total.add(tally)
            yield total


def run_some(chunk: tuple[int, int, int]) -> Tally:
    """Hold the pairs of one seed from one number up to another."""
    seed, start, end = chunk
    tally = Tally()
    for index in range(start, end):
        held = hold_one(seed, index)
        if held.broken and not (again := hold_one(seed, index)).broken:
            # A pattern that ran out of its second on a busy machine is not a counterexample; what broke twice is one.
            tally.unsteady.append((index, held.broken[0][1]))
            held = again
        _count(tally, held, index)
    return tally


def hold_one(seed: int, index: int) -> Held:
    """Draw a pair and hold what is said of it; where nothing moved yet, more samples try to."""
    random = randomness(seed, index)
    pair = draw(random)
    drawn = draw_outputs(random, pair) if is_suite(pair) else samples(random, pair)
    return hold(pair, lambda held: _searched(drawn, held), closely=index % _CLOSELY == 0)


def _searched(drawn: Iterator[Drawn], held: Held) -> Iterator[Drawn]:
    yield from islice(drawn, FEW)
    left = MANY - FEW
    while left and not held.moved:
        yield next(drawn)
        left -= 1


def _count(tally: Tally, held: Held, index: int) -> None:
    tally.pairs += 1
    tally.graded += len(held.drawn)
    tally.slowest = max(tally.slowest, (held.seconds, index))
    tally.broken += [(index, *one) for one in held.broken[:1]]
    if held.diff is None:
        return
    tally.bumps[str(held.diff.required_bump)] += 1
    major = [finding for finding in held.diff.findings if finding.level is Bump.MAJOR]
    if len(major) != 1 or RULES[major[0].rule].scope is Scope.NOTHING:
        return
    sort = major[0].rule, major[0].certainty
    tally.major[sort] += 1
    tally.moved[sort] += held.stirred or held.shown
    tally.shown[sort] += held.shown
