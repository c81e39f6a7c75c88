"""The time of slow patterns is one for a command: its sums are tested, by a clock that stands still in between."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from evalstore.checks import CheckContext, evaluate, pattern_time, prepare_rubric
from evalstore.checks.pattern_time import COMMAND_SECONDS, QUICK_SECONDS, USED_UP, PatternTime
from evalstore.checks.reply import read_reply
from evalstore.checks.untrusted_schemas import compile_untrusted
from evalstore.errors import SchemaError
from evalstore.model import JudgeReply, Output, Sample, read_judge, read_rubric
from evalstore.patterns.engine import SECONDS, compile_pattern


class Clock:
    """A clock, and patterns that take `slow` seconds where their text begins with an `s`, and no time elsewhere."""

    def __init__(self, slow: float) -> None:
        self.slow, self.now, self.runs = slow, 0.0, 0

    def match(self, _: Any, __: str, text: str, limit: float) -> bool | None:
        needed = self.slow if text.startswith("s") else 0
        self.runs += 1
        self.now += min(needed, limit)
        return None if needed > limit else True


@pytest.fixture
def clock(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock(getattr(request, "param", 10))
    monkeypatch.setattr(pattern_time, "match_in_time", clock.match)
    monkeypatch.setattr(pattern_time, "time", SimpleNamespace(process_time=lambda: clock.now))
    return clock


def rubric(count: int) -> dict[str, Any]:
    checks = [{"id": f"c{number}", "kind": "regex", "pattern": f"(a|a)*{number}"} for number in range(count)]
    return {"id": "r", "version": "1.0.0", "checks": checks, "scoring": {"combine": "all_pass"}}


@pytest.mark.parametrize("clock", [10, 0.9], indirect=True, ids=["never done", "done just in time"])
def test_all_checks_and_outputs_of_a_command_share_the_time(clock: Clock) -> None:
    grade = prepare_rubric(read_rubric(rubric(10)), CheckContext())
    results = [grade(Sample(Output("s" * 61))) for _ in range(30)]
    assert clock.now <= COMMAND_SECONDS + SECONDS + 10 * QUICK_SECONDS
    assert clock.runs < 25
    # What was not graded says why; what is quick is graded all the same.
    reasons = [check.reason for result in results for check in result.checks if check.score is None]
    assert {reason.split(" s on")[0].split(":")[0] for reason in reasons} >= {"the pattern was stopped"}
    assert reasons[-1] == f"the pattern {USED_UP}"
    fresh = prepare_rubric(read_rubric(rubric(10)), CheckContext())
    assert all(check.score == 1 for check in fresh(Sample(Output("quick"))).checks)


def test_quick_patterns_are_graded_when_the_time_is_used_up(clock: Clock) -> None:
    time, pattern, other = PatternTime(0), compile_pattern("a", ""), compile_pattern("b", "")
    assert not isinstance(pattern, str)
    assert not isinstance(other, str)
    assert [time.match(pattern, "search", "quick") for _ in range(5)] == [True] * 5
    assert (time.match(pattern, "search", "slow"), clock.now) == (USED_UP, QUICK_SECONDS)
    assert time.match(pattern, "search", "slow") == USED_UP
    assert clock.now == QUICK_SECONDS  # it was not run again
    assert time.match(other, "search", "quick") is True


@pytest.mark.parametrize("clock", [QUICK_SECONDS * 0.99], indirect=True)
def test_no_number_of_ordinary_matches_uses_up_the_time(clock: Clock) -> None:
    time, pattern = PatternTime(), compile_pattern("a", "")
    assert not isinstance(pattern, str)
    assert {time.match(pattern, "search", "slow") for _ in range(1000)} == {True}
    assert clock.now > 10 * COMMAND_SECONDS


def test_patterns_of_a_schema_share_it_with_other_instances(clock: Clock) -> None:
    schema = compile_untrusted({"pattern": "(a|a)*b"}, PatternTime())
    for _ in range(30):
        with pytest.raises(SchemaError, match=r"the pattern '\(a\|a\)\*b' (did not finish within 1 s|was stopped)"):
            schema.is_valid("slow")
    assert clock.now <= COMMAND_SECONDS + SECONDS + QUICK_SECONDS


def test_each_call_of_evaluate_has_its_own(clock: Clock) -> None:
    for _ in range(3):
        assert evaluate(rubric(1), "slow").checks[0].reason == "the pattern did not finish within 1 s on this output"
    assert clock.now == 3 * SECONDS


def test_patterns_of_replies_share_it_too() -> None:
    judge = read_judge({"template": "", "reply_pattern": "((?:a|aa)+)$"})
    used_up = read_reply(judge, JudgeReply("a" * 60 + "!"), PatternTime(0))
    assert (used_up.score, used_up.words) == (None, f"reply_pattern {USED_UP}")
