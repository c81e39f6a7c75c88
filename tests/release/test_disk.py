"""Disks that are full, at any byte, or read-only: one sentence, nothing half done, and the same bump again finishes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.release.shop import Shop, check_sound, rubric

pytestmark = pytest.mark.chaos

Cli = Callable[..., Any]
Mount = Callable[..., Path]


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Mount]:
    """Mount something for the length of a test, where the system allows it."""
    mounted: list[Path] = []

    def do(name: str, *words: str) -> Path:
        path = tmp_path / name
        path.mkdir(exist_ok=True)
        if (
            shutil.which("mount") is None
            or subprocess.run(["mount", *words, path], check=False, capture_output=True).returncode
        ):
            pytest.skip("no file system can be mounted here")
        mounted.append(path)
        return path

    yield do
    for path in reversed(mounted):
        subprocess.run(["umount", str(path)], check=True)


def bump(shop: Shop, disk: Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "TMPDIR": str(disk / "tmp"), "PYTHONDONTWRITEBYTECODE": "1"}
    words = [sys.executable, "-m", "evalstore", "-C", str(shop.root), "bump", "--all"]
    return subprocess.run(words, capture_output=True, text=True, check=False, env=env)


def fill(disk: Path, spare: int) -> Path:
    """Leave `spare` bytes of a disk, in a file that can be removed again."""
    state = os.statvfs(disk)
    ballast = disk / "ballast"
    ballast.write_bytes(bytes(max(0, state.f_bavail * state.f_frsize - spare)))
    return ballast


@pytest.fixture
def small(mount: Mount, git: Callable[..., str], tmp_path: Path) -> tuple[Shop, Path]:
    disk = mount("disk", "-t", "tmpfs", "-o", "size=4m", "tmpfs")
    (disk / "tmp").mkdir()
    (disk / "repo").mkdir()
    shop = Shop(disk / "repo", git)
    shop.git("init", "-q", "--template=", ".")
    shop.write("rubrics/tone.yaml", rubric())
    shop.bump()
    return shop, disk


def sweep(shop: Shop, disk: Path, stride: int, enough: int = 3) -> tuple[int, int]:
    """Bump with ever more room; how often that was too little, and how often it was enough."""
    failed = done = 0
    for spare in range(0, 1 << 20, stride):
        number = failed + done + 2
        before = shop.git("for-each-ref")
        shop.write("rubrics/tone.yaml", rubric(ban=f"word{number}", version=f"{number - 1}.0.0"))
        ballast = fill(disk, spare)
        ran = bump(shop, disk)
        ballast.unlink()
        assert "Traceback" not in ran.stderr
        assert (ran.returncode, len(ran.stderr.strip().split("\n")) <= 2) in {(0, True), (3, True)}, ran.stderr
        if ran.returncode:
            failed += 1
            assert before == shop.git("for-each-ref") or f"@{number}.0.0" in shop.git("for-each-ref")
            again = bump(shop, disk)
            assert (again.returncode, again.stderr) == (0, "")
        else:
            done += 1
        assert shop.git("status", "--porcelain") == ""
        assert shop.git("rev-parse", f"rubric/tone@{number}.0.0^{{commit}}") == shop.git("rev-parse", "HEAD")
        if done == enough:
            break
    check_sound(shop)
    return failed, done


@pytest.mark.slow
def test_a_full_disk(small: tuple[Shop, Path]) -> None:
    failed, done = sweep(*small, stride=48 << 10, enough=1)
    assert (failed > 1, done) == (True, 1)


@pytest.mark.slow
def test_a_full_disk_at_every_block(small: tuple[Shop, Path]) -> None:
    failed, done = sweep(*small, stride=4 << 10)
    assert (failed > 10, done) == (True, 3)


def test_a_read_only_disk(mount: Mount, cli: Cli, released: Shop) -> None:
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    mount("repo", "--bind", str(released.top))
    subprocess.run(["mount", "-o", "remount,ro,bind", str(released.top)], check=True, capture_output=True)
    ran = cli("-C", released.root, "bump", "--all")
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.startswith("error: the repository cannot be written: read-only file system\nhint: check the perm")
    assert cli("-C", released.root, "status").code == 0
    ran = cli("-C", released.root, "bump", "--all", "--dry-run")
    assert (ran.code, "rubric/tone  1.0.0 -> 2.0.0" in ran.out) == (0, True)
    ran = cli("-C", released.root, "bump", "--all", "--no-commit")
    assert (ran.code, ran.err) == (
        3,
        "error: rubrics/tone.yaml: cannot be written: read-only file system\nhint: work in a writable copy\n",
    )


STRACE = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")


def struck(shop: Shop, call: str, nth: int, error: str) -> bool:
    """Bump while the n-th call of a kind fails in whichever process makes it; whether one did."""
    log = shop.top.parent / "strace.log"
    inject = ["-f", "-o", str(log), "-e", f"trace={call}", "-e", f"inject={call}:error={error}:when={nth}"]
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    words = ["strace", *inject, sys.executable, "-m", "evalstore", "-C", str(shop.root), "bump", "--all"]
    ran = subprocess.run(words, capture_output=True, text=True, check=False, env=env)
    assert "Traceback" not in ran.stderr, ran.stderr
    assert ran.returncode in {0, 3}, (call, nth, ran.stderr)
    return "(INJECTED)" in log.read_text()


def strike(shop: Shop, points: list[tuple[str, int]], error: str) -> int:
    hit = 0
    for number, (call, nth) in enumerate(points, start=2):
        shop.write("rubrics/tone.yaml", rubric(ban=f"word{number}", version=f"{number}.0.0"))
        hit += struck(shop, call, nth, error)
        shop.bump()
        assert shop.git("status", "--porcelain") == ""
        assert shop.git("rev-parse", f"rubric/tone@{number}.0.0^{{commit}}") == shop.git("rev-parse", "HEAD")
    check_sound(shop)
    return hit


@STRACE
def test_calls_that_find_no_room(released: Shop) -> None:
    points = [("link", 1), ("rename", 1)]
    assert strike(released, points, "ENOSPC") == len(points)


@pytest.mark.slow
@STRACE
@pytest.mark.parametrize("error", ["ENOSPC", "EIO", "EROFS"])
def test_every_call_that_finds_no_room(released: Shop, error: str) -> None:
    calls = ("link", "rename", "mkdir", "mkdirat", "fsync", "ftruncate", "unlink", "utimensat")
    points = [(call, nth) for call in calls for nth in range(1, 8)]
    assert strike(released, points, error) > 20


@pytest.mark.slow
@STRACE
def test_every_write_that_finds_no_room(released: Shop) -> None:
    assert strike(released, [("write", nth) for nth in range(1, 40)], "ENOSPC") > 20
