"""A bump of many goes another way to the disk, in packs and with few syncs: what it promises is the same."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from evalstore.errors import ConflictError, RefusedError
from evalstore.release.publishing import publish
from evalstore.release.transactions import recovery
from evalstore.store.repository import writing
from evalstore.store.repository.git import Git
from evalstore.store.repository.packs import build_pack, write_packed_objects
from tests.release.shop import Shop, check_sound, rubric
from tests.release.test_crash import before_git, killed, step

NAMES = ("tone", "voice", "brief")
SIGNATURE = {f"GIT_{role}_DATE": "1760000000 +0000" for role in ("AUTHOR", "COMMITTER")}


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make two many."""
    monkeypatch.setattr(writing, "MANY", 2)
    monkeypatch.setattr(recovery, "MANY", 2)


def change(shop: Shop, number: int) -> None:
    for name in NAMES:
        shop.write(f"rubrics/{name}.yaml", rubric(name, ban=f"word{number}", version=f"{number}.0.0"))


def test_it_writes_what_a_bump_of_few_writes(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    change(shop, 1)
    shop.git("commit", "-q", "--allow-empty", "-m", "Begin")
    begin, found = shop.git("rev-parse", "HEAD"), []
    for count in (2, 1000):
        monkeypatch.setattr(writing, "MANY", count)
        monkeypatch.setattr(recovery, "MANY", count)
        shop.bump(signature=SIGNATURE)
        assert shop.git("status", "--porcelain") == ""
        check_sound(shop)
        found.append((shop.git("for-each-ref"), shop.read(".evalstore/sums/rubric/tone")))
        packed = (shop.top / ".git/packed-refs").read_text() if (shop.top / ".git/packed-refs").exists() else ""
        assert ("refs/tags/rubric/tone@1.0.0" in packed) == (count == 2)
        shop.git("tag", "-d", *shop.tags())
        shop.git("update-ref", "refs/heads/main", begin)
        shop.git("rm", "-rq", "--cached", ".")
        for name in NAMES:
            (shop.top / f".evalstore/sums/rubric/{name}").unlink()
    assert found[0] == found[1]


@pytest.mark.usefixtures("many")
@pytest.mark.chaos
def test_killed_at_its_steps_it_is_finished_by_the_next(shop: Shop) -> None:
    sweep(shop, stride=17)


@pytest.mark.usefixtures("many")
@pytest.mark.chaos
@pytest.mark.slow
def test_killed_at_every_step_it_is_finished_by_the_next(shop: Shop) -> None:
    assert sweep(shop, stride=1) > 40


def sweep(shop: Shop, stride: int) -> int:
    change(shop, 1)
    shop.bump()
    shop.write("kept.txt", "staged\n")
    shop.git("add", "kept.txt")
    number, expected = 0, 1
    while True:
        expected += 1
        change(shop, expected)
        ended = killed(shop, step(number))
        again = shop.bump()
        done = sorted(one.ref for one in (*again.recovered, *again.released))
        assert done == (sorted(f"rubric/{name}@{expected}.0.0" for name in NAMES) if ended else [])
        assert shop.git("status", "--porcelain") == "A  kept.txt"
        check_sound(shop)
        if not ended:
            return number
        number += stride


@pytest.mark.usefixtures("many")
@pytest.mark.chaos
def test_killed_while_git_has_prepared_the_refs_nothing_was_released(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(shop, 1)
    shop.bump()
    before = shop.git("for-each-ref", "refs/heads", "refs/tags")
    change(shop, 2)
    with monkeypatch.context() as patch:
        patch.setattr(writing, "wait_for_disk", lambda _: sys.audit("os.mkdir", "synced"))
        assert killed(shop, lambda _, args: args[0] == "synced")
    assert shop.git("for-each-ref", "refs/heads", "refs/tags") == before
    assert len(shop.bump().released) == len(NAMES)
    check_sound(shop)


@pytest.mark.usefixtures("many")
@pytest.mark.chaos
def test_killed_before_its_tags_are_packed_they_are_released(shop: Shop) -> None:
    change(shop, 1)
    assert killed(shop, before_git("pack-refs"))
    assert len(shop.bump().recovered) == len(NAMES)
    check_sound(shop)


@pytest.mark.usefixtures("many")
def test_a_disk_that_cannot_sync_is_one_sentence_and_nothing_is_released(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(shop, 1)
    shop.bump()
    before = shop.git("for-each-ref", "refs/heads", "refs/tags")
    change(shop, 2)

    def fail(_: object) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(writing, "wait_for_disk", fail)
        with pytest.raises(RefusedError, match="the release cannot be written: input/output error"):
            shop.bump()
    assert shop.git("for-each-ref", "refs/heads", "refs/tags") == before
    assert len(shop.bump().released) == len(NAMES)
    check_sound(shop)


@pytest.mark.usefixtures("many")
def test_a_tag_that_appears_meanwhile_is_a_conflict(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    change(shop, 1)
    shop.bump()
    change(shop, 2)
    real = publish.update_refs

    def late(*args: Any, **options: Any) -> None:
        shop.git("tag", "rubric/voice@2.0.0")
        real(*args, **options)

    monkeypatch.setattr(publish, "update_refs", late)
    with pytest.raises(ConflictError, match="nothing was released: one of the tags already exists"):
        shop.bump()
    shop.git("tag", "-d", "rubric/voice@2.0.0")
    assert len(shop.tags()) == len(NAMES)
    check_sound(shop)


@pytest.mark.usefixtures("many")
def test_a_file_that_somebody_edits_meanwhile_is_left_alone(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    change(shop, 1)
    shop.bump()
    for name in NAMES:
        shop.write(f"rubrics/{name}.yaml", rubric(name, ban="other"))  # the version follows, in the file
    real = recovery.wait_for_disk

    def late(folder: Any) -> None:
        shop.write("rubrics/tone.yaml", "edited\n")
        real(folder)

    monkeypatch.setattr(recovery, "wait_for_disk", late)
    assert len(shop.bump().released) == len(NAMES)
    assert shop.read("rubrics/tone.yaml") == b"edited\n"
    assert shop.git("status", "--porcelain") == "M rubrics/tone.yaml"
    assert b"version: 2.0.0" in shop.read("rubrics/voice.yaml")


def test_a_bump_of_hundreds_starts_no_more_processes_than_one_of_dozens(shop: Shop) -> None:
    shop.git("commit", "-q", "--allow-empty", "-m", "Begin")
    counts = [count_processes(shop, f"{word}_{{}}", number) for word, number in (("few", 110), ("more", 220))]
    assert counts[1] <= counts[0] + 1 < 60  # the second finds a ledger folder, and reads the first commit


def count_processes(shop: Shop, name: str, number: int) -> int:
    for index in range(number):
        shop.write(f"rubrics/{name.format(index)}.yaml", rubric(name.format(index)))
    started: list[object] = []
    real = subprocess.Popen.__init__
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess.Popen, "__init__", lambda *args, **named: started.append(args) or real(*args, **named))
        assert len(shop.bump().released) >= number
    return len(started)


@pytest.mark.parametrize("size", [0, 1, 15, 16, 2047, 2048, 300_000])
def test_git_reads_objects_of_every_size_from_a_pack(git: Callable[..., str], shop: Shop, size: int) -> None:
    shop.git("status")
    contents = [b"x" * size, b"y" * size + b"\n", b"x" * size]
    oids = write_packed_objects(Git(shop.top / ".git", shop.top / ".git"), "blob", contents, hex_digits=40)
    assert [shop.git("cat-file", "-s", oid) for oid in oids] == [str(len(content)) for content in contents]
    assert oids[0] == oids[2] == git("hash-object", "--stdin", stdin="x" * size)


def test_a_pack_with_a_malformed_tag_is_refused(shop: Shop) -> None:
    shop.git("status")
    with pytest.raises(Exception, match="git index-pack failed"):
        write_packed_objects(Git(shop.top / ".git", shop.top / ".git"), "tag", [b"object 12\n"], hex_digits=40)
    assert build_pack([], 40)[:12] == b"PACK\0\0\0\2\0\0\0\0"


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize(
    ("command", "moment"),
    [
        ("repack -adq", "before the refs"),
        ("repack -adq", "while the refs are locked"),
        ("gc -q", "before the refs"),  # and later it stops, because refs are locked
    ],
)
def test_git_tidies_up_meanwhile_and_nothing_is_lost(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, command: str, moment: str
) -> None:
    change(shop, 1)
    shop.bump()
    change(shop, 2)
    ran: list[str] = []
    module, name = (publish, "update_refs") if moment == "before the refs" else (writing, "wait_for_disk")
    real = getattr(module, name)

    def tidy_up(*args: Any, **named: Any) -> None:
        # git would drop the new objects with their pack, because nothing refers to them yet.
        ran.append(shop.git(*command.split()))
        real(*args, **named)

    monkeypatch.setattr(module, name, tidy_up)
    assert len(shop.bump().released) == len(NAMES)
    assert ran
    assert shop.git("fsck", "--full", "--strict", "--no-dangling") == ""
    check_sound(shop)
    assert shop.git("status", "--porcelain") == ""
    # From now on the pack is as any other.
    assert list((shop.top / ".git/objects/pack").glob("*.keep")) == []
