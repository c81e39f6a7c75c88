"""`--push` to a real second repository: all of it arrives or none, and the release here stands either way."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from evalstore.errors import GitError, RefusedError, UsageError
from evalstore.languages.schemas import compile_schema
from evalstore.places import find_resource_folder
from evalstore.release.changes.values import Push, PushOutcome
from evalstore.release.publishing.rebase_releases import bump_again
from evalstore.release.publishing.step import BumpOptions
from evalstore.store import ArtifactStore
from evalstore.store.repository import scratch
from evalstore.store.repository.config import ConfigSetting
from evalstore.store.repository.scratch import open_scratch_repository
from evalstore.versions import Bump
from tests.release.shop import JUDGE, Shop, check_sound, judged, rubric
from tests.release.ssh_connection import Line, serving

Cli = Callable[..., Any]


@dataclass(frozen=True)
class Far:
    """A bare repository somewhere else."""

    path: Path
    run: Callable[..., str]

    def git(self, *argv: str) -> str:
        return self.run(*argv, cwd=self.path)

    def refs(self) -> str:
        return self.git("for-each-ref", "--format=%(objectname) %(refname)")

    def hook(self, name: str, text: str) -> None:
        path = self.path / "hooks" / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)


@pytest.fixture
def far(released: Shop, git: Callable[..., str], template: Callable[..., Any], tmp_path: Path) -> Far:
    """The released shop's remote `origin`, to which main and rubric/tone@1.0.0 were pushed."""

    def build() -> None:
        git("init", "-q", "--bare", str(tmp_path / "far.git"))
        released.git("remote", "add", "origin", str(tmp_path / "far.git"))
        released.git("push", "-q", "-u", "origin", "main", "--tags")

    template("a store and its remote", build, "far.git")
    return Far(tmp_path / "far.git", git)


def push_of(shop: Shop, **options: Any) -> Push:
    done = shop.bump(push=True, **options).push
    assert done
    return done


def change(shop: Shop, word: str = "just") -> None:
    shop.write("rubrics/tone.yaml", rubric(ban=word))


def check_stands(shop: Shop, far: Far, before: str, version: str = "2.0.0") -> None:
    """Nothing moved there, and everything is here."""
    assert far.refs() == before
    assert shop.git("rev-parse", f"rubric/tone@{version}^{{commit}}") == shop.git("rev-parse", "main")
    assert shop.git("status", "--porcelain") == ""
    check_sound(shop)


def test_the_branch_and_the_tags_made_arrive_and_nothing_else(released: Shop, far: Far) -> None:
    released.git("tag", "mine")
    released.git("branch", "side")
    released.write("judges/accuracy.yaml", JUDGE)
    released.write("rubrics/reviewed.yaml", judged())
    change(released)
    push = push_of(released)
    assert (push.outcome, push.remote, push.branch, len(push.tags)) == (PushOutcome.PUSHED, "origin", "main", 3)
    assert far.git("for-each-ref", "--format=%(refname:short)").split() == [
        "main",
        "judge/accuracy@1.0.0",
        "rubric/reviewed@1.0.0",
        "rubric/tone@1.0.0",
        "rubric/tone@2.0.0",
    ]
    for name in ("main", "rubric/tone@2.0.0"):
        assert far.git("rev-parse", name) == released.git("rev-parse", name)
    assert released.git("rev-parse", "origin/main") == released.git("rev-parse", "main")
    assert "up to date" in released.git("status")
    far.git("fsck", "--strict")


def test_twice_is_once_and_again_is_up_to_date(released: Shop, far: Far) -> None:
    change(released)
    push_of(released)
    before = far.refs()
    again = released.bump("rubric/tone", push=True)
    assert (again.released, again.push and again.push.outcome) == ((), PushOutcome.UP_TO_DATE)
    assert far.refs() == before


def test_a_tag_that_is_there_already_as_it_is_here_is_no_reason_to_stop(released: Shop, far: Far) -> None:
    change(released)
    released.bump()
    released.git("push", "-q", "origin", "refs/tags/rubric/tone@2.0.0")
    pushed = released.bump("rubric/tone", push=True).push
    assert pushed == replace(push_of(released), outcome=PushOutcome.PUSHED, sent=("main",))
    assert far.git("rev-parse", "main") == released.git("rev-parse", "main")


