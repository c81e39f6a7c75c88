"""What verify does for each tag of thousands does not grow with their number: a stranger may have made them."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from evalstore.model import Kind, PinType, Ref
from evalstore.release.release_bumps import BumpChecker
from evalstore.release.release_tags import ReleaseTag
from evalstore.release.verify import verify
from evalstore.store import ArtifactStore
from evalstore.versions import parse_version

RUBRIC = "id: tone\nversion: {version}\nchecks:\n  - {{kind: must_not_contain, values: [{words}]}}\n"
HEADER = "committer Ada <ada@example.org> 1760000000 +0000\ndata 1\na\n"


def git(folder: Path, *argv: str, stdin: str = "") -> str:
    done = subprocess.run(["git", *argv], cwd=folder, input=stdin, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def make_store(folder: Path, commits: list[tuple[str, str]], tags: list[tuple[str, int]]) -> Path:
    """Make a repository of commits, each a branch upon the first, and of light tags on them."""
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    stream = ""
    for number, (version, words) in enumerate(commits, 1):
        text = RUBRIC.format(version=version, words=words)
        parent = "from :1\n" if number > 1 else ""
        stream += f"commit refs/heads/{'aside' if parent else 'main'}\nmark :{number}\n{HEADER}{parent}"
        stream += f"M 100644 inline rubrics/tone.yaml\ndata {len(text)}\n{text}\n"
    stream += "".join(f"reset refs/tags/rubric/tone@{version}\nfrom :{mark}\n\n" for version, mark in tags)
    git(folder, "fast-import", "--quiet", "--force", stdin=stream)
    git(folder, "pack-refs", "--all")
    return folder


def count_calls(work: Callable[[], Any]) -> int:
    """Count the calls of functions, and how often generators go on."""
    count = 0

    def see(_: FrameType, event: str, __: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(see)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def verify_siblings(folder: Path, number: int) -> int:
    """Verify releases of which none is in the history of another, each with a change that its version does not say."""
    versions = [f"1.0.{patch}" for patch in range(number)]
    commits = [(version, f"a, w{version}") for version in versions]
    store = make_store(folder, commits, [(version, mark) for mark, version in enumerate(versions, 1)])
    rules: list[str] = []
    with ArtifactStore.open(store) as opened:
        calls = count_calls(lambda: rules.extend(one.rule for one in verify(opened, ["rubric/tone"]).findings))
    assert rules.count("release-bump-too-small") == number - 1
    return calls


def check_prereleases(folder: Path, number: int) -> int:
    """Go through pre-releases behind as many releases that are not sound."""
    names = [f"1.0.{patch}" for patch in range(number)] + [f"1.1.0-rc.{rc}" for rc in range(number)]
    tags = []
    for name in names:
        version = parse_version(name)
        ref = Ref(Kind("rubric"), "tone", name, PinType.EXACT, version)
        tags.append(ReleaseTag(f"rubric/tone@{name}", "0" * 40, "", ref, version))
    with ArtifactStore.open(make_store(folder, [("1.0.0", "a")], [])) as store:
        bumps = BumpChecker(store, tags)

        def work() -> None:
            bumps.expect(tags)
            for tag in tags[:number]:
                bumps.mark_unsound(tag)
            for tag in tags[number:]:
                assert next(bumps._list_finals(tag), None) is None

        return count_calls(work)


@pytest.mark.parametrize(("work", "number"), [(verify_siblings, 8), (check_prereleases, 400)])
def test_twice_as_many_take_twice_as_long(tmp_path: Path, work: Callable[[Path, int], int], number: int) -> None:
    work(tmp_path / "first", 2)  # which imports modules
    few, many = work(tmp_path / "few", number), work(tmp_path / "many", 2 * number)
    assert many < 2.3 * few


@pytest.mark.slow
def test_sixty_thousand_light_tags_of_one_rubric(tmp_path: Path) -> None:
    tags = [(f"1.0.{patch}", 1) for patch in range(60_000)]
    store = make_store(tmp_path / "store", [("1.0.5", "a")], tags)
    for ref, lines in (("rubric/tone@1.0.5", 1), ("rubric/tone", 60_000)):
        argv = [sys.executable, "-m", "evalstore", "verify", ref, "--format", "github"]
        done = subprocess.run(argv, cwd=store, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout.count("::error") + done.stdout.count("::notice")) == (1, lines)
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 400 << 10
