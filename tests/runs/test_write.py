from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evalstore.errors import ConflictError, RefusedError
from evalstore.files import UNSEEN_DATA
from evalstore.runs import GradedRow, Run, RunWriter, make_run_name, read_rows, read_run, write_run
from evalstore.runs import write as module
from evalstore.runs.eee_write import write_row_line
from evalstore.runs.write import DraftFile, open_drafts

Written = Callable[..., Run]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_run_is_two_files(written: Written, tmp_path: Path) -> None:
    run = written()
    assert names(tmp_path / "runs") == ["small.json", "small_samples.jsonl"]
    assert (run.path, run.samples) == (tmp_path / "runs/small.json", tmp_path / "runs/small_samples.jsonl")


@pytest.mark.parametrize("text", ["plain", '"quoted" \\ and\n\x00', "Größe 🙂 \u2028 \x85 \u2029", ""])
def test_a_line_is_what_json_itself_would_write(text: str, run: Run, rows: tuple[GradedRow, ...]) -> None:
    said = {"id": f"{text}id", "input": text, "reference": (text, "b"), "reason": text, "group": text, "sample": 2}
    for row in (row._replace(output=row.output._replace(text=text), **said) for row in rows):
        line = write_row_line(row, replace(run, model=text)).decode()
        value = json.loads(line)
        assert line.splitlines() == [line.removesuffix("\n")]
        for escape, char in (("\\u2028", "\u2028"), ("\\u2029", "\u2029"), ("\\u0085", "\x85")):
            line = line.replace(escape, char)
        assert line == json.dumps(value, ensure_ascii=False) + "\n"
        assert value["input"] == {"raw": text, "reference": [text, "b"]}
        assert value["metadata"]["evalstore_output_digest"] == row.output_digest
        recipe = json.dumps({"raw": text, "reference": [text, "b"]}, sort_keys=True, separators=(",", ":"))
        assert value["sample_hash"] == hashlib.sha256(recipe.encode()).hexdigest()


def test_nothing_is_overwritten(written: Written, tmp_path: Path) -> None:
    first = written()
    before = {path: path.read_bytes() for path in (tmp_path / "runs").iterdir()}
    assert [written().path.name for _ in range(2)] == ["small-2.json", "small-3.json"]
    assert {path: path.read_bytes() for path in before} == before
    assert read_run(first.path) == first


@pytest.mark.parametrize("taken", ["small.json", "small_samples.jsonl"])
def test_one_of_the_two_names_taken_is_taken(taken: str, written: Written, tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / taken).symlink_to("nowhere")
    assert written().path.name == "small-2.json"
    assert names(tmp_path / "runs") == sorted([taken, "small-2.json", "small-2_samples.jsonl"])