def test_what_was_released_before_is_pushed_when_it_is_named(released: Shop, far: Far) -> None:
    change(released)
    first = released.bump().push
    assert first
    assert (first.outcome, first.command) == (
        PushOutcome.READY,
        "git push --atomic origin main refs/tags/rubric/tone@2.0.0",
    )
    assert "rubric/tone@2.0.0" not in far.refs()
    sent = ("main", "rubric/tone@2.0.0")
    assert push_of(released) == replace(first, outcome=PushOutcome.PUSHED, sent=sent)
    assert "rubric/tone@2.0.0" in far.refs()


# The remote situations: nothing moved there, everything stands here, and one command is said that mends it.


def test_a_tag_that_is_there_already(released: Shop, far: Far) -> None:
    far.git("update-ref", "refs/tags/rubric/tone@2.0.0", released.git("rev-parse", "HEAD"))
    before = far.refs()
    change(released)
    push = push_of(released)
    assert (push.outcome, push.message) == (
        PushOutcome.REJECTED,
        "rubric/tone@2.0.0 already exists there, with other content",
    )
    assert push.hint
    assert "evalstore bump --again --push origin" in push.hint
    check_stands(released, far, before)
    far.git("update-ref", "-d", "refs/tags/rubric/tone@2.0.0")
    released.git(*push.command.split()[1:])
    assert "refs/tags/rubric/tone@2.0.0" in far.refs()


@pytest.mark.process
@pytest.mark.parametrize(("branch", "version"), [("moved", "2.0.1"), ("as it was", "3.0.0")])
def test_a_version_that_somebody_else_was_first_with(
    released: Shop, far: Far, tmp_path: Path, branch: str, version: str
) -> None:
    theirs = clone_of(released, far, tmp_path)
    theirs.write("rubrics/tone.yaml", rubric(ban="theirs"))
    push_of(theirs)
    if branch == "as it was":
        far.git("update-ref", "refs/heads/main", "main~1")
    before = far.refs()
    released.write("rubrics/tone.yaml", rubric() + "x_note: ours\n")
    push = push_of(released, level=Bump.MAJOR)
    assert push.message == "rubric/tone@2.0.0 already exists there, with other content"
    check_stands(released, far, before)
    with ArtifactStore.open(released.root) as store:
        again = bump_again(store, BumpOptions(push="origin"))
    assert [one.tag for one in again.released] == [f"rubric/tone@{version}"]
    assert again.push
    assert again.push.outcome is PushOutcome.PUSHED
    assert far.git("rev-parse", "rubric/tone@2.0.0") == theirs.git("rev-parse", "rubric/tone@2.0.0")


def clone_of(shop: Shop, far: Far, tmp_path: Path) -> Shop:
    far.run("clone", "-q", str(far.path), str(tmp_path / "theirs"), cwd=tmp_path)
    return replace(shop, top=tmp_path / "theirs")


def advance(far: Far, tmp_path: Path, branch: str = "main") -> None:
    other = tmp_path / "other"
    far.run("clone", "-q", "-b", branch, str(far.path), str(other), cwd=tmp_path)
    (other / "notes.txt").write_text("theirs\n")
    far.run("add", ".", cwd=other)
    far.run("commit", "-q", "-m", "Theirs", cwd=other)
    far.run("push", "-q", cwd=other)


def test_a_branch_that_has_moved_on_there(released: Shop, far: Far, tmp_path: Path) -> None:
    advance(far, tmp_path)
    before = far.refs()
    change(released)
    push = push_of(released)
    assert (push.outcome, push.message) == (PushOutcome.REJECTED, "main has new commits there")
    assert push.hint
    assert push.hint.startswith("git pull --no-rebase --tags origin main joins both")
    check_stands(released, far, before)
    released.git("pull", "-q", "--no-rebase", "--no-edit", "--tags", "origin", "main")
    released.git(*push.command.split()[1:])
    assert far.git("rev-parse", "main") == released.git("rev-parse", "main")
    assert far.git("merge-base", "--is-ancestor", "rubric/tone@2.0.0", "main") == ""
    check_sound(released)


