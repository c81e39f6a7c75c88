"""`kill -9` against the real command at moments that nobody chose; then the same command again."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.release.conftest import JUDGE, Shop, check_sound, rubric

Cli = Callable[..., Any]
MOVING = "rename,renameat,renameat2,link,linkat,unlink,unlinkat"


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
    storm(cli, busy, rounds=6)


@pytest.mark.slow
def test_killed_at_random_many_times(cli: Cli, busy: Shop) -> None:
    assert storm(cli, busy, rounds=100) > 50


def struck(cli: Cli, shop: Shop, points: range) -> int:
    """Kill whichever process, ours or git's, makes its n-th change of a name."""
    died = 0
    for number, point in enumerate(points, start=1):
        change(shop, number)
        inject = ["-f", "-qq", "-o", os.devnull, "-e", f"trace={MOVING}"]
        inject += ["-e", f"inject={MOVING}:signal=SIGKILL:when={point}"]
        # Written bytecode would be renamed into place, too.
        env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        ran = subprocess.run(["strace", *inject, *command(shop)], capture_output=True, env=env, check=False)
        assert b"Traceback" not in ran.stderr, ran.stderr
        died += ran.returncode != 0
        check_round(cli, shop, number)
    check_sound(shop)
    return died


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_killed_within_git(cli: Cli, busy: Shop) -> None:
    struck(cli, busy, range(2, 9, 3))


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_killed_at_every_change_of_a_name(cli: Cli, busy: Shop) -> None:
    assert struck(cli, busy, range(1, 61)) > 20
