from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evalstore.errors import ConflictError, GitError, RefusedError
from evalstore.release.changes.values import ArtifactState
from evalstore.release.changes.version_rules import VersionRule
from evalstore.release.dependencies import mentions
from evalstore.release.publishing.bump import bump
from evalstore.release.publishing.step import BumpOptions
from evalstore.store import ArtifactStore
from evalstore.store import working_files as blobs
from evalstore.store.artifacts import ARTIFACT_LIMIT
from evalstore.store.listing import list_artifacts
from evalstore.store.repository import index
from tests.release.shop import Shop, check_sound, rubric, set_traps


def test_staged_work_stays_staged_and_uncommitted(released: Shop) -> None:
    released.write("kept.txt", "one\n")
    released.git("add", "kept.txt")
    released.git("commit", "-q", "-m", "Keep")
    released.write("kept.txt", "two\n")
    released.write("new.txt", "new\n")
    released.git("add", "kept.txt", "new.txt")
    released.write("kept.txt", "three\n")
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    staged = released.git("diff", "--cached")
    assert released.git("status", "--porcelain") == "MM kept.txt\nA  new.txt\n M rubrics/tone.yaml"
    released.bump()
    assert released.git("status", "--porcelain") == "MM kept.txt\nA  new.txt"
    assert released.git("diff", "--cached") == staged
    assert released.read("kept.txt") == b"three\n"
    assert released.committed() == [".evalstore/sums/rubric/tone", "rubrics/tone.yaml"]
    check_sound(released)


@pytest.mark.parametrize("staged", [rubric(ban="just"), rubric(ban="staged only"), None])
def test_the_working_file_is_released_however_it_was_staged(released: Shop, staged: str | None) -> None:
    if staged is None:
        released.git("rm", "-q", "--cached", "rubrics/tone.yaml")
    else:
        released.write("rubrics/tone.yaml", staged)
        released.git("add", "rubrics/tone.yaml")
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    released.bump()
    assert released.git("show", "HEAD:rubrics/tone.yaml") + "\n" == rubric(ban="just", version="2.0.0")
    assert released.git("status", "--porcelain") == ""


def test_a_change_of_the_same_size_in_the_same_moment_is_still_seen(released: Shop) -> None:
    """Git tells by time stamps which files it must compare; a newer index would hide this edit."""
    released.write("kept.txt", "one\n")
    released.git("add", "kept.txt")
    stamp = (released.top / ".git/index").stat().st_mtime_ns
    os.utime(released.write("kept.txt", "two\n"), ns=(stamp, stamp))
    os.utime(released.top / ".git/index", ns=(stamp, stamp))
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    released.bump()
    assert released.git("status", "--porcelain") == "AM kept.txt"


def test_a_file_keeps_its_mode(released: Shop) -> None:
    (released.top / "rubrics/tone.yaml").chmod(0o755)
    released.git("commit", "-q", "-a", "-m", "chmod")
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    released.bump()
    assert released.git("ls-tree", "HEAD", "rubrics/tone.yaml").startswith("100755 ")
    assert released.git("status", "--porcelain") == ""


def test_a_store_in_a_subfolder(shop: Shop) -> None:
    inner = replace(shop, folder="eval/rulers/")
    inner.write("evalstore.yaml", "tag_prefix: rulers/\n")
    inner.write("rubrics/voice.yaml", rubric("voice"))
    (one,) = inner.bump().released
    assert one.tag == "rulers/rubric/voice@1.0.0"
    assert inner.committed() == [
        "eval/rulers/.evalstore/sums/rubric/voice",
        "eval/rulers/evalstore.yaml",
        "eval/rulers/rubrics/voice.yaml",
    ]
    assert inner.git("status", "--porcelain") == "?? rubrics/"
    inner.write("rubrics/voice.yaml", rubric("voice", ban="just"))
    assert inner.bump().released[0].tag == "rulers/rubric/voice@2.0.0"


