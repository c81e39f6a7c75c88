"""What runs keep of the replies that they rest on: nothing that a later run learns changes what an earlier recorded."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from evalstore.model import JudgeCall
from evalstore.runs import GradedRow, read_rows, read_run
from evalstore.scoring.judging import ReplyCache
from evalstore.store import ArtifactStore
from tests.rows import thin

Cli = Callable[..., Any]
Write = Callable[..., Path]
OUTPUTS = {"one": "please", "two": "no"}
JUDGE_MODEL = {"id": "small"}


def find_rows(repo: Path, name: str) -> Mapping[str, GradedRow]:
    return {row.id: row for row in read_rows(read_run(repo / "runs" / f"three-1.0.0-{name}.json"))}


def find_replies(repo: Path, output: str, question: str) -> dict[str, str]:
    """The replies that the repository keeps to the judge's call on one output: text by digest, the first first."""
    call = JudgeCall("judge/accuracy@1.0.0", f"Is it right? {question}\n{output}\n", JUDGE_MODEL)
    with ReplyCache(repo / ".git/evalstore/replies.db") as cache:
        return {reply.digest: reply.text for reply in cache.find_replies(call)}


def test_rows_name_their_replies_and_fresh_ones_are_kept_beside_them(
    cli: Cli, judged: Path, write: Write, judge_server: Any
) -> None:
    score = ("score", "dataset/three@1.0.0", write(OUTPUTS), "--judge-url", judge_server.url, "--model")
    judge_server.text = lambda _: '{"score": 4}'
    assert cli(*score, "a", cwd=judged).code == 0
    judge_server.text = lambda _: '{"score": 1}'
    assert cli(*score, "reused", cwd=judged).code == 0
    assert judge_server.calls == 2
    assert cli(*score, "fresh", "--fresh", cwd=judged).code == 0
    assert judge_server.calls == 4
    # A later run without a word about it rests on the newest reply: what was asked anew stays.
    assert cli(*score, "later", cwd=judged).code == 0
    a, reused, fresh, later = (find_rows(judged, name) for name in ("a", "reused", "fresh", "later"))
    kept = find_replies(judged, "please", "Say one.")
    first, second = kept
    assert list(kept.values()) == ['{"score": 4}', '{"score": 1}']
    assert [rows["one"].checks[0].reply_digests for rows in (a, reused, fresh, later)] == [
        (first,),
        (first,),
        (second,),
        (second,),
    ]
    assert a["one"].score != fresh["one"].score


UNREADABLE = {
    "prose": "I cannot say.",
    "another key": '{"points": 4}',
    "cut": '{"score": 4',
    "empty": "{}",
    "outside the scale": '{"score": 99}',
    "two answers": '{"score": 4}\n{"score": 1}',
    "no number": '{"score": "good"}',
    "nothing": "",
    "refused": None,
}


@pytest.mark.parametrize("text", thin(UNREADABLE.values(), 3), ids=UNREADABLE)
def test_an_unreadable_reply_is_asked_again_while_an_endpoint_is_named(
    cli: Cli, judged: Path, write: Write, judge_server: Any, text: str | None
) -> None:
    def answer(reply: str | None) -> None:
        judge_server.text = lambda _: reply
        judge_server.play("refusal" if reply is None else "ok")

    score = ("score", "dataset/three@1.0.0", write(OUTPUTS))
    ask = ("--judge-url", judge_server.url, "--model")
    answer(text)
    cli(*score, *ask, "broken", cwd=judged)
    assert judge_server.calls == 2  # once each, not until it can be read
    answer('{"score": 4}')
    cli(*score, "--model", "unasked", "--offline", cwd=judged)
    assert judge_server.calls == 2
    cli(*score, *ask, "healed", cwd=judged)
    assert judge_server.calls == 4
    answer(text)
    cli(*score, *ask, "again", "--fresh", cwd=judged)
    assert judge_server.calls == 6
    cli(*score, *ask, "later", cwd=judged)
    assert judge_server.calls == 6
    rows = [find_rows(judged, name)["one"] for name in ("broken", "unasked", "healed", "again", "later")]
    assert [row.checks[0].score is None for row in rows] == [True, True, False, True, False]
    assert rows[2].checks[0].reply_digests == rows[4].checks[0].reply_digests
    assert {*rows[0].checks[0].reply_digests} < {*find_replies(judged, "please", "Say one.")}


def test_an_audit_grades_each_run_with_its_own_replies(cli: Cli, judged: Path, write: Write, judge_server: Any) -> None:
    score = ("score", "dataset/three@1.0.0", "--judge-url", judge_server.url, "--model")
    judge_server.text = lambda _: '{"score": 4}'
    cli(*score, "a", write(OUTPUTS, "a.jsonl"), cwd=judged)
    judge_server.text = lambda _: '{"score": 1}'
    cli(*score, "b", write({"one": "please, two", "two": "not"}, "b.jsonl"), "--fresh", cwd=judged)
    judge_server.text = lambda _: '{"score": 0}'
    # All calls of both runs are asked once more: these replies are not run's.
    for name in ("a", "b"):
        cli(*score, f"again-{name}", f"{judged.parent}/{name}.jsonl", "--fresh", cwd=judged)
    runs = [judged / "runs" / f"three-1.0.0-{name}.json" for name in ("a", "again-b")]
    from evalstore.audits import AuditOptions, audit_runs

    with ArtifactStore.open(judged) as store:
        found = audit_runs(*runs, store, AuditOptions())
    assert found.drift == ()
    assert not any("as recorded" in note for note in found.notes)


def test_what_the_endpoint_says_of_a_reply_is_kept(cli: Cli, judged: Path, write: Write, judge_server: Any) -> None:
    cli("score", "dataset/three@1.0.0", write(OUTPUTS), "--judge-url", judge_server.url, cwd=judged)
    call = JudgeCall("", "Is it right? Say one.\nplease\n", JUDGE_MODEL)
    with ReplyCache(judged / ".git/evalstore/replies.db") as cache:
        (reply,) = cache.find_replies(call)
    assert (reply.served, reply.finish) == ("small-served", "stop")
    assert (reply.prompt_tokens, reply.completion_tokens) == (7, 3)
    assert reply.at.startswith("20")
    assert reply.at.endswith("Z")


def test_replies_that_others_could_have_written_are_not_read(
    cli: Cli, judged: Path, write: Write, judge_server: Any
) -> None:
    argv = ("score", "dataset/three@1.0.0", write(OUTPUTS))
    first = cli(*argv, cwd=judged, EVALSTORE_JUDGE_URL=judge_server.url)
    kept = judged / ".git/evalstore/replies.db"
    assert "can write" not in first.err
    for path in (kept, kept.parent):
        mode = path.stat().st_mode
        path.chmod(mode | 0o002)
        second = cli(*argv, cwd=judged)
        assert (second.code, f"{path}: everybody on this machine can write it" in second.err) == (3, True)
        assert f"chown $USER {path} and chmod go-w" in second.err
        path.chmod(mode)
    kept.parent.chmod(kept.parent.stat().st_mode | 0o1002)  # sticky, as /tmp is
    third = cli(*argv, "--format", "json", cwd=judged)
    replies = json.loads(third.out)["replies"]
    assert (replies["asked"], replies["kept"]) == (0, 2)
