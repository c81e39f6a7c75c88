"""`bump --again` with all that refers to the withdrawn release: lock, pins, acceptances; and what is not pushed."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalstore.documents import read_yaml
from evalstore.errors import EvalstoreError
from evalstore.release.publishing.rebase_releases import bump_again
from evalstore.release.publishing.step import BumpOptions
from evalstore.store import ArtifactStore
from tests.release.shop import Shop, check_sound
from tests.release.test_bump_again import STEPS, add_check

pytestmark = pytest.mark.process  # git starts the merge driver

Cli = Callable[..., Any]
DATASET = "id: web\nversion: {version}\nquestions:\n  - {{id: a, input: Why?, rubric_ref: {pin}}}\n"


@pytest.fixture
def pair(shop: Shop, git: Callable[..., str], template: Callable[..., Any], tmp_path: Path) -> tuple[Shop, Shop]:
    """Two clones of a store with a dataset; `ann` has pushed rubric/tone@2.0.0, `ben` has not edited anything."""
    template("two clones, one of which has released", lambda: make_pair(shop, tmp_path), "far.git", "ben")
    return shop, Shop(tmp_path / "ben", git)


@pytest.fixture
def rivals(
    shop: Shop, cli: Cli, git: Callable[..., str], template: Callable[..., Any], tmp_path: Path
) -> tuple[Shop, Shop]:
    """The same, and `ben` has released and locked another rubric/tone@2.0.0."""
    ben = Shop(tmp_path / "ben", git)

    def build() -> None:
        make_pair(shop, tmp_path)
        add_check(ben, "only")
        run(cli, ben, "bump", "rubric/tone")
        run(cli, ben, "lock")
        commit(ben, "Lock")

    template("two clones that released, one of which has locked", build, "far.git", "ben")
    return shop, ben


def make_pair(ann: Shop, folder: Path) -> None:
    far = str(folder / "far.git")
    ann.git("init", "-q", "--bare", far)
    ann.git("remote", "add", "origin", far)
    ann.write("datasets/web.yaml", DATASET.format(version="1.0.0", pin="rubric/tone@1.0.0"))
    ann.bump()
    ann.git("push", "-q", "-u", "origin", "main", "--tags")
    ann.git("clone", "-q", far, str(folder / "ben"))
    add_check(ann, "just")
    ann.bump("rubric/tone", push=True)


def run(cli: Cli, shop: Shop, *argv: str, code: int = 0) -> Any:
    ran = cli("-C", shop.root, *argv)
    assert ran.code == code, f"{argv}: {ran.out}{ran.err}"
    return ran


def commit(shop: Shop, message: str = "Change") -> None:
    shop.git("add", "-A")
    shop.git("commit", "-qm", message)


def check_agreed(cli: Cli, shop: Shop) -> None:
    run(cli, shop, "verify")
    run(cli, shop, "lock", "--check")


def check_whole(cli: Cli, shop: Shop) -> None:
    check_agreed(cli, shop)
    run(cli, shop, "bump", "--all", "--push")
    run(cli, shop, "gate", "--base", "origin/main")
    check_sound(shop)


def number_anew(shop: Shop) -> None:
    with ArtifactStore.open(shop.root) as store:
        bump_again(store, BumpOptions())


def end_here() -> None:
    os._exit(9)


def refuse_to_write() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def is_write(event: str, argv: tuple[Any, ...]) -> bool:
    """Whether an event of the interpreter writes, or starts a git, which may."""
    if event == "open":
        return isinstance(argv[2], int) and bool(argv[2] & (os.O_WRONLY | os.O_RDWR))
    return event in STEPS


def number_anew_with_a_fault(shop: Shop, number: int, fault: Callable[[], None]) -> bool:
    """Number anew in a process with a fault at its n-th write; return whether it came so far."""
    child = os.fork()
    if not child:
        left = iter(range(number))
        met: list[int] = []

        def look(event: str, argv: tuple[Any, ...]) -> None:
            if not met and is_write(event, argv) and next(left, None) is None:
                met.append(number)
                fault()

        sys.addaudithook(look)
        try:
            number_anew(shop)
        except (EvalstoreError, OSError):
            pass
        finally:
            os._exit(9 if met else 0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


@pytest.mark.slow
@pytest.mark.chaos
@pytest.mark.parametrize("fault", [end_here, refuse_to_write])
def test_a_fault_anywhere_leaves_all_of_it_or_nothing(
    rivals: tuple[Shop, Shop], cli: Cli, tmp_path: Path, fault: Callable[[], None]
) -> None:
    """The same again finishes: lock, pins and acceptances go with the release that they name."""
    _, ben = rivals
    ben.write("datasets/web.yaml", DATASET.format(version="1.0.0", pin="rubric/tone@2.0.0"))
    commit(ben)
    run(cli, ben, "lock")
    commit(ben)
    ends = {True: 0, False: 0}
    for number in range(2, 2000, 13):
        there = Shop(tmp_path / f"ben{number}", ben.run)
        shutil.copytree(ben.top, there.top)
        head = there.git("rev-parse", "HEAD")
        met = number_anew_with_a_fault(there, number, fault)
        is_done = "rubric/tone@3.0.0" in there.tags()
        ends[is_done] += 1
        assert is_done or there.git("rev-parse", "HEAD") == head
        number_anew(there)
        assert b"rubric/tone@3.0.0" in there.read("datasets/web.yaml")
        assert there.git("status", "--porcelain") == ""
        said = json.loads(run(cli, there, "verify", "--format", "json", code=1).out)
        found = [(one["rule"], one["file"]) for one in said["findings"]]  # the draft is not released yet
        assert found == [("release-content-differs", "datasets/web.yaml")]
        run(cli, there, "lock", "--check")
        check_sound(there)
        shutil.rmtree(there.top)
        if not met:
            break
    assert min(ends.values()) > 0, ends


def test_the_lock_follows_the_number(rivals: tuple[Shop, Shop], cli: Cli) -> None:
    ann, ben = rivals
    run(cli, ben, "bump", "--again")
    check_whole(cli, ben)
    run(cli, ann, "lock")
    ann.git("checkout", "-q", "--", ".")
    ann.git("clean", "-qfd")
    ann.git("pull", "-q", "--tags")
    check_whole(cli, ann)


def test_a_floating_pin_that_was_locked_at_it_means_the_new_one(rivals: tuple[Shop, Shop], cli: Cli) -> None:
    _, ben = rivals
    meant = {
        "rubric/tone": "3.0.0",
        "rubric/tone@latest": "3.0.0",
        "rubric/tone@^2": "2.0.0",
        "rubric/tone@>=1": "3.0.0",
    }
    rows = "".join(f'  - {{id: "{pin}", input: Why?, rubric_ref: "{pin}"}}\n' for pin in meant)
    ben.write("datasets/web.yaml", f"id: web\nversion: 2.0.0\nquestions:\n{rows}")
    commit(ben)
    run(cli, ben, "lock", "--update")
    commit(ben)
    run(cli, ben, "bump", "--again")
    lock = read_yaml(ben.read("evalstore.lock"), "evalstore.lock").value
    assert {pin: lock["refs"][pin]["version"] for pin in meant} == meant
    check_agreed(cli, ben)
    run(cli, ben, "bump", "--all", "--push")
    check_sound(ben)


def test_both_sides_have_locked(rivals: tuple[Shop, Shop], cli: Cli) -> None:
    ann, ben = rivals
    run(cli, ann, "lock")
    commit(ann, "Lock")
    ann.git("push", "-q", "origin", "main")
    run(cli, ben, "bump", "--again", "--push")
    check_agreed(cli, ben)


def test_a_lock_that_a_draft_keeps_from_being_renewed_is_said(rivals: tuple[Shop, Shop], cli: Cli) -> None:
    _, ben = rivals
    draft = DATASET.format(version="1.0.0", pin="rubric/nobody@1.0.0").replace("web", "draft")
    ben.write("datasets/draft.yaml", draft)
    commit(ben)
    ran = run(cli, ben, "bump", "--again")
    said = " ".join(ran.err.split())
    assert "evalstore.lock was not renewed: datasets/draft.yaml:4:38: there is no rubric/nobody" in said
    assert said.endswith("mend that, then: evalstore lock")
    ben.git("rm", "-qf", "datasets/draft.yaml")
    commit(ben)
    run(cli, ben, "lock")
    check_agreed(cli, ben)


def test_pins_that_both_moved_are_written_and_it_runs_again(pair: tuple[Shop, Shop], cli: Cli) -> None:
    """What both want may be a release that is not here yet: a plain bump says so, and --again takes it in."""
    ann, ben = pair
    add_check(ann, "very")
    run(cli, ann, "bump", "--all", "--dependents", "--push")
    add_check(ben, "only")
    run(cli, ben, "bump", "--all", "--dependents")
    assert b"rubric/tone@3.0.0" in ann.read("datasets/web.yaml")
    assert b"rubric/tone@2.0.0" in ben.read("datasets/web.yaml")
    ran = run(cli, ben, "bump", "--again", code=3)
    assert "both sides changed the same part of datasets/web.yaml" in ran.err
    text = ben.read("datasets/web.yaml")
    ben.write("datasets/web.yaml", text.replace(b"rubric/tone@2.0.0", b"rubric/tone@3.0.0"))
    ran = run(cli, ben, "bump", "--all", code=3)
    assert "or take in others' releases: git pull --tags" in " ".join(ran.err.split())
    run(cli, ben, "bump", "--again", "--push")
    assert b"rubric/tone@3.0.0" in ben.read("datasets/web.yaml")
    run(cli, ben, "verify", "--remote")
    run(cli, ben, "bump", "--all", "--push")
    check_sound(ben)


def test_two_first_locks_are_one_side_whole_and_locked_anew(pair: tuple[Shop, Shop], cli: Cli) -> None:
    ann, ben = pair
    ann.write("datasets/web.yaml", DATASET.format(version="2.0.0", pin="rubric/tone"))
    run(cli, ann, "bump", "--all", "--push")
    ben.git("pull", "-q", "--tags")
    run(cli, ben, "lock")
    commit(ben, "Lock")
    add_check(ann, "very")
    run(cli, ann, "bump", "rubric/tone")
    run(cli, ann, "lock")
    commit(ann, "Lock")
    run(cli, ann, "bump", "--all", "--push")
    with pytest.raises(AssertionError):  # git's own conflict
        ben.git("pull", "-q", "--no-rebase", "--no-edit", "--tags")
    assert ben.git("diff", "--name-only", "--diff-filter=U").split() == ["evalstore.lock"]
    ran = run(cli, ben, "bump", "--all", code=3)
    assert "keep one side whole, then run evalstore lock" in " ".join(ran.err.split())
    ben.git("checkout", "--ours", "evalstore.lock")
    commit(ben, "Merge")
    run(cli, ben, "lock")
    commit(ben, "Lock")
    check_agreed(cli, ben)


def test_pins_of_drafts_and_an_acceptance_follow(rivals: tuple[Shop, Shop], cli: Cli) -> None:
    _, ben = rivals
    accepted = (
        "accepted:\n  - artifact: rubric/tone\n    since: 2.0.0\n    fingerprint: 0123456789abcdef\n"
        "    rule: check-added\n    change: x\n    level: patch\n    was: major\n    reason: It is only a word\n"
        "    by: Ben\n    day: 2026-01-01\n"
    )
    ben.write(".evalstore/accepted.yaml", accepted)
    ben.write("datasets/web.yaml", DATASET.format(version="1.0.0", pin="rubric/tone@2.0.0"))
    ben.write("datasets/rows.yaml", "id: rows\nversion: 1.0.0\nrows: rows.jsonl\n")
    ben.write("datasets/rows.jsonl", '{"id": "a", "input": "?", "rubric_ref": "rubric/tone@2.0.0"}\n')
    ben.write("evalstore.yaml", "targets:\n  nightly: {dataset: dataset/web@1.0.0}\n")
    run(cli, ben, "bump", "--again", code=3)
    commit(ben)
    run(cli, ben, "bump", "--again")
    assert b"rubric/tone@3.0.0" in ben.read("datasets/web.yaml")
    assert b'"rubric/tone@3.0.0"' in ben.read("datasets/rows.jsonl")
    assert ben.read(".evalstore/accepted.yaml").decode() == accepted.replace("since: 2.0.0", "since: 3.0.0")
    assert ben.git("status", "--porcelain") == ""
    said = json.loads(run(cli, ben, "verify", "--format", "json", code=1).out)
    found = [(one["rule"], one["file"]) for one in said["findings"]]  # the draft itself is still to be released
    assert found == [("release-content-differs", "datasets/web.yaml")]


def test_the_pin_of_somebody_else_stays(rivals: tuple[Shop, Shop], cli: Cli) -> None:
    """Their dataset pins their 2.0.0, and is no business of ours."""
    ann, ben = rivals
    ann.write("datasets/web.yaml", DATASET.format(version="1.0.0", pin="rubric/tone@2.0.0"))
    ann.bump(push=True)
    run(cli, ben, "bump", "--again")
    assert b"rubric/tone@2.0.0" in ben.read("datasets/web.yaml")
    check_agreed(cli, ben)


def test_a_target_of_the_settings_follows(pair: tuple[Shop, Shop], cli: Cli) -> None:
    ann, ben = pair
    ann.write("datasets/web.yaml", DATASET.format(version="1.0.0", pin="rubric/tone@2.0.0"))
    ann.bump(push=True)
    ben.write("datasets/web.yaml", DATASET.format(version="1.0.0", pin="rubric/tone@1.0.0") + "title: Web\n")
    released = ben.bump().released[0].ref
    assert released == "dataset/web@1.0.1"
    ben.write("evalstore.yaml", f"targets:\n  nightly: {{dataset: {released}}}  # ours\n")
    commit(ben)
    result = run(cli, ben, "bump", "--again")
    assert "withdrew dataset/web@1.0.1" in result.out
    now = read_yaml(ben.read("datasets/web.yaml"), "web").value["version"]
    assert ben.read("evalstore.yaml").decode() == f"targets:\n  nightly: {{dataset: dataset/web@{now}}}  # ours\n"
    run(cli, ben, "verify")


def test_a_lock_that_nobody_committed_is_committed_first(pair: tuple[Shop, Shop], cli: Cli) -> None:
    _, ben = pair
    add_check(ben, "only")
    run(cli, ben, "bump", "rubric/tone")
    run(cli, ben, "lock")
    ran = run(cli, ben, "bump", "--again", code=3)
    assert "evalstore.lock has uncommitted edits and names rubric/tone@2.0.0" in ran.err
    assert "git add evalstore.lock; git commit; then run it again" in " ".join(ran.err.split())
    commit(ben)
    run(cli, ben, "bump", "--again")
    check_agreed(cli, ben)


def test_what_the_store_denies_is_not_pushed(pair: tuple[Shop, Shop], cli: Cli) -> None:
    ann, _ = pair
    run(cli, ann, "lock")
    commit(ann)
    text = ann.read("evalstore.lock").decode()
    place = text.index("sha256: ", text.index('  "rubric/tone":')) + len('sha256: "')
    ann.write("evalstore.lock", text[:place] + "0" * 64 + text[place + 64 :])
    commit(ann)
    add_check(ann, "very")
    far = ann.git("ls-remote", "origin")
    ran = run(cli, ann, "bump", "rubric/tone", "--push", code=1)
    assert "the ledger of rubric/tone does not continue the locked one" in " ".join(ran.out.split())
    assert ann.git("ls-remote", "origin") == far


def test_a_merge_may_put_the_lines_of_a_ledger_in_any_order(pair: tuple[Shop, Shop], cli: Cli) -> None:
    ann, _ = pair
    run(cli, ann, "lock")
    commit(ann)
    path = ".evalstore/sums/rubric/tone"
    ann.write(path, b"".join(reversed(ann.read(path).splitlines(keepends=True))))
    commit(ann)
    run(cli, ann, "verify")
    run(cli, ann, "lock")
    run(cli, ann, "verify")
    ann.write(path, ann.read(path).splitlines(keepends=True)[0])
    commit(ann)
    ran = run(cli, ann, "lock", code=3)
    assert "it lacks 1.0.0" in ran.err
