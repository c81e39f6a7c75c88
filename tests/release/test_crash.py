"""A bump ends at any of its steps, in a process that has no chance to tidy up; then the same bump runs again."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evalstore.errors import ConflictError, RefusedError
from evalstore.release.publishing import publish
from evalstore.release.transactions import locking, recovery, ref_locks
from evalstore.release.transactions.locking import lock_repository
from evalstore.report.status import text as told
from evalstore.store import ArtifactStore
from evalstore.versions import Bump
from tests.release.shop import Shop, check_sound, count_killed, rubric

pytestmark = pytest.mark.chaos

# Audit events that Python raises just before it writes, or starts a git that may.
STEPS = {"subprocess.Popen", "os.rename", "os.link", "os.remove", "os.mkdir", "os.utime"}
When = Callable[[str, tuple[Any, ...]], bool]


def killed(shop: Shop, when: When, **options: Any) -> bool:
    """Bump in a process that ends, without any farewell, just before the step that `when` picks; whether it did."""
    child = os.fork()
    if not child:
        sys.addaudithook(lambda event, args: os._exit(9) if event in STEPS and when(event, args) else None)
        try:
            shop.bump(**options)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def step(number: int) -> When:
    count = iter(range(number))
    return lambda *_: next(count, None) is None


def before_git(*words: str) -> When:
    return lambda event, args: event == "subprocess.Popen" and set(words) <= set(args[1])


def before_writing(name: str) -> When:
    return lambda event, args: event == "os.rename" and args[1] == name


def change(shop: Shop, number: int) -> None:
    version = shop.read("rubrics/tone.yaml").decode().split("\n")[2].partition(": ")[2]
    shop.write("rubrics/tone.yaml", rubric(ban=f"word{number}", version=version))


def journal_of(shop: Shop) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(shop.read(".git/evalstore/journal.json"))
    return data


def test_bumps_killed_at_their_steps_are_finished_by_the_next(released: Shop) -> None:
    sweep(released, stride=17)


@pytest.mark.slow
def test_bumps_killed_at_every_step_are_finished_by_the_next(released: Shop) -> None:
    assert sweep(released, stride=1) > 25


def sweep(shop: Shop, stride: int) -> int:
    shop.write("kept.txt", "staged\n")
    shop.git("add", "kept.txt")
    number, expected = 0, 1
    while True:
        change(shop, number)
        ended = killed(shop, step(number))
        again = shop.bump()
        expected += 1
        done = [one.ref for one in (*again.recovered, *again.released)]
        assert done == ([f"rubric/tone@{expected}.0.0"] if ended else [])
        assert shop.git("status", "--porcelain") == "A  kept.txt"
        if not ended:
            break
        number += stride
    assert len(shop.tags()) == expected == int(shop.git("rev-list", "--count", "HEAD"))
    check_sound(shop)
    return count_killed(expected - 2)  # one tag was there before, and the last bump lived


def test_before_the_journal_nothing_has_happened(released: Shop) -> None:
    change(released, 1)
    before = released.git("for-each-ref")
    assert killed(released, lambda event, args: event == "os.rename" and "journal.json" in str(args[1]))
    assert released.git("for-each-ref") == before
    assert [one.ref for one in released.bump().released] == ["rubric/tone@2.0.0"]
    check_sound(released)


def test_a_journal_without_a_moved_ref_is_dropped(released: Shop) -> None:
    change(released, 1)
    assert killed(released, before_git("update-ref", "-m"))
    dropped = journal_of(released)["commit"]
    again = released.bump()
    assert (again.recovered, len(again.released)) == ((), 1)
    assert again.released[0].commit != dropped or released.git("rev-parse", "HEAD") == dropped
    check_sound(released)


def test_what_was_dropped_can_be_given_up(released: Shop) -> None:
    change(released, 1)
    assert killed(released, before_git("update-ref", "-m"))
    released.write("rubrics/tone.yaml", rubric())
    assert released.bump().released == ()
    assert released.tags() == ["rubric/tone@1.0.0"]
    check_sound(released)


def torn(shop: Shop, *, edit: bool = True) -> dict[str, Any]:
    """Leave the tag of a bump without its branch, as a transaction on files can end."""
    if edit:
        change(shop, 1)
    assert killed(shop, before_git("update-ref", "-m"))
    journal = journal_of(shop)
    for name, oid in journal["tags"].items():
        shop.git("update-ref", name, oid)
    return journal


def test_a_tag_without_its_branch_is_rolled_forward(released: Shop) -> None:
    journal = torn(released)
    (one,) = released.bump().recovered
    assert (one.ref, one.bump, one.commit) == ("rubric/tone@2.0.0", Bump.MAJOR, journal["commit"])
    assert released.git("rev-parse", "main") == journal["commit"]
    assert released.git("status", "--porcelain") == ""
    check_sound(released)


def test_a_tag_of_a_branch_that_went_elsewhere_is_taken_back(released: Shop) -> None:
    journal = torn(released)
    (released.top / ".git/index.lock").unlink()  # by hand: the killed bump has left it
    released.git("commit", "-q", "--allow-empty", "-m", "Meanwhile")
    again = released.bump()
    assert again.recovered == ()
    assert [one.ref for one in again.released] == ["rubric/tone@2.0.0"]
    assert again.released[0].commit != journal["commit"]
    assert released.git("rev-list", "--count", "HEAD") == "3"
    check_sound(released)


def test_a_branch_that_went_on_from_the_release_keeps_it(released: Shop) -> None:
    change(released, 1)
    assert killed(released, before_git("update-ref", "-m"))
    journal = journal_of(released)
    released.git("update-ref", "refs/heads/main", journal["commit"])
    (released.top / ".git/index.lock").unlink()
    released.git("commit", "-q", "--allow-empty", "-m", "Meanwhile")
    assert [one.ref for one in released.bump().recovered] == ["rubric/tone@2.0.0"]
    assert released.tags() == ["rubric/tone@1.0.0", "rubric/tone@2.0.0"]


def test_work_that_began_after_the_crash_stays(released: Shop) -> None:
    change(released, 1)
    assert killed(released, before_writing("tone.yaml"))
    change(released, 2)
    again = released.bump()
    assert [one.ref for one in (*again.recovered, *again.released)] == ["rubric/tone@2.0.0", "rubric/tone@3.0.0"]
    assert released.read("rubrics/tone.yaml").decode() == rubric(ban="word2", version="3.0.0")
    assert b"word1" in released.git("show", "rubric/tone@2.0.0:rubrics/tone.yaml").encode()
    check_sound(released)


def test_locks_that_a_killed_git_left_are_removed(released: Shop) -> None:
    journal = torn(released)
    left = ["HEAD.lock", "refs/heads/main.lock", "refs/tags/rubric/tone@2.0.0.lock"]
    for name in left:
        released.write(f".git/{name}", journal["commit"] + "\n")
    (one,) = released.bump().recovered
    assert one.ref == "rubric/tone@2.0.0"
    check_sound(released)


def test_a_lock_that_is_older_than_the_journal_is_not_ours(released: Shop) -> None:
    torn(released)
    lock = released.write(".git/refs/heads/main.lock", "")
    os.utime(lock, ns=(0, 0))
    with pytest.raises(Exception, match="has a lock") as error:
        released.bump()
    assert (error.value.exit_code, lock.exists()) == (3, True)  # type: ignore[attr-defined]
    lock.unlink()
    assert [one.ref for one in released.bump().recovered] == ["rubric/tone@2.0.0"]
    check_sound(released)


def test_a_lock_that_is_alive_is_not_removed(released: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    torn(released)
    lock = released.write(".git/HEAD.lock", "")

    def passed(seconds: float) -> None:
        os.utime(lock)

    monkeypatch.setattr(ref_locks.time, "sleep", passed)
    with pytest.raises(Exception, match="has a lock"):
        released.bump()
    assert lock.exists()


def test_the_index_lock_of_a_killed_bump_is_known_by_its_link(released: Shop) -> None:
    change(released, 1)
    index = str(released.top / ".git/index")
    assert killed(released, lambda event, args: event == "os.rename" and str(args[1]) == index)
    assert (released.top / ".git/index.lock").exists()
    assert [one.ref for one in released.bump().recovered] == ["rubric/tone@2.0.0"]
    assert released.git("status", "--porcelain") == ""
    check_sound(released)


def full(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_is_found_before_anything_is_released(released: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    change(released, 1)
    with monkeypatch.context() as patch:
        patch.setattr(os, "utime", full)
        with pytest.raises(RefusedError, match=r"^the release cannot be written: no space left on dev"):
            released.bump()
    assert (released.tags(), released.status().interrupted) == (["rubric/tone@1.0.0"], None)
    assert [one.ref for one in released.bump().released] == ["rubric/tone@2.0.0"]
    check_sound(released)


def test_a_disk_that_fails_later_is_one_sentence_and_the_next_bump_finishes(
    released: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(released, 1)
    with monkeypatch.context() as patch:
        patch.setattr(recovery, "place_index", full)
        with pytest.raises(
            RefusedError, match=r"^rubric/tone@2.0.0 is released, but the .* updated: no space left on dev"
        ):
            released.bump()
    assert [one.ref for one in released.bump().recovered] == ["rubric/tone@2.0.0"]
    check_sound(released)


@pytest.mark.parametrize("name", ["tone", "new"])
def test_what_came_into_the_way_of_a_file_is_left_alone(
    released: Shop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    released.write(f"rubrics/{name}.yaml", rubric(name, ban="just"))
    ledgers, real = released.top / ".evalstore/sums", publish.update_refs

    def late(*args: Any, **options: Any) -> None:
        real(*args, **options)
        ledgers.rename(tmp_path / "sums")
        ledgers.symlink_to(tmp_path / "sums")

    monkeypatch.setattr(publish, "update_refs", late)
    assert len(released.bump().released) == 1
    assert ledgers.is_symlink()
    assert not (tmp_path / "sums/rubric/new").exists()
    ledgers.unlink()
    released.git("checkout", "-q", "--", ".")
    check_sound(released)


def test_on_another_branch_the_files_are_left_alone(released: Shop) -> None:
    released.git("branch", "side")
    change(released, 1)
    assert killed(released, before_writing("tone.yaml"))
    released.git("symbolic-ref", "HEAD", "refs/heads/side")
    with pytest.raises(RefusedError, match=r"rubric/tone@2\.0\.0 is already released"):
        released.bump()
    assert released.read("rubrics/tone.yaml").decode() == rubric(ban="word1")
    assert released.git("status", "--porcelain") == "M rubrics/tone.yaml"


def test_another_worktree_finishes_the_refs_and_leaves_the_files(released: Shop, tmp_path: Path) -> None:
    released.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    torn(released)
    side = replace(released, top=tmp_path / "side")
    assert side.bump().released == ()
    assert released.git("rev-parse", "main") == released.git("rev-parse", "rubric/tone@2.0.0^{commit}")
    assert b"version: 1.0.0" in released.read("rubrics/tone.yaml")
    assert [one.ref for one in released.bump().recovered] == ["rubric/tone@2.0.0"]
    assert b"version: 2.0.0" in released.read("rubrics/tone.yaml")
    check_sound(released)


def test_a_journal_of_somebody_else_is_not_followed(released: Shop) -> None:
    for text in ("{", "[]", '{"branch": "refs/heads/../../x"}'):
        released.write(".git/evalstore/journal.json", text)
        with pytest.raises(RefusedError, match="the journal of an interrupted bump cannot be read"):
            released.bump()


@pytest.mark.parametrize("number", [10, 20, 30])
def test_a_repository_that_was_copied_after_a_kill_recovers_as_one_in_place(
    released: Shop, number: int, tmp_path: Path
) -> None:
    change(released, 1)
    assert killed(released, step(number))
    copy = Shop(tmp_path / "copy", released.run)
    subprocess.run(["cp", "-a", released.top, copy.top], check=True)
    for shop in (released, copy):
        shop.bump()
        check_sound(shop)
    assert copy.tags() == released.tags()


def test_status_names_a_bump_that_was_killed_until_it_is_finished(released: Shop) -> None:
    torn(released)
    said = "a bump of rubric/tone@2.0.0 was interrupted; finish it: evalstore bump rubric/tone"
    assert released.status().interrupted == said
    assert f"\n{said}\n1 of 1 artifact differ" in told(released.status())
    journal = journal_of(released)
    released.write(".git/evalstore/journal.json", json.dumps({**journal, "released": journal["released"] * 4}))
    assert released.status().interrupted == "a bump of 4 artifacts was interrupted; finish it: run the same bump again"
    released.write(".git/evalstore/journal.json", json.dumps(journal))
    with ArtifactStore.open(released.root) as store, lock_repository(store, {}):
        assert released.status().interrupted is None  # it is at work
    released.bump("rubric/tone")
    assert released.status().interrupted is None
    released.write(".git/evalstore/journal.json", '{"released": [{"ref": "; rm -rf ~"}]}')
    assert "cannot be read" in str(released.status().interrupted)


def move_meanwhile(shop: Shop, monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """Let somebody move the branch before each of the next updates of refs."""
    left, real = iter(range(times)), publish.update_refs

    def late(*args: Any, **options: Any) -> None:
        if next(left, None) is not None:
            tree = shop.git("rev-parse", "main^{tree}")
            shop.git("update-ref", "refs/heads/main", shop.git("commit-tree", tree, "-p", "main", "-m", "Meanwhile"))
        real(*args, **options)

    monkeypatch.setattr(publish, "update_refs", late)


def test_a_branch_that_moves_meanwhile_is_released_on_its_new_tip(
    released: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(released, 1)
    move_meanwhile(released, monkeypatch, 4)
    (one,) = released.bump().released
    assert (one.ref, one.commit) == ("rubric/tone@2.0.0", released.git("rev-parse", "main"))
    assert released.git("log", "--format=%s").split("\n")[1:5] == ["Meanwhile"] * 4
    assert released.git("status", "--porcelain") == ""
    check_sound(released)


def test_a_branch_that_never_rests_is_a_conflict(released: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    change(released, 1)
    move_meanwhile(released, monkeypatch, 10)
    with pytest.raises(ConflictError, match="nothing was released: the branch moved during the bump"):
        released.bump()
    assert released.tags() == ["rubric/tone@1.0.0"]
    assert [one.ref for one in released.bump().released] == ["rubric/tone@2.0.0"]
    check_sound(released)


def test_a_branch_that_moves_with_a_file_of_the_bump_is_a_conflict(
    released: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(released, 1)
    real = publish.update_refs

    def late(*args: Any, **options: Any) -> None:
        env = {**os.environ, "GIT_INDEX_FILE": str(released.top / ".git/other")}
        blob = released.run("hash-object", "-w", "--stdin", cwd=released.top, stdin=rubric(ban="theirs"))
        for words in (
            ["read-tree", "main"],
            ["update-index", "--cacheinfo", f"100644,{blob},rubrics/tone.yaml"],
        ):
            subprocess.run(["git", *words], cwd=released.top, env=env, check=True)
        tree = subprocess.run(
            ["git", "write-tree"], cwd=released.top, env=env, check=True, capture_output=True, text=True
        )
        commit = released.git("commit-tree", tree.stdout.strip(), "-p", "main", "-m", "Theirs")
        released.git("update-ref", "refs/heads/main", commit)
        real(*args, **options)

    monkeypatch.setattr(publish, "update_refs", late)
    with pytest.raises(ConflictError, match="nothing was released: the branch moved during the bump"):
        released.bump()
    assert released.git("log", "-1", "--format=%s") == "Theirs"


def test_nobody_can_commit_between_the_branch_and_the_index(released: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    # A commit of the old index on the new branch would take the release out again.
    change(released, 1)
    real, answers = publish.update_refs, []

    def late(*args: Any, **options: Any) -> None:
        real(*args, **options)
        done = subprocess.run(
            ["git", "commit", "-q", "--allow-empty", "-m", "x"], cwd=released.top, capture_output=True, check=False
        )
        answers.append(b"index.lock" in done.stderr)

    monkeypatch.setattr(publish, "update_refs", late)
    released.bump()
    assert answers == [True]
    check_sound(released)


def test_git_prunes_nothing_of_a_bump_that_was_killed(released: Shop) -> None:
    released.git("config", "core.autocrlf", "true")
    change(released, 1)
    released.write("rubrics/tone.yaml", released.read("rubrics/tone.yaml").replace(b"\n", b"\r\n"))
    journal = torn(released, edit=False)
    released.git("prune", "--expire=now")
    assert released.git("for-each-ref", "--format=%(refname)", "refs/evalstore/").count("pending") == 3
    (one,) = released.bump().recovered
    assert (one.ref, one.commit) == ("rubric/tone@2.0.0", journal["commit"])
    assert released.read("rubrics/tone.yaml").count(b"\r\n") == rubric().count("\n")
    assert released.git("for-each-ref", "refs/evalstore/") == ""
    check_sound(released)


@pytest.mark.parametrize("some", [False, True])
def test_a_bump_whose_objects_git_has_pruned_is_dropped(released: Shop, *, some: bool) -> None:
    change(released, 1)
    released.write("rubrics/voice.yaml", rubric("voice"))
    assert killed(released, before_git("update-ref", "-m"))
    journal = journal_of(released)
    for name in released.git("for-each-ref", "--format=%(refname)", "refs/evalstore/").split():
        released.git("update-ref", "-d", name)
    if some:  # torn between its tags: one stands, and the object of the other is gone
        released.git("update-ref", *next(iter(journal["tags"].items())))
    released.git("prune", "--expire=now")
    again = released.bump()
    assert again.recovered == ()
    assert {one.ref for one in again.released} == {"rubric/tone@2.0.0", "rubric/voice@1.0.0"}
    check_sound(released)


def test_a_tag_that_appears_meanwhile_is_a_conflict(released: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    change(released, 1)
    real = publish.update_refs

    def late(*args: Any, **options: Any) -> None:
        released.git("tag", "rubric/tone@2.0.0")
        real(*args, **options)

    monkeypatch.setattr(publish, "update_refs", late)
    with pytest.raises(ConflictError, match="nothing was released: one of the tags already exists"):
        released.bump()
    released.git("tag", "-d", "rubric/tone@2.0.0")
    check_sound(released)


def test_a_bump_that_finds_the_lock_held_gives_up_after_a_while(
    released: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    monkeypatch.setattr(locking, "_TRIES", 2)
    change(released, 1)
    with (released.top / ".git/evalstore/lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        began = time.monotonic()
        with pytest.raises(ConflictError, match="another bump is running in this repository"):
            released.bump()
        assert time.monotonic() - began < 5
    assert released.bump().released
