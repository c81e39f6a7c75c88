"""All or nothing: whatever stops a migration, the store is as it was, at the latest when the next one begins."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evalstore.errors import ConflictError, LoadError, RefusedError
from evalstore.migration import FileState, migrate
from evalstore.migration.staging import STAGE, open_stage

Suite = Callable[..., Path]
ROOT = Path(__file__).resolve().parents[2]


def tree(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): b"" if path.is_dir() else path.read_bytes() for path in sorted(root.rglob("*"))
    }


@pytest.fixture
def store(suite: Suite, tmp_path: Path) -> Path:
    """A store with a file of its own and a migrated `forms`, whose source and dataset have both changed since."""
    root = tmp_path / "store"
    migrate([suite({"must_contain_any": ["a"], "prompt": "Before?"})], into=root, share="cases")
    (root / "rubrics/own.yaml").write_text("id: own\n")
    dataset = root / "datasets/forms.yaml"
    dataset.write_text(dataset.read_text("utf-8").replace("Before?", "Ours?"), encoding="utf-8")
    return root


def test_a_file_of_somebody_else_is_never_overwritten(suite: Suite, tmp_path: Path) -> None:
    (tmp_path / "store/datasets").mkdir(parents=True)
    (tmp_path / "store/datasets/forms.yaml").write_text("id: forms\n")
    report = migrate([suite({"must_contain_any": ["a"]})], into=tmp_path / "store", share="cases", force=True)
    assert report.written == ("datasets/forms_evals.yaml", "rubrics/forms_evals_b01.yaml")
    assert [file.reason for file in report.files] == [
        "another dataset is called forms, too: its path tells it apart",
        "",
    ]
    assert (tmp_path / "store/datasets/forms.yaml").read_text() == "id: forms\n"
    assert migrate([suite({"must_contain_any": ["a"]})], into=tmp_path / "store", share="cases").written == ()


def test_a_conflict_is_left_alone_and_the_others_go_on(suite: Suite, store: Path) -> None:
    ours = (store / "datasets/forms.yaml").read_bytes()
    report = migrate([suite({"must_contain_any": ["a"]}, {"must_contain_any": ["b"]})], into=store, share="cases")
    assert {file.path: file.state for file in report.files} == {
        "datasets/forms.yaml": FileState.CONFLICT,
        "rubrics/forms_b01.yaml": FileState.UNCHANGED,
        "rubrics/forms_b02.yaml": FileState.NEW,
    }
    assert "-    input: Ours?\n+    input: Question 1?\n" in report.conflicts[0].diff
    assert not report.complete
    assert (store / "datasets/forms.yaml").read_bytes() == ours


def test_force_takes_the_side_of_the_source_in_a_conflict_alone(suite: Suite, store: Path) -> None:
    source = suite({"must_contain_any": ["a"]})
    rubric = store / "rubrics/forms_b01.yaml"
    rubric.write_text(rubric.read_text().replace("1.0.0", "1.2.0").replace("- a\n", "- ours\n"))
    report = migrate([source], into=store, share="cases", force=True)
    assert report.written == ("datasets/forms.yaml",)
    assert "Question 1?" in (store / "datasets/forms.yaml").read_text()
    assert "- ours\n" in rubric.read_text()
    assert (store / "rubrics/own.yaml").read_text() == "id: own\n"


def test_keep_takes_the_side_of_the_store_and_the_conflict_is_over(suite: Suite, store: Path) -> None:
    source = suite({"must_contain_any": ["a"]})
    before = (store / "datasets/forms.yaml").read_text().splitlines()
    assert [file.state for file in migrate([source], into=store, keep=True).files if file.is_written] == [
        FileState.KEPT
    ]
    after = (store / "datasets/forms.yaml").read_text().splitlines()
    gone = [line.split(":")[0] for line in before if line not in after]
    come = [line.split(":")[0] for line in after if line not in before]
    assert gone == ["  base"]
    assert come[:3] == ["  base", "  parts", "    x_source"]
    parts = {"questions", "B01", '""', "id", "input", "rubric_ref", "metadata", "skill_name"}
    assert {line.strip() for line in come[3:]} == parts
    again = migrate([source], into=store)
    assert (again.written, again.conflicts) == ((), ())


def test_a_rubric_that_was_only_released_takes_what_the_source_says(suite: Suite, tmp_path: Path) -> None:
    rubric = tmp_path / migrate([suite({"must_contain_any": ["a"]})], into=tmp_path, share="cases").written[1]
    rubric.write_text("# ours\n" + rubric.read_text().replace("1.0.0", "1.4.2"))
    assert migrate([suite({"must_contain_any": ["a"]})], into=tmp_path, share="cases").written == ()
    report = migrate([suite({"must_contain_any": ["a", "b"]})], into=tmp_path, share="cases")
    assert [(file.path, file.state) for file in report.files if file.is_written] == [
        ("rubrics/forms_b01.yaml", FileState.UPDATED)
    ]
    assert {'version: "1.4.2"', "      - b"} <= set(rubric.read_text().splitlines())


@pytest.mark.parametrize("folder", ["rubrics", "datasets"])
def test_a_link_in_place_of_a_folder_is_never_followed(suite: Suite, tmp_path: Path, folder: str) -> None:
    outside, root = tmp_path / "outside", tmp_path / "store"
    outside.mkdir()
    root.mkdir()
    (root / folder).symlink_to(outside)
    with pytest.raises(LoadError, match="a link or a file is in its path"):
        migrate([suite({"must_contain_any": ["a"]})], into=root)
    assert list(outside.iterdir()) == []
    assert [path.name for path in root.iterdir()] == [folder]


@pytest.mark.parametrize("make", [Path.mkdir, lambda path: path.symlink_to("/etc/hostname"), os.mkfifo])
def test_something_odd_in_place_of_a_file_is_refused(
    suite: Suite, tmp_path: Path, make: Callable[[Path], None]
) -> None:
    (tmp_path / "store/rubrics").mkdir(parents=True)
    make(tmp_path / "store/rubrics/forms_b01.yaml")
    with pytest.raises(LoadError):
        migrate([suite({})], into=tmp_path / "store", share="cases", format="ai_best_practices", force=True)
    assert not (tmp_path / "store/datasets").exists()


@pytest.fixture
def nobody() -> Iterator[Path]:
    """A folder that everybody may read, and the rights of somebody whom permissions bind."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_a_store_that_cannot_be_written_stays_as_it_was(suite: Suite, nobody: Path) -> None:
    source, store = nobody / "evals.json", nobody / "store"
    source.write_bytes(suite({"must_contain_any": ["a"]}).read_bytes())
    store.mkdir()
    store.chmod(0o555)
    migrate([source], into=nobody, dry_run=True)  # what is imported late is imported now
    user = os.geteuid()
    try:
        if user == 0:
            os.seteuid(65534)
        if not os.access(ROOT / "migrations", os.R_OK | os.X_OK, effective_ids=True):
            pytest.skip("the checkout lies in a folder that only root may read")
        with pytest.raises(RefusedError, match="cannot be written: permission denied") as refused:
            migrate([source], into=store)
        assert (str(refused.value.place), bool(refused.value.hint)) == (str(store), True)  # not our own folder in it
    finally:
        os.seteuid(user)
    assert list(store.iterdir()) == []


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ("LINE_LIMIT", "one question is larger than 300 bytes, the limit for one line"),
        ("LARGE_FILE", "its questions are larger than 300 bytes, the limit for one file"),
    ],
)
def test_rows_that_nobody_could_read_again_are_refused(
    suite: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, said: str
) -> None:
    monkeypatch.setattr("evalstore.migration.planned_writes._ROWS_FROM", 0)
    monkeypatch.setattr(f"evalstore.migration.planned_writes.{limit}", 300)
    short = {"must_contain_any": ["a"]}
    source = suite(*[short] * 4) if limit == "LARGE_FILE" else suite(short, short | {"expected_output": "x" * 300})
    report = migrate([source], into=tmp_path / "store")
    refused = [f"cannot be kept: {said}"] * (4 if limit == "LARGE_FILE" else 2)  # every case counts
    assert ([entry.reason for entry in report.entries], report.written) == (refused, ())


