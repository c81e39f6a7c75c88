"""Calls, an endpoint that does not wait long, and a separate cache for every test."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evalstore.model import JudgeCall
from evalstore.scoring.judging import Endpoint, ReplyCache

CALL = JudgeCall("judge/accuracy@1.0.0", "Is it good?", {"id": "small"})
At = Callable[[], ReplyCache]
KEY = "sk-a-key-that-must-not-be-shown"


def call(prompt: str = "Is it good?", **model: Any) -> JudgeCall:
    return replace(CALL, prompt=prompt, model={**CALL.model, **model})


def sql(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        for statement in statements:
            database.execute(statement)


@pytest.fixture
def calls() -> Callable[..., list[JudgeCall]]:
    """Make so many different calls."""
    return lambda count, **model: [call(f"question {number:04}", **model) for number in range(count)]


@pytest.fixture
def endpoint(judge_server: Any) -> Callable[..., Endpoint]:
    """The local server as an endpoint that is tried again at once."""

    def at(**values: Any) -> Endpoint:
        usual = {"url": judge_server.url, "key": KEY, "timeout": 5, "first_wait": 0.001, "longest_wait": 0.01}
        return Endpoint(**usual | values)

    return at


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[ReplyCache]:
    with ReplyCache(tmp_path / "evalstore" / "replies.db") as opened:
        yield opened


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "replies.db"


@pytest.fixture
def at(path: Path) -> Iterator[Callable[[], ReplyCache]]:
    """Open the cache in `path` once more."""
    with ExitStack() as opened:
        yield lambda: opened.enter_context(ReplyCache(path))
