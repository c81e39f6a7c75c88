"""A run that the workers of a cluster grade is the run of one process, byte for byte, wherever the file is cut."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from evalstore import api
from evalstore.errors import EvalstoreError, RefusedError, UsageError
from evalstore.runs import Run
from evalstore.runs.remote import locate_file
from evalstore.scoring import ScoringOptions, open_job
from evalstore.scoring.workers import (
    WorkerLostError,
    Workers,
    _AwaitedResult,
    _end_workers,
    map_rows,
    open_workers,
    write_run_by_workers,
)
from evalstore.store import ArtifactStore

AT = datetime(2026, 9, 14, 16, 0, tzinfo=UTC)
Write = Callable[..., Path]
Share = Callable[..., Run]


@pytest.fixture
def share(store: ArtifactStore, tmp_path: Path) -> Share:
    """Score outputs by two threads, in stretches of so many bytes; a run lands in `tmp_path/shared`."""

    def run(outputs: Path, size: int = 1, dataset: str = "dataset/small@1.0.0", **options: Any) -> Run:
        executor = options.pop("executor", None) or ThreadPoolExecutor(2)
        read = options.pop("store", store)
        with executor, open_job(dataset, outputs, read, ScoringOptions(at=AT, **options)) as job:
            return write_run_by_workers(
                job, tmp_path / "shared", nullcontext(Workers(executor.submit, 2)), span_size=size
            )

    return run


def read_bytes(run: Run) -> tuple[bytes, bytes]:
    return run.path.read_bytes(), run.samples.read_bytes()


def expect_same(run: Run, other: Run) -> None:
    assert read_bytes(run) == read_bytes(other)
    assert replace(run, path=Path(), samples=Path()) == replace(other, path=Path(), samples=Path())


def sample(id_: str, number: int, text: str) -> dict[str, Any]:
    return {"id": id_, "output": text, **({"sample": number} if number else {})}


ROWS = [
    sample("two", 1, "thanks"),
    sample("one", 0, "please!"),
    b"",
    sample("stray", 0, "?"),
    sample("four", 0, "anything"),
    sample("two", 0, "moreover"),
    {"id": "four", "output": "please", "sample": 7},
    {"id": "three", "output": "please", "input": "Write a poem."},
    sample("other", 0, "ü\u2028"),
]


@pytest.mark.parametrize("size", [1, 90, 170, 10**9])
def test_a_run_does_not_depend_on_where_its_outputs_are_cut(
    size: int, scored: Callable[..., Run], write: Write, share: Share
) -> None:
    outputs = write(ROWS)
    expect_same(share(outputs, size), scored("dataset/small@1.0.0", outputs))


def eee(id_: str, metric: str, text: str) -> dict[str, Any]:
    return {
        "schema_version": "0.3.0",
        "evaluation_id": "x",
        "model_id": "m",
        "evaluation_name": "x",
        "evaluation_result_id": metric,
        "sample_id": id_,
        "interaction_type": "single_turn",
        "input": {"raw": "?", "reference": []},
        "output": {"raw": [text]},
        "answer_attribution": [],
        "evaluation": {"score": 1, "is_correct": True},
    }


def test_an_output_that_comes_again_in_another_stretch_for_another_metric_counts_once(
    scored: Callable[..., Run], write: Write, share: Share
) -> None:
    rows = [eee("one", "a", "please"), eee("two", "a", "thanks"), eee("one", "b", "please"), eee("four", "a", "x")]
    outputs = write([*rows, eee("two", "b", "thanks")])
    run = share(outputs)
    assert any(note.startswith("rows that repeat an output for another metric: 2") for note in run.notes)
    expect_same(run, scored("dataset/small@1.0.0", outputs))


@pytest.mark.parametrize(
    ("rows", "options"),
    [
        ([sample("one", 0, "a"), sample("two", 0, "b"), sample("one", 0, "c")], {}),
        ([{**eee("one", "a", "x"), "model_id": "m"}, {**eee("two", "a", "x"), "model_id": "n"}], {}),
        ([{**eee("one", "a", "x"), "model_id": "m"}] * 2, {"only": {"model": "n*"}}),
        ([sample("nobody", 0, "a"), sample("stranger", 0, "b")], {}),
    ],
    ids=["twice", "two models", "no such model", "strays"],
)
def test_what_is_refused_is_refused_as_by_one_process(
    rows: Any, options: Any, scored: Callable[..., Run], write: Write, share: Share, tmp_path: Path
) -> None:
    outputs = write(rows)
    with pytest.raises(EvalstoreError) as of_one:
        scored("dataset/small@1.0.0", outputs, **options)
    with pytest.raises(EvalstoreError) as of_many:
        share(outputs, **options)
    assert (str(of_many.value), of_many.value.hint) == (str(of_one.value), of_one.value.hint)
    assert not list((tmp_path / "shared").glob("*"))


def test_one_series_of_several_may_lie_in_some_stretches_only(
    scored: Callable[..., Run], write: Write, share: Share
) -> None:
    rows = [
        {**eee(id_, "a", "please"), "model_id": model} for id_, model in (("one", "m"), ("two", "n"), ("four", "m"))
    ]
    outputs, only = write(rows), {"model": "n"}
    expect_same(share(outputs, only=only), scored("dataset/small@1.0.0", outputs, only=only))


def test_floating_rulers_are_noted_as_by_one_process(
    store: ArtifactStore, scored: Callable[..., Run], write: Write, share: Share
) -> None:
    assert store.root
    path = store.root / "datasets/small.yaml"
    path.write_text(
        path.read_text().replace("rubric/code@1.0.0", "rubric/code@^1").replace("tone@1.0.0", "tone@worktree")
    )
    outputs = write()
    run = share(outputs, dataset="dataset/small@worktree")
    assert any("rubric/code@^1 floats" in note for note in run.notes)
    expect_same(run, scored("dataset/small@worktree", outputs))


@pytest.mark.parametrize("pins", ["unreleased", "all"])
def test_workers_read_the_files_that_one_process_reads(
    pins: str, store: ArtifactStore, scored: Callable[..., Run], write: Write, share: Share
) -> None:
    assert store.root
    for name in ("datasets/small.yaml", "rubrics/code.yaml"):
        path = store.root / name
        path.write_text(
            path.read_text().replace("code@1.0.0", "code@1.1.0").replace("version: 1.0.0", "version: 1.1.0")
        )
    outputs, trial = write(), store.with_worktree(pins)
    run = share(outputs, dataset="dataset/small@1.1.0", store=trial)
    expect_same(run, scored("dataset/small@1.1.0", outputs, store=trial))
    assert [pinned.ref.partition("@")[2] for pinned in run.rubrics] == (
        ["worktree"] * 3 if pins == "all" else ["worktree", "1.0.0", "1.0.0"]
    )


class EditingExecutor(ThreadPoolExecutor):
    """Threads before whose first task somebody edits a file."""

    def __init__(self, edit: Callable[[], Any]) -> None:
        super().__init__(1)
        self.edit: Callable[[], Any] | None = edit

    def submit(self, function: Any, /, *args: Any, **named: Any) -> Future[Any]:
        if self.edit:
            self.edit()
            self.edit = None
        return super().submit(function, *args, **named)


def edit_file(path: Path, old: str, new: str) -> Callable[[], Any]:
    return lambda: path.write_text(path.read_text().replace(old, new))


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("outputs", "please!", "please?", "model_a.jsonl: changed while it was read"),
        ("rubrics/tone.yaml", "thanks", "thanx", "rubric/tone@worktree changed while outputs were graded"),
        ("datasets/many.jsonl", "B?", "C?", "the questions of dataset/many@worktree changed while outputs were graded"),
        ("evalstore.yaml", "", "strict: true\n", "a worker has different versions or settings"),
    ],
)
def test_what_changes_meanwhile_is_refused(  # fixtures and cases
    file: str, old: str, new: str, words: str, store: ArtifactStore, write: Write, share: Share, tmp_path: Path
) -> None:
    assert store.root
    (store.root / "evalstore.yaml").touch()
    outputs = write({"a": "please!", "b": "thanks"})
    executor = EditingExecutor(edit_file(outputs if file == "outputs" else store.root / file, old, new))
    with pytest.raises(RefusedError) as error:
        share(outputs, dataset="dataset/many@worktree", rubric="rubric/tone@worktree", executor=executor)
    assert words in str(error.value)
    assert not (tmp_path / "shared").exists()


def test_outputs_that_change_before_they_are_cut_are_refused(
    store: ArtifactStore, write: Write, tmp_path: Path
) -> None:
    outputs = write()
    with (
        open_job("dataset/small@1.0.0", outputs, store, ScoringOptions(at=AT)) as job,
        ThreadPoolExecutor(1) as threads,
    ):
        outputs.write_text(outputs.read_text() * 2)
        with pytest.raises(RefusedError, match="changed while it was read"):
            write_run_by_workers(job, tmp_path / "shared", nullcontext(Workers(threads.submit, 1)), span_size=1)


def test_judges_are_asked_by_one_process(judged: Path, cli: Callable[..., Any]) -> None:
    (judged / "a.jsonl").write_text("".join(json.dumps({"id": id_, "output": "no"}) + "\n" for id_ in ("one", "two")))
    ran = cli("score", "dataset/three@1.0.0", "a.jsonl", "--engine", "dask", cwd=judged)
    assert (ran.code, "a rubric asks judges, and only a single process can do that" in ran.err) == (2, True), ran.err


def write_many(store: ArtifactStore, count: int, padding: int = 0) -> Path:
    """Write a dataset of so many questions in a file of rows, which no commit holds, and outputs to them."""
    assert store.root
    with (store.root / "datasets/many.jsonl").open("w") as rows, (store.root / "many.jsonl").open("w") as outputs:
        for number in range(count):
            rows.write(json.dumps({"id": f"q{number}", "input": f"Say {number}."}) + "\n")
            text = ("please!" if number % 3 else "moreover") + padding * "x"
            outputs.write(json.dumps({"id": f"q{number}", "output": text}) + "\n")
    return store.root


@pytest.mark.process
def test_a_cluster_of_this_machine_writes_what_one_process_does(
    store: ArtifactStore, cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed", reason="distributed is not installed: no cluster is tested")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1789401600")
    root = write_many(store, 20, padding=250_000)  # two stretches
    words = ("score", "dataset/many@worktree", "many.jsonl")
    for engine in ("local", "dask"):
        ran = cli(*words, "--engine", engine, "--out", f"by-{engine}", cwd=root)
        assert (ran.code, "rror" in ran.err) == (0, False), ran.err
    expect_same_files(root / "by-local", root / "by-dask")
    assert list_descendants(os.getpid(), "spawn_main") == []


@pytest.mark.slow
@pytest.mark.process
def test_a_cluster_of_this_machine_reports_a_fault_as_one_process_does_and_leaves_nothing(
    store: ArtifactStore, cli: Callable[..., Any]
) -> None:
    pytest.importorskip("distributed", reason="distributed is not installed: no cluster is tested")
    root = write_many(store, 20, padding=250_000)
    words = ("score", "dataset/many@worktree", "many.jsonl")
    with (root / "many.jsonl").open("a") as outputs:
        outputs.write('{"id": "q0", "output": "again"}\n')
    for engine in ("local", "dask"):
        ran = cli(*words, "--engine", engine, "--out", f"broken-{engine}", cwd=root)
        assert (ran.code, ran.err.startswith("error: many.jsonl:21: ")) == (3, True), ran.err
        assert not (root / f"broken-{engine}").exists()
    assert list_descendants(os.getpid(), "spawn_main") == []


def expect_same_files(one: Path, other: Path) -> None:
    files = [sorted(folder.iterdir()) for folder in (one, other)]
    assert [path.name for path in files[0]] == [path.name for path in files[1]]  # nothing else is left there
    assert [path.read_bytes() for path in files[0]] == [path.read_bytes() for path in files[1]]


@pytest.mark.slow
@pytest.mark.process
def test_a_cluster_of_this_machine_serves_its_keys_alone_and_says_that_workers_died() -> None:
    distributed = pytest.importorskip("distributed", reason="distributed is not installed: no cluster is tested")
    once = {"distributed.scheduler.allowed-failures": 0}
    died = pytest.raises(WorkerLostError, match="Dask gave up on some outputs, because workers died")
    with import_module("dask").config.set(once), died, open_workers(None) as workers:
        submit: Any = workers.submit
        cluster = submit.args[0].cluster
        address, port = cluster.scheduler_address, cluster.scheduler.http_server.port
        assert address.startswith("tls://127.0.0.1:")
        with pytest.raises(HTTPError, match="404"):
            urlopen(f"http://127.0.0.1:{port}/info/main/workers.html", timeout=5)
        for url in (address, address.replace("tls:", "tcp:")):
            with pytest.raises((OSError, TypeError)):
                distributed.Client(url, timeout=1, set_as_default=False)
        list(map_rows(workers.submit, os._exit, [9], most=2))
    assert list_descendants(os.getpid(), "spawn_main") == []


class LostFuture:
    """A future of distributed that is never done, or whose scheduler is gone, or whose function timed out."""

    def __init__(self, error: Exception, status: str) -> None:
        self.error, self.status, self.looks = error, status, 0

    def result(self, timeout: float) -> None:
        self.looks += 1
        assert self.looks * timeout <= 70, "waits for ever"
        raise self.error


@pytest.mark.parametrize(
    ("error", "status", "raised", "looks"),
    [
        (TimeoutError(), "pending", "Dask has had no workers for 60 seconds", 14),
        (CancelledError(), "cancelled", "the scheduler of Dask no longer answers", 1),
        (TimeoutError("its own"), "error", "its own", 1),
    ],
)
def test_workers_that_are_gone_for_good_are_not_waited_for(
    error: Exception, status: str, raised: str, looks: int
) -> None:
    pytest.importorskip("distributed", reason="distributed is not installed: no cluster is tested")
    future = LostFuture(error, status)
    # Two looks see a worker, which dies.
    client = SimpleNamespace(nthreads=lambda: {"tcp://a": 1} if future.looks <= 2 else {})
    with pytest.raises(Exception, match=raised):
        _AwaitedResult(client, future).result()
    assert future.looks == looks


def test_results_come_in_order_and_few_are_under_way() -> None:
    submitted: list[int] = []

    class CountingExecutor(ThreadPoolExecutor):
        def submit(self, function: Any, /, *args: Any, **named: Any) -> Future[Any]:
            submitted.append(*args)
            return super().submit(function, *args, **named)

    with CountingExecutor(2) as executor:
        results = map_rows(
            executor.submit, lambda number: time.sleep(0.02 * (number == 0)) or number, range(100), most=4
        )
        assert [next(results), len(submitted)] == [0, 4]
        assert list(results) == list(range(1, 100))


def test_a_worker_that_takes_long_to_die_raises_nothing_in_place_of_the_interrupt() -> None:
    asked = []

    async def close(**named: float) -> None:
        asked.append(named)
        raise TimeoutError  # as that of distributed does, after it has killed its worker

    asyncio.run(_end_workers(SimpleNamespace(workers={0: SimpleNamespace(close=close)})))
    assert asked == [{"timeout": 0.1}]


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize(("how", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_no_worker_outlives_its_parent(how: signal.Signals, code: int, store: ArtifactStore) -> None:
    pytest.importorskip("distributed", reason="distributed is not installed: no cluster is tested")
    root = write_many(store, 16_000, padding=1_000)
    words = ("score", "dataset/many@worktree", "many.jsonl", "--engine", "dask")
    process = subprocess.Popen(
        [sys.executable, "-m", "evalstore", *words],
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    runs = root / "runs"
    wait_until(lambda: runs.is_dir() and any(path.stat().st_size for path in runs.rglob("data")))
    started = list_descendants(process.pid, "")
    assert len(started) > 1  # what keeps account of resources, and the workers
    # A terminal sends Ctrl-C to the workers, too.
    (os.killpg if how is signal.SIGINT else os.kill)(process.pid, how)
    _, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    wait_until(lambda: not any(map(read_command, started)))
    assert how is signal.SIGKILL or (err.strip(), runs.exists()) == ("error: interrupted", False)


def list_descendants(pid: int, word: str) -> list[int]:
    """Return all processes that a process has started, and theirs, whose command line has a word."""
    tasks = Path(f"/proc/{pid}/task")
    children = [int(number) for task in tasks.iterdir() for number in (task / "children").read_text().split()]
    found = [child for child in children if word in read_command(child)]
    return found + [below for child in children for below in list_descendants(child, word)]


def read_command(pid: int) -> str:
    """Return the command line of a process; empty for one that has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def wait_until(what: Callable[[], Any]) -> None:
    end = time.monotonic() + 60
    while not what():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_what_a_url_names_is_cut_too_and_the_api_knows_its_engines(
    store: ArtifactStore, scored: Callable[..., Run], share: Share
) -> None:
    memory = pytest.importorskip("fsspec", reason="URLs need fsspec").filesystem("memory")
    root = write_many(store, 9)
    memory.pipe("/b/many.jsonl", (root / "many.jsonl").read_bytes())
    with pytest.raises(UsageError, match="there is no engine spark"):
        api.score("dataset/many@worktree", root / "many.jsonl", store=store, out=root / "none", engine="spark")
    one = scored("dataset/many@worktree", root / "many.jsonl")
    from_url = share(locate_file("memory://b/many.jsonl"), dataset="dataset/many@worktree")
    memory.store.clear()
    expect_same(from_url, one)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["dataset/small@1.0.0"], "Missing argument 'OUTPUTS'"),
        (["dataset/small@1.0.0", "a.jsonl", "--scheduler", "x"], "a scheduler needs the engine dask"),
        (["dataset/small@1.0.0", "a.jsonl", "--engine", "spark"], "'spark' is not one of 'local', 'dask'"),
        *(
            (["dataset/small@1.0.0", "a.jsonl", option, "plan.json"], f"No such option '{option}'")
            for option in ("--plan", "--part", "--merge")
        ),
    ],
)
def test_words_that_do_not_go_together(
    argv: list[str], words: str, store: ArtifactStore, cli: Callable[..., Any], write: Write
) -> None:
    assert store.root
    shutil.copy(write(), store.root / "a.jsonl")
    ran = cli("score", *argv, cwd=store.root)
    assert (ran.code, words in ran.err) == (2, True), ran.err


