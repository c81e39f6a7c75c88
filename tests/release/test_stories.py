"""Everyday stories of a team: which commands lead to a pushed branch that `verify --remote` finds nothing wrong with."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from tests.release.conftest import rubric
from tests.release.test_again import Team, add_check, team

__all__ = ["team"]  # a fixture
pytestmark = [pytest.mark.slow, pytest.mark.process]


class Story(NamedTuple):
    """What ben has done, and the commands that make it green; each is one that the one before it named."""

    prepare: Callable[[Team], None]
    commands: tuple[str, ...]


def _start_anew(team: Team) -> None:
    """Let ben have what ann pushed, and no release of his own."""
    team.ben.git("tag", "-d", "rubric/tone@2.0.0")
    team.ben.git("fetch", "-q", "--tags")
    team.ben.git("reset", "-q", "--hard", "origin/main")


def _edit(team: Team) -> None:
    _start_anew(team)
    add_check(team.ben, "very")


def _commit_edit(team: Team) -> None:
    _edit(team)
    team.ben.git("commit", "-qam", "No very")


def _bump_behind(team: Team) -> None:
    """Release another rubric, on a branch that has moved on there."""
    team.ben.git("tag", "-d", "rubric/tone@2.0.0")
    team.ben.git("reset", "-q", "--hard", "HEAD~1")
    team.ben.write("rubrics/voice.yaml", rubric("voice"))
    team.ben.bump("rubric/voice")


def _revert(team: Team) -> None:
    _start_anew(team)
    team.ben.git("revert", "--no-edit", "HEAD")


def _push_without_tags(team: Team) -> None:
    _edit(team)
    team.ben.bump()
    team.ben.git("push", "-q")


def _lose_tags(team: Team) -> None:
    _edit(team)
    team.ben.git("tag", "-d", "rubric/tone@2.0.0")


def _pull_into_conflict(team: Team) -> None:
    subprocess.run(["git", "pull", "-q", "--no-rebase", "--no-edit"], cwd=team.ben.top, check=False)


def _fetch_by_force(team: Team) -> None:
    team.ben.git("fetch", "-q", "--tags", "--force")


def _go_on_after_the_release(team: Team) -> None:
    team.ben.write("notes.txt", "1\n2\n")
    team.ben.git("commit", "-qam", "More notes")


STORIES = {
    "my number was taken": Story(lambda _: None, ("bump --again --push",)),
    "my number was taken, and I went on": Story(_go_on_after_the_release, ("bump --again --push",)),
    "my number was taken, and I pulled": Story(_pull_into_conflict, ("git merge --abort", "bump --again --push")),
    "my number was taken, and I forced the tags": Story(_fetch_by_force, ("bump --again --push",)),
    "an edit": Story(_edit, ("bump --all --push",)),
    "a committed edit": Story(_commit_edit, ("bump --all --push",)),
    "a reverted release": Story(_revert, ("bump --all --push",)),
    "a branch that moved on": Story(
        _bump_behind, ("git pull --no-rebase --no-edit --tags origin main", "bump rubric/voice --push")
    ),
    "a push without tags": Story(_push_without_tags, ("bump rubric/tone --push",)),
    "a clone that lost its tags": Story(_lose_tags, ("git fetch --tags", "bump --all --push")),
}


@pytest.mark.parametrize("name", STORIES)
def test_commands_until_green(name: str, team: Team, cli: Callable[..., Any]) -> None:  # the fixture
    story = STORIES[name]
    story.prepare(team)
    for command in story.commands:
        words = shlex.split(command)
        if words[0] == "git":
            team.ben.git(*words[1:])
        else:
            ran = cli("-C", team.ben.root, *words)
            assert ran.code == 0, ran
    ran = cli("-C", team.ben.root, "verify", "--remote")
    assert ran.code == 0, ran.out
    assert team.ben.git("ls-remote", "origin", "refs/heads/main").split()[0] == team.ben.git("rev-parse", "HEAD")
