"""Drawn pairs of datasets, graded under both sides: what is called patch or minor never moves, and no direction is false."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import islice

import pytest

from evalstore.versions import Bump
from tests.diff.fuzz.claims import Held, hold
from tests.diff.fuzz.draw import draw_datasets, randomness
from tests.diff.fuzz.outputs import samples as draw_samples
from tests.diff.fuzz.suites import draw_outputs, draw_suite
from tests.rows import thin

SEED, PAIRS, PARTS, OUTPUTS = 20261129, 1500, 4, 14
LEAST = 80  # of fewer, what moves is a matter of luck


def hold_pair(seed: int, index: int) -> Held:
    random = randomness(seed, index)
    pair = draw_datasets(random)
    drawn = draw_samples(random, pair)
    return hold(pair, lambda _: islice(drawn, OUTPUTS), closely=index % 5 == 0)


@pytest.mark.parametrize("part", thin(range(PARTS), PARTS))
def test_what_is_said_of_a_drawn_suite_is_true_and_no_edit_of_nothing_is_major(
    part: int, samples: Callable[[int], int]
) -> None:
    pairs, bumps, rules, moved, still = max(LEAST, samples(PAIRS)), Counter[str](), Counter[str](), 0, 0
    for index in range(part * pairs, (part + 1) * pairs):
        random = randomness(SEED, index)
        pair, is_still = draw_suite(random)
        drawn = draw_outputs(random, pair)
        held = hold(pair, lambda _, drawn=drawn: islice(drawn, OUTPUTS), closely=index % 5 == 0)
        assert held.broken == [], index
        assert held.diff
        assert not (is_still and (held.moved or held.diff.required_bump is Bump.MAJOR)), index
        moved += held.moved
        still += is_still
        bumps[str(held.diff.required_bump)] += 1
        rules.update(finding.rule for finding in held.diff.findings)
    assert {"patch", "minor", "major"} <= set(bumps)
    assert still > pairs // 4
    assert moved > bumps["major"] // 3
    # Values are judged by the rules of the kinds that read them.
    assert {"phrase-redundant", "contain-phrase-added", "ban-phrase-added", "tool-required-changed"} <= set(rules)


@pytest.mark.parametrize("part", thin(range(PARTS), PARTS))
def test_what_is_said_of_a_drawn_pair_of_datasets_is_true(part: int, samples: Callable[[int], int]) -> None:
    pairs, moved, bumps, rules = max(LEAST, samples(PAIRS)), 0, Counter[str](), Counter[str]()
    for index in range(part * pairs, (part + 1) * pairs):
        held = hold_pair(SEED, index)
        assert held.broken == [], index
        assert held.diff
        moved += held.moved
        bumps[str(held.diff.required_bump)] += 1
        rules.update(finding.rule for finding in held.diff.findings)
    # A generator that moves nothing, or finds one thing alone, would show nothing.
    assert {"patch", "minor", "major"} <= set(bumps)
    assert moved >= bumps["major"] // 10
    assert {"question-reference-unread", "question-rubric-ref-changed"} <= set(rules)