def test_what_is_to_be_pasted_runs_nothing_that_a_branch_is_called(released: Shop, far: Far, tmp_path: Path) -> None:
    released.git("switch", "-q", "-c", "x$(touch;ran)".replace(";", "$IFS"))
    released.git("push", "-q", "origin", "HEAD")
    advance(far, tmp_path, released.git("branch", "--show-current"))
    change(released)
    push = push_of(released)
    assert (push.message, push.hint) == (
        "x$(touch$IFSran) has new commits there",
        "git pull --no-rebase --tags origin 'x$(touch$IFSran)' joins both (a rebase would leave the tags behind); then:",
    )


def test_a_branch_that_has_moved_on_and_was_fetched(released: Shop, far: Far, tmp_path: Path) -> None:
    advance(far, tmp_path)
    released.git("fetch", "-q")
    change(released)
    before = far.refs()
    assert push_of(released).message == "main has new commits there"
    check_stands(released, far, before)


@pytest.mark.parametrize(
    ("hook", "text", "ref"),
    [
        ("pre-receive", "echo 'releases need a ticket'; exit 1", "main"),
        ("update", 'case $1 in refs/tags/*) echo "releases need a ticket"; exit 1;; esac', "rubric/tone@2.0.0"),
    ],
)
def test_a_hook_there_that_refuses(released: Shop, far: Far, hook: str, text: str, ref: str) -> None:
    far.hook(hook, text)
    before = far.refs()
    change(released)
    push = push_of(released)
    assert (push.outcome, push.message) == (
        PushOutcome.REJECTED,
        f"a hook there rejected {ref}: releases need a ticket",
    )
    check_stands(released, far, before)


def test_a_tag_there_that_leaves_no_room(released: Shop, far: Far) -> None:
    far.git("tag", "rubric/tone@2.0.0/x", "main")
    before = far.refs()
    change(released)
    push = push_of(released)
    assert push.message
    assert (push.outcome, "was rejected there" in push.message) == (PushOutcome.REJECTED, True)
    assert "'refs/tags/rubric/tone@2.0.0/x' exists" in push.message
    check_stands(released, far, before)


def test_what_was_refused_arrives_whole_with_the_same_bump_again(released: Shop, far: Far) -> None:
    released.write("judges/accuracy.yaml", JUDGE)
    released.write("rubrics/reviewed.yaml", judged())
    push_of(released)
    released.write("judges/accuracy.yaml", JUDGE.replace("right?", "so?"))
    far.hook("pre-receive", "exit 1")
    push = released.bump("judge/accuracy", dependents=True, push=True).push
    assert push
    assert push.outcome is PushOutcome.REJECTED
    (far.path / "hooks/pre-receive").unlink()
    push = released.bump("judge/accuracy", dependents=True, push=True).push
    assert push
    assert (push.outcome, push.tags) == (PushOutcome.PUSHED, ("judge/accuracy@2.0.0", "rubric/reviewed@2.0.0"))
    assert "refs/tags/rubric/reviewed@2.0.0" in far.refs()


def test_releases_that_the_branch_brings_along_arrive_with_their_tags(released: Shop, far: Far, tmp_path: Path) -> None:
    released.write("judges/accuracy.yaml", JUDGE)
    released.bump("judge/accuracy")
    released.git("tag", "mine")
    change(released)
    push = released.bump("rubric/tone", push=True).push
    assert push
    assert (push.outcome, push.tags) == (PushOutcome.PUSHED, ("rubric/tone@2.0.0", "judge/accuracy@1.0.0"))
    assert "refs/tags/mine" not in far.refs()
    theirs = clone_of(released, far, tmp_path)
    theirs.write("judges/accuracy.yaml", JUDGE.replace("right?", "so?"))
    assert [one.ref for one in theirs.bump().released] == ["judge/accuracy@2.0.0"]


def test_a_remote_that_is_gone(released: Shop, far: Far) -> None:
    far.path.rename(far.path.with_name("moved.git"))
    change(released)
    push = push_of(released)
    assert push.outcome is PushOutcome.FAILED
    assert push.message
    assert push.message.startswith("it cannot be reached: '")
    moved = replace(far, path=far.path.with_name("moved.git"))
    check_stands(released, moved, moved.refs())
    moved.path.rename(far.path)
    assert push_of(released).outcome is PushOutcome.PUSHED