@pytest.mark.chaos
def test_a_full_disk_leaves_nothing_behind(suite: Suite, store: Path) -> None:
    source = suite(*({"must_contain_any": [f"word {n}"], "expected_output": "x" * 2000} for n in range(9)))
    before = tree(store)
    limited = "import resource, sys; sys.dont_write_bytecode = True; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)); from evalstore.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-B", "-c", limited, "migrate", source, "--into", store, "--force"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3, done.stderr
    assert "cannot be written: file too large" in done.stderr
    assert tree(store) == before


def killed(at: int, work: Callable[[], object]) -> bool:
    """Run `work` in a child that kills itself before its `at`-th change of the disk; False when it got to the end."""
    child = os.fork()
    if child == 0:
        left = iter(range(at))

        def dying(name: str) -> Callable[..., object]:
            real = getattr(os, name)

            def call(*args: object, **named: object) -> object:
                if next(left, None) is None:
                    os.kill(os.getpid(), signal.SIGKILL)
                return real(*args, **named)

            return call

        for name in ("rename", "unlink", "rmdir", "mkdir"):
            setattr(os, name, dying(name))
        work()
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


@pytest.mark.chaos
def test_a_kill_at_any_moment_is_undone_by_the_next_run(suite: Suite, store: Path, tmp_path: Path) -> None:
    source = suite({"must_contain_any": ["a"]}, {"must_not_contain": ["b"]}, {})
    before = tree(store)
    migrate([source], into=store, force=True)
    after = tree(store)
    seen, at = set(), 0
    while True:
        fresh = tmp_path / f"killed-{at}"
        subprocess.run(["cp", "-r", str(store), str(fresh)], check=True)
        for path in set(after) - set(before):
            (fresh / path).unlink()
        (fresh / "datasets/forms.yaml").write_bytes(before["datasets/forms.yaml"])
        assert tree(fresh) == before
        if not killed(at, lambda root=fresh: migrate([source], into=root, force=True)):
            break
        halfway = tree(fresh)
        report = migrate([], into=fresh)
        now = tree(fresh)
        assert now in (before, after)
        assert now == after or report.recovered == any(path.endswith("journal.jsonl") for path in halfway)
        seen.add(now == after)
        migrate([source], into=fresh, force=True)
        assert tree(fresh) == after
        at += 1
    assert at > 10
    assert seen == {True, False}


