"""Where the replies of a repository lie, and where they do not."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evalstore.errors import RefusedError, UsageError
from evalstore.model import JudgeCall, JudgeReply
from evalstore.scoring.judging import CallPlan, Endpoint, Judges, open_session
from evalstore.scoring.judging.reply_cache import ReplyCache
from tests.judging.conftest import CALL


def test_replies_lie_in_the_git_directory(judge_server: Any, tmp_path: Path) -> None:
    for _ in range(2):
        with open_session(Judges(Endpoint(judge_server.url)), tmp_path) as panel:
            panel.ask(CALL)
            panel.ask_missing()
            assert panel.ask(CALL).served == "small-served"
    assert judge_server.calls == 1
    assert [str(child.relative_to(tmp_path)) for child in tmp_path.rglob("*.db")] == ["evalstore/replies.db"]


def test_of_several_first_replies_the_newest_counts_whose_next_prompt_has_one(tmp_path: Path) -> None:
    """Two processes that ask at the same time keep two: neither grades another time at a cost."""
    first = JudgeCall("judge/j@1.0.0", "How?", {"id": "m"}, follow=lambda one: replace(CALL, prompt=one.text))
    judges = Judges(cache=tmp_path / "replies.db")
    with ReplyCache(tmp_path / "replies.db") as cache:
        for text in ("by reading", "by asking", "by waiting"):
            cache.put(first, JudgeReply(text))
        with open_session(judges, tmp_path) as session:
            assert session.ask(first).text == "by waiting"
        for text in ("by reading", "by asking"):
            cache.put(replace(CALL, prompt=text), JudgeReply("1"))
    with open_session(judges, tmp_path) as session:
        assert session.ask(first).text == "by asking"


def test_nothing_is_asked_when_its_reply_could_not_be_kept(judge_server: Any, tmp_path: Path) -> None:
    planned: list[CallPlan] = []

    def progress(plan: CallPlan) -> Any:
        planned.append(plan)
        return nullcontext(lambda _: None)

    (tmp_path / "evalstore").touch()
    judges = Judges(Endpoint(judge_server.url), progress=progress)
    with open_session(judges, tmp_path) as panel:
        panel.missing.add_call(CALL)
        with pytest.raises(RefusedError, match="a link or a file is in its path"):
            panel.ask_missing()
    assert (judge_server.calls, planned) == (0, [])


@pytest.mark.parametrize("name", [5, None, " ", "a\n", "\udcff", "\x1b[2J", ["a"]])
def test_a_model_has_a_name_that_can_be_shown(name: Any) -> None:
    with pytest.raises(UsageError, match="is not a name of a model") as caught:
        Judges(model={"id": name})
    assert str(caught.value).isprintable()


def test_a_link_in_a_strangers_git_directory_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "evalstore").symlink_to("elsewhere")
    with open_session(Judges(), tmp_path) as panel, pytest.raises(RefusedError, match="is a link"):
        panel.ask(CALL)
    own = tmp_path / "elsewhere" / "mine.db"
    with open_session(Judges(cache=own), tmp_path) as panel:
        assert panel.ask(CALL).problem
