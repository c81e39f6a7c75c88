"""Many bumps at once, of one tree and of many: one winner a version, no wrong tag, the others say why."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.release.shop import JUDGE, Shop, check_sound, judged, rubric

pytestmark = pytest.mark.chaos


def together(commands: Sequence[tuple[Shop, tuple[str, ...]]]) -> list[tuple[int, str, str]]:
    """Run bumps at the same time, each with its words, and return what each of them answered."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "evalstore", "-C", str(shop.root), "bump", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for shop, words in commands
    ]
    ran = [(*process.communicate(), process.returncode) for process in processes]
    assert not any("Traceback" in err for _, err, _ in ran)
    return [(code, out, err) for out, err, code in ran]


def trees(shop: Shop, count: int, folder: Path) -> list[Shop]:
    for number in range(count):
        shop.git("worktree", "add", "-q", "-b", f"side{number}", str(folder / f"tree{number}"))
    return [replace(shop, top=folder / f"tree{number}") for number in range(count)]


def check_winner(ran: list[tuple[int, str, str]], said: str) -> None:
    assert sorted(code for code, _, _ in ran) == [0] + [3] * (len(ran) - 1)
    assert sum(out.startswith("Released") for _, out, _ in ran) == 1
    # On a machine that is too busy a bump waits in vain, and says so.
    assert all(
        said in (text := " ".join(err.split())) or "another bump is running" in text for code, _, err in ran if code
    )


@pytest.mark.parametrize("count", [2, pytest.param(8, marks=pytest.mark.slow)])
def test_of_worktrees_that_release_one_version_one_wins(released: Shop, tmp_path: Path, count: int) -> None:
    sides = trees(released, count, tmp_path)
    for number, side in enumerate(sides):
        side.write("rubrics/tone.yaml", rubric(ban=f"word{number}"))
    ran = together([(side, ("--all",)) for side in sides])
    check_winner(ran, "rubric/tone@2.0.0 is already released, with other content")
    winner = next(number for number, (code, _, _) in enumerate(ran) if not code)
    assert f"word{winner}" in released.git("show", "rubric/tone@2.0.0:rubrics/tone.yaml")
    assert released.tags() == ["rubric/tone@1.0.0", "rubric/tone@2.0.0"]
    for number, side in enumerate(sides):
        assert side.git("status", "--porcelain") == ("" if number == winner else "M rubrics/tone.yaml")
        assert side.git("rev-list", "--count", "HEAD") == ("2" if number == winner else "1")


@pytest.mark.slow
def test_worktrees_that_release_different_artifacts_all_win(released: Shop, tmp_path: Path) -> None:
    sides = trees(released, 2, tmp_path)
    for number, side in enumerate(sides):
        side.write(f"rubrics/extra_{number}.yaml", rubric(f"extra_{number}"))
    ran = together([(side, ("--all",)) for side in sides])
    assert [code for code, _, _ in ran] == [0] * 2
    for number, side in enumerate(sides):
        commit = released.git("rev-parse", f"rubric/extra_{number}@1.0.0^{{commit}}")
        assert (commit, side.git("status", "--porcelain")) == (side.git("rev-parse", "HEAD"), "")


@pytest.mark.parametrize("count", [2, pytest.param(8, marks=pytest.mark.slow)])
def test_of_bumps_of_one_tree_one_releases(released: Shop, count: int) -> None:
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    ran = together([(released, ("--all",))] * count)
    assert {code for code, _, _ in ran} <= {0, 3}
    assert sum(out.startswith("Released 1 artifact") for _, out, _ in ran) == 1
    assert (released.tags(), released.git("rev-list", "--count", "HEAD")) == (
        ["rubric/tone@1.0.0", "rubric/tone@2.0.0"],
        "2",
    )
    check_sound(released)


@pytest.mark.slow
def test_dependents_are_moved_once(shop: Shop) -> None:
    shop.write("judges/accuracy.yaml", JUDGE)
    for number in range(3):
        shop.write(f"rubrics/reviewed_{number}.yaml", judged(f"reviewed_{number}"))
    shop.bump()
    shop.write("judges/accuracy.yaml", JUDGE.replace("right?", "so?"))
    ran = together([(shop, ("judge/accuracy", "--dependents"))] * 2)
    assert {code for code, _, _ in ran} <= {0, 3}
    assert sum(out.startswith("Released 4 artifacts") for _, out, _ in ran) == 1
    assert len([tag for tag in shop.tags() if tag.endswith("@2.0.0")]) == 4
    assert shop.git("status", "--porcelain") == ""
    check_sound(shop)


def test_bumps_that_push_at_once_all_arrive(released: Shop, tmp_path: Path) -> None:
    released.git("init", "-q", "--bare", str(tmp_path / "far.git"))
    released.git("remote", "add", "origin", str(tmp_path / "far.git"))
    names = [f"extra_{number}" for number in range(2)]
    for name in names:
        released.write(f"rubrics/{name}.yaml", rubric(name))
    ran = together([(released, (f"rubric/{name}", "--push")) for name in names])
    assert [code for code, _, _ in ran] == [0] * 2, ran
    far = released.run("for-each-ref", "--format=%(objectname) %(refname)", cwd=tmp_path / "far.git")
    for name in ("refs/heads/main", *(f"refs/tags/rubric/{name}@1.0.0" for name in names)):
        assert f"{released.git('rev-parse', name)} {name}" in far
    check_sound(released)


@pytest.mark.slow
def test_clones_that_release_one_version_meet_at_the_remote(
    released: Shop, tmp_path: Path, git: Callable[..., str]
) -> None:
    far = tmp_path / "far.git"
    git("clone", "-q", "--bare", str(released.top), str(far))
    clones = []
    for number in range(3):
        git("clone", "-q", str(far), str(tmp_path / f"clone{number}"))
        clones.append(replace(released, top=tmp_path / f"clone{number}"))
        clones[-1].write("rubrics/tone.yaml", rubric(ban=f"word{number}"))
    ran = together([(clone, ("--all", "--push")) for clone in clones])
    assert sorted(code for code, _, _ in ran) == [0, 1, 1], ran
    winner = next(number for number, (code, _, _) in enumerate(ran) if not code)
    assert git("rev-parse", "rubric/tone@2.0.0", cwd=far) == clones[winner].git("rev-parse", "rubric/tone@2.0.0")
    assert git("rev-parse", "main", cwd=far) == clones[winner].git("rev-parse", "main")
    for clone in clones:
        check_sound(clone)


@pytest.mark.slow
def test_round_after_round(released: Shop, tmp_path: Path) -> None:
    sides = trees(released, 8, tmp_path)
    for number in range(2, 27):
        for index, side in enumerate(sides):
            side.write("rubrics/tone.yaml", rubric(ban=f"word{index}_{number}", version=f"{number - 1}.0.0"))
        ran = together([(side, ("--all",)) for side in sides])
        assert sum(code == 0 for code, _, _ in ran) == 1
        tip = released.git("rev-parse", f"rubric/tone@{number}.0.0^{{commit}}")
        assert f"version: {number}.0.0" in released.git("show", f"{tip}:rubrics/tone.yaml")
        for side in sides:
            side.git("checkout", "-q", "--", ".")
            side.git("reset", "-q", "--hard", tip)
    assert released.git("rev-list", "--count", "rubric/tone@26.0.0") == "26"
