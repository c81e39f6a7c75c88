"""What is noted: each call once, in an order that no other has, in little memory; and what it comes to."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from evalstore.model import JudgeCall
from evalstore.scoring.judging import CallGroup, CallPlan, CallQueue


def call(prompt: str, judge: str = "judge/a@1.0.0", sample: int = 0, **model: object) -> JudgeCall:
    return JudgeCall(judge, prompt, {"id": "small", **model}, sample)


def test_each_call_is_noted_once() -> None:
    noted = [call("b"), call("a"), call("b"), call("b", sample=1), call("a", temperature=Decimal("0.70")), call("a")]
    with CallQueue() as spool:
        for one in noted:
            spool.add_call(one)
        found = {one.key: one for one in spool}
        assert found == {noted[index].key: noted[index] for index in (0, 1, 3, 4)}
        assert len(list(spool)) == len(spool) == 4


def test_two_spools_give_the_same_calls_in_orders_of_their_own() -> None:
    calls = [call(f"{number}") for number in range(100)]
    with CallQueue() as one, CallQueue() as other:
        for noted in calls:
            one.add_call(noted)
            other.add_call(noted)
        assert list(one) == list(one) != list(other)
        assert {found.key for found in one} == {found.key for found in other}
        alike = sum(mine == theirs for mine, theirs in zip(one, other, strict=True))
    assert alike < 20


def test_the_plan_counts_by_judge_and_model() -> None:
    with CallQueue() as spool:
        assert spool.plan_calls() == CallPlan(())
        for one in (
            call("four"),
            call("sixsix", temperature=1),
            call("four"),
            call("five!", "judge/b@1.0.0"),
            JudgeCall("judge/b@1.0.0", "é\U0001f600", {}),
            call("four", "judge/c@1.0.0"),
        ):
            spool.add_call(one)
        plan = spool.plan_calls(reuse_count=3)
    assert plan.groups == (
        CallGroup("judge/a@1.0.0", "small", 2, 10),
        CallGroup("judge/b@1.0.0", "", 1, 2),
        CallGroup("judge/b@1.0.0", "small", 1, 5),
    )
    assert (plan.calls, plan.reuse_count) == (4, 3)


def test_it_can_be_emptied_and_filled_again() -> None:
    with CallQueue() as spool:
        spool.add_call(call("a"))
        spool.clear()
        assert (len(spool), list(spool), spool.plan_calls()) == (0, [], CallPlan(()))
        spool.add_call(call("a"))
        assert list(spool) == [call("a")]


@pytest.mark.slow
def test_memory_does_not_grow_with_the_calls(tmp_path: Path) -> None:
    import tracemalloc

    def peak(count: int) -> int:
        tracemalloc.start()
        with CallQueue() as spool:
            for number in range(count):
                spool.add_call(call(f"{number} {'x' * 2000}"))
            assert sum(1 for _ in spool) == len(spool) == count
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(10)
    assert peak(5000) < peak(1000) + (1 << 19)
    assert list(tmp_path.iterdir()) == []
