"""The file of replies: what it keeps, what it survives, and whose files it leaves alone."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import pytest

from evalstore.errors import RefusedError
from evalstore.judging import ReplyCache
from evalstore.model import JudgeCall, JudgeReply
from tests.judging.conftest import CALL, At, sql

REPLY = JudgeReply('{"score": 1}\n\0\U0001f600\u2028é', "small-2026", "stop")


def test_what_was_put_is_there_again_and_for_others(at: At, path: Path) -> None:
    first = at()
    first.put(CALL, REPLY)
    assert first.get(CALL) == at().get(CALL) == REPLY
    assert first.path == path
    assert [child.name for child in path.parent.iterdir()] == [path.name]


def test_reading_a_cache_that_is_not_there_makes_nothing(tmp_path: Path) -> None:
    with ReplyCache(tmp_path / "no" / "replies.db") as cache:
        assert cache.get(CALL) is None
    assert list(tmp_path.iterdir()) == []


def test_a_cache_that_another_makes_meanwhile_is_seen(at: At) -> None:
    early = at()
    assert early.get(CALL) is None
    at().put(CALL, REPLY)
    assert early.get(CALL) == REPLY


def test_the_first_write_makes_folders_and_an_empty_file_is_a_new_cache(tmp_path: Path, at: At, path: Path) -> None:
    path.touch()
    cache = at()
    assert cache.get(CALL) is None
    cache.put(CALL, REPLY)
    assert cache.get(CALL) == REPLY
    with ReplyCache(tmp_path / "a" / "b" / "r?e%20#.db") as other:
        other.put(CALL, REPLY)
        assert other.path.is_file()


@pytest.mark.parametrize(
    "other",
    [
        JudgeCall("judge/accuracy@1.0.0", "Is it good??", {"id": "small"}),
        JudgeCall("judge/accuracy@1.0.0", "Is it good?", {"id": "large"}),
        JudgeCall("judge/accuracy@1.0.0", "Is it good?", {"id": "small", "temperature": 0}),
        JudgeCall("judge/accuracy@1.0.0", "Is it good?", {"id": "small"}, sample=1),
    ],
)
def test_another_call_has_another_reply(other: JudgeCall, at: At) -> None:
    cache = at()
    cache.put(CALL, REPLY)
    assert cache.get(other) is None


def test_two_judges_that_ask_the_same_share_the_reply(at: At) -> None:
    cache = at()
    cache.put(CALL, REPLY)
    assert cache.get(JudgeCall("judge/other@1.0.0", CALL.prompt, CALL.model)) == REPLY


def test_the_first_reply_stays(at: At) -> None:
    at().put(CALL, REPLY)
    at().put(CALL, JudgeReply("another", "small-2027", "stop"))
    assert at().get(CALL) == REPLY


def test_a_problem_is_not_kept(at: At, path: Path) -> None:
    with pytest.raises(ValueError, match="asked again"):
        at().put(CALL, JudgeReply(problem="the endpoint fails"))
    assert not path.exists()


def test_a_closed_cache_says_so(at: At) -> None:
    cache = at()
    cache.put(CALL, REPLY)
    cache.close()
    with pytest.raises(ValueError, match="closed"):
        cache.get(CALL)
    with pytest.raises(ValueError, match="closed"):
        cache.put(CALL, REPLY)


def test_what_people_may_want_to_see_is_in_the_file(at: At, path: Path) -> None:
    at().put(CALL, JudgeReply("yes", "small-2026", "length"))
    with closing(sqlite3.connect(path)) as database:
        row = database.execute("SELECT key, judge, model, served, finish, text FROM reply").fetchone()
    assert row == (CALL.key, "judge/accuracy@1.0.0", "small", "small-2026", "length", "yes")


# Damage.


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE reply SET text = 'no'",
        "UPDATE reply SET served = 'large'",
        "UPDATE reply SET finish = 'length'",
        "UPDATE reply SET judge = 'judge/b@1.0.0'",
        "UPDATE reply SET sum = ''",
        "UPDATE reply SET text = NULL",
        "UPDATE reply SET text = CAST(text AS BLOB)",
        "UPDATE reply SET text = CAST(x'ff' AS TEXT)",
        "UPDATE reply SET finish = 7",
    ],
)
def test_a_row_that_is_not_as_it_was_stored_is_absent_and_replaced(damage: str, at: At, path: Path) -> None:
    at().put(CALL, REPLY)
    sql(path, damage)
    cache = at()
    assert cache.get(CALL) is None
    cache.put(CALL, REPLY)
    assert cache.get(CALL) == REPLY


def test_a_row_that_stands_under_another_key_is_absent(at: At, path: Path) -> None:
    other = JudgeCall("judge/accuracy@1.0.0", "Is it bad?", {"id": "small"})
    at().put(other, REPLY)
    sql(path, f"UPDATE reply SET key = '{CALL.key}'")  # noqa: S608  # a key is hex
    assert at().get(CALL) is None


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(4))
def test_a_file_with_random_damage_is_refused_or_right(seed: int, at: At, path: Path) -> None:
    import random

    calls = [JudgeCall("j", f"question {number}", {"id": "m"}) for number in range(60)]
    cache = at()
    for call in calls:
        cache.put(call, JudgeReply(f"{call.prompt} {'x' * 300}", "m", "stop"))
    cache.close()
    whole, dice = path.read_bytes(), random.Random(seed)  # noqa: S311  # the same damage every time
    for _ in range(30):
        data = bytearray(whole)
        for _ in range(dice.choice([1, 8, 200])):
            data[dice.randrange(len(data))] = dice.randrange(256)
        path.write_bytes(data[: dice.choice([len(data), dice.randrange(len(data))])])
        with ReplyCache(path) as broken:
            for call in calls:
                with suppress(RefusedError):
                    found = broken.get(call)
                    assert found is None or found.text == f"{call.prompt} {'x' * 300}"
            with suppress(RefusedError):
                broken.put(CALL, REPLY)
                assert broken.get(CALL) == REPLY
