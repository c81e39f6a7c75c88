"""An audit says the same whether runs are read side by side or by an index, and like questions are worked out once."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from evalstore.audits import Audit, explain
from evalstore.audits.answer_replay import AnswerReplay
from tests.audits.conftest import Desk

SIZE = 14
WORDS = ("ok", "simply", "foo", "good", "alpha")


def audit_by_every_path(desk: Desk, monkeypatch: pytest.MonkeyPatch, runs: tuple[Any, Any]) -> list[Audit]:
    found = [desk.audit(*runs)]
    monkeypatch.setattr(explain, "open_ordered_runs", lambda *_: None)
    found.append(desk.audit(*runs))
    monkeypatch.setattr(AnswerReplay, "prepare", lambda *_: None)
    return [*found, desk.audit(*runs)]


@pytest.mark.parametrize("samples", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_edits_of_one_rubric_have_the_same_shares_by_every_path(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, samples: int
) -> None:
    """Checks are renamed, moved, added and weighed anew; some outputs are the same."""
    chance = random.Random(samples)  # noqa: S311  # no secret
    wants = {"kind": "must_contain_any", "values": ["good", "alpha"]}
    ban = {"id": "ban", "kind": "must_not_contain", "values": ["foo"]}
    brief = {"id": "brief", "kind": "format", "format": "text", "max_chars": 16}
    desk.rubric("1.0.0", ban, {"id": "wants", **wants}, brief)
    fresh = {"id": "fresh", "kind": "must_not_contain", "values": ["alpha"]}
    after = [fresh, {**brief, "max_chars": 12}, {"id": "likes", **wants}, {**ban, "values": ["foo", "simply"]}]
    desk.rubric("2.0.0", *after, weights={"ban": 3}, threshold=0.6)
    for version in ("1.0.0", "2.0.0"):
        desk.dataset(version, SIZE)
    texts = [[" ".join(chance.choices(WORDS, k=3)) for _ in range(SIZE * samples)] for _ in range(2)]
    texts[1][:SIZE] = texts[0][:SIZE]
    runs = [
        desk.score_lines(f"{side + 1}.0.0", [
            {"id": f"q{place // samples}", "sample": place % samples, "output": text}
            for place, text in enumerate(texts[side])
        ], f"run{side}")
        for side in (0, 1)
    ]  # fmt: skip
    found = audit_by_every_path(desk, monkeypatch, (runs[0], runs[1]))
    assert found[0] == found[1] == found[2]
    shares = {factor.name: factor.share for factor in found[0].factors if factor.share}
    assert set(shares) == ({"rubric"} if samples == 1 else {"rubric", "outputs"})
    assert len([cause for cause in found[0].factors[0].causes if cause.share]) >= 4


def test_a_record_that_replay_does_not_give_is_found_by_every_path(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.rubric("1.0.0", {"id": "ban", "kind": "must_not_contain", "values": ["foo"]})
    desk.dataset("1.0.0", 3)
    runs = desk.score("1.0.0", ["ok", "foo", "ok"], "a"), desk.score("1.0.0", ["ok", "ok", "foo"], "b")
    text = runs[1].samples.read_text()
    runs[1].samples.write_text(text.replace('{"raw": ["foo"]}', '{"raw": ["fox"]}'))
    monkeypatch.setattr(desk, "audit", lambda a, b: desk.repo.audit(a, b, allow_drift=True))
    found = audit_by_every_path(desk, monkeypatch, runs)
    assert [one.drift for one in found] == [found[0].drift] * 3
    assert [(drift.run, drift.id) for drift in found[0].drift] == [("B", "q2")]


def test_phrases_that_no_output_says_are_counted(desk: Desk, print_page: Callable[..., str]) -> None:
    desk.rubric("1.0.0", {"id": "ban", "kind": "must_not_contain", "values": ["foo"]})
    desk.rubric("2.0.0", {"id": "ban", "kind": "must_not_contain", "values": ["foo", "never"]})
    desk.rubric("3.0.0", {"id": "ban", "kind": "must_not_contain", "values": ["foo", "ok", "never", "at all"]})
    for version in ("1.0.0", "2.0.0", "3.0.0"):
        desk.dataset(version, 2)
    runs = [desk.score(f"{version}.0.0", ["ok", "yes"], f"run{version}").path for version in (1, 2, 3)]
    assert "  1 edit moved nothing\n" in print_page("audit", runs[0], runs[1], form="text")
    assert "  2 other edits moved nothing\n" in print_page("audit", runs[0], runs[2], form="text")
