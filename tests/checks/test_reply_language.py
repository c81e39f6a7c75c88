"""A pattern that is said to find no answer finds none in any reply, and ordinary patterns are said to find some."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from evalstore.checks.reply import read_reply
from evalstore.checks.reply_patterns import is_pattern_idle
from evalstore.model import Judge, JudgeReply, read_judge

TYPES: dict[str, dict[str, Any]] = {
    "levels": {"level_names": ["bad", "so so", "good"]},
    "binary": {},
    "continuous": {"scale": {"min": 0, "max": 10}},
}
ATOMS = (
    "a",
    "d",
    "o",
    "g",
    "[a-z]",
    "[A-Z]",
    r"\d",
    "[0-9]",
    r"\w",
    ".",
    "yes",
    "no",
    "good",
    "bad",
    "so so",
    " ",
    "1",
)
AROUND = ("", "Score: ", "x", r"\b", "(?i)", "(?s)", "^", r"\[\[", "(?:a|b)")
REPLIES = ("good", "GOOD", "bad", "so so", "yes", "No", " pass ", "1", "0", "7.5", "1\n", "ada", "11", "x1", "a", "")


def make_judge(score_type: str, pattern: str) -> Judge:
    value = {"id": "x", "version": "1.0.0", "template": "{{ output }}", "score_type": score_type}
    return read_judge({**value, **TYPES[score_type], "reply_pattern": pattern})


def draw_group(rng: Random) -> str:
    parts = [rng.choice(ATOMS) + rng.choice(["", "", "", "?", "+", "*", "{2}"]) for _ in range(rng.randint(1, 3))]
    return rng.choice(["({})", "(?:({})|z)", "({})?", r"({})\b", r"(\b{})", "(?P<answer>{})", "(?={})(.)"]).replace(
        "{}", rng.choice(["", "|"]).join(parts), 1
    )


@pytest.mark.parametrize("score_type", TYPES)
def test_no_reply_contradicts_it(score_type: str, samples: Callable[[int], int]) -> None:
    rng, idle = Random(f"replies {score_type}"), 0  # noqa: S311  # patterns, no secret
    count = samples(600)
    for _ in range(count):
        pattern = rng.choice(AROUND) + draw_group(rng) + rng.choice(["", "", "$", r"\.", " of 10"])
        judge = make_judge(score_type, pattern)
        if not is_pattern_idle(judge):
            continue
        idle += 1
        for reply in REPLIES:
            for text in (reply, f"Score: {reply}", f"x{reply}.", f"[[{reply} of 10", f"a {reply}"):
                assert read_reply(judge, JudgeReply(text)).score is None, (pattern, text)
    assert idle > count // 8


@pytest.mark.parametrize(
    ("score_type", "pattern"),
    [
        ("levels", "(bad|good)"),
        ("levels", r"(?i)level: (\w+)"),
        ("levels", "(so.so)"),
        ("binary", r"VERDICT:\s*(\w+)"),
        ("binary", "(?i)(PASS|FAIL)"),
        ("binary", r"\[\[(.)\]\]"),
        ("continuous", r"([0-9]+(?:\.[0-9]+)?)\s*/ 10"),
        ("continuous", "Score: (.*)"),
        ("continuous", r"(?:a|(\1b))"),  # what cannot be read is not proved
    ],
)
def test_what_can_find_an_answer_is_not_said_to_find_none(score_type: str, pattern: str) -> None:
    assert not is_pattern_idle(make_judge(score_type, pattern))
