"""What carries the claim, in short: nothing that is called patch or minor moves, and directions, bounds, witnesses hold.

The long form is `make fuzz`: a million pairs under a new seed. What it finds is kept in tests/cases/counterexamples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evalstore.diff import Diff
from evalstore.diff.rules import RULES
from evalstore.versions import Bump
from tests.diff.fuzz import claims, fixture
from tests.diff.fuzz.__main__ import report, written
from tests.diff.fuzz.claims import hold
from tests.diff.fuzz.draw import draw, randomness
from tests.diff.fuzz.pair import Value
from tests.diff.fuzz.run import Tally, run, run_some
from tests.rows import thin

SEED, PAIRS, PARTS = 20261121, 400, 5
NAMES = sorted(path.name for path in fixture.CASES.iterdir())


@pytest.mark.parametrize("part", thin(range(PARTS), 2))
def test_what_is_said_of_random_pairs_is_true(part: int, samples: Callable[[int], int]) -> None:
    pairs = samples(PAIRS)
    tally = run_some((SEED, part * pairs, (part + 1) * pairs))
    assert tally.broken == []
    assert tally.pairs == pairs
    assert {"patch", "major"} <= set(tally.bumps)
    assert tally.moved.total() > tally.major.total() // 3


@pytest.mark.parametrize("name", NAMES)
def test_what_once_broke_a_claim_breaks_none(name: str) -> None:
    pair, drawn = fixture.read(fixture.CASES / name)
    assert hold(pair, lambda _: [drawn]).broken == []


@pytest.mark.slow
def test_a_rule_that_lies_is_found_and_kept_as_a_small_fixture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rule = RULES["contain-phrase-added"]
    monkeypatch.setitem(RULES, rule.id, replace(rule, level=Bump.PATCH))
    monkeypatch.setattr(fixture, "CASES", tmp_path)
    (tally,) = run(1, 20)
    (name, *_) = [line.partition(":")[0] for line in written(tally, 1)]
    pair, drawn = fixture.read(tmp_path / name)
    assert name.startswith("quiet-")
    assert len(pair.new["checks"]) <= 2
    assert hold(pair, lambda _: [drawn]).broken
    monkeypatch.setitem(RULES, rule.id, rule)
    assert hold(pair, lambda _: [drawn]).broken == []


def test_what_crashes_is_kept_like_any_claim_that_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object, **__: object) -> None:
        raise KeyError("lost")

    monkeypatch.setattr(claims, "compare", crash)
    (tally,) = run(SEED, 3)
    assert {(what, why) for _, what, why, _ in tally.broken} == {("crash", "KeyError: 'lost'")}


@pytest.mark.heavy
def test_the_report_tells_the_precision_of_each_rule() -> None:
    tally = Tally()
    for number, processes in ((4, 1), (8, 2)):
        *_, tally = run(SEED, number, processes)
        assert tally.pairs == number
    lines = list(report(tally, 1.0))
    assert lines[0].startswith("8 pairs")
    told = {line.split()[0] for line in lines if line}
    assert {rule for rule, _ in tally.major} <= told
    assert "100.0%" in "".join(lines)


@pytest.mark.heavy
def test_terms_and_files_of_rows_that_change_what_is_known_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    true = claims.compare

    def lie(old: Value, new: Value, **more: Any) -> Diff:
        diff = true(old, new, **more)
        return diff if not more.keys() & {"rows", "settings"} else replace(diff, findings=diff.findings[1:])

    monkeypatch.setattr(claims, "compare", lie)
    broken: set[str] = set()
    for index in range(60):
        broken |= {what for what, _, _ in hold(draw(randomness(SEED, index)), lambda _: []).broken}
        if len(broken) > 1:
            break
    assert broken == {"rows", "settings"}
