"""`kill -9` against the real command at moments that nobody chose; then the same command again."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.release.shop import JUDGE, Shop, check_sound, count_killed, judged, rubric
from tests.release.ssh_connection import serving

pytestmark = pytest.mark.chaos

Cli = Callable[..., Any]
CALLS = ("rename", "renameat", "link", "unlink", "unlinkat", "mkdir", "fsync", "utimensat", "ftruncate")


@dataclass(frozen=True)
class Room:
    """A store, the words of every bump in it, what one releases, and the remote to which it goes."""

    shop: Shop
    words: tuple[str, ...] = ()
    releases: int = 3
    far: Path | None = None


@pytest.fixture
def busy(shop: Shop) -> Room:
    """A store in which every bump releases three artifacts, beside somebody's staged work."""
    shop.write("judges/accuracy.yaml", JUDGE)
    shop.write("rubrics/voice.yaml", rubric("voice"))
    shop.write("kept.txt", "staged\n")
    shop.git("add", "kept.txt")
    shop.bump()
    return Room(shop)


@pytest.fixture
def whole(
    busy: Room, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Room]:
    """The same with a rubric and a dataset that follow the judge, a key, and a remote on another machine."""
    shop, far, key = busy.shop, tmp_path / "far.git", tmp_path / "key"
    shop.write("rubrics/reviewed.yaml", judged())
    shop.write("datasets/web.yaml", "id: web\nversion: 1.0.0\nrows: web.jsonl\n")
    shop.write("datasets/web.jsonl", '{"id": "one", "input": "Why?", "rubric_ref": "rubric/reviewed@1.0.0"}\n')
    shop.bump()
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    for setting in (("gpg.format", "ssh"), ("user.signingKey", f"{key}.pub")):
        subprocess.run(["git", "config", "--global", *setting], check=True)
    shop.git("init", "-q", "--bare", str(far))
    shop.git("remote", "add", "origin", f"ssh://far{far}")
    with serving(tmp_path_factory.mktemp("l")) as line:
        monkeypatch.setenv("GIT_SSH_COMMAND", str(line.ssh))
        yield Room(shop, ("--dependents", "--sign", "--push"), 5, far)


def change(shop: Shop, number: int) -> None:
    version = f"{number}.0.0"
    shop.write("rubrics/tone.yaml", rubric(ban=f"word{number}", version=version))
    shop.write("judges/accuracy.yaml", JUDGE.replace("right?", f"right ({number})?").replace("1.0.0", version))
    shop.write("rubrics/voice.yaml", rubric("voice", ban=f"word{number}", version=version))


def command(room: Room) -> list[str]:
    return [sys.executable, "-m", "evalstore", "-C", str(room.shop.root), "bump", "--all", *room.words]


def check_round(cli: Cli, room: Room, number: int) -> None:
    """The same command again finishes the job, and nobody has to mend anything."""
    shop = room.shop
    again = cli("-C", shop.root, "bump", "--all", *room.words)
    assert (again.code, [line for line in again.err.splitlines() if "[judge-unvalidated]" not in line]) == (0, [])
    tags = shop.git("for-each-ref", "--format=%(*objectname)", f"refs/tags/*/*@{number + 1}.0.0").split()
    assert tags == [shop.git("rev-parse", "HEAD")] * room.releases
    assert shop.git("rev-list", "--count", "rubric/tone@1.0.0..rubric/tone@2.0.0") in {"1", "2"}
    assert shop.git("rev-list", "--count", "rubric/tone@2.0.0..HEAD") == str(number - 1)
    assert shop.git("status", "--porcelain") == "A  kept.txt"
    if room.far:
        assert f'"rubric/reviewed@{number + 1}.0.0"' in shop.read("datasets/web.jsonl").decode()
        check_arrived(shop, room.far, number)


def check_arrived(shop: Shop, far: Path, number: int) -> None:
    """Branch and tags of this round are there, or nothing of it would be."""
    there = shop.run("for-each-ref", "--format=%(objectname) %(refname)", cwd=far).split("\n")
    here = shop.git("for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags").split("\n")
    wanted = {line for line in here if line.endswith((f"@{number + 1}.0.0", "refs/heads/main"))}
    assert wanted <= set(there)


