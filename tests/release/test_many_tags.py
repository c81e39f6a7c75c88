"""What verify does for each tag of thousands does not grow with their number: a stranger may have made them."""

from __future__ import annotations

import hashlib
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from evalstore.model import Kind, PinType, Ref
from evalstore.release.integrity.verify import verify
from evalstore.release.records.release_bumps import BumpChecker
from evalstore.release.records.release_tags import ReleaseTag
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
    git(store, "reset", "-q", "--hard")
    for ref, lines in (
        ("rubric/tone@1.0.5", 1),
        ("rubric/tone", 60_000),
    ):  # a note of the missing ledger, and an error each
        argv = [sys.executable, "-m", "evalstore", "verify", ref, "--format", "github"]
        done = subprocess.run(argv, cwd=store, capture_output=True, text=True, check=False)
        found = done.stdout.count("::error") + done.stdout.count("::notice")
        assert (done.returncode, found) == (int(lines > 1), lines)
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 400 << 10


def make_history(folder: Path, number: int) -> Path:
    """Make a repository of as many releases of one rubric, each a commit that adds a line to its ledger."""
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    stream, ledger = "", ""
    for mark in range(1, number + 1):
        text = RUBRIC.format(version=f"{mark}.0.0", words=f"w{mark}")
        ledger += f"{mark}.0.0 {hashlib.sha256(text.encode()).hexdigest()}\n"
        stream += f"commit refs/heads/main\nmark :{mark}\n{HEADER}" + (f"from :{mark - 1}\n" if mark > 1 else "")
        for path, content in (("rubrics/tone.yaml", text), (".evalstore/sums/rubric/tone", ledger)):
            stream += f"M 100644 inline {path}\ndata {len(content)}\n{content}\n"
        stream += f"tag rubric/tone@{mark}.0.0\nfrom :{mark}\n{HEADER.replace('committer', 'tagger')}"
    git(folder, "fast-import", "--quiet", "--force", stdin=stream)
    git(folder, "reset", "-q", "--hard")
    return folder


@pytest.mark.slow
def test_a_ledger_of_twice_as_many_lines_takes_twice_as_long(tmp_path: Path) -> None:
    took = []
    for number in (1_000, 2_000):
        store = make_history(tmp_path / str(number), number)
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        done = subprocess.run(
            [sys.executable, "-m", "evalstore", "verify"], cwd=store, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stdout
        took.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
    assert took[1] < 2.6 * took[0]