@pytest.mark.chaos
def test_what_somebody_edits_after_a_kill_stays(suite: Suite, tmp_path: Path) -> None:
    source = suite({"must_contain_any": ["a"]})
    store = tmp_path / "store"
    store.mkdir()
    at = next(
        at for at in range(3, 20) if killed(at, lambda: migrate([source], into=store)) and list(store.glob("rubrics/*"))
    )
    assert at
    rubric = next(store.glob("rubrics/*"))
    rubric.write_text("# mine\n")
    assert migrate([], into=store).recovered
    assert {path.name for path in store.rglob("*")} == {"rubrics", rubric.name}
    assert rubric.read_text() == "# mine\n"


@pytest.mark.parametrize(
    "journal",
    [
        {"file": "../outside.yaml", "sha256": "0"},
        {"made": "../outside"},
        {"made": "runs/../../outside"},
        {"made": "runs/.git"},
        {"made": ".git/hooks"},
        {"file": "rubrics/../../x.yaml", "sha256": "0"},
        {"file": "runs/../x.json", "sha256": "0"},
        {"file": "runs/a/../../x.json", "sha256": "0"},
        {"file": "runs/a/.git/x.json", "sha256": "0"},
        {"file": "runs/.hidden.json", "sha256": "0"},
        {"file": "rubrics/a.yaml"},
        {"made": []},
        {},
        [],
        0,
        "no journal",
    ],
)
def test_a_journal_of_a_stranger_moves_nothing(store: Path, journal: object) -> None:
    (store / STAGE).mkdir()
    sound = {"file": "rubrics/own.yaml", "sha256": hashlib.sha256(b"id: own\n").hexdigest()}
    (store / STAGE / "journal.jsonl").write_text(f"{json.dumps(sound)}\n{json.dumps(journal)}\n")
    (store / STAGE / "old-0").write_text("theirs")
    before = tree(store.parent)
    with pytest.raises(RefusedError, match="cannot be undone"):
        migrate([], into=store)
    assert tree(store.parent) == before