def test_two_stores_of_one_repository_do_not_see_each_other_as_removed(released: Shop) -> None:
    inner = replace(released, folder="inner/")
    inner.write("evalstore.yaml", "")
    inner.write("rubrics/voice.yaml", rubric("voice"))
    inner.bump()
    assert inner.status().artifacts == released.status().artifacts == ()


def test_a_branch_in_a_linked_worktree(released: Shop, tmp_path: Path) -> None:
    released.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    side = replace(released, top=tmp_path / "side")
    side.write("rubrics/tone.yaml", rubric(ban="just"))
    assert side.bump().branch == "side"
    assert (side.git("status", "--porcelain"), released.git("status", "--porcelain")) == ("", "")
    assert released.git("rev-parse", "main") == released.git("rev-parse", "side~1")


@pytest.mark.parametrize("config", [("extensions.x", "1"), ("core.splitIndex", "true"), ("index.version", "4")])
def test_an_index_of_any_form(shop: Shop, config: tuple[str, str]) -> None:
    shop.git("config", *config)
    shop.write("kept.txt", "kept\n")
    shop.git("add", "kept.txt")
    shop.git("update-index", "--split-index" if "split" in config[0] else "-q")
    shop.bump()
    shop.write("rubrics/tone.yaml", rubric(ban="just"))
    shop.bump()
    assert shop.git("status", "--porcelain") == "A  kept.txt"
    check_sound(shop)


def test_a_sha256_repository(tmp_path: Path, git: Callable[..., str]) -> None:
    (tmp_path / "repo").mkdir()
    git("init", "-q", "--object-format=sha256", ".")
    shop = Shop(tmp_path / "repo", git)
    shop.write("rubrics/tone.yaml", rubric())
    shop.bump()
    shop.write("rubrics/tone.yaml", rubric(ban="just"))
    assert len(shop.bump().released[0].commit or "") == 64
    assert shop.git("status", "--porcelain") == ""
    check_sound(shop)


def test_a_branch_that_has_not_seen_a_release_begins_from_the_one_it_has(released: Shop) -> None:
    released.git("branch", "side")
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    released.bump()
    released.git("checkout", "-q", "side")
    (one,) = released.status().artifacts
    assert (one.state, one.ok, one.released) == (ArtifactState.BEHIND, True, "1.0.0")
    assert released.bump().released == ()
    released.write("rubrics/tone.yaml", rubric(title="Voice"))
    assert released.bump().released[0].ref == "rubric/tone@1.0.1"
    released.write("rubrics/tone.yaml", rubric(version="1.0.1", ban="only"))
    (one,) = released.status().artifacts
    assert (one.state, one.ok, one.next_version) == (ArtifactState.CHANGED, False, "3.0.0")
    with pytest.raises(RefusedError, match=r"rubric/tone@2\.0\.0 is already released, with other content"):
        released.bump()


def test_a_step_back_on_the_same_branch_is_a_new_release(released: Shop) -> None:
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    released.bump()
    released.write("rubrics/tone.yaml", rubric())
    (one,) = released.status().artifacts
    assert (one.rule, one.ok) == (VersionRule.DECREASED, False)
    assert released.bump().released[0].ref == "rubric/tone@3.0.0"


def test_a_detached_head_is_refused(released: Shop) -> None:
    released.git("checkout", "-q", "--detach")
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    with pytest.raises(RefusedError, match="HEAD is detached, so the release would be on no branch"):
        released.bump()
    assert released.tags() == ["rubric/tone@1.0.0"]