@pytest.mark.slow
@pytest.mark.process
def test_the_workers_of_a_cluster_write_what_one_process_does(
    store: ArtifactStore, cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    distributed = pytest.importorskip("distributed", reason="distributed is not installed: no cluster is tested")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1789401600")
    root = write_many(store, 30, padding=250_000)
    words = ("score", "dataset/many@worktree", "many.jsonl")
    options = {"processes": False, "protocol": "tcp", "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(n_workers=2, threads_per_worker=2, **options) as cluster:
        address = cluster.scheduler_address
        ran = cli(*words, "--engine", "dask", "--scheduler", address, "--out", "by-dask", cwd=root)
        assert ran.code == 0, ran.err
    assert cli(*words, "--out", "by-one", cwd=root).code == 0
    expect_same_files(root / "by-one", root / "by-dask")
    nobody = cli(*words, "--engine", "dask", "--scheduler", "tcp://127.0.0.1:1", cwd=root)
    assert (nobody.code, "no scheduler of Dask answers here" in nobody.err) == (3, True)


@pytest.mark.slow  # the short suite has one cluster of this machine
@pytest.mark.process
def test_row_groups_of_parquet_are_stretches(tmp_path: Path, share: Share, scored: Callable[..., Run]) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = [{"id": id_, "output": text} for id_, text in (("two", "thanks"), ("one", "please!"), ("stray", "?"))]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "model_a.parquet", row_group_size=1)
    expect_same(share(tmp_path / "model_a.parquet"), scored("dataset/small@1.0.0", tmp_path / "model_a.parquet"))


def test_a_file_that_cannot_be_cut_is_graded_here(scored: Callable[..., Run], share: Share, write: Write) -> None:
    class RefusingExecutor(Executor):
        def submit(self, *_: Any, **__: Any) -> Future[Any]:
            raise AssertionError

    outputs = write()
    expect_same(share(outputs, 10**9, executor=RefusingExecutor()), scored("dataset/small@1.0.0", outputs))
