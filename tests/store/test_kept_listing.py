"""The listing of tags that runs keep: what git lists now decides, whatever was listed before."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalstore.store import ArtifactStore, kept_listing
from evalstore.store.kept_listing import FILE

Git = Callable[..., str]


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_listing, "MANY", 1)


def list_anew(repo: Path, *, keeps: bool) -> Any:
    with ArtifactStore.open(repo) as store:
        store.tags.keeps = keeps
        return store.releases(), store.tags.list_ignored()


def test_each_change_of_a_tag_is_seen(commits: dict[str, str], repo: Path, git: Git) -> None:
    name = "rubric/tone@1.2.0"
    steps = [
        ("tag", "-a", "-m", "one more", "rubric/tone@3.0.0"),
        ("tag", "-f", "-a", "-m", "moved", name, commits["1.0.0"]),
        ("tag", "-f", name, commits["2.0.0"]),  # a lightweight one
        ("tag", "rubric/Tone@1.0.0"),
        ("symbolic-ref", "refs/tags/rubric/tone@4.0.0", "refs/tags/rubric/tone@3.0.0"),
        ("pack-refs", "--all"),
        ("tag", "-d", name),
        ("commit", "--amend", "--allow-empty", "-q", "-m", "again"),
    ]
    for step in steps:
        list_anew(repo, keeps=True)
        git(*step)
        fresh = list_anew(repo, keeps=False)
        assert list_anew(repo, keeps=True) == fresh, step
        assert list_anew(repo, keeps=True) == fresh, step  # by what the first has kept
    assert (repo / ".git" / FILE).exists()


def test_it_is_read_instead_of_the_tags(commits: dict[str, str], repo: Path) -> None:
    assert commits
    listed = list_anew(repo, keeps=True)
    path = repo / ".git" / FILE
    head, _, listing = path.read_bytes().partition(b"\n")
    assert list_anew(repo, keeps=True) == listed
    # Damage is found, and a file of another version is not read.
    for data in (head + b"\n" + listing[:-9], b"0.0 " + head + b"\n" + listing, b"", os.urandom(99)):
        path.write_bytes(data)
        assert list_anew(repo, keeps=True) == listed
        assert path.read_bytes().partition(b"\n")[2] == listing


def test_a_few_tags_are_not_kept(commits: dict[str, str], repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_listing, "MANY", len(commits) + 1)
    list_anew(repo, keeps=True)
    assert not (repo / ".git" / FILE).exists()


def test_what_decides_whether_a_release_is_right_reads_none(
    commits: dict[str, str], repo: Path, cli: Callable[..., Any]
) -> None:
    assert commits
    for argv in (["verify"], ["resolve", "rubric/tone@1.0.0"], ["lock", "--check"]):
        cli("-C", str(repo), *argv)
        assert not (repo / ".git" / FILE).exists()
    assert cli("-C", str(repo), "list").code == 0
    assert (repo / ".git" / FILE).exists()
