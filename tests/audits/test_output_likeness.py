"""What the outputs themselves show: equal ones, white space, cut answers, one text again, and failures asked again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from evalstore.audits import Audit
from evalstore.audits.conditions import Answer, decide_conditions, parse_condition
from evalstore.audits.wording.answer import write_answer
from evalstore.report import audit as report
from tests.audits.conftest import Desk
from tests.audits.test_acceptance import BAN

SIZE, FAILED = 20, 6
Write = Callable[[int], str]


def long(number: int) -> str:
    return f"The answer to number {number} is known to all."


def weak(number: int) -> str:
    return f"foo {long(number)}" if number < FAILED else long(number)


def compare(desk: Desk, old: Write, new: Write) -> Audit:
    desk.rubric("1.0.0", BAN)
    desk.dataset("1.0.0", [{"id": f"q{i}", "input": f"What is {i}?"} for i in range(SIZE)])
    return desk.audit(
        *(
            desk.score("1.0.0", [write(i) for i in range(SIZE)], name)
            for name, write in zip("ab", (old, new), strict=True)
        )
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (long, lambda i: f"{long(i)}\n", "20 of 20 outputs that differ do so in white space alone"),
        (long, lambda i: long(i)[:9], "20 of 20 outputs that differ are A's answers without their end (cut off, or left out)"),
        (lambda i: long(i)[:9], long, "20 of 20 outputs that differ are A's answers and more (A's were cut off, or B adds to them)"),
        (long, lambda i: "I cannot." if i < 12 else f"{i}", '12 of 20 outputs in B are one text: "I cannot."'),
        (long, lambda i: f"{i}" if i < 4 else long(i), "16 of 20 outputs are equal in A and B"),
    ],
)  # fmt: skip
def test_what_most_outputs_show_is_in_the_answer(desk: Desk, old: Write, new: Write, said: str) -> None:
    found = compare(desk, old, new)
    assert said in found.asides
    assert said in write_answer(found)


@pytest.mark.parametrize(
    ("old", "new"), [(long, lambda i: f"Well, {long(i)}"), (lambda i: f"{i % 2}", lambda i: f"{i % 3}")]
)
def test_other_texts_and_labels_show_nothing(desk: Desk, old: Write, new: Write) -> None:
    assert compare(desk, old, new).asides == ()


def test_only_failures_were_asked_again(desk: Desk) -> None:
    found = compare(desk, weak, lambda i: f"Now {long(i)}" if i < FAILED else long(i))
    assert write_answer(found).startswith(
        "Is the model better? These runs cannot tell: all 6 outputs that differ had failed in A and the other 14 "
        "are equal, so only failures were asked again, which is a selection."
    )
    assert found.sentence == "The score rose by 30.00 points: the outputs gave 30.00."
    (held,) = decide_conditions(found, [parse_condition("own<-0.02")])
    assert (held.answer, "only failures were asked again" in held.reason) == (Answer.UNDECIDED, True)
    document = report.document(found)["outputs"]
    assert (document["equal"], document["failed"], document["failed_changed"]) == (14, FAILED, FAILED)


def test_failures_and_others_asked_again_are_evidence(desk: Desk) -> None:
    found = compare(desk, weak, lambda i: f"Now {long(i)}" if i <= FAILED else long(i))
    assert "asked again" not in write_answer(found)


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ({"tool_calls": [{"name": "read"}]}, {"tool_calls": [{"name": "write"}]}, "calls, not in text"),
        ({"latency_ms": 900}, {"latency_ms": 9000}, "numbers about them (as latency), not in text"),
    ],
)
def test_outputs_that_differ_in_their_record_alone(
    desk: Desk, old: dict[str, Any], new: dict[str, Any], what: str
) -> None:
    desk.rubric("1.0.0", BAN, {"id": "fast", "kind": "limits", "latency_ms": {"max": 2000}})
    desk.dataset("1.0.0", 4)
    runs = [
        desk.score_lines("1.0.0", [{"id": f"q{i}", "output": long(i), **record} for i in range(4)], name)
        for name, record in (("a", old), ("b", new))
    ]
    assert f"4 of 4 outputs that differ do so in {what}" in desk.audit(*runs).asides