def test_a_remote_that_cannot_take_all_at_once(released: Shop, far: Far) -> None:
    far.git("config", "receive.advertiseAtomic", "false")
    before = far.refs()
    change(released)
    push = push_of(released)
    assert (push.outcome, push.message) == (PushOutcome.FAILED, "it cannot update a branch and tags together")
    assert push.command == "git push origin main refs/tags/rubric/tone@2.0.0"
    check_stands(released, far, before)
    released.git(*push.command.split()[1:])
    assert "rubric/tone@2.0.0" in far.refs()


def test_a_branch_that_is_checked_out_there(released: Shop, far: Far, tmp_path: Path) -> None:
    far.run("clone", "-q", str(far.path), str(tmp_path / "tree"), cwd=tmp_path)
    released.git("remote", "set-url", "origin", str(tmp_path / "tree"))
    tree = replace(far, path=tmp_path / "tree")
    before = tree.refs()
    change(released)
    push = push_of(released)
    assert (push.outcome, push.message) == (PushOutcome.REJECTED, "main is checked out there")
    check_stands(released, tree, before)


def test_a_remote_whose_disk_is_full_or_read_only(released: Shop, far: Far) -> None:
    # Root is stopped by no permission, so a file stands where the objects arrive.
    for name in ("incoming", "tmp_objdir-incoming"):
        (far.path / "objects" / name).write_text("")
    objects = far.path / "objects"
    objects.rename(far.path / "kept")
    objects.write_text("")
    change(released)
    push = push_of(released)
    assert push.outcome is PushOutcome.FAILED
    objects.unlink()
    (far.path / "kept").rename(objects)
    check_stands(released, far, far.refs())
    assert "rubric/tone@2.0.0" not in far.refs()


@pytest.mark.parametrize("url", ["ext::sh -c 'touch ran'", "git://127.0.0.1/far.git", "http://127.0.0.1:9/far.git"])
def test_a_way_that_is_not_taken(released: Shop, far: Far, url: str, tmp_path: Path) -> None:
    released.git("remote", "set-url", "origin", url)
    released.git("config", "protocol.allow", "always")
    change(released)
    push = push_of(released)
    assert (push.outcome, push.message) == (
        PushOutcome.FAILED,
        "evalstore pushes only over https and ssh and to folders",
    )
    assert not list(tmp_path.rglob("ran"))


def test_an_address_that_begins_like_an_option(released: Shop, far: Far, tmp_path: Path) -> None:
    released.git("config", "remote.origin.url", "--receive-pack=touch ran;")
    change(released)
    assert push_of(released).outcome is PushOutcome.FAILED
    released.git("config", "remote.origin.url", "ssh://-oProxyCommand=touch ran/x")
    assert push_of(released).outcome is PushOutcome.FAILED
    assert not list(tmp_path.rglob("ran"))


def test_nothing_of_the_repository_runs_and_it_is_said_once(cli: Cli, released: Shop, far: Far, tmp_path: Path) -> None:
    marker, script = tmp_path / "ran", tmp_path / "script"
    script.write_text(f"#!/bin/sh\necho $0 >> {marker}\n")
    script.chmod(0o755)
    for name in ("pre-push", "pre-commit", "reference-transaction"):
        (released.top / ".git/hooks" / name).write_bytes(script.read_bytes())
        (released.top / ".git/hooks" / name).chmod(0o755)
    for key in ("remote.origin.receivepack", "core.sshCommand", "core.gitProxy", "core.fsmonitor", "core.askPass"):
        released.git("config", key, str(script))
    released.git("config", "credential.helper", f"!{script}")
    released.git("config", "push.gpgSign", "true")
    released.git("config", f"url.ext::{script}.pushInsteadOf", str(far.path))
    released.git("config", "protocol.ext.allow", "always")
    released.git("config", "push.recurseSubmodules", "on-demand")
    released.git("config", "push.followTags", "true")
    marker.unlink(missing_ok=True)
    change(released)
    ran = cli("-C", released.root, "bump", "--all", "--push")
    assert (ran.code, ran.err, marker.exists()) == (0, "", False)
    said = [line for line in ran.out.split("\n") if "hook" in line]
    assert said == ["The hooks pre-commit, reference-transaction and pre-push of this repository did not run."]
    assert "rubric/tone@2.0.0" in far.refs()


def test_hooks_are_looked_for_where_the_config_says(released: Shop, tmp_path: Path) -> None:
    (released.top / "husky").mkdir()
    released.git("config", "core.hooksPath", "husky")
    for name in ("commit-msg", "pre-push", "pre-commit.sample"):
        (released.top / "husky" / name).write_text("#!/bin/sh\n")
        (released.top / "husky" / name).chmod(0o755)
    change(released)
    assert released.bump().bypassed == ("commit-msg",)


