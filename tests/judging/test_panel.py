"""Where the replies of a repository lie, and where they do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalstore.errors import RefusedError
from evalstore.judging import Endpoint, Judges, seated
from evalstore.model import Call

CALL = Call("judge/accuracy@1.0.0", "Is it good?", {"id": "small"})


def test_replies_lie_in_the_git_directory(judge_server: Any, tmp_path: Path) -> None:
    for _ in range(2):
        with seated(Judges(Endpoint(judge_server.url)), lambda: tmp_path) as panel:
            panel.ask(CALL)
            panel.gather()
            assert panel.ask(CALL).served == "small-served"
    assert judge_server.calls == 1
    assert [str(child.relative_to(tmp_path)) for child in tmp_path.rglob("*.db")] == ["evalstore/replies.db"]


def test_a_link_in_a_strangers_git_directory_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "evalstore").symlink_to("elsewhere")
    with seated(Judges(), lambda: tmp_path) as panel, pytest.raises(RefusedError, match="is a link"):
        panel.ask(CALL)
    own = tmp_path / "elsewhere" / "mine.db"
    with seated(Judges(cache=own), lambda: tmp_path) as panel:
        assert panel.ask(CALL).problem
