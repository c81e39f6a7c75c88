"""What is noted: each call once, in its order, in little memory; and what it comes to."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

from evalstore.judging import Plan, Planned, Spool
from evalstore.model import Call


def call(prompt: str, judge: str = "judge/a@1.0.0", sample: int = 0, **model: object) -> Call:
    return Call(judge, prompt, {"id": "small", **model}, sample)


def test_each_call_is_noted_once_in_the_order_of_the_first_time() -> None:
    noted = [call("b"), call("a"), call("b"), call("b", sample=1), call("a", temperature=Decimal("0.70")), call("a")]
    with Spool() as spool:
        for one in noted:
            spool.note(one)
        assert list(spool) == [noted[0], noted[1], noted[3], noted[4]]
        assert [one.key for one in spool] == [noted[index].key for index in (0, 1, 3, 4)]
        assert len(spool) == 4


def test_the_plan_counts_by_judge_and_model() -> None:
    with Spool() as spool:
        assert spool.plan() == Plan(())
        for one in (
            call("four"),
            call("sixsix", temperature=1),
            call("four"),
            call("five!", "judge/b@1.0.0"),
            Call("judge/b@1.0.0", "é\U0001f600", {}),
            call("four", "judge/c@1.0.0"),
        ):
            spool.note(one)
        plan = spool.plan(kept=3)
    assert plan.asked == (
        Planned("judge/a@1.0.0", "small", 2, 10),
        Planned("judge/b@1.0.0", "", 1, 2),
        Planned("judge/b@1.0.0", "small", 1, 5),
    )
    assert (plan.calls, plan.kept) == (4, 3)


def test_it_can_be_emptied_and_filled_again() -> None:
    with Spool() as spool:
        spool.note(call("a"))
        spool.clear()
        assert (len(spool), list(spool), spool.plan()) == (0, [], Plan(()))
        spool.note(call("a"))
        assert list(spool) == [call("a")]


def test_what_is_noted_while_it_is_read_comes_last() -> None:
    with Spool() as spool:
        for number in range(600):
            spool.note(call(f"{number}"))
        seen = []
        for one in spool:
            seen.append(one.prompt)
            if one.prompt == "599":
                spool.note(call("late"))
        assert seen == [*map(str, range(600)), "late"]


def test_memory_does_not_grow_with_the_calls(tmp_path: Path) -> None:
    import tracemalloc

    def peak(count: int) -> int:
        tracemalloc.start()
        with Spool() as spool:
            for number in range(count):
                spool.note(call(f"{number} {'x' * 2000}"))
            assert sum(1 for _ in spool) == len(spool) == count
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(10)
    assert peak(5000) < peak(1000) + (1 << 19)
    assert list(tmp_path.iterdir()) == []
