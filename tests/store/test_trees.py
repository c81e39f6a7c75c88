"""Files of many commits and folders: found in trees that are read or by git, with the same answer, never a guess."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from evalstore.store.repository import objects as objects_module
from evalstore.store.repository.git import Git
from evalstore.store.repository.object_reader import ObjectReader
from evalstore.store.repository.objects import find_committed_blobs, find_file, list_folder
from evalstore.store.repository.trees import TreeIndexes, list_entries

OTHERS = (
    "rubrics/missing",
    "none/r.yaml",
    "rubrics/folder",
    "rubrics/folder/file",
    "rubrics/link/r.yaml",
    "rubrics/link",
)
FILES = [f"rubrics/r_{number:03}.yaml" for number in range(60)]


@pytest.fixture
def commits(git: Callable[..., str], repo: Path) -> list[str]:
    """Two commits of sixty files, a folder and a link; the second has another content, and one file less."""
    git()
    found = []
    (repo / "rubrics/folder").mkdir(parents=True)
    (repo / "rubrics/folder/file").write_text("x")
    (repo / "rubrics/link").symlink_to("r_000.yaml")
    for word in ("one", "two"):
        for file in FILES:
            (repo / file).write_text(f"{word} {file}")
        if word == "two":
            (repo / FILES[7]).unlink()
        git("add", "--all")
        git("commit", "-qm", word)
        found.append(git("rev-parse", "HEAD"))
    return found


def test_trees_answer_as_git_does(commits: list[str], repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    objects = ObjectReader(Git(repo / ".git", repo / ".git"))
    none = "0" * 40
    files = [(commit, path) for commit in (*commits, none) for path in (*FILES, *OTHERS)]
    read = find_committed_blobs(objects, files)
    monkeypatch.setattr(objects_module, "_FEW_FOLDERS", 0)
    assert read == find_committed_blobs(objects, files)  # the many of a folder are read, and git is asked for the rest
    monkeypatch.setattr(objects_module, "_MANY_FILES", len(files))
    assert read == find_committed_blobs(objects, files)
    assert read.count(None) == 4 + 4 + 1 + len(FILES) + len(OTHERS)
    objects.close()


def test_an_index_answers_as_a_scan_does(commits: list[str], repo: Path) -> None:
    objects = ObjectReader(Git(repo / ".git", repo / ".git"))
    for commit in commits:
        entries = list_folder(objects, commit, "rubrics")
        for path in FILES:
            # The first question scans, the later ones use the index.
            blobs = {find_file(objects, commit, path) for _ in range(3)}
            entry = entries.get(path.rpartition("/")[2])
            assert blobs == {entry.oid if entry else None}
    objects.close()


def test_an_index_ends_where_a_scan_would() -> None:
    whole = b"100644 a\0" + b"\1" * 20
    data = whole + b"junk" + b"100644 b\0" + b"\2" * 20 + b"100644 a\0" + b"\3" * 20
    assert {name: entry.oid for name, entry in list_entries(data, 20).items()} == {b"a": "01" * 20}
    for name in (b"a", b"b"):
        indexes = TreeIndexes()
        answers = [indexes.find("0" * 40, data, name) for _ in range(3)]
        assert answers[0] == answers[1] == answers[2]
