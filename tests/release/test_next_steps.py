"""What a team is told to do next is true: after a right bump, in a clone without tags, after a revert, beside a hotfix."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from evalstore.errors import RefError, RefusedError
from evalstore.model import parse_ref
from evalstore.release.history.release_log import read_release_log
from evalstore.store import ArtifactStore
from tests.release.shop import Shop, check_sound, rubric

Cli = Callable[..., Any]
DATASET = "id: web\nversion: 1.0.0\nquestions:\n  - {id: a, input: Why?, rubric_ref: rubric/tone@1.0.0}\n"


def test_what_was_released_since_the_base_needs_no_bump(released: Shop, cli: Cli) -> None:
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    released.bump()
    ran = cli("-C", released.root, "status", "--base", "rubric/tone@1.0.0")
    assert (ran.code, ran.next_steps) == (0, "")
    assert "1 of 1 artifact differs from the base; 1 version of them is released" in ran.out


def test_pins_that_followed_a_release_since_the_base_are_not_said_to_stay_behind(released: Shop, cli: Cli) -> None:
    released.write("datasets/web.yaml", DATASET)
    released.bump()
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    released.bump("rubric/tone", dependents=True)
    ask = partial(cli, "-C", released.root, "status", "--base", "dataset/web@1.0.0")
    assert "reaches 1 dataset and 1 question\n" in ask().out
    tone = next(one for one in json.loads(ask("--format", "json").out)["artifacts"] if one["ref"] == "rubric/tone")
    assert (tone["working"], tone["next_version"], tone["pins"]) == ("2.0.0", "2.0.0", [])


def test_a_release_of_a_squashed_branch_is_on_the_branch_that_took_it(released: Shop, cli: Cli) -> None:
    """The tag stays on the commit of a branch that is gone; another branch has the file and the ledger's line."""
    released.git("switch", "-qc", "edit")
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    released.bump()
    for branch in ("taken", "main"):
        released.git("switch", "-qC", branch, "main")
        if branch == "taken":
            released.git("merge", "-q", "--squash", "edit")
            released.git("commit", "-qm", "Squash")
    for gone, where in ((), "edit has"), (("edit",), "taken has"), (("taken",), "no branch here has"):
        for branch in gone:
            released.git("branch", "-qD", branch)
        said = " ".join(cli("-C", released.root, "status").out.split())
        assert f"; {where} the released 2.0.0" in said


def test_what_is_new_and_was_released_since_the_base_is_not_called_unreleased(released: Shop, cli: Cli) -> None:
    released.write("rubrics/voice.yaml", rubric("voice"))
    released.bump()
    released.write("rubrics/pace.yaml", rubric("pace"))
    ran = cli("-C", released.root, "status", "--base", "rubric/tone@1.0.0")
    assert "rubric/voice  -         1.0.0  -      new, released since the base" in ran.out
    assert "rubric/pace   -         1.0.0  -      new, never released" in ran.out
    assert ran.out.endswith("1 of 3 artifacts was never released; 1 more is new and released\n")
    assert ran.next_steps == f"next: evalstore -C {released.root} bump --all\n"


def test_a_clone_without_tags_is_told_where_they_are(released: Shop, git: Callable[..., str], tmp_path: Path) -> None:
    released.write("datasets/web.yaml", DATASET)
    released.git("add", ".")
    released.git("commit", "-qm", "Web")
    for depth, told in (
        (("--depth=1",), "git fetch --unshallow --tags;"),
        ((), "if nobody has it, Ada Tester pushes it"),
    ):
        folder = tmp_path / f"clone{len(depth)}"
        git("clone", "-q", "--no-tags", *depth, f"file://{released.top}", str(folder))
        clone = Shop(folder, git)
        # The release job of a change that writes its version: no other release of the rubric is known to the clone.
        clone.write("rubrics/tone.yaml", rubric(ban="just", version="3.0.0"))
        with pytest.raises((RefusedError, RefError)) as refused:
            clone.bump()
        assert refused.value.message == "rubric/tone@1.0.0 was released, but its tag is not in this clone"
        assert told in (refused.value.hint or "")
    assert "git push origin refs/tags/rubric/tone@1.0.0" in (refused.value.hint or "")
    assert "in a fork: git fetch" in (refused.value.hint or "")
    clone.git("remote", "add", "upstream", str(released.top))
    with pytest.raises((RefusedError, RefError)) as refused:
        clone.bump()
    assert (refused.value.hint or "").startswith("git fetch upstream --tags;")


def test_every_command_names_the_version_that_nobody_has(released: Shop, cli: Cli) -> None:
    released.git("switch", "-q", "-c", "other")
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    released.bump()
    released.git("switch", "-q", "main")
    released.write("rubrics/tone.yaml", rubric(ban="only"))
    way_out = "write 3.0.0 into the file; or commit the edit, then git merge rubric/tone@2.0.0"
    for words in (("status",), ("gate", "--base", "main")):
        ran = cli("-C", released.root, *words)
        assert ("needs 3.0.0, but is still 1.0.0" in ran.out, f"hint: {way_out}" in ran.out) == (True, True)
        assert ran.next_steps == ""
    for words in (("diff",), ("diff", "rubric/tone"), ("diff", "rubric/tone@1.0.0", "rubric/tone@worktree")):
        ran = cli("-C", released.root, *words)
        assert "the next version is 3.0.0; 2.0.0 is released already" in ran.out, words
        assert ran.next_steps == f"next: evalstore -C {released.root} status\n"
    ran = cli("-C", released.root, "bump", "--all")
    assert (ran.code, f"hint: {way_out}" in ran.err) == (3, True)
    released.write("rubrics/tone.yaml", rubric(ban="only", version="3.0.0"))
    assert [one.ref for one in released.bump().released] == ["rubric/tone@3.0.0"]
    assert released.verify().ok