def test_many_at_once_each_get_a_run(written: Written, tmp_path: Path) -> None:
    runs: list[Run] = []
    threads = [threading.Thread(target=lambda: runs.append(written())) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({run.path for run in runs}) == 12
    assert len(names(tmp_path / "runs")) == 24
    assert all(read_run(run.path) == run and len(list(read_rows(run))) == 7 for run in runs)


def test_what_is_not_finished_leaves_nothing(tmp_path: Path, run: Run, rows: tuple[GradedRow, ...]) -> None:
    def interrupted(folder: str) -> None:
        with write_run(tmp_path / folder, "small") as draft:
            draft.write_row(rows[0], run)
            raise KeyboardInterrupt

    (tmp_path / "there").mkdir()
    for folder in ("there", "runs/below", "there/below"):
        with pytest.raises(KeyboardInterrupt):
            interrupted(folder)
    assert [path.name for path in tmp_path.rglob("*")] == ["there"]


def test_an_aggregate_that_cannot_be_written_takes_its_rows_back(
    tmp_path: Path, run: Run, rows: tuple[GradedRow, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "format_aggregate", lambda _: 1 / 0)
    with write_run(tmp_path, "small") as draft:
        draft.write_row(rows[0], run)
        with pytest.raises(ZeroDivisionError):
            draft.publish(run)
    assert names(tmp_path) == []


def test_a_name_taken_in_the_last_moment_is_a_conflict(
    tmp_path: Path, run: Run, rows: tuple[GradedRow, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    def taken(run: Run) -> dict[str, Any]:
        run.path.write_text("mine", encoding="utf-8")
        return {}

    monkeypatch.setattr(module, "format_aggregate", taken)
    with write_run(tmp_path, "small") as draft, pytest.raises(ConflictError, match="at the same time"):
        draft.publish(run)
    assert names(tmp_path) == ["small.json"]
    assert (tmp_path / "small.json").read_text(encoding="utf-8") == "mine"


def test_a_file_system_without_links_will_do(written: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    first, second = written(), written()
    assert (read_run(first.path), second.path.name) == (first, "small-2.json")
    assert len(names(tmp_path / "runs")) == 4


def test_a_full_disk_is_one_sentence(tmp_path: Path, run: Run, rows: tuple[GradedRow, ...]) -> None:
    big = rows[0]._replace(input="x" * (1 << 20))
    refused = pytest.raises(RefusedError, match="cannot be written: no space left")
    with open_drafts(tmp_path) as drafts:
        full = DraftFile(drafts, "full", os.open("/dev/full", os.O_RDWR))
        with refused:
            RunWriter(drafts, "full", full).write_row(big, run)
        full.discard()


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with (
        pytest.raises(RefusedError, match="cannot be written"),
        write_run(tmp_path / "file" / "runs", "x"),
    ):
        pass


BEGUN = """
import sys, time
from pathlib import Path
from evalstore.runs import write_run
with write_run(Path(sys.argv[1]), sys.argv[2]) as draft:
    draft.rows.write(b"half of a row")
    draft.rows.flush()
    print("written", flush=True)
    time.sleep(60)
"""


@contextmanager
def begun(folder: Path, name: str = "small") -> Iterator[subprocess.Popen[bytes]]:
    """Begin a run in a separate process, which then waits; it is killed in the end."""
    with subprocess.Popen([sys.executable, "-c", BEGUN, str(folder), name], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"written\n"
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.chaos
def test_killed_half_way_it_leaves_no_run_and_the_next_one_sweeps(tmp_path: Path, written: Written) -> None:
    folder = tmp_path / "runs"
    with begun(folder) as first, begun(folder, "other\nname") as second:
        for process in (first, second):
            process.send_signal(signal.SIGKILL)
            process.wait()
    left = sorted(folder.iterdir())
    assert [(path / UNSEEN_DATA).read_bytes() for path in left] == [b"half of a row"] * 2
    assert all(path.name.startswith(".") and path.suffix == ".tmp" for path in left)
    written()
    assert names(folder) == ["small.json", "small_samples.jsonl"]


@pytest.mark.chaos
def test_what_another_process_still_writes_is_not_swept(tmp_path: Path, written: Written) -> None:
    folder = tmp_path / "runs"
    with begun(folder):
        (theirs,) = names(folder)
        written()
        assert names(folder) == [theirs, "small.json", "small_samples.jsonl"]
        assert (folder / theirs / UNSEEN_DATA).read_bytes() == b"half of a row"
    written()
    assert theirs not in names(folder)


def test_only_files_of_our_own_making_are_swept(tmp_path: Path, written: Written) -> None:
    folder = tmp_path / "runs"
    folder.mkdir()
    (tmp_path / "kept").write_text("kept", encoding="utf-8")
    (folder / ".link.0123abcd.evalstore.tmp").symlink_to(tmp_path / "kept")
    (folder / ".folder.0123abcd.evalstore.tmp/work").mkdir(parents=True)
    os.mkfifo(folder / ".pipe.0123abcd.evalstore.tmp")
    for name in (".small.0123abcd.tmp", ".small.xyz.evalstore.tmp", "small.0123abcd.evalstore.tmp", ".evalstore.tmp"):
        (folder / name).write_text("kept", encoding="utf-8")
    before = names(folder)
    written()
    assert names(folder) == sorted([*before, "small.json", "small_samples.jsonl"])
    assert (tmp_path / "kept").read_text(encoding="utf-8") == "kept"


def test_a_folder_in_which_another_run_is_written_stays(tmp_path: Path) -> None:
    with write_run(tmp_path / "new", "one"):
        with write_run(tmp_path / "new", "other"):
            pass
        assert (tmp_path / "new").is_dir()
    assert not (tmp_path / "new").exists()


def test_a_file_swept_before_it_was_locked_is_begun_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    swept: list[Path] = []

    def lose_the_race(file: Any, operation: int) -> None:
        if not swept and operation == fcntl.LOCK_EX:
            swept.extend(tmp_path.iterdir())
            drafts.remove_hidden(f"{swept[0].name}/{UNSEEN_DATA}")
        lock(file, operation)

    lock = fcntl.flock
    monkeypatch.setattr(fcntl, "flock", lose_the_race)
    with open_drafts(tmp_path) as drafts, drafts.open_file("small") as file:
        assert [f"{name}/{UNSEEN_DATA}" for name in names(tmp_path)] == [file.hidden]
        assert names(tmp_path) != [swept[0].name]


def test_a_file_system_without_locks_will_do(written: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with write_run(tmp_path / "runs", "other"):
        assert written().path.name == "small.json"
        assert len(names(tmp_path / "runs")) == 3


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        (("web_answers", "1.0.0", "model_a"), "web_answers-1.0.0-model_a"),
        (("a", "git:" + "0" * 40, "org/m:0@x"), f"a-git-{'0' * 40}-org-m-0-x"),
        (("a", "1.0.0", "../../etc/passwd"), "a-1.0.0-etc-passwd"),
        (("a", "", "…"), "a"),
        (("a", "1.0.0", "x" * 300), f"a-1.0.0-{'x' * 152}"),
        (("a", "1.0.0", ".hidden\n\x1b[31m"), "a-1.0.0-hidden-31m"),
    ],
)
def test_a_name_of_a_run_is_a_plain_file_name(parts: tuple[str, ...], name: str) -> None:
    assert make_run_name(*parts) == name


def test_the_same_values_give_the_same_bytes(written: Written) -> None:
    first, second = written(), written()
    assert first.samples.read_bytes() == second.samples.read_bytes()
    ours = json.loads(first.path.read_text("utf-8"))
    ours["eval_library"]["additional_details"]["evalstore_samples"] = second.samples.name
    assert ours == json.loads(second.path.read_text("utf-8"))