# Which remote.


def test_the_remote_of_the_branch_or_the_one_that_is_named(released: Shop, far: Far, tmp_path: Path) -> None:
    far.run("init", "-q", "--bare", str(tmp_path / "second.git"), cwd=tmp_path)
    released.git("remote", "add", "second", "../second.git")
    change(released)
    assert push_of(released).remote == "origin"
    change(released, "only")
    done = released.bump(push="second").push
    assert (done and done.remote, done and done.outcome) == ("second", PushOutcome.PUSHED)
    assert "rubric/tone@3.0.0" in replace(far, path=tmp_path / "second.git").refs()
    released.git("config", "branch.main.pushRemote", "second")
    assert push_of(released).remote == "second"
    released.git("config", "--unset", "branch.main.pushRemote")
    released.git("config", "remote.pushDefault", "second")
    assert push_of(released).remote == "second"


@pytest.mark.parametrize(
    ("remotes", "name", "said"),
    [
        ({}, None, "there is no remote to push to"),
        ({"a": "x", "b": "y"}, None, "there is no remote to push to"),
        ({"a": "x"}, "b", "there is no remote named 'b'"),
        ({"a": "x"}, "--all", "there is no remote named '--all'"),
    ],
)
def test_without_a_remote_nothing_is_released(
    released: Shop, remotes: dict[str, str], name: str | None, said: str
) -> None:
    for known, url in remotes.items():
        released.git("remote", "add", known, url)
    change(released)
    before = released.snapshot()
    with pytest.raises(RefusedError, match=said):
        released.bump(push=name or True)
    assert released.snapshot() == before


def test_several_addresses_are_refused(released: Shop, far: Far) -> None:
    released.git("remote", "set-url", "--add", "--push", "origin", "one")
    released.git("remote", "set-url", "--add", "--push", "origin", "two")
    change(released)
    with pytest.raises(RefusedError, match="origin has 2 addresses"):
        released.bump(push=True)


def test_a_detached_head_has_no_branch_to_push(released: Shop, far: Far) -> None:
    released.git("checkout", "-q", "--detach")
    with pytest.raises(RefusedError, match="HEAD is detached, so there is no branch to push"):
        released.bump(push=True)


def test_without_a_commit_there_is_nothing_to_push(released: Shop, far: Far) -> None:
    with pytest.raises(UsageError, match="there is nothing to push without a commit"):
        released.bump(push=True, commit=False)


def test_a_branch_without_a_commit_has_nothing_to_push(shop: Shop, tmp_path: Path) -> None:
    shop.git("init", "-q", "--bare", str(tmp_path / "far.git"))
    shop.git("remote", "add", "origin", str(tmp_path / "far.git"))
    (shop.top / "rubrics/tone.yaml").unlink()
    assert shop.bump(push=True).push is None
    assert shop.run("for-each-ref", cwd=tmp_path / "far.git") == ""


