"""What an audit says of random small worlds, held against truth that is computed from the world alone."""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction

import pytest

from evalstore.audits.claims import describe_conclusion
from evalstore.report import audit as report
from evalstore.report.text_layout import Screen
from evalstore.statistics import ShareMoves, UnitTotals, estimate_change
from tests.audits.conftest import Desk

# By version: the banned words, and where the rubric passes from; only the last edit moves a score.
RULERS = {"1.0.0": ({"foo"}, "0.4"), "2.0.0": ({"foo"}, "0.9"), "3.0.0": ({"foo", "ok"}, "0.9")}
TEXTS = ("ok", "foo", "ok good", "foo good", "x")
WHOLE = Screen(whole=True)
PHRASES = {"rubric": "the rubric", "outputs": "the outputs"}


def grade(version: str, text: str) -> Fraction:
    banned, words = RULERS[version][0], set(text.split())
    return Fraction((not banned & words) + bool({"good", "ok"} & words), 2)


def turn(version: str, text: str) -> int:
    return int(grade(version, text) >= Fraction(RULERS[version][1]))


def list_parts(version: str, old: str, new: str) -> Iterator[tuple[str, Fraction, Fraction]]:
    """Yield for both factors their shares of score and passes on one question: the mean over both orders."""
    steps = {
        "rubric": [(("1.0.0", text), (version, text)) for text in (old, new)],
        "outputs": [((at, old), (at, new)) for at in ("1.0.0", version)],
    }
    for name, pairs in steps.items():
        score, passes = (sum(Fraction(by(*b) - by(*a), 2) for a, b in pairs) for by in (grade, turn))
        yield name, Fraction(score), Fraction(passes)


@pytest.fixture
def released(desk: Desk) -> Desk:
    for version, (banned, threshold) in RULERS.items():
        checks = [
            {"id": "ban", "kind": "must_not_contain", "values": sorted(banned)},
            {"id": "any", "kind": "must_contain_any", "values": ["good", "ok"]},
        ]
        desk.rubric(version, *checks, threshold=float(threshold))
        desk.dataset(version, 6)
    return desk


def test_verdicts_are_told_of_all_who_turned_them_and_of_nobody_else(released: Desk) -> None:
    seen = Counter[str]()
    for seed in range(6):
        chance = random.Random(seed)  # noqa: S311  # no secret
        version, old = chance.choice(["2.0.0", "3.0.0"]), chance.choices(TEXTS, k=6)
        new = chance.sample(old, 6) if seed % 2 else chance.choices(TEXTS, k=6)
        runs = released.score("1.0.0", old, f"a{seed}"), released.score(version, new, f"b{seed}")
        found = released.audit(*runs)
        shares, by, turned = Counter[str](), defaultdict[str, set[str]](set), set[str]()
        for number, (before, after) in enumerate(zip(old, new, strict=True)):
            if is_turned := turn("1.0.0", before) != turn(version, after):
                turned.add(f"q{number}")
            for name, share, passes in list_parts(version, before, after):
                shares[name] += share
                if is_turned and passes:
                    by[name].add(f"q{number}")
                seen["cancelled"] += bool(passes) and not is_turned
        assert {*found.flips.pass_to_fail, *found.flips.fail_to_pass} == turned
        assert {name: {*ids} for name, ids in found.flips.by.items()} == by
        assert {one.name: one.flipped for one in found.factors if one.flipped} == {name: len(by[name]) for name in by}
        told = {id_ for name, ids in by.items() if not shares[name] for id_ in ids}
        parts = {name for name, ids in by.items() if ids & told}
        said = re.search(r"(?:\. |, but )([^.]*) turned ", found.sentence.lower())
        assert {name for name, phrase in PHRASES.items() if said and phrase in said[1]} == parts, found.sentence
        seen[f"told of {len(parts)}"] += 1
    assert all(seen[what] for what in ("cancelled", "told of 0", "told of 2")), seen


@pytest.mark.parametrize(("units", "most"), [(2, "100"), (7, "43"), (301, "1"), (1000, "1"), (10_000, "1")])
def test_at_most_is_rounded_up(units: int, most: str) -> None:
    estimate = estimate_change(UnitTotals(units).count_units(ShareMoves()))
    assert describe_conclusion(estimate) == f"moved none; at most {most}% would"


def test_missing_answers_are_not_called_outputs(released: Desk) -> None:
    a = released.score("1.0.0", ["x", "ok", "ok", "ok", "ok", "ok"])
    found = released.audit(
        a, released.score("1.0.0", {"q1": "good", **dict.fromkeys(["q2", "q3", "q4", "q5"], "x")}, "b")
    )
    assert found.own.shapley == found.delta
    assert "the outputs and missing answers alone: -" in report.text(found, WHOLE)


def test_a_check_that_only_b_has_did_not_fail_in_either_run(released: Desk) -> None:
    lost = {"id": "lost", "kind": "no_such_kind"}
    ban = {"id": "ban", "kind": "must_not_contain", "values": ["foo"]}
    released.rubric("4.0.0", ban, lost)
    released.dataset("4.0.0", 6)
    runs = [released.score(at, ["ok"] * 6, at) for at in ("1.0.0", "4.0.0")]
    text = report.text(released.audit(*runs), WHOLE)
    assert "lost could not be graded in B on 6 of 6 questions" in text
    assert "lost could not be graded in A on 6 of 6 questions" in report.text(released.audit(*runs[::-1]), WHOLE)
    assert "results taken as recorded" in text
    assert "Both runs reproduced." in text


def test_phrases_that_no_output_says_are_counted(desk: Desk, print_page: Callable[..., str]) -> None:
    desk.rubric("1.0.0", {"id": "ban", "kind": "must_not_contain", "values": ["foo"]})
    desk.rubric("2.0.0", {"id": "ban", "kind": "must_not_contain", "values": ["foo", "never"]})
    desk.rubric("3.0.0", {"id": "ban", "kind": "must_not_contain", "values": ["foo", "ok", "never", "at all"]})
    for version in ("1.0.0", "2.0.0", "3.0.0"):
        desk.dataset(version, 2)
    runs = [desk.score(f"{version}.0.0", ["ok", "yes"], f"run{version}").path for version in (1, 2, 3)]
    assert "  1 edit moved nothing\n" in print_page("audit", runs[0], runs[1], "-v", form="text")
    assert "  2 other edits moved nothing\n" in print_page("audit", runs[0], runs[2], "-v", form="text")
