"""The file of replies: what it keeps, what it survives, and whose files it leaves alone."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from evalstore.errors import RefusedError
from evalstore.model import JudgeCall, JudgeReply
from evalstore.scoring.judging import ReplyCache
from tests.judging.conftest import CALL, At, sql
from tests.rows import thin

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
        row = database.execute("SELECT key, judge, model, served, finish, text FROM kept_reply").fetchone()
    assert row == (CALL.key, "judge/accuracy@1.0.0", "small", "small-2026", "length", "yes")


# Damage.


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE kept_reply SET text = 'no'",
        "UPDATE kept_reply SET served = 'large'",
        "UPDATE kept_reply SET finish = 'length'",
        "UPDATE kept_reply SET judge = 'judge/b@1.0.0'",
        "UPDATE kept_reply SET sum = ''",
        "UPDATE kept_reply SET text = NULL",
        "UPDATE kept_reply SET text = CAST(text AS BLOB)",
        "UPDATE kept_reply SET text = CAST(x'ff' AS TEXT)",
        "UPDATE kept_reply SET finish = 7",
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
    sql(path, f"UPDATE kept_reply SET key = '{CALL.key}'")  # noqa: S608  # a key is hex
    assert at().get(CALL) is None


@pytest.mark.heavy
@pytest.mark.parametrize("seed", thin(range(4), 2))
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


# Several replies to one call.


LATER = JudgeReply(
    '{"score": 0}', "small-2027", "stop", at="2027-01-02T03:04:05Z", prompt_tokens=12, completion_tokens=0
)


def test_another_reply_is_kept_beside_the_first_with_what_is_known_of_it(at: At) -> None:
    at().put(CALL, REPLY)
    first = at().find_last_number()
    at().put(CALL, LATER)
    kept = at().find_replies(CALL)
    assert kept == (REPLY, LATER)
    assert [(reply.at, reply.prompt_tokens, reply.completion_tokens) for reply in kept] == [
        ("", None, None),
        ("2027-01-02T03:04:05Z", 12, 0),
    ]
    assert len({reply.digest for reply in kept}) == 2
    assert (at().get(CALL), at().get(CALL, since=first)) == (REPLY, LATER)
    assert at().get(CALL, since=at().find_last_number()) is None


def test_every_reply_is_kept_the_same_words_too(at: At) -> None:
    for reply in (REPLY, replace(REPLY, at="2027-01-02T03:04:05Z"), replace(REPLY, prompt_tokens=3), REPLY):
        at().put(CALL, reply)
    assert [reply.prompt_tokens for reply in at().find_replies(CALL)] == [None, None, 3, None]


def test_a_reply_that_was_tampered_with_hides_no_other(at: At, path: Path) -> None:
    at().put(CALL, REPLY)
    at().put(CALL, LATER)
    for damage in ("at = ''", "prompt_tokens = 13", "prompt_tokens = 'x'", "completion_tokens = NULL"):
        sql(path, f"UPDATE kept_reply SET {damage} WHERE served = 'small-2027'")  # noqa: S608  # no user's text
        assert at().find_replies(CALL) == (REPLY,)
    at().put(CALL, LATER)
    assert at().find_replies(CALL) == (REPLY, LATER)


# Files of form 1, as evalstore wrote them when it kept one reply for a call.


FIRST = JudgeReply('{"score": 1}', "small-2026", "stop")
OLD_FILE = Path(__file__).parents[1] / "cases" / "replies" / "form_1.db"
OLD = [
    (CALL, FIRST),
    (replace(CALL, sample=1), JudgeReply('{"score": 0.5}\n\u2028é', "small-2026", "length")),
    (JudgeCall("judge/tone@2.0.0", "Is it kind?", {"id": "large"}), JudgeReply("no")),
]


def test_an_old_file_is_read_as_it_is(at: At, path: Path) -> None:
    path.write_bytes(OLD_FILE.read_bytes())
    assert [(call, at().get(call)) for call, _ in OLD] == OLD
    assert at().find_last_number() == 3
    assert at().get(CALL, since=3) is None
    assert path.read_bytes() == OLD_FILE.read_bytes()


def test_the_first_write_moves_an_old_file_into_the_new_form_and_keeps_all(at: At, path: Path) -> None:
    path.write_bytes(OLD_FILE.read_bytes())
    digests = [[reply.digest for reply in at().find_replies(call)] for call, _ in OLD]
    at().put(CALL, LATER)
    assert at().find_replies(CALL) == (FIRST, LATER)
    assert [(call, at().get(call)) for call, _ in OLD] == OLD
    assert [at().find_replies(call)[0].digest for call, _ in OLD] == [digest for (digest,) in digests]
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert [name for (name,) in database.execute("SELECT name FROM sqlite_master")] == [
            "kept_reply",
            "kept_reply_by_key",
        ]


def test_one_that_reads_an_old_file_sees_it_moved_by_another(at: At, path: Path) -> None:
    path.write_bytes(OLD_FILE.read_bytes())
    early = at()
    assert early.get(CALL) == FIRST
    at().put(CALL, LATER)
    assert early.find_replies(CALL) == (FIRST, LATER)
    early.put(replace(CALL, sample=2), REPLY)
    assert at().get(replace(CALL, sample=2)) == REPLY


def test_a_move_that_is_cut_short_leaves_the_old_file(at: At, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(OLD_FILE.read_bytes())
    monkeypatch.setattr(
        "evalstore.scoring.judging.cache_file._INDEX", "CREATE INDEX kept_reply_by_key ON nothing (key)"
    )
    with pytest.raises(RefusedError):
        at().put(CALL, LATER)
    monkeypatch.undo()
    assert [(call, at().get(call)) for call, _ in OLD] == OLD
    at().put(CALL, LATER)
    assert at().find_replies(CALL) == (FIRST, LATER)