def test_a_stage_that_was_committed_is_none(suite: Suite, store: Path) -> None:
    subprocess.run(["git", "init", "-q", str(store)], check=True)
    digest = hashlib.sha256(b"id: own\n").hexdigest()
    (store / STAGE).mkdir()
    (store / STAGE / "journal.jsonl").write_text(json.dumps({"file": "rubrics/own.yaml", "sha256": digest}) + "\n")
    (store / STAGE / "old-0").write_text("theirs")
    before = tree(store / STAGE)
    report = migrate(
        [suite({"must_contain_any": ["a"]}, {"must_contain_any": ["b"]})], into=store, share="cases", force=True
    )
    assert (report.recovered, len(report.written)) == (False, 2)
    assert (store / "rubrics/own.yaml").read_text() == "id: own\n"
    assert tree(store / STAGE) == before
    assert not list((store / ".git/evalstore").iterdir())


def between_file_systems(patch: pytest.MonkeyPatch) -> None:
    """Let no file be renamed from one folder to another, but for a temporary one to its place beside that folder."""
    real = os.rename

    def rename(*names: Any, src_dir_fd: int | None = None, dst_dir_fd: int | None = None) -> None:
        if (
            names[0] != ".git/data"
            and src_dir_fd
            and dst_dir_fd
            and os.fstat(src_dir_fd).st_ino != os.fstat(dst_dir_fd).st_ino
        ):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        real(*names, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    patch.setattr(os, "rename", rename)


@pytest.mark.chaos
@pytest.mark.parametrize("linked", [False, True], ids=["a repository", "a worktree on another file system"])
def test_a_kill_within_a_repository_is_undone_by_the_next_run(
    suite: Suite, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, linked: bool
) -> None:
    source = suite({"must_contain_any": ["a"]}, {"must_not_contain": ["b"]})
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "Begin"]):
        subprocess.run(["git", *words], cwd=store, check=True)
    root = store
    if linked:
        root = tmp_path / "linked"
        subprocess.run(["git", "worktree", "add", "-q", str(root)], cwd=store, check=True)
        between_file_systems(monkeypatch)
    before = {path: data for path, data in tree(root).items() if not path.startswith(".git")}
    recovered = 0
    for at in range(3, 80, 2):
        assert killed(at, lambda: migrate([source], into=root, force=True))
        recovered += migrate([], into=root).recovered
        if {path: data for path, data in tree(root).items() if not path.startswith(".git")} != before:
            break  # killed when all was in its place
    assert recovered
    assert migrate([source], into=root, force=True).written == ()
    assert not list(store.glob(".git/**/migrating-*"))


def test_what_others_refer_to_moves_before_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [
        "runs/a_samples.jsonl",
        "runs/a.json",
        "datasets/a.yaml",
        "datasets/a.jsonl",
        "rubrics/a.yaml",
        "judges/b.yaml",
    ]
    moved: list[str] = []
    with open_stage(tmp_path) as stage:
        for path in paths:
            stage.add(path, b"x")
        real = os.rename
        monkeypatch.setattr(os, "rename", lambda *names, **more: (moved.append(names[1]), real(*names, **more)))
        stage.commit()
    assert moved[1:] == ["b.yaml", "a.yaml", "a.jsonl", "a.yaml", "a.json", "a_samples.jsonl"]
    assert sorted(tree(tmp_path)) == sorted([*paths, "judges", "rubrics", "datasets", "runs"])


def test_two_migrations_do_not_write_at_once(suite: Suite, store: Path) -> None:
    folder = os.open(store, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    try:
        with pytest.raises(ConflictError, match="another migration"):
            migrate([suite({})], into=store)
    finally:
        os.close(folder)


def test_a_store_that_does_not_exist_is_made_only_when_all_is_well(suite: Suite, tmp_path: Path) -> None:
    broken = tmp_path / "missing.json"
    with pytest.raises(LoadError):
        migrate([suite({"must_contain_any": ["a"]}), broken], into=tmp_path / "new/store")
    assert not (tmp_path / "new/store").exists()
    migrate([suite({"must_contain_any": ["a"]})], into=tmp_path / "new/store")
    assert (tmp_path / "new/store/datasets/forms.yaml").is_file()