@pytest.mark.parametrize(
    ("command", "what"),
    [(["merge", "side"], "a merge"), (["cherry-pick", "side"], "a cherry-pick"), (["rebase", "side"], "a rebase")],
)
def test_an_unfinished_merge_and_the_like_are_refused(released: Shop, command: list[str], what: str) -> None:
    for branch, text in (("side", "one\n"), ("main", "two\n")):
        released.git("checkout", "-q", *(["-b", "side"] if branch == "side" else ["main"]))
        released.write("conflict.txt", text)
        released.git("add", "conflict.txt")
        released.git("commit", "-q", "-m", branch)
    subprocess.run(["git", *command], cwd=released.top, capture_output=True, check=False)
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    before = released.git("for-each-ref")
    with pytest.raises(RefusedError, match=f"{what} is still in progress"):
        released.bump()
    assert released.git("for-each-ref") == before


def test_a_conflict_that_a_stash_left_is_refused(released: Shop) -> None:
    released.write("notes.txt", "one\n")
    released.git("add", "notes.txt")
    released.git("commit", "-q", "-m", "Notes")
    released.write("notes.txt", "mine\n")
    released.git("stash", "-q")
    released.write("notes.txt", "theirs\n")
    released.git("commit", "-q", "-a", "-m", "Theirs")
    subprocess.run(["git", "stash", "pop"], cwd=released.top, capture_output=True, check=False)
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    with pytest.raises(RefusedError, match=r"notes\.txt has an unresolved conflict"):
        released.bump()
    released.git("add", "notes.txt")
    assert released.bump().released[0].ref == "rubric/tone@2.0.0"
    assert "rubrics/tone.yaml" in released.committed()
    assert "notes.txt" not in released.committed()


def test_a_dirty_tree_stays_as_dirty(released: Shop) -> None:
    for name in ("kept", "gone", "moved", "mode"):
        released.write(f"{name}.txt", f"{name}\n")
    released.git("add", ".")
    released.git("commit", "-q", "-m", "Files")
    released.write("kept.txt", "edited\n")
    (released.top / "gone.txt").unlink()
    released.git("mv", "moved.txt", "renamed.txt")
    (released.top / "mode.txt").chmod(0o755)
    released.write("new.txt", "new\n")
    released.write("half.txt", "half\n")
    released.git("add", "--intent-to-add", "half.txt")
    released.git("update-index", "--skip-worktree", "rubrics/tone.yaml")
    before = released.git("status", "--porcelain")
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    released.bump()
    assert released.git("status", "--porcelain") == before
    assert released.committed() == [".evalstore/sums/rubric/tone", "rubrics/tone.yaml"]


def test_a_submodule_beside_the_store_and_a_store_in_a_submodule(
    released: Shop, tmp_path: Path, git: Callable[..., str]
) -> None:
    git("init", "-q", str(tmp_path / "outer"))
    outer = Shop(tmp_path / "outer", git)
    outer.write("rubrics/voice.yaml", rubric("voice"))
    outer.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(released.top), "lib")
    outer.git("commit", "-q", "-m", "Add a submodule")
    outer.bump()
    assert outer.git("ls-tree", "HEAD", "lib").startswith("160000 commit ")
    assert (outer.committed(), outer.git("status", "--porcelain")) == (
        [".evalstore/sums/rubric/voice", "rubrics/voice.yaml"],
        "",
    )
    inner = Shop(outer.top / "lib", git)
    inner.git("checkout", "-q", "-B", "main")
    inner.write("rubrics/tone.yaml", rubric(ban="just"))
    (one,) = inner.bump().released
    assert (one.ref, one.commit) == ("rubric/tone@2.0.0", inner.git("rev-parse", "HEAD"))
    assert inner.git("status", "--porcelain") == ""
    assert outer.git("status", "--porcelain") == "M lib"
    assert [ref.name for ref in ArtifactStore.open(outer.root).working()] == ["rubric/voice"]


@pytest.mark.parametrize("where", ["unborn", "orphan"])
def test_a_branch_without_a_commit(shop: Shop, where: str) -> None:
    if where == "orphan":
        shop.git("commit", "-q", "--allow-empty", "-m", "Elsewhere")
        shop.git("checkout", "-q", "--orphan", "fresh")
    else:
        shop.git("symbolic-ref", "HEAD", "refs/heads/fresh")
    assert shop.bump().branch == "fresh"
    assert shop.git("rev-list", "--count", "fresh") == "1"
    assert shop.git("status", "--porcelain") == ""
    check_sound(shop)


