"""An edit of how a judge's reply is read is shown by a reply; one of what the model is sent says that it must be asked."""

from __future__ import annotations

from typing import Any

import pytest

from evalstore.checks.reply import read_reply
from evalstore.diff import Diff, ReplyWitness, compare
from evalstore.model import JudgeReply, read_judge
from evalstore.report.diff_words import describe_finding

JUDGE = {"id": "j", "version": "1.0.0", "template": "Rate {{ output }}"}
LEVELS = {"score_type": "levels", "level_names": ["bad", "fair", "good"]}
BINARY = {"score_type": "binary"}


def _compare(old: dict[str, Any], new: dict[str, Any]) -> Diff:
    return compare({**JUDGE, **old}, {**JUDGE, **new})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({}, {"scale": {"max": 5}}),
        ({"scale": {"min": 1, "max": 5}}, {"scale": {"min": 0, "max": 5}}),
        ({}, BINARY),
        (LEVELS, {**LEVELS, "level_names": ["bad", "weak", "fair", "good"]}),
        (LEVELS, {**LEVELS, "level_names": ["good", "fair", "bad"]}),
        (LEVELS, {**LEVELS, "level_scores": {"bad": 0, "fair": 0.25, "good": 1}}),
        ({"reply_pattern": r"Score: (\d)"}, {"reply_pattern": r"(?i)Score: (\d)"}),
        ({"reply_pattern": r"Score: (\d+)"}, {"reply_pattern": r"Score: ([0-9]+)"}),
        ({**BINARY, "reply_pattern": "(yes|no)"}, {**BINARY, "reply_pattern": r"\b(yes|no)\b"}),
        ({**BINARY, "reply_pattern": r"^Final: (\w+)$"}, {**BINARY, "reply_pattern": r"Final: (\w+)"}),
        ({}, {"reply_pattern": r"Score:\s*(0\.\d|1)"}),
        # It captures no answer, but keeps the JSON in the same prose from being read.
        ({"reply_pattern": "Here (it) is"}, {}),
        ({}, {"reply_pattern": "Here (it) is"}),
        ({"reply_pattern": "Here (it) is"}, {"reply_pattern": "There (it) is"}),
    ],
)
def test_another_reading_is_shown_by_a_reply_that_scoring_reads_so(old: dict[str, Any], new: dict[str, Any]) -> None:
    (finding,) = _compare(old, new).findings
    assert isinstance(finding.witness, ReplyWitness)
    reply = JudgeReply(finding.witness.reply)
    scores = [read_reply(read_judge({**JUDGE, **side}), reply).score for side in (old, new)]
    assert scores == [finding.witness.old_score, finding.witness.new_score]
    assert scores[0] != scores[1]
    assert dict(describe_finding(finding, can_accept=False))["shown by"].startswith("the reply '")


@pytest.mark.parametrize("new", [{"template": "Rate it: {{ output }}"}, {"model": {"id": "m"}}, {"model": {"seed": 1}}])
def test_another_prompt_is_shown_by_the_judge_alone(new: dict[str, Any]) -> None:
    (finding,) = _compare({}, new).findings
    assert finding.witness is None
    assert "evalstore diff REF --ask" in dict(describe_finding(finding, can_accept=False))["shown by"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (LEVELS, BINARY),
        (BINARY, LEVELS),
        ({}, LEVELS),
        ({"scale": {"max": 5}}, LEVELS),
        (LEVELS, {"scale": {"max": 5}}),
    ],
)
def test_another_score_type_claims_what_only_one_type_reads(old: dict[str, Any], new: dict[str, Any]) -> None:
    findings = _compare(old, new).findings
    moving = [finding.rule for finding in findings if str(finding.level) == "major"]
    assert moving == ["judge-score-type-changed"]


@pytest.mark.parametrize("pattern", ["(a{100000000})", "((x{9000}){9000}){9000}(b)", "(" * 240 + "a" + ")" * 240])
def test_a_pattern_that_matches_long_or_deep_texts_only_ends_at_once(pattern: str) -> None:
    (finding,) = _compare({}, {"reply_pattern": pattern}).findings
    assert str(finding.level) == "major"
    assert finding.witness is None or len(finding.witness.reply) <= 300