def check_signed(room: Room) -> None:
    for tag in room.shop.tags() if room.far else ():
        if not tag.endswith("@1.0.0"):
            assert "BEGIN SSH SIGNATURE" in room.shop.git("cat-file", "tag", tag)


def storm(cli: Cli, room: Room, rounds: int) -> int:
    shop = room.shop
    chance = random.Random(20260907)  # noqa: S311  # the same storm every time
    began = time.monotonic()
    subprocess.run([*command(room), "--dry-run"], check=True, capture_output=True)
    usual = (6 if room.far else 3) * (time.monotonic() - began)
    died = 0
    for number in range(1, rounds + 1):
        change(shop, number)
        process = subprocess.Popen(
            command(room), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        began = time.monotonic()
        try:
            process.wait(timeout=chance.uniform(0.1, 1) * usual)
            usual = time.monotonic() - began  # the moments keep pace with a machine that is busy now and idle then
        except subprocess.TimeoutExpired:
            usual *= 1.1
            died += 1
            # Half of them lose the whole group, the others leave git behind, still at work.
            if chance.random() < 0.5:
                os.killpg(process.pid, signal.SIGKILL)
            process.kill()
        process.wait()
        check_round(cli, room, number)
    check_sound(shop)
    check_signed(room)
    return count_killed(died)


@pytest.mark.slow
def test_killed_at_random(cli: Cli, busy: Room) -> None:
    storm(cli, busy, rounds=1)


@pytest.mark.slow
def test_killed_at_random_with_dependents_a_key_and_a_remote(cli: Cli, whole: Room) -> None:
    storm(cli, whole, rounds=1)


@pytest.mark.slow
def test_killed_at_random_many_times(cli: Cli, busy: Room) -> None:
    assert storm(cli, busy, rounds=100) > 50


@pytest.mark.slow
def test_killed_at_random_many_times_with_dependents_a_key_and_a_remote(cli: Cli, whole: Room) -> None:
    assert storm(cli, whole, rounds=60) > 20  # of 60: a bump can end before its moment comes


def struck(cli: Cli, room: Room, points: Iterable[tuple[str, int]]) -> int:
    """Kill whichever process, ours or git's, makes its n-th call of a kind; how often one was killed."""
    shop = room.shop
    died, log = 0, shop.top.parent / "strace.log"
    for number, (call, nth) in enumerate(points, start=1):
        change(shop, number)
        inject = ["-f", "-o", str(log), "-e", f"trace={call}", "-e", f"inject={call}:signal=SIGKILL:when={nth}"]
        # Written bytecode would be renamed into place, too.
        env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        ran = subprocess.run(["strace", *inject, *command(room)], capture_output=True, env=env, check=False)
        assert b"Traceback" not in ran.stderr, ran.stderr
        died += "killed by SIGKILL" in log.read_text()
        check_round(cli, room, number)
    check_sound(shop)
    check_signed(room)
    return count_killed(died)


STRACE = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")


@STRACE
def test_killed_within_git(cli: Cli, busy: Room) -> None:
    # The second to the fourth renaming of one process is a transaction torn between its tags and its branch.
    assert struck(cli, busy, [("rename", 4)]) == 1


@STRACE
@pytest.mark.slow
def test_killed_within_git_that_signs_and_pushes(cli: Cli, whole: Room) -> None:
    assert struck(cli, whole, [("connect", 1)]) == 1


@pytest.mark.slow
@STRACE
def test_killed_at_every_change_on_disk(cli: Cli, busy: Room) -> None:
    assert struck(cli, busy, product(CALLS, range(1, 10))) > 30


@pytest.mark.slow
@STRACE
def test_killed_at_every_change_with_dependents_a_key_and_a_remote(cli: Cli, whole: Room) -> None:
    assert struck(cli, whole, product((*CALLS, "connect", "sendto"), range(1, 10))) > 30