def test_what_diff_says_after_a_candidate_can_be_accepted_and_explained(released: Shop, cli: Cli) -> None:
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    released.bump(pre="rc")
    released.write("rubrics/tone.yaml", rubric(ban="only", version="2.0.0-rc.1"))
    for words in (("diff",), ("diff", "rubric/tone")):
        ran = cli("-C", released.root, *words)
        assert ran.next_steps == f"next: evalstore -C {released.root} status\n"
    ran = cli("-C", released.root, "status")
    assert (ran.next_steps, "hint: release the next pre-release with --pre" in ran.out) == ("", True)
    found = json.loads(cli("-C", released.root, "diff", "rubric/tone", "--format", "json").out)["findings"][0]
    assert cli("-C", released.root, "explain", found["fingerprint"]).code == 0
    assert cli("-C", released.root, "accept", found["fingerprint"], "--reason", "same").code == 0
    assert "accepted: phrase-reworded from major" in cli("-C", released.root, "bump", "--all", "--pre", "rc").out


def test_a_tag_that_a_plain_push_left_behind_is_pushed_by_who_has_it(
    released: Shop, git: Callable[..., str], cli: Cli, tmp_path: Path
) -> None:
    far = str(tmp_path / "far.git")
    git("clone", "-q", "--bare", str(released.top), far)
    git("clone", "-q", far, str(tmp_path / "ben"))
    ben = Shop(tmp_path / "ben", git)
    released.git("remote", "add", "origin", far)
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    released.bump()
    released.git("push", "-q", "origin", "main")
    ben.git("pull", "-q", "--tags")
    ben.write("rubrics/voice.yaml", rubric("voice"))
    ran = cli("-C", ben.root, "bump", "--all", "--push")
    assert ran.code == 3
    told = "if nobody has it, Ada Tester pushes it: git push origin refs/tags/rubric/tone@2.0.0;"
    assert told in " ".join(ran.err.split())
    released.git("push", "-q", "origin", "refs/tags/rubric/tone@2.0.0")
    ben.git("fetch", "-q", "--tags")
    assert cli("-C", ben.root, "bump", "--all", "--push").code == 0
    check_sound(ben)


def test_a_reverted_release_is_undone_by_a_new_one(released: Shop, cli: Cli) -> None:
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    released.bump()
    released.git("revert", "--no-edit", "HEAD")
    ran = cli("-C", released.root, "verify")
    assert "a release is undone by a new one, after a git revert, too: evalstore bump rubric/tone" in " ".join(
        ran.out.split()
    )
    assert [one.ref for one in released.bump().released] == ["rubric/tone@3.0.0"]
    assert cli("-C", released.root, "verify").code == 0
    check_sound(released)


def test_a_hotfix_of_an_old_line_leaves_the_log_as_it_was(released: Shop) -> None:
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    released.bump()
    with ArtifactStore.open(released.root) as store:
        before = read_release_log(store, parse_ref("rubric/tone")).releases[0]
    released.git("switch", "-q", "-c", "hotfix", "rubric/tone@1.0.0")
    released.write("rubrics/tone.yaml", rubric(title="Our tone"))
    released.bump()
    released.git("switch", "-q", "main")
    with ArtifactStore.open(released.root) as store:
        log = read_release_log(store, parse_ref("rubric/tone")).releases
    assert [str(entry.logged.version) for entry in log] == ["2.0.0", "1.0.1", "1.0.0"]
    assert (log[0].rules, str(log[0].before)) == (before.rules, "1.0.0")


def test_a_rename_without_its_kind_is_said_and_stops_no_command(released: Shop, cli: Cli) -> None:
    for renames in ("{web: {a: b}}", "{a: b}"):
        released.write("evalstore.yaml", f"renames: {renames}\n")
        for words in (("status",), ("diff",), ("log", "rubric/tone"), ("bump", "--all", "--dry-run")):
            assert cli("-C", released.root, *words).code == 0, words
        ran = cli("-C", released.root, "validate")
        assert ran.code == 1
        assert "write dataset/<id>: a dataset's reference" in ran.out.lower().replace("\n", " ")


@pytest.mark.slow
def test_a_branch_that_was_never_pushed_takes_in_the_default_branch(
    released: Shop, git: Callable[..., str], tmp_path: Path, cli: Cli
) -> None:
    git("init", "-q", "--bare", str(tmp_path / "far.git"))
    released.git("remote", "add", "origin", str(tmp_path / "far.git"))
    released.git("push", "-q", "-u", "origin", "main", "--tags")
    git("clone", "-q", str(tmp_path / "far.git"), str(tmp_path / "mine"))
    mine = Shop(tmp_path / "mine", git)
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    released.bump(push=True)
    mine.git("switch", "-q", "-c", "mine")
    mine.write("rubrics/tone.yaml", rubric(title="Our tone"))
    mine.bump(level=None)
    mine.write("rubrics/tone.yaml", rubric(title="Our tone", version="2.0.0"))
    mine.bump()
    ran = cli("-C", mine.root, "bump", "rubric/tone", "--push")
    assert ran.code == 1
    assert "evalstore bump --again --push origin" in ran.out
    assert "git pull" not in ran.out
    assert cli("-C", mine.root, "bump", "--again", "--push", "origin").code == 0
    assert "[just]" in mine.read("rubrics/tone.yaml").decode()
    check_sound(mine)
