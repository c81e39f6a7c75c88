"""The sixteen ways to tamper with a release (threats, 5): what each layer says, here and after a fetch."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from evalstore.model.lock import NO_LOCK
from evalstore.release.integrity.verify import check_lock, verify
from evalstore.store import ArtifactStore
from tests.release.shop import TONE, Shop, each_in_a_format, mixed, resolve, rules
from tests.rows import thin

TAG = f"refs/tags/{TONE}"
PINS = (
    TONE,
    "rubric/tone@^1",
    "rubric/tone@2.0.0",
    "rubric/tone@latest",
    "judge/accuracy@1.0.0",
    "dataset/answers@1.0.0",
)


def move(stocked: Shop, commit: str, tag: str = TONE) -> None:
    stocked.git("tag", "-f", "-a", "-m", "release", tag, commit)


def delete(stocked: Shop) -> None:
    stocked.git("tag", "-d", TONE)


def other_version(stocked: Shop) -> None:
    move(stocked, stocked.git("rev-parse", "rubric/tone@1.1.0^{}"))


def other_id(stocked: Shop) -> None:
    move(stocked, stocked.commit_evil(id_="other"))


def foreign_object(stocked: Shop) -> None:
    stocked.git("update-ref", TAG, stocked.git("rev-parse", "rubric/tone@1.1.0"))


def nested(stocked: Shop) -> None:
    move(stocked, "rubric/tone@1.1.0")


def no_commit(stocked: Shop) -> None:
    move(stocked, "HEAD^{tree}")


def symbolic(stocked: Shop) -> None:
    stocked.git("tag", "-d", TONE)
    stocked.git("symbolic-ref", TAG, "refs/heads/main")


def moved(stocked: Shop) -> None:
    move(stocked, stocked.commit_evil())


def unlisted(stocked: Shop) -> None:
    move(stocked, stocked.commit_evil("9.9.9"), "rubric/tone@9.9.9")


def another_deleted(stocked: Shop) -> None:
    stocked.git("tag", "-d", "rubric/other@1.0.0")


def withdrawn(stocked: Shop) -> None:
    stocked.git("tag", "-d", "rubric/tone@2.0.0")
    stocked.write(".evalstore/sums/rubric/tone", "\n".join(stocked.read_ledger("rubric/tone")[:-1]) + "\n")
    stocked.commit(".evalstore/sums/rubric/tone")


def rewritten(stocked: Shop) -> None:
    """Make all of history again, with another title in the same version, its line and its tags."""
    text = mixed(title="Evil")
    first = stocked.read_ledger("rubric/tone")[0]
    stocked.write("rubrics/tone.yaml", text)
    line = f"1.0.0 {hashlib.sha256(text.encode()).hexdigest()}"
    stocked.write(".evalstore/sums/rubric/tone", "\n".join([line, *stocked.read_ledger("rubric/tone")[1:]]) + "\n")
    assert line != first
    stocked.git("add", "rubrics", ".evalstore")
    root = stocked.git("commit-tree", "-m", "All of it", stocked.git("write-tree"))
    move(stocked, root)
    stocked.git("checkout", "-q", "HEAD", "--", "rubrics")
    stocked.git("add", "rubrics")
    stocked.git(
        "update-ref",
        "refs/heads/main",
        stocked.git("commit-tree", "-p", root, "-m", "The rest", stocked.git("write-tree")),
    )


def rolled_back(stocked: Shop) -> None:
    old = stocked.git("rev-parse", "rubric/tone@1.1.0^{}")
    for tag in ("rubric/tone@2.0.0", "rubric/other@1.0.0", "dataset/answers@1.0.0"):
        stocked.git("tag", "-d", tag)
    stocked.git("update-ref", "refs/heads/main", old)


def replaced(stocked: Shop) -> None:
    names = ("", "^{commit}", "^{tree}", ":rubrics/tone.yaml")
    pairs = [
        [stocked.git("rev-parse", f"rubric/tone@{version}{name}") for version in ("1.0.0", "2.0.0")] for name in names
    ]
    for old, new in pairs:
        stocked.git("replace", old, new)


def shadowed(stocked: Shop) -> None:
    evil = stocked.commit_evil()
    for space in ("refs/heads/", "refs/remotes/", "refs/"):
        stocked.git("update-ref", f"{space}{TONE}", evil)
    stocked.write(f".git/{TONE}", f"{evil}\n")
    stocked.write(".git/info/grafts", f"{stocked.git('rev-parse', TONE + '^{}')} {evil}\n")


class Attack(NamedTuple):
    """One way to tamper: what verify finds without a lock, with one, and what the lock itself says."""

    do: Callable[[Shop], None]
    alone: list[str]
    locked: list[str]
    checked: list[str]


class Sight(NamedTuple):
    """What is found without a lock, with one, and by the lock itself, and what pins mean, one of them without a lock."""

    alone: list[str]
    locked: list[str]
    checked: list[str]
    answers: dict[str, str]
    unlocked: str


def see(store: ArtifactStore) -> Sight:
    return Sight(
        rules(verify(store, lock=NO_LOCK)),
        rules(verify(store)),
        rules(check_lock(store)),
        {pin: resolve(store, pin) for pin in PINS},
        resolve(store.without_lock(), TONE),
    )


def seen(rule: str) -> dict[str, list[str]]:
    """Return what is found by all three."""
    return {"alone": [rule], "locked": [rule], "checked": [rule]}


# By the layer that is the first to see them: eight by exact resolution, four by the ledger and its history, two only by
# a lock.
RESOLUTION = {
    "the pinned tag is deleted": Attack(delete, **seen("tag-missing")),
    "it names a commit of another version": Attack(other_version, **seen("release-invalid")),
    "it names a commit with another id in the file": Attack(other_id, **seen("release-invalid")),
    "it is the tag object of another name": Attack(foreign_object, **seen("tag-invalid")),
    "it is a tag of a tag": Attack(nested, **seen("tag-invalid")),
    "it names a tree": Attack(no_commit, **seen("tag-invalid")),
    "it is a symbolic ref": Attack(symbolic, **seen("tag-invalid")),
    "its blob holds other bytes under its id": Attack(Shop.forge_blob, **seen("object-damaged")),
}
LEDGER = {
    "it moved to other content of the same id and version": Attack(moved, **seen("tag-moved")),
    "a version is tagged that nobody released": Attack(unlisted, ["release-unlisted"], ["release-unlisted"], []),
    "a tag is deleted that nothing pins": Attack(another_deleted, ["tag-missing"], ["tag-missing"], []),
    "the ledger's line and the tag are removed together": Attack(
        withdrawn,
        ["ledger-history-rewritten"],
        ["ledger-history-rewritten", "ledger-rewritten"],
        ["ledger-rewritten"],
    ),
}
LOCK = {
    "all of history is rewritten, ledger and tags too": Attack(
        rewritten, [], ["ledger-rewritten", "tag-moved"], ["ledger-rewritten", "tag-moved"]
    ),
    "branch and tags are set back to what they once were": Attack(
        rolled_back, [], ["ledger-rewritten"], ["ledger-rewritten"]
    ),
}
HARMLESS = {
    "replace refs for tag, commit, tree and blob": Attack(replaced, [], [], []),
    "branches, refs, a file and a graft shadow it": Attack(shadowed, [], [], []),
}
ATTACKS = RESOLUTION | LEDGER | LOCK | HARMLESS
LOCAL_FILES = {"its blob holds other bytes under its id"}  # no transport carries these
attacks = pytest.mark.parametrize("name", ATTACKS)


def test_there_are_sixteen_and_each_layer_sees_what_the_threats_say() -> None:
    assert [len(layer) for layer in (RESOLUTION, LEDGER, LOCK, HARMLESS)] == [8, 4, 2, 2]
    for layer in (RESOLUTION, LEDGER):
        assert all(attack.alone for attack in layer.values())
    assert not any(attack.alone for attack in (LOCK | HARMLESS).values())


@pytest.mark.parametrize(("name", "format_"), each_in_a_format(ATTACKS))
def test_it_is_found_and_nothing_wrong_is_answered(of_format: Callable[[str], Shop], format_: str, name: str) -> None:
    stocked, attack = of_format(format_), ATTACKS[name]
    before = stocked.ask(see)
    assert (before.locked, before.checked) == ([], [])
    attack.do(stocked)
    after = stocked.ask(see)
    assert (after.alone, after.locked, after.checked) == attack[1:]
    wrong = {pin for pin, answer in after.answers.items() if answer not in {before.answers[pin], "refused"}}
    assert wrong <= {"rubric/tone@latest"}
    if name in RESOLUTION | LEDGER:  # without a lock too, but for what floats
        assert after.unlocked in {before.answers[TONE], "refused"}
    if name in RESOLUTION:
        assert after.answers[TONE] == after.unlocked == "refused"


@pytest.mark.parametrize("name", thin((name for name in ATTACKS if name not in LOCAL_FILES), 12))
def test_it_is_found_after_a_fetch_from_a_remote_that_did_it(
    stocked: Shop, clone: Callable[..., Shop], name: str
) -> None:
    attack, mine = ATTACKS[name], clone(stocked)
    before, held = mine.answers(PINS), mine.read_lock()
    assert rules(mine.verify()) == []
    attack.do(stocked)
    spaces = ("+refs/tags/*:refs/tags/*", "+refs/replace/*:refs/replace/*", "+refs/heads/*:refs/remotes/origin/*")
    mine.git("fetch", "-q", "--force", "--prune", "origin", *spaces)
    # HEAD is still the original one, so that its ledgers alone tell of every tag that is no longer what it was.
    assert bool(mine.verify_without_lock().findings) == (name not in HARMLESS)
    assert bool(mine.verify().findings) == (name not in HARMLESS)
    for pin, answer in mine.answers(pin for pin in PINS if pin != "rubric/tone@latest").items():
        assert answer in {before[pin], "refused"}
    # And now somebody takes the branch as well, which has a lock of its own: the lock that was kept elsewhere tells.
    mine.git("reset", "-q", "--hard", "origin/main")
    assert bool(mine.verify(held=held).findings) == (name not in HARMLESS)


def test_a_forged_object_of_a_remote_does_not_travel(stocked: Shop, clone: Callable[..., Shop], tmp_path: Path) -> None:
    mine = clone(stocked)
    Shop.forge_blob(stocked)
    mine.git("fetch", "-q", "--force", "origin", "+refs/tags/*:refs/tags/*")
    assert rules(mine.verify()) == []
    stocked.git("clone", "-q", f"file://{stocked.top}", str(tmp_path / "second"), check=False)
    assert not (tmp_path / "second").exists()
