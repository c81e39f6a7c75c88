"""`kill -9` against the real command at moments that nobody chose; then the same command again."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

import pytest

from tests.release.conftest import JUDGE, Shop, check_sound, rubric

Cli = Callable[..., Any]
CALLS = ("rename", "renameat", "link", "unlink", "unlinkat", "mkdir", "fsync", "utimensat", "ftruncate")


@pytest.fixture
def busy(shop: Shop) -> Shop:
    """A store in which every bump releases three artifacts, beside somebody's staged work."""
    shop.write("judges/accuracy.yaml", JUDGE)
    shop.write("rubrics/voice.yaml", rubric("voice"))
    shop.write("kept.txt", "staged\n")
    shop.git("add", "kept.txt")
    shop.bump()
    return shop


def change(shop: Shop, number: int) -> None:
    version = f"{number}.0.0"
    shop.write("rubrics/tone.yaml", rubric(ban=f"word{number}", version=version))
    shop.write("judges/accuracy.yaml", JUDGE.replace("right?", f"right ({number})?").replace("1.0.0", version))
    shop.write("rubrics/voice.yaml", rubric("voice", ban=f"word{number}", version=version))


def command(shop: Shop) -> list[str]:
    return [sys.executable, "-m", "evalstore", "-C", str(shop.root), "bump", "--all"]


def check_round(cli: Cli, shop: Shop, number: int) -> None:
    """The same command again finishes the job, and nobody has to mend anything."""
    again = cli("-C", shop.root, "bump", "--all")
    assert (again.code, again.err) == (0, "")
    tags = shop.git("for-each-ref", "--format=%(*objectname)", f"refs/tags/*/*@{number + 1}.0.0").split()
    assert tags == [shop.git("rev-parse", "HEAD")] * 3
    assert shop.git("rev-list", "--count", "HEAD") == str(number + 1)
    assert shop.git("status", "--porcelain") == "A  kept.txt"


def storm(cli: Cli, shop: Shop, rounds: int) -> int:
    chance = random.Random(20260907)  # noqa: S311  # the same storm every time
    began = time.monotonic()
    cli("-C", shop.root, "bump", "--all", "--dry-run")
    usual = 3 * (time.monotonic() - began)
    died = 0
    for number in range(1, rounds + 1):
        change(shop, number)
        process = subprocess.Popen(
            command(shop), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        time.sleep(chance.uniform(0.1, 1) * usual)
        if process.poll() is None:
            died += 1
            # Half of them lose the whole group, the others leave git behind, still at work.
            if chance.random() < 0.5:
                os.killpg(process.pid, signal.SIGKILL)
            process.kill()
        process.wait()
        check_round(cli, shop, number)
    check_sound(shop)
    return died


def test_killed_at_random(cli: Cli, busy: Shop) -> None:
    storm(cli, busy, rounds=4)


@pytest.mark.slow
def test_killed_at_random_many_times(cli: Cli, busy: Shop) -> None:
    assert storm(cli, busy, rounds=100) > 50


def struck(cli: Cli, shop: Shop, points: Iterable[tuple[str, int]]) -> int:
    """Kill whichever process, ours or git's, makes its n-th call of a kind; how often one was killed."""
    died, log = 0, shop.top.parent / "strace.log"
    for number, (call, nth) in enumerate(points, start=1):
        change(shop, number)
        inject = ["-f", "-o", str(log), "-e", f"trace={call}", "-e", f"inject={call}:signal=SIGKILL:when={nth}"]
        # Written bytecode would be renamed into place, too.
        env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        ran = subprocess.run(["strace", *inject, *command(shop)], capture_output=True, env=env, check=False)
        assert b"Traceback" not in ran.stderr, ran.stderr
        died += "killed by SIGKILL" in log.read_text()
        check_round(cli, shop, number)
    check_sound(shop)
    return died


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_killed_within_git(cli: Cli, busy: Shop) -> None:
    # The second to the fourth renaming of one process is a transaction torn between its tags and its branch.
    assert struck(cli, busy, [("rename", 2), ("rename", 4)]) == 2


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_killed_at_every_change_on_disk(cli: Cli, busy: Shop) -> None:
    assert struck(cli, busy, product(CALLS, range(1, 10))) > 30