def test_a_bare_repository_has_nothing_to_release(released: Shop, tmp_path: Path) -> None:
    released.git("clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    with ArtifactStore.open(tmp_path / "bare.git") as store, pytest.raises(RefusedError, match="a bare repository"):
        bump(store, BumpOptions(all_=True))


def test_nothing_of_the_repository_runs(released: Shop, cli: Callable[..., Any], tmp_path: Path) -> None:
    marker = set_traps(released, tmp_path)
    released.write(".gitattributes", "* filter=x merge=x\n")
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    released.bump()
    released.bump(dry_run=True)
    assert released.status().ok
    for words in (["gate", "--base", "HEAD"], ["diff"], ["blame", "rubric/tone"], ["bump", "--again"]):
        assert cli("-C", released.root, *words).code in {0, 1, 3}
    assert not marker.exists()
    subprocess.run(["git", "status"], cwd=released.top, capture_output=True, check=False)
    assert marker.exists()  # so they were there to be run


def test_who_signs_is_asked_of_the_environment_first(shop: Shop) -> None:
    given = {
        "GIT_AUTHOR_NAME": "Mira Okafor",
        "GIT_AUTHOR_EMAIL": "mira@example.org",
        "GIT_AUTHOR_DATE": "2026-09-07T09:00:00+02:00",
        "GIT_COMMITTER_DATE": "2026-09-08T09:00:00+02:00",
    }
    shop.bump(signature=given)
    assert shop.git("show", "-s", "--format=%an %ae %aI|%cn %ce %cI") == (
        "Mira Okafor mira@example.org 2026-09-07T09:00:00+02:00|Ada Tester ada@example.org 2026-09-08T09:00:00+02:00"
    )
    tagger = shop.git("for-each-ref", "--format=%(taggername) %(taggerdate:iso-strict)", "refs/tags")
    assert tagger == "Ada Tester 2026-09-08T09:00:00+02:00"


def test_the_settings_of_the_repository_come_before_those_of_the_user(shop: Shop) -> None:
    shop.git("config", "user.name", "Robot")
    shop.git("config", "committer.email", "robot@example.org")
    shop.bump()
    assert shop.git("show", "-s", "--format=%an %ae|%cn %ce") == "Robot ada@example.org|Robot robot@example.org"


def test_nobody_to_sign_is_one_sentence(shop: Shop) -> None:
    Path(os.environ["HOME"], ".gitconfig").write_text("[user]\n\tname = Ada Tester\n")
    with pytest.raises(RefusedError, match=r"git has no user\.email to sign the release with") as error:
        shop.bump()
    assert error.value.hint == 'git config --global user.email "…", or set GIT_AUTHOR_EMAIL'
    assert shop.git("for-each-ref") == ""


def test_a_date_that_git_cannot_read_is_one_sentence(shop: Shop) -> None:
    with pytest.raises(GitError, match="invalid date format"):
        shop.bump(signature={"GIT_AUTHOR_DATE": "yesterday-ish"})
    assert shop.git("for-each-ref") == ""


def test_an_index_that_another_git_holds_is_waited_for_and_then_said(
    released: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "_TRIES", 2)
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    lock = released.write(".git/index.lock", "")
    with pytest.raises(ConflictError, match="the index is locked by another git process"):
        released.bump()
    assert (released.tags(), lock.exists()) == (["rubric/tone@1.0.0"], True)
    lock.unlink()
    assert released.bump().released[0].ref == "rubric/tone@2.0.0"


@pytest.mark.parametrize("there", ["rubric", "rubric/tone@1.0.0/x"])
def test_a_tag_that_leaves_no_room_for_another_is_named(shop: Shop, there: str) -> None:
    shop.git("commit", "-q", "--allow-empty", "-m", "First")
    shop.git("tag", there)
    with pytest.raises(
        RefusedError, match=f"^git cannot have both a tag rubric/tone@1.0.0 and a tag {there}$"
    ) as caught:
        shop.bump()
    assert caught.value.hint
    assert f"(git tag <new> {there}; git tag -d {there})" in caught.value.hint
    assert (shop.tags(), shop.git("rev-list", "--count", "HEAD")) == ([there], "1")
    assert shop.git("status", "--porcelain") == "?? rubrics/"
    check_nothing_left(shop)
    shop.git("tag", "-d", there)
    assert shop.bump().released


def check_nothing_left(shop: Shop) -> None:
    assert [path.name for path in (shop.top / ".git/evalstore").iterdir()] == ["lock"]
    assert not list((shop.top / ".git").glob("*.lock"))


def test_a_repository_that_cannot_be_written_is_one_sentence(released: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    # The tests may run as root, whom no permission stops.
    (released.top / ".git/evalstore/lock").unlink()
    (released.top / ".git/evalstore").rmdir()
    (released.top / ".git/evalstore").symlink_to(released.top / "rubrics")
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    with pytest.raises(RefusedError, match="the repository cannot be written"):
        released.bump()
    assert sorted(path.name for path in (released.top / "rubrics").iterdir()) == ["tone.yaml"]


def test_a_folder_may_have_a_name_that_is_no_text(shop: Shop) -> None:
    odd = replace(shop, folder=os.fsdecode(b"\xff\xfe/"))
    odd.write("evalstore.yaml", "strict: false\n")
    odd.write("rubrics/tone.yaml", rubric())
    odd.bump()
    assert odd.status().artifacts == ()
    odd.write("rubrics/tone.yaml", rubric(ban="just"))
    assert [one.ref for one in odd.bump().done] == ["rubric/tone@2.0.0"]
    with ArtifactStore.open(odd.root) as store:
        assert store.read_artifact("rubric/tone@1.0.0").version == "1.0.0"


def test_a_file_that_is_too_large_to_be_an_artifact_is_not_read_to_its_end(
    released: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("tone", "new"):
        os.truncate(released.write(f"rubrics/{name}.yaml", rubric(name)), ARTIFACT_LIMIT + 1)
    monkeypatch.setattr(blobs, "iterate_pieces", None)
    monkeypatch.setattr(mentions, "scan_mentions", lambda pieces: pytest.fail(str(sum(map(len, pieces)))))
    assert {(one.ref, one.state) for one in released.status().artifacts} == {
        ("rubric/new", ArtifactState.BROKEN),
        ("rubric/tone", ArtifactState.BROKEN),
    }
    with ArtifactStore.open(released.root) as store:
        assert all("larger than" in str(one.problem) for one in list_artifacts(store).artifacts)


def test_a_hint_names_the_file_as_its_finding_does(
    git: Callable[..., str], cli: Callable[..., Any], tmp_path: Path
) -> None:
    """In a store below the root of its repository both are from the store, and the command works there."""
    git()
    store = tmp_path / "repo/evals"
    (store / "rubrics").mkdir(parents=True)
    (store / "evalstore.yaml").write_text("strict: false\n")
    (store / "rubrics/tone.yaml").write_text(rubric())
    assert cli("bump", "--all", cwd=store).code == 0
    ledger = store / ".evalstore/sums/rubric/tone"
    ledger.write_text("edited\n")
    (store / "rubrics/tone.yaml").write_text(rubric(ban="just"))
    refused = cli("bump", "--all", cwd=store)
    assert "error: .evalstore/sums/rubric/tone: the ledger differs" in " ".join(refused.err.split())
    command = re.findall(r"hint: (git restore .*)", refused.err)[0].split()
    subprocess.run(command, cwd=store, check=True)
    assert ledger.read_text() != "edited\n"
    assert cli("bump", "--all", cwd=store).code == 0
