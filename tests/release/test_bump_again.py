"""`bump --again`: two people released one version; the second takes the first one's in, and has the next number."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from evalstore.errors import RefusedError
from evalstore.release.changes.values import PushOutcome, Released
from evalstore.release.publishing.rebase_releases import bump_again
from evalstore.release.publishing.step import BumpOptions
from evalstore.store import ArtifactStore
from tests.release.shop import Shop, check_sound, rubric, set_traps

pytestmark = pytest.mark.process  # git starts the merge driver
STEPS = {"subprocess.Popen", "os.rename", "os.link", "os.remove", "os.mkdir", "os.utime"}


class Team(NamedTuple):
    """Two clones of one repository: `ann` has pushed a release of rubric/tone, `ben` has one of the same number."""

    ann: Shop
    ben: Shop

    def again(self, *, push: bool = True) -> Released:
        with ArtifactStore.open(self.ben.root) as store:
            return bump_again(store, BumpOptions(push=push))


def add_check(shop: Shop, word: str) -> None:
    text = shop.read("rubrics/tone.yaml").decode()
    check = f"  - id: {word}\n    kind: must_not_contain\n    values: [{word}]  # by {shop.top.name}\n"
    shop.write("rubrics/tone.yaml", text.replace("scoring:", f"{check}scoring:"))


@pytest.fixture
def team(shop: Shop, git: Callable[..., str], template: Callable[..., Any], tmp_path: Path) -> Team:
    far = str(tmp_path / "far.git")
    ann, ben = shop, Shop(tmp_path / "ben", git)

    def build() -> None:
        ann.bump()
        git("init", "-q", "--bare", far)
        ann.git("remote", "add", "origin", far)
        ann.write("notes.txt", "1\n")
        ann.write("old.txt", "1\n")
        ann.git("add", ".")
        ann.git("commit", "-qm", "Notes")
        ann.git("push", "-q", "-u", "origin", "main", "--tags")
        git("clone", "-q", far, str(ben.top))
        add_check(ann, "just")
        ann.git("rm", "-q", "old.txt")
        ann.write("new.sh", "#!/bin/sh\n").chmod(0o755)
        ann.git("add", "new.sh")
        ann.git("commit", "-qm", "Housekeeping")
        ann.bump(push=True)
        add_check(ben, "only")
        ben.bump()

    template("two clones that released one version", build, "far.git", "ben")
    return Team(ann, ben)


def test_theirs_is_taken_and_mine_is_the_next(team: Team) -> None:
    ben = team.ben
    ben.write("draft.txt", "not committed\n")
    ben.write("staged.txt", "staged\n")
    ben.git("add", "staged.txt")
    result = team.again()
    assert (result.renumbered, [one.ref for one in result.released]) == (
        ("rubric/tone@2.0.0",),
        ["rubric/tone@3.0.0"],
    )
    assert result.push
    assert result.push.outcome == PushOutcome.PUSHED
    text = ben.read("rubrics/tone.yaml").decode()
    assert "by repo" in text
    assert "by ben" in text
    assert "version: 3.0.0" in text
    assert ben.git("status", "--porcelain").split("\n") == ["A  staged.txt", "?? draft.txt"]
    assert not (ben.top / "old.txt").exists()
    assert (ben.top / "new.sh").stat().st_mode & 0o111
    for name in ("rubric/tone@2.0.0", "rubric/tone@3.0.0", "main"):
        assert ben.git("rev-parse", name) == team.ann.git("ls-remote", "origin", name).split()[0]
    check_sound(ben)
    assert team.again().renumbered == ()


def test_what_the_remote_has_already_is_not_withdrawn(team: Team, cli: Callable[..., Any]) -> None:
    ben = team.ben
    ben.write("rubrics/voice.yaml", rubric("voice"))
    ben.bump("rubric/voice")
    ben.write("notes.txt", "amended\n")
    ben.git("commit", "-q", "-a", "--amend", "--no-edit")
    ben.git("tag", "-f", "-a", "-m", "Release", "rubric/voice@1.0.0")
    # What `git push origin main --tags` leaves: the branch and the taken tag are refused, the other tag arrives.
    ben.git("push", "-q", "origin", "rubric/voice@1.0.0")
    (ben.top / ".git/info").mkdir(exist_ok=True)
    (ben.top / ".git/info/attributes").write_text("* filter=x merge=x\n")
    marker = set_traps(ben, ben.top.parent)
    result = team.again()
    assert not marker.exists()
    (ben.top / ".git/info/attributes").unlink()
    ben.git("config", "--unset", "core.fsmonitor")
    assert result.renumbered == ("rubric/tone@2.0.0",)
    assert (ben.read("notes.txt"), ben.git("status", "--porcelain")) == (b"amended\n", "")
    assert cli("-C", ben.root, "verify", "--remote").code == 0


def test_another_version_of_theirs_is_taken_in_as_well(team: Team) -> None:
    ben = team.ben
    ben.git("tag", "-d", "rubric/tone@2.0.0")
    ben.git("reset", "-q", "--hard", "HEAD~1")
    ben.write("rubrics/tone.yaml", rubric(title="Our tone"))
    pushed = ben.bump(push=True).push
    assert pushed
    assert (pushed.hint or "").startswith(
        "theirs released rubric/tone, too: evalstore bump --again --push origin; or git"
    )
    result = team.again()
    assert (result.renumbered, [one.ref for one in result.released]) == (("rubric/tone@1.0.1",), ["rubric/tone@2.0.1"])
    check_sound(ben)


def test_a_link_of_theirs_is_taken_as_the_hint_says(team: Team) -> None:
    ann, ben = team
    (ann.top / "AGENTS.md").symlink_to("notes.txt")
    ann.git("add", "AGENTS.md")
    ann.git("commit", "-qm", "A link")
    ann.git("push", "-q")
    with pytest.raises(RefusedError, match="which is a link") as caught:
        team.again()
    commands = (caught.value.hint or "").removeprefix("take it first: ").split("; ")[:2]
    for _, *words in map(shlex.split, commands):
        ben.git(*words)
    assert [one.ref for one in team.again().released] == ["rubric/tone@3.0.0"]
    assert (ben.top / "AGENTS.md").is_symlink()
    check_sound(ben)


@pytest.mark.slow
def test_commits_before_and_after_the_release_stay(team: Team) -> None:
    ben = team.ben
    ben.write("notes.txt", "1\n2\n")
    ben.git("commit", "-qam", "More notes")
    add_check(ben, "very")
    ben.git("commit", "-qam", "And no very")
    result = team.again()
    assert [one.ref for one in result.released] == ["rubric/tone@3.0.0"]
    assert ben.git("log", "--format=%s", "-2") == "Release rubric/tone@3.0.0\nMore notes"
    assert "very" in ben.read("rubrics/tone.yaml").decode()
    check_sound(ben)


@pytest.mark.slow
def test_a_part_that_both_changed_is_refused_and_nothing_changes(team: Team) -> None:
    ben = team.ben
    text = ben.read("rubrics/tone.yaml").decode()
    ben.write("rubrics/tone.yaml", text.replace("id: only", "id: just"))
    before = ben.snapshot()
    with pytest.raises(RefusedError, match=r"both sides changed the same part of rubrics/tone.yaml"):
        team.again()
    after = ben.snapshot()
    assert {path: after[path] for path in before if ".git/" not in path} == {
        path: data for path, data in before.items() if ".git/" not in path
    }
    assert ben.git("status", "--porcelain") == "M rubrics/tone.yaml"
    # What the message says: both, under the name that theirs has; then it goes.
    ben.write("rubrics/tone.yaml", text)
    assert team.again().released


def edit_rubric(shop: Shop, old: str, new: str) -> None:
    text = shop.read("rubrics/tone.yaml").decode()
    assert old in text
    shop.write("rubrics/tone.yaml", text.replace(old, new))


def test_comments_of_both_stay_where_edits_are_in_neighbouring_lines(team: Team) -> None:
    ann, ben = team
    edit_rubric(ann, "title: Tone\n", "title: Voice  # as the site has it\n")
    ann.bump(push=True)
    edit_rubric(ben, "title: Tone\n", "title: Tone\n# who is asked\nowner: ben\n")
    assert team.again().renumbered == ("rubric/tone@2.0.0",)
    text = ben.read("rubrics/tone.yaml").decode()
    assert "title: Voice  # as the site has it\n# who is asked\nowner: ben\n" in text
    assert text.startswith("# How we talk\n")
    assert ("# by repo" in text, "# by ben" in text) == (True, True)
    check_sound(ben)


def test_a_comment_of_each_behind_one_value_is_refused_and_nothing_changes(team: Team) -> None:
    ann, ben = team
    edit_rubric(ann, "title: Tone\n", "title: Tone  # by ann\n")
    ann.git("commit", "-qam", "Say whose")
    ann.git("push", "-q", "origin", "main")
    edit_rubric(ben, "title: Tone\n", "title: Tone  # mine\n")
    before = ben.read("rubrics/tone.yaml"), ben.git("rev-parse", "HEAD"), ben.tags()
    with pytest.raises(RefusedError, match="both sides changed the same part"):
        team.again()
    assert (ben.read("rubrics/tone.yaml"), ben.git("rev-parse", "HEAD"), ben.tags()) == before


def test_an_uncommitted_edit_of_what_theirs_changes_is_refused(team: Team) -> None:
    team.ben.write("old.txt", "edited\n")
    before = team.ben.git("rev-parse", "HEAD")
    with pytest.raises(RefusedError, match=r"old.txt has uncommitted edits"):
        team.again()
    assert team.ben.git("rev-parse", "HEAD") == before


@pytest.mark.slow
def test_what_pins_the_withdrawn_release_follows(team: Team, cli: Callable[..., Any]) -> None:
    ben = team.ben
    ben.write(
        "datasets/web.yaml",
        "id: web\nversion: 1.0.0\nquestions:\n"
        "  - {id: a, input: Why?, rubric_ref: rubric/tone@2.0.0}\n  - {id: b, input: How?, rubric_ref: rubric/tone@1.0.0}\n",
    )
    ben.bump("dataset/web")
    ran = cli("-C", ben.root, "bump", "--again", "--push")
    assert ran.code == 0
    assert "rubric/tone@2.0.0 of yours" in ran.out
    text = ben.read("datasets/web.yaml").decode()
    assert "rubric/tone@3.0.0" in text
    assert "rubric/tone@1.0.0" in text
    assert cli("-C", ben.root, "verify", "--remote").code == 0
    check_sound(ben)


@pytest.mark.slow
@pytest.mark.chaos
def test_killed_anywhere_it_is_whole_or_nothing(team: Team, tmp_path: Path) -> None:
    ends: dict[bool, int] = {True: 0, False: 0}
    for number in range(3, 400, 7):
        there = tmp_path / f"ben{number}"
        shutil.copytree(team.ben.top, there)
        ben = Shop(there, team.ben.run)
        before = ben.git("for-each-ref")
        died = _kill(Team(team.ann, ben), number)
        is_done = "rubric/tone@3.0.0" in ben.tags()
        ends[is_done] += 1
        if not is_done:
            assert [
                line for line in ben.git("for-each-ref").split("\n") if "pending" not in line and "remotes" not in line
            ] == [line for line in before.split("\n") if "remotes" not in line]
        Team(team.ann, ben).again(push=False)
        ben.bump("rubric/tone")
        assert ben.git("status", "--porcelain") == ""
        assert ben.git("rev-parse", "rubric/tone@2.0.0") == team.ann.git("rev-parse", "rubric/tone@2.0.0")
        assert "version: 3.0.0" in ben.read("rubrics/tone.yaml").decode()
        check_sound(ben)
        shutil.rmtree(there)
        if not died:
            break
    assert min(ends.values()) > 0


def _kill(team: Team, number: int) -> bool:
    """Run it in a process that ends just before its n-th write; return whether it was killed."""
    child = os.fork()
    if not child:
        count = iter(range(number))
        sys.addaudithook(lambda event, _: os._exit(9) if event in STEPS and next(count, None) is None else None)
        try:
            team.again(push=False)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
