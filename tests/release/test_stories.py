"""Everyday stories of a team: which commands lead to a pushed branch that `verify --remote` finds nothing wrong with."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.release.shop import Shop, rubric
from tests.release.test_bump_again import Team, add_check, team

__all__ = ["team"]  # a fixture
pytestmark = [pytest.mark.slow, pytest.mark.process]


class Story(NamedTuple):
    """What ben has done, and the commands that make it green; each is one that the one before it named.

    `prepare` returns the clone in which it happens, by default ben's. A command that fails begins with "!".
    """

    prepare: Callable[[Team], Shop | None]
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


def _find_far(team: Team) -> Path:
    return Path(team.ben.git("remote", "get-url", "origin"))


def _clone(team: Team, name: str, *options: str) -> Shop:
    folder = team.ben.top.parent / name
    team.ben.git("clone", "-q", *options, f"file://{_find_far(team)}", str(folder))
    return Shop(folder, team.ben.run)


def _push_notes(team: Team) -> None:
    team.ann.write("notes.txt", "2\n")
    team.ann.git("commit", "-qam", "Notes")
    team.ann.git("push", "-q", "--force")


def _clone_shallow(team: Team) -> Shop:
    _push_notes(team)
    job = _clone(team, "job", "--depth=1")
    add_check(job, "very")
    return job


def _clone_fork(team: Team) -> Shop:
    far = _find_far(team)
    team.ben.git("clone", "-q", "--bare", "--no-tags", str(far), str(far.parent / "fork.git"))
    fork = _clone(team, "fork")
    fork.git("remote", "set-url", "origin", str(far.parent / "fork.git"))
    fork.git("remote", "add", "upstream", str(far))
    fork.git("tag", "-d", *team.ann.tags())
    add_check(fork, "very")
    return fork


def _release_on_branch(team: Team) -> None:
    _start_anew(team)
    team.ben.git("switch", "-q", "-c", "feature")
    add_check(team.ben, "very")
    team.ben.bump(push=True)
    team.ben.git("switch", "-q", "main")


def _squash(team: Team) -> None:
    _release_on_branch(team)
    team.ben.git("merge", "-q", "--squash", "feature")
    team.ben.git("commit", "-qm", "Feature (#1)")
    team.ben.git("push", "-q")
    team.ben.git("branch", "-qD", "feature")
    team.ben.git("push", "-q", "origin", ":feature")
    add_check(team.ben, "only")


def _pick(team: Team) -> None:
    _release_on_branch(team)
    team.ben.git("cherry-pick", "feature")


def _delete_branch(team: Team) -> None:
    _release_on_branch(team)
    team.ben.git("branch", "-qD", "feature")
    team.ben.git("push", "-q", "origin", ":feature")
    team.ben.git("fetch", "-q", "--prune")


def _edit_beside_a_branch(team: Team) -> None:
    _release_on_branch(team)
    add_check(team.ben, "only")


def _rebase(team: Team) -> None:
    _edit(team)
    team.ben.bump()
    _push_notes(team)
    team.ben.git("pull", "-q", "--rebase")


def _fix_old_line(team: Team) -> None:
    _start_anew(team)
    team.ben.git("switch", "-q", "-c", "v1", "rubric/tone@1.0.0")
    team.ben.write("rubrics/tone.yaml", rubric(title="Our tone"))


def _rename(shop: Shop, id_: str) -> None:
    shop.git("mv", "rubrics/tone.yaml", f"rubrics/{id_}.yaml")
    shop.write(f"rubrics/{id_}.yaml", rubric(id_))


def _rename_twice(team: Team) -> None:
    _start_anew(team)
    _rename(team.ann, "voice")
    team.ann.bump(push=True)
    _rename(team.ben, "speech")
    team.ben.bump()


def _release_lower(team: Team) -> None:
    """Release 1.0.1, where ann has released 2.0.0."""
    team.ben.git("tag", "-d", "rubric/tone@2.0.0")
    team.ben.git("reset", "-q", "--hard", "HEAD~1")
    team.ben.write("rubrics/tone.yaml", rubric(title="Our tone"))
    team.ben.bump()


def _merge_ledgers(team: Team) -> None:
    _release_lower(team)
    subprocess.run(["git", "pull", "-q", "--no-rebase", "--no-edit", "--tags"], cwd=team.ben.top, check=False)


def _detach(team: Team) -> None:
    _edit(team)
    team.ben.git("checkout", "-q", "--detach")


def _rename_questions(team: Team) -> None:
    _edit(team)
    team.ben.write("evalstore.yaml", "renames: {web: site}\n")


def _add_roots(team: Team) -> None:
    _start_anew(team)
    for root in ("one", "two"):
        team.ben.write(f"{root}/evalstore.yaml", f"tag_prefix: {root}/\n")
        team.ben.write(f"{root}/rubrics/tone.yaml", rubric())
    team.ben.git("add", ".")


def _force_main(team: Team) -> None:
    _edit(team)
    team.ben.bump(push=True)
    _push_notes(team)
    add_check(team.ben, "only")
    team.ben.bump()


def _clone_module(team: Team) -> Shop:
    host = team.ben.top.parent / "host"
    team.ben.git("init", "-q", str(host))
    add = ("submodule", "--quiet", "add", str(_find_far(team)), "evals")
    team.ben.run("-c", "protocol.file.allow=always", *add, cwd=host)
    module = Shop(host / "evals", team.ben.run)
    module.git("checkout", "-q", "--detach")
    add_check(module, "very")
    return module


def _add_worktree(team: Team) -> Shop:
    _start_anew(team)
    tree = Shop(team.ben.top.parent / "tree", team.ben.run)
    team.ben.git("worktree", "add", "-q", str(tree.top), "-b", "feature")
    add_check(tree, "very")
    return tree


def _run_release_job(team: Team) -> Shop:
    """Let ann commit an edit, ben release it, and a job release the same."""
    add_check(team.ann, "very")
    team.ann.git("commit", "-qam", "Very (#1)")
    team.ann.git("push", "-q")
    job = _clone(team, "job")
    _start_anew(team)
    team.ben.bump(push=True)
    job.bump()
    return job


def _push_in_part(team: Team) -> None:
    team.ben.write("rubrics/voice.yaml", rubric("voice"))
    team.ben.bump()
    subprocess.run(["git", "push", "-q", "origin", "main", "--tags"], cwd=team.ben.top, check=False)


def _pull_without_tags(team: Team) -> Shop:
    clone = _clone(team, "older", "--no-tags")
    add_check(clone, "very")
    return clone


def _revert_revert(team: Team) -> None:
    _edit(team)
    team.ben.bump()
    team.ben.git("revert", "--no-edit", "HEAD")
    team.ben.git("revert", "--no-edit", "HEAD")


def _lose_tag_everywhere(team: Team) -> None:
    _edit(team)
    team.ben.bump(push=True)
    team.ben.git("push", "-q", "origin", ":refs/tags/rubric/tone@3.0.0")
    team.ben.git("tag", "-d", "rubric/tone@3.0.0")


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
    "a shallow release job": Story(_clone_shallow, ("git fetch --unshallow --tags", "bump --all --push")),
    "a fork without the tags": Story(_clone_fork, ("git fetch upstream --tags", "bump --all --push")),
    "a squash merge of a released branch": Story(_squash, ("bump --all --push",)),
    "a cherry-picked release": Story(_pick, ("bump --all --push",)),
    "a rebase after the bump": Story(_rebase, ("bump rubric/tone --push",)),
    "a fix of 1.x while main is at 2.x": Story(_fix_old_line, ("bump --all --push",)),
    "two people rename one rubric": Story(
        _rename_twice,
        ("git stash", "git pull --no-rebase --no-edit --tags origin main", "bump rubric/speech --push"),
    ),
    "ledgers in conflict": Story(_merge_ledgers, ("git merge --abort", "bump --again --push")),
    "two numbers, without a pull": Story(_release_lower, ("bump --again --push",)),
    "two numbers, with the driver": Story(
        _merge_ledgers,
        (
            "git merge --abort",
            "init --merge-driver",
            "git pull --no-rebase --no-edit --tags origin main",
            "bump --all --push",
        ),
    ),
    "a detached HEAD": Story(_detach, ("git switch main", "bump --all --push")),
    "a released branch that was deleted": Story(
        _delete_branch, ("git merge --no-edit rubric/tone@3.0.0", "bump --all --push")
    ),
    "an edit while a branch has the number": Story(
        _edit_beside_a_branch,
        (
            "git commit -qam Edit",
            "!git merge --no-edit rubric/tone@3.0.0",
            "git merge --abort",
            "init --merge-driver",
            "git merge --no-edit rubric/tone@3.0.0",
            "bump --all --push",
        ),
    ),
    "renames without dataset/": Story(_rename_questions, ("bump --all --push",)),
    "two roots with one path": Story(_add_roots, ("-C one bump --all --push", "-C two bump --all --push")),
    "a main that was pushed by force": Story(
        _force_main, ("git pull --no-rebase --no-edit --tags origin main", "bump --all --push")
    ),
    "a submodule": Story(_clone_module, ("git switch main", "bump --all --push")),
    "a worktree": Story(_add_worktree, ("bump --all --push",)),
    "a release job beside a person": Story(_run_release_job, ("bump --again --push",)),
    "a push of which a part arrived": Story(_push_in_part, ("bump --again --push",)),
    "a clone that pulled without tags": Story(_pull_without_tags, ("git fetch --tags", "bump --all --push")),
    "a revert of a revert": Story(_revert_revert, ("bump --all --push",)),
    "a tag that everybody lost": Story(
        _lose_tag_everywhere,
        ("git tag -a -m 'Release rubric/tone@3.0.0' rubric/tone@3.0.0 HEAD", "bump --all --push"),
    ),
}


@pytest.mark.parametrize("name", STORIES)
def test_commands_until_green(name: str, team: Team, cli: Callable[..., Any]) -> None:  # the fixture
    story = STORIES[name]
    shop = story.prepare(team) or team.ben
    # The merge driver is evalstore itself.
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for command in story.commands:
        words = shlex.split(command.removeprefix("!"))
        if words[0] == "git":
            failed = subprocess.run(words, cwd=shop.top, env=env, check=False, capture_output=True).returncode != 0
        else:
            root = shop.root / words.pop(1) if words[0] == "-C" else shop.root
            ran = cli("-C", root, *[word for word in words if word != "-C"])
            failed = ran.code != 0
        assert failed == command.startswith("!"), command
    ran = cli("-C", shop.root, "verify", "--remote")
    assert ran.code == 0, ran.out
    branch = shop.git("branch", "--show-current")
    assert shop.git("ls-remote", "origin", f"refs/heads/{branch}").split()[0] == shop.git("rev-parse", "HEAD")
