"""Tests that releases, histories and ledgers outlive a move of the store to another folder of its repository."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from evalstore.errors import EvalstoreError
from evalstore.release.history.blame import blame
from evalstore.release.history.origins import OriginFinder
from evalstore.store import ArtifactStore
from tests.conftest import Ran

RUBRIC = """\
id: r
version: {version}
checks:
  - {{id: never, kind: must_not_contain, values: [{values}]}}
scoring: {{combine: weighted_avg}}
"""
LEDGER = ".evalstore/sums/rubric/r"


def release(git: Callable[..., str], root: Path, folder: str, version: str, values: str) -> None:
    """Commit a version of the rubric, and of a dataset with a file of rows, below a folder; and tag both."""
    for name, text in (
        ("rubrics/r.yaml", RUBRIC.format(version=version, values=values)),
        (
            "datasets/d.yaml",
            f"id: d\nversion: {version}\ndefaults: {{rubric_ref: rubric/r@{version}}}\nrows: d.jsonl\n",
        ),
        ("datasets/d.jsonl", f'{{"id": "q", "input": "{version}"}}\n'),
    ):
        (root / folder / name).parent.mkdir(parents=True, exist_ok=True)
        (root / folder / name).write_text(text)
    git("add", "-A")
    git("commit", "-qm", f"now {version}")
    for name in ("rubric/r", "dataset/d"):
        git("tag", "-a", f"{name}@{version}", "-m", "x")


def move(git: Callable[..., str], root: Path, old: str, new: str) -> None:
    """Move the store with git, and mark its new place."""
    (root / new).mkdir(parents=True, exist_ok=True)
    for name in ("rubrics", "datasets"):
        git("mv", str(Path(old) / name), str(Path(new) / name))
    if not (root / new / "evalstore.yaml").exists():
        (root / new / "evalstore.yaml").write_text("{}\n")
    git("add", "-A")
    git("commit", "-qm", f"move to {new}")


@pytest.fixture
def moved(git: Callable[..., str]) -> Path:
    """A store that was at the root, then in `a`, and is in `b/c` now; with a release in each place."""
    git("init", "-q")
    root = Path(git("rev-parse", "--show-toplevel").strip())
    release(git, root, "", "1.0.0", "one")
    move(git, root, "", "a")
    release(git, root, "a", "2.0.0", "one, two")
    move(git, root, "a", "b/c")
    release(git, root, "b/c", "3.0.0", "one, two, three")
    return root


def test_each_release_is_read_where_the_store_was(moved: Path) -> None:
    with ArtifactStore.open(moved / "b/c") as store:
        assert store.moves.list_prefixes() == ("b/c/", "a/", "")
        for version in ("1.0.0", "2.0.0", "3.0.0"):
            assert store.resolve(f"rubric/r@{version}").version == version
            assert [question.input for question in store.questions(f"dataset/d@{version}")] == [version]


def test_a_part_is_traced_to_the_commit_before_the_moves(moved: Path) -> None:
    with ArtifactStore.open(moved / "b/c") as store:
        parts = blame(store, "rubric/r@3.0.0").parts
        found = {part.part: part.origin.subject for part in parts if part.part.area == "item"}
        assert sorted(found.values(), key=str) == ["now 1.0.0", "now 2.0.0", "now 3.0.0"]


def test_an_edit_before_the_move_is_its_authors(git: Callable[..., str], moved: Path) -> None:
    """On the way from a release, too, where the edit was not released before the store moved."""
    (moved / "b/c/rubrics/r.yaml").write_text(RUBRIC.format(version="3.0.0", values="one, two, three, four"))
    git("commit", "-qam", "edit")
    move(git, moved, "b/c", "d")
    release(git, moved, "d", "4.0.0", "one, two, three, four, five")
    with ArtifactStore.open(moved / "d") as store:
        old, new = store.resolve("rubric/r@3.0.0"), store.resolve("rubric/r@4.0.0")
        parts = [part.part for part in blame(store, "rubric/r@4.0.0").parts if part.part.area == "item"]
        found = OriginFinder(store).find_origins(old, new, parts)
        assert sorted(str(one.subject) for one in found.values() if one.commit) == ["edit", "now 4.0.0"]


def test_all_is_well_after_a_move_and_a_lost_line_is_found(
    git: Callable[..., str], cli: Callable[..., Ran], tmp_path: Path
) -> None:
    git("init", "-q")
    root = tmp_path / "repo"
    (root / "rubrics").mkdir()
    (root / "rubrics/r.yaml").write_text(RUBRIC.format(version="1.0.0", values="one"))
    git("add", "-A")
    git("commit", "-qm", "begin")
    assert cli("bump", "--all", cwd=root).code == 0
    before = git("rev-parse", "HEAD").strip()
    (root / "sub").mkdir()
    git("mv", "rubrics", ".evalstore", "sub")
    git("commit", "-qm", "move")
    with ArtifactStore.open(root / "sub") as store:
        assert [*store.ledgers.read_at(before, "rubric/r").by_version] == ["1.0.0"]
    for command in ("status", "verify", "validate"):
        ran = cli(command, cwd=root / "sub")
        assert ran.code == 0, ran.out
    (root / "sub" / LEDGER).write_text("")
    git("commit", "-qam", "drop")
    ran = cli("verify", cwd=root / "sub")
    assert ran.code == 1
    assert "removed releases from the ledger of rubric/r: 1.0.0" in " ".join(ran.out.split())


def test_another_store_is_no_earlier_place(git: Callable[..., str]) -> None:
    git("init", "-q")
    root = Path(git("rev-parse", "--show-toplevel").strip())
    release(git, root, "a", "1.0.0", "one")
    (root / "a/evalstore.yaml").write_text("{}\n")
    (root / "b").mkdir()
    (root / "b/evalstore.yaml").write_text("{}\n")
    # One rubric goes to another store, and the others stay.
    (root / "b/rubrics").mkdir()
    git("mv", "a/rubrics/r.yaml", "b/rubrics/r.yaml")
    git("add", "-A")
    git("commit", "-qm", "share it")
    with ArtifactStore.open(root / "b") as store:
        assert store.moves.list_prefixes() == ("b/",)
        with pytest.raises(EvalstoreError, match="there is no b/rubrics"):
            store.resolve("rubric/r@1.0.0")
