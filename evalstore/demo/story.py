"""A story as data: what happens, by whom, when, and which commands tell it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalstore.documents import read_yaml
from evalstore.files import read_user_file

_LIMIT = 1 << 20


@dataclass(frozen=True, slots=True)
class Step:
    """One step: `folder` is laid over the repository, committed if there is a `message`, then the commands run."""

    title: str
    say: str
    author: str
    email: str
    date: str
    run: tuple[tuple[str, ...], ...]
    folder: str | None = None
    message: str | None = None
    show: bool = True
    expect_exit: int = 0


@dataclass(frozen=True, slots=True)
class Story:
    """A title and its steps, and the folder whose paths they name."""

    title: str
    folder: Path
    steps: tuple[Step, ...]


def read_story(folder: Path) -> Story:
    """Read `story.yaml` of a sample folder."""
    path = folder / "story.yaml"
    value = read_yaml(read_user_file(path, _LIMIT), str(path)).value
    return Story(value["title"], folder, tuple(_step(step) for step in value["steps"]))


def _step(value: dict[str, Any]) -> Step:
    return Step(
        title=value["title"],
        say=value["say"],
        author=value["author"]["name"],
        email=value["author"]["email"],
        date=value["date"],
        run=tuple(tuple(words) for words in value["run"]),
        folder=value.get("folder"),
        message=value.get("message"),
        show=value.get("show", True),
        expect_exit=value.get("expect_exit", 0),
    )