def test_a_disk_that_is_full_before_the_push_undoes_nothing(
    released: Shop, far: Far, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    change(released)
    before = far.refs()
    with monkeypatch.context() as patch:
        patch.setattr(scratch, "open_scratch_repository", full)
        push = push_of(released)
    assert (push.outcome, push.message) == (PushOutcome.FAILED, "the push failed: no space left on device")
    check_stands(released, far, before)


def test_a_dry_run_pushes_nothing(released: Shop, far: Far) -> None:
    change(released)
    before = far.refs()
    done = released.bump(push=True, dry_run=True).push
    assert done == Push("origin", "main", ("rubric/tone@2.0.0",), PushOutcome.READY)
    assert far.refs() == before
    assert released.bump(dry_run=True).push is None


def test_without_a_tag_the_branch_alone_is_pushed(released: Shop, far: Far) -> None:
    change(released)
    push = push_of(released, tag=False)
    assert (push.outcome, push.tags) == (PushOutcome.PUSHED, ())
    assert far.git("rev-parse", "main") == released.git("rev-parse", "main")
    assert "rubric/tone@2.0.0" not in far.refs()


# Clones of every kind.


def test_from_a_sha256_repository(tmp_path: Path, git: Callable[..., str]) -> None:
    (tmp_path / "repo").mkdir()
    git("init", "-q", "--object-format=sha256", ".")
    git("init", "-q", "--bare", "--object-format=sha256", str(tmp_path / "far.git"))
    shop = Shop(tmp_path / "repo", git)
    shop.git("remote", "add", "origin", str(tmp_path / "far.git"))
    shop.write("rubrics/tone.yaml", rubric())
    assert push_of(shop).outcome is PushOutcome.PUSHED
    assert len(git("rev-parse", "main", cwd=tmp_path / "far.git")) == 64


@pytest.mark.parametrize("option", ["--depth=1", "--filter=blob:none"])
def test_from_a_shallow_or_partial_clone(released: Shop, far: Far, tmp_path: Path, option: str) -> None:
    for number in range(3):
        released.git("commit", "-q", "--allow-empty", "-m", str(number))
    released.git("push", "-q")
    far.git("config", "uploadpack.allowFilter", "true")
    released.run("clone", "-q", option, f"file://{far.path}", str(tmp_path / "clone"), cwd=tmp_path)
    clone = replace(released, top=tmp_path / "clone")
    clone.git("fetch", "-q", "--tags")
    change(clone)
    assert push_of(clone).outcome is PushOutcome.PUSHED
    assert far.git("rev-parse", "main") == clone.git("rev-parse", "main")
    far.git("fsck", "--strict")


def test_from_a_linked_worktree_and_a_subfolder(released: Shop, far: Far, tmp_path: Path) -> None:
    released.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    side = replace(released, top=tmp_path / "side")
    change(side)
    push = push_of(side)
    assert (push.branch, push.outcome) == ("side", PushOutcome.PUSHED)
    assert far.git("rev-parse", "side") == side.git("rev-parse", "HEAD")


def test_a_token_that_a_build_server_put_into_the_clone_goes_along(released: Shop, far: Far) -> None:
    header = 'AUTHORIZATION: basic "x\\y" # ; é'
    released.git("config", "http.https://example.org/.extraheader", header)
    change(released)
    assert push_of(released).outcome is PushOutcome.PUSHED
    headers = [ConfigSetting("http.https://example.org/.extraheader", header)]
    odd = [ConfigSetting("http.a.extraheader", "x\ny\t]"), ConfigSetting("a.b c.d", "\n[core]\n")]
    with ArtifactStore.open(released.root) as store:
        with open_scratch_repository(store.git, 40, headers) as own:
            asked = ("config", "--get-urlmatch", "http.extraheader", "https://example.org/far.git")
            assert own.run(*asked).decode() == f"{header}\n"
            assert (
                own.run_or_none("config", "--get-urlmatch", "http.extraheader", "https://example.com/far.git") is None
            )
        with open_scratch_repository(store.git, 40, odd) as own:
            for key, value in odd:
                assert own.run("config", "--null", "--get", key).decode() == f"{value}\0"
        with (
            pytest.raises(GitError, match="control character"),
            open_scratch_repository(store.git, 40, [ConfigSetting("a.b", "\x1b")]),
        ):
            pass


# A line to another machine.


@pytest.fixture
def line(
    released: Shop, far: Far, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Line]:
    released.git("remote", "set-url", "origin", f"ssh://far{far.path}")
    with serving(tmp_path_factory.mktemp("l")) as line:
        monkeypatch.setenv("GIT_SSH_COMMAND", str(line.ssh))
        yield line


def test_over_ssh_as_the_user_has_it(released: Shop, far: Far, line: Line) -> None:
    change(released)
    assert push_of(released).outcome is PushOutcome.PUSHED
    assert far.git("rev-parse", "rubric/tone@2.0.0") == released.git("rev-parse", "rubric/tone@2.0.0")


def test_a_line_that_is_cut(released: Shop, far: Far, line: Line) -> None:
    change(released)
    released.bump()
    before = far.refs()
    for budget in (1, 100, 400, 800, 1000):
        line.budget = budget
        done = released.bump("rubric/tone", push=True).push
        assert done
        assert (done.outcome, far.refs()) == (PushOutcome.FAILED, before), budget
    line.budget = None
    assert push_of(released).outcome is PushOutcome.PUSHED
    assert line.carried > 1000
    far.git("fsck", "--strict")
    check_sound(released)


def test_nobody_to_let_us_in(released: Shop, far: Far, line: Line) -> None:
    line.ssh.write_text("#!/bin/sh\necho 'far: Permission denied (publickey).' >&2\nexit 255\n")
    change(released)
    push = push_of(released)
    assert (push.outcome, push.message) == (PushOutcome.FAILED, "it denied you access")
    assert push.hint
    assert push.hint.startswith("evalstore asks only your global git config for passwords and keys")


# What is said.


def document(cli: Cli, shop: Shop, *words: str) -> tuple[int, Any]:
    ran = cli("-C", shop.root, "bump", *words, "--format", "json")
    answer = json.loads(ran.out)
    schema = json.loads((find_resource_folder("schema") / "output/bump.schema.json").read_text())
    assert list(compile_schema(schema).find_violations(answer)) == []
    return ran.code, answer


def test_the_command_and_its_answers(cli: Cli, released: Shop, far: Far) -> None:
    change(released)
    ran = cli("-C", released.root, "bump", "--all")
    assert ran.out.endswith("\nNothing was pushed.\n")
    assert ran.next_steps == f"next: git -C {released.root} push --atomic origin main refs/tags/rubric/tone@2.0.0\n"
    ran = cli("-C", released.root, "bump", "--push", "rubric/tone")
    assert (ran.code, ran.out.split("\n")[1]) == (0, "Pushed main and 1 tag to origin.")
    ran = cli("-C", released.root, "bump", "rubric/tone", "--push=origin")
    assert ran.out.split("\n")[1] == "origin has main and 1 tag already."
    far.git("tag", "-d", "rubric/tone@2.0.0")
    ran = cli("-C", released.root, "bump", "rubric/tone", "--push")  # says what was sent, not what goes along
    assert ran.out.split("\n")[1] == "Pushed 1 tag to origin."
    change(released, "only")
    far.hook("pre-receive", "exit 1")
    ran = cli("-C", released.root, "bump", "--all", "--push", "origin")
    assert (ran.code, ran.err) == (1, "")
    assert ran.out.split("\n")[2:] == [
        "Not pushed to origin: a hook there rejected main. The release here is complete.",
        "  when that is fixed:",
        "  git push --atomic origin main refs/tags/rubric/tone@3.0.0",
        "",
    ]


def test_one_document_whatever_the_remote_says(cli: Cli, released: Shop, far: Far) -> None:
    change(released)
    far.hook("pre-receive", "exit 1")
    code, answer = document(cli, released, "--all", "--push")
    assert (code, answer["push"]["outcome"], answer["branch"]) == (1, "rejected", "main")
    assert answer["released"][0]["tag"] == "rubric/tone@2.0.0"
    (far.path / "HEAD").unlink()
    code, answer = document(cli, released, "--all", "--push")
    assert (code, answer["push"]["outcome"], answer["released"]) == (3, "failed", [])


def test_a_password_in_an_address_is_not_shown(released: Shop, far: Far) -> None:
    released.git("remote", "set-url", "origin", "https://ada:s3cret@127.0.0.1:9/far.git")
    change(released)
    push = push_of(released)
    assert push.outcome is PushOutcome.FAILED
    assert "s3cret" not in f"{push.message} {push.hint} {push.command}"


@pytest.mark.parametrize("argv", [["verify", "--remote", "origin"], ["bump", "--again"], ["bump", "--all", "--push"]])
@pytest.mark.parametrize("address", ["https://ada:s3cret@127.0.0.1:9/far.git", "https://s3cret@127.0.0.1:9/f?s3cret"])
def test_no_command_shows_the_password_of_a_remote(
    released: Shop, far: Far, cli: Cli, argv: list[str], address: str
) -> None:
    released.git("remote", "set-url", "origin", address)
    change(released)
    for options in ([], ["--format", "json"]):
        ran = cli("-C", released.root, *argv, *options)
        assert ran.code == 3
        assert "127.0.0.1:9" in f"{ran.out}{ran.err}"
        assert "s3cret" not in f"{ran.out}{ran.err}{ran.next_steps}"


def test_many_tags_make_a_command_that_fits_the_page(cli: Cli, shop: Shop, tmp_path: Path) -> None:
    shop.git("init", "-q", "--bare", str(tmp_path / "far.git"))
    shop.git("remote", "add", "origin", str(tmp_path / "far.git"))
    for number in range(12):
        shop.write(f"rubrics/rubric_number_{number}.yaml", rubric(f"rubric_number_{number}"))
    ran = cli("-C", shop.root, "bump", "--all", COLUMNS="100")
    said = ran.next_steps.removeprefix("next: ")
    assert max(map(len, said.split("\n"))) <= 100
    subprocess.run(["sh", "-e", "-c", said], cwd=shop.top, check=True, capture_output=True, env=os.environ)
    assert len(shop.git("ls-remote", "--tags", "--refs", "origin").split("\n")) == 13


# Releases that reached nobody, although their commits did.


def test_tags_that_a_plain_push_left_behind_arrive_with_the_next_bump(released: Shop, far: Far) -> None:
    change(released)
    released.bump()
    released.git("push", "-q", "origin", "main")
    change(released, "merely")
    push = push_of(released)
    assert (push.outcome, push.tags) == (PushOutcome.PUSHED, ("rubric/tone@3.0.0", "rubric/tone@2.0.0"))
    assert {"rubric/tone@2.0.0", "rubric/tone@3.0.0"} <= set(far.git("tag", "--list").split())


def test_tags_that_a_squash_merge_left_behind_arrive_too(released: Shop, far: Far) -> None:
    released.git("switch", "-q", "-c", "side")
    change(released)
    released.bump()
    released.git("switch", "-q", "main")
    released.git("merge", "-q", "--squash", "side")
    released.git("commit", "-q", "-m", "squashed")
    released.git("push", "-q", "origin", "main")
    released.write("rubrics/tone.yaml", rubric(version="2.0.0", ban="merely"))
    push_of(released)
    assert "rubric/tone@2.0.0" in far.git("tag", "--list").split()


def test_verify_names_releases_that_the_remote_lacks_or_has_otherwise(cli: Cli, released: Shop, far: Far) -> None:
    assert cli("verify", "--remote", cwd=released.root).code == 0
    change(released)
    released.bump()
    ran = cli("verify", "--remote", "origin", "--format", "json", cwd=released.root)
    (finding,) = json.loads(ran.out)["findings"]
    assert (ran.code, finding["rule"]) == (1, "release-unpushed")
    released.git(*finding["hint"].partition(": git ")[2].split())
    assert cli("verify", "--remote", cwd=released.root).code == 0
    far.git("update-ref", "refs/tags/rubric/tone@1.0.0", released.git("rev-parse", "HEAD"))
    ran = cli("verify", "--remote", "--format", "json", cwd=released.root)
    assert [one["rule"] for one in json.loads(ran.out)["findings"]] == ["release-differs-there"]
    assert cli("verify", "--remote", "nowhere", cwd=released.root).code == 3


@pytest.mark.chaos
@pytest.mark.parametrize("ours", [True, False])
def test_the_lock_of_a_tracking_branch_that_a_killed_push_left_is_cleared(
    released: Shop, far: Far, *, ours: bool
) -> None:
    # git creates the lock, and dies with its process: every later fetch would fail.
    lock, note = released.top / ".git/refs/remotes/origin/main.lock", released.top / ".git/evalstore/push.json"
    change(released)
    child = os.fork()
    if not child:
        sys.addaudithook(lambda event, _: os._exit(9) if event == "subprocess.Popen" and note.exists() else None)
        try:
            released.bump(push=True)
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert far.git("rev-parse", "main") == released.git("rev-parse", "main") != released.git("rev-parse", "origin/main")
    lock.touch()
    if not ours:
        os.utime(lock, ns=(0, 0))  # older than what we have begun
    with pytest.raises(AssertionError, match=r"main\.lock"):
        released.git("fetch", "origin")
    released.bump("rubric/tone")
    assert (lock.exists(), note.exists()) == (not ours, False)
    if ours:
        released.git("fetch", "origin")
        assert released.git("rev-parse", "main") == released.git("rev-parse", "origin/main")


def test_a_note_of_a_push_that_a_stranger_wrote_removes_nothing(released: Shop) -> None:
    released.write(".git/evalstore/push.json", '["refs/heads/main", "refs/remotes/../../mine", 5]')
    locks = [released.write(f".git/{name}.lock", "") for name in ("refs/heads/side", "mine")]
    released.bump()
    assert all(lock.exists() for lock in locks)
    assert not (released.top / ".git/evalstore/push.json").exists()
