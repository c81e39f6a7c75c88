"""A run in parts is the run of one process, byte for byte, wherever the file is cut and whoever does them."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from evalstore import api
from evalstore.errors import EvalstoreError, LoadError, RefusedError, UsageError
from evalstore.resources import find_resource_folder
from evalstore.runs import Run
from evalstore.scoring import by_parts, open_job
from evalstore.scoring.by_parts import _open_plan_folder, merge_plan, write_plan
from evalstore.scoring.joining import refuse_missing_parts
from evalstore.scoring.parts import PartTask, locate_parts, run_part
from evalstore.scoring.plan import WrittenPlan, read_plan
from evalstore.scoring.planning import make_plan
from evalstore.store import ArtifactStore

AT = datetime(2026, 9, 14, 16, 0, tzinfo=UTC)
Write = Callable[..., Path]
Plan = Callable[..., WrittenPlan]


@pytest.fixture
def plan(store: ArtifactStore, tmp_path: Path) -> Plan:
    """Plan a run of outputs in parts of so many bytes."""

    def run(outputs: Path, size: int = 1, dataset: str = "dataset/small@1.0.0", **options: Any) -> WrittenPlan:
        options = {"model": None, "rubric": None, "judges": None, **options}
        with open_job(dataset, outputs, store=store, at=AT, **options) as job:
            return write_plan(make_plan(job, outputs.name, size), tmp_path / f"plan-{size}.json")

    return run


@pytest.fixture
def do(store: ArtifactStore, tmp_path: Path) -> Callable[..., Any]:
    def run(written: WrittenPlan, number: int, root: Path = tmp_path) -> Any:
        return run_part(PartTask(str(written.path), str(root), str(store.root), number))

    return run


@pytest.fixture
def merge(store: ArtifactStore, tmp_path: Path) -> Callable[..., Run]:
    def run(written: WrittenPlan, out: str = "merged") -> Run:
        return merge_plan(written.path, store, root=tmp_path, out=tmp_path / out, workers=None)

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
    sample("other", 0, "ü\u2028"),
]


@pytest.mark.parametrize("size", [1, 90, 170, 10**9])
def test_a_run_does_not_depend_on_where_its_outputs_are_cut(
    size: int, scored: Callable[..., Run], write: Write, plan: Plan, do: Any, merge: Any
) -> None:
    outputs = write(ROWS)
    written = plan(outputs, size)
    spans = written.plan.spans
    assert [span.start for span in spans] == [0, *(span.end for span in spans[:-1])]
    assert len(spans) == {1: 8, 10**9: 1}.get(size, len(spans))
    for number in reversed(range(1, len(spans) + 1)):
        assert not do(written, number).was_done
    expect_same(merge(written), scored("dataset/small@1.0.0", outputs))


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


def test_an_output_that_comes_again_in_another_part_for_another_metric_counts_once(
    scored: Callable[..., Run], write: Write, plan: Plan, do: Any, merge: Any
) -> None:
    rows = [eee("one", "a", "please"), eee("two", "a", "thanks"), eee("one", "b", "please"), eee("four", "a", "x")]
    outputs = write([*rows, eee("two", "b", "thanks")])
    written = plan(outputs)
    for number in range(1, 6):
        do(written, number)
    run = merge(written)
    assert any(note.startswith("rows that give an output once more, for another metric: 2") for note in run.notes)
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
def test_what_no_part_can_see_alone_is_refused_as_of_one_process(
    rows: Any, options: Any, scored: Callable[..., Run], write: Write, plan: Plan, do: Any, merge: Any
) -> None:
    # The file is planned while it is sound in its first rows, as far as a plan reads it.
    outputs = write(rows)
    with pytest.raises(EvalstoreError) as of_one:
        scored("dataset/small@1.0.0", outputs, **options)

    def join() -> None:
        written = plan(outputs, **options)
        for number in range(1, len(rows) + 1):
            do(written, number)
        merge(written)

    with pytest.raises(EvalstoreError) as of_parts:
        join()
    found = of_parts.value
    assert (str(found), found.hint, type(found)) == (str(of_one.value), of_one.value.hint, type(of_one.value))
    assert not list(outputs.parent.glob("merged/*"))


def test_one_series_of_several_may_lie_in_some_parts_only(
    scored: Callable[..., Run], write: Write, plan: Plan, do: Any, merge: Any
) -> None:
    outputs = write([{**eee(id_, "a", "please"), "model_id": model} for id_, model in [("one", "m"), ("two", "n")]])
    only = {"model": "m"}
    written = plan(outputs, only=only)
    for number in (2, 1):
        do(written, number)
    expect_same(merge(written), scored("dataset/small@1.0.0", outputs, only=only))


def test_rulers_that_no_commit_holds_are_those_of_the_plan(
    store: ArtifactStore, scored: Callable[..., Run], write: Write, plan: Plan, do: Any, merge: Any
) -> None:
    assert store.root
    dataset, rows = store.root / "datasets/many.yaml", store.root / "datasets/many.jsonl"
    dataset.write_text(dataset.read_text().replace("tone@1.0.0", "tone"))
    outputs = write({"b": "thanks", "a": "!"})
    written = plan(outputs, dataset="dataset/many@worktree")
    do(written, 2)
    text, told = rows.read_text(), dataset.read_text()
    rows.write_text(text.replace("B?", "C?"))
    with pytest.raises(RefusedError, match="the questions of dataset/many@worktree are not those of the plan"):
        do(written, 1)
    rows.write_text(text)
    dataset.write_text(f"{told}x: y\n")
    with pytest.raises(RefusedError, match="dataset/many@worktree is not what it was when the plan was made"):
        do(written, 1)
    dataset.write_text(told)
    do(written, 1)
    run = merge(written)
    assert run.notes == ("rubric/tone floats: today it is rubric/tone@1.0.0",)
    expect_same(run, scored("dataset/many@worktree", outputs))


def test_a_part_that_is_there_and_whole_is_done(write: Write, plan: Plan, do: Any, merge: Any) -> None:
    written = plan(write())
    folder = locate_parts(written.path)
    with ThreadPoolExecutor(4) as crowd:  # one part, at the same moment
        assert {outcome.outputs for outcome in crowd.map(lambda _: do(written, 2), range(4))} == {1}
    assert sorted(path.name for path in folder.iterdir()) == ["part-2.json", "part-2.jsonl"]
    assert do(written, 2).was_done
    with pytest.raises(RefusedError, match="3 of 4 parts are still to be done: 1, 3, 4"):
        refuse_missing_parts(written.path, written.plan)
    rows = folder / "part-2.jsonl"
    whole = rows.read_bytes()
    rows.write_bytes(whole[:-9])
    for number in (1, 3, 4):
        do(written, number)
    with pytest.raises(LoadError, match=r"part-2\.jsonl: is damaged"):
        merge(written)
    assert not list(folder.parent.glob("merged/*"))
    assert not do(written, 2).was_done
    assert rows.read_bytes() == whole
    (folder / "part-2.json").write_bytes((folder / "part-3.json").read_bytes())
    with pytest.raises(LoadError, match="written for another plan"):
        merge(written)
    assert not do(written, 2).was_done
    merge(written)


def test_a_worker_elsewhere_refuses_what_would_be_another_run(
    write: Write, plan: Plan, do: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    outputs = write()
    written = plan(outputs)
    with pytest.raises(UsageError, match="there is no part 5: the plan has 4, numbered from 1"):
        do(written, 5)
    elsewhere = tmp_path / "elsewhere"
    with pytest.raises(LoadError, match="cannot be read"):
        do(written, 1, root=tmp_path / "repo")
    elsewhere.mkdir()
    shutil.copy(outputs, elsewhere)
    do(written, 1, root=elsewhere)
    (elsewhere / outputs.name).write_text(outputs.read_text().replace("thanks", "thunks"))
    with pytest.raises(RefusedError, match="is not the file that was planned: part 2 has other bytes"):
        do(written, 2, root=elsewhere)
    do(written, 3, root=elsewhere)
    monkeypatch.setattr("evalstore.scoring.engines.describe_engines", lambda: {**written.plan.engines, "regex": "1"})
    with pytest.raises(RefusedError, match=r"would not grade as the plan says: regex is 1, planned with [0-9.]+"):
        do(written, 4)


@pytest.mark.parametrize(
    "change",
    [
        {"outputs": {"path": "../small.jsonl"}},
        {"outputs": {"path": "/etc/passwd"}},
        {"outputs": {"size": -1}},
        {"outputs": {"size": 10**30}},
        {"outputs": {"only": ["model"]}},
        {"evalstore_plan": 2},
        {"eee_version": "9.9.9"},
        {"parts": []},
        {"parts": [{"unit": "bytes", "start": 5, "end": 1, "first_line": 1, "sha256": ""}]},
        {"parts": [{"unit": "moons", "start": 0, "end": 1, "first_line": 1, "sha256": ""}]},
        {"parts": [{"unit": "bytes", "start": 0, "end": 10**17, "first_line": 1, "sha256": ""}]},
        {"rulers": [{"ref": "x", "kind": "moon", "floating": True, "pin": {}}]},
        {"judges": {"model": [], "prompts": {}}},
        {"dataset": None},
        {"engines": {}},
        {"at": 1e999},
    ],
    ids=str,
)
def test_a_plan_of_a_hostile_hand_is_refused_in_a_sentence(change: Any, write: Write, plan: Plan, do: Any) -> None:
    written = plan(write(), 10**6)
    value = json.loads(written.path.read_text())
    for key, part in change.items():
        value[key] = {**value[key], **part} if key == "outputs" else part
    written.path.write_text(json.dumps(value))
    with pytest.raises(EvalstoreError) as error:
        do(written, 1)
    assert str(written.path) in str(error.value)
    assert not locate_parts(written.path).exists()


def test_a_link_below_the_root_leads_nowhere(write: Write, plan: Plan, do: Any, tmp_path: Path) -> None:
    written = plan(write())
    (tmp_path / "other").mkdir()
    (tmp_path / "other/model_a.jsonl").symlink_to(tmp_path / "model_a.jsonl")
    with pytest.raises(LoadError, match="a link or a file stands in its path"):
        do(written, 1, root=tmp_path / "other")


@pytest.mark.parametrize("text", ["", "[]", "{" * 10**5, '{"evalstore_part": 1}', "NaN"])
def test_counts_of_a_hostile_hand_are_refused(text: str, write: Write, plan: Plan, do: Any, merge: Any) -> None:
    written = plan(write(), 10**6)
    do(written, 1)
    (locate_parts(written.path) / "part-1.json").write_text(text)
    with pytest.raises(LoadError):
        merge(written)


def test_a_plan_is_what_its_schema_says(write: Write, plan: Plan) -> None:
    schema = json.loads((find_resource_folder("schema") / "score_plan.schema.json").read_text())
    written = plan(write())
    Draft202012Validator(schema).validate(json.loads(written.path.read_text()))
    assert read_plan(written.path) == written.plan


def test_judges_are_asked_once_for_the_plan_and_workers_replay(
    judged: Path, cli: Callable[..., Any], judge_server: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1789401600")
    texts = {"one": "please", "two": "no", "three": "please"}
    (judged / "a.jsonl").write_text("".join(json.dumps({"id": k, "output": v}) + "\n" for k, v in texts.items()))
    words = ("score", "dataset/three@1.0.0", "a.jsonl")
    endpoint = ("--judge-url", judge_server.url)
    asked = cli(*words, "--plan", "plan.json", "--parts", "100", *endpoint, cwd=judged)
    assert (asked.code, judge_server.calls) == (0, 8), asked.err
    whole = cli(*words, "--out", "whole", *endpoint, cwd=judged)
    for number in (3, 1, 2):
        done = cli("score", "--part", str(number), "plan.json", cwd=judged)
        assert done.code == 0, done.err
    assert judge_server.calls == 8
    plan = json.loads((judged / "plan.json").read_text())
    schema = json.loads((find_resource_folder("schema") / "score_plan.schema.json").read_text())
    Draft202012Validator(schema).validate(plan)
    assert len(plan["judges"]["prompts"]) == 8
    joined = cli("score", "--merge", "plan.json", "--out", "joined", cwd=judged)
    assert (whole.code, joined.code) == (0, 0), whole.err + joined.err
    (rows,), (others,) = (list((judged / name).glob("*.jsonl")) for name in ("whole", "joined"))
    assert rows.read_bytes() == others.read_bytes()
    shutil.rmtree(judged / "plan.json.parts")
    refused = cli("score", "--part", "1", "plan.json", "--cache", tmp_path / "none.db", cwd=judged)
    assert (refused.code, "a reply of a judge that the plan counts on is not kept here" in refused.err) == (3, True)


def write_many(store: ArtifactStore, count: int) -> Path:
    """Write a dataset of so many questions in a file of rows, which no commit holds, and outputs to them."""
    assert store.root
    with (store.root / "datasets/many.jsonl").open("w") as rows, (store.root / "many.jsonl").open("w") as outputs:
        for number in range(count):
            rows.write(json.dumps({"id": f"q{number}", "input": f"Say {number}."}) + "\n")
            outputs.write(json.dumps({"id": f"q{number}", "output": "please!" if number % 3 else "moreover"}) + "\n")
    return store.root


@pytest.mark.process
def test_two_processes_write_what_one_does(
    store: ArtifactStore, cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1789401600")
    root = write_many(store, 40)
    words = ("score", "dataset/many@worktree", "many.jsonl")
    for jobs in ("1", "2"):
        ran = cli(*words, "--jobs", jobs, "--out", f"by-{jobs}", cwd=root)
        assert ran.code == 0, ran.err
    one, two = (sorted((root / f"by-{jobs}").iterdir()) for jobs in ("1", "2"))
    assert [path.name for path in one] == [path.name for path in two]  # nothing else is left there
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in two]
    # A fault is told as one process tells it, and leaves nothing.
    with (root / "many.jsonl").open("a") as outputs:
        outputs.write("{}\n")
    for jobs in ("1", "2"):
        ran = cli(*words, "--jobs", jobs, "--out", f"broken-{jobs}", cwd=root)
        assert (ran.code, "many.jsonl:41: " in ran.err) == (3, True)
        assert list((root / f"broken-{jobs}").iterdir()) == []


def test_the_api_scores_in_several_processes_and_a_url_too(
    store: ArtifactStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[int] = []

    def open_threads(jobs: int) -> Callable[[], ThreadPoolExecutor]:
        opened.append(jobs)
        return lambda: ThreadPoolExecutor(jobs)

    monkeypatch.setattr(by_parts, "open_processes", open_threads)
    memory = pytest.importorskip("fsspec", reason="URLs need fsspec").filesystem("memory")
    root = write_many(store, 9)
    memory.pipe("/b/many.jsonl", (root / "many.jsonl").read_bytes())
    runs = [
        api.score("dataset/many@worktree", outputs, store=store, out=tmp_path / str(number), at=AT, jobs=number)
        for number, outputs in ((1, root / "many.jsonl"), (2, root / "many.jsonl"), (3, "memory://b/many.jsonl"))
    ]
    memory.store.clear()
    assert len({run.path.read_bytes() for run in runs}) == len({run.samples.read_bytes() for run in runs}) == 1
    assert opened == [2, 3]
    with pytest.raises(UsageError, match="from 1"):
        api.score("dataset/many@worktree", root / "many.jsonl", store=store, out=tmp_path / "none", jobs=0)


def test_a_plan_of_a_url_is_refused(store: ArtifactStore, cli: Callable[..., Any]) -> None:
    memory = pytest.importorskip("fsspec", reason="URLs need fsspec").filesystem("memory")
    memory.pipe("/b/many.jsonl", (write_many(store, 2) / "many.jsonl").read_bytes())
    ran = cli(
        "score", "dataset/many@worktree", "memory://b/many.jsonl", "--plan", "p.json", "--root", "/", cwd=store.root
    )
    memory.store.clear()
    assert (ran.code, (Path(store.root or "") / "p.json").exists()) == (2, False)
    assert "memory://b/many.jsonl is a URL" in ran.err


def test_what_a_killed_run_left_is_removed_by_the_next(tmp_path: Path) -> None:
    left = tmp_path / ".00000000.evalstore.parts"
    left.mkdir()
    (left / "plan.json").touch()
    (tmp_path / ".link.evalstore.parts").symlink_to(tmp_path / "elsewhere")
    with _open_plan_folder(tmp_path) as one, _open_plan_folder(tmp_path) as other:
        assert not left.exists()
        assert one != other
        assert one.is_dir()
    assert [path.name for path in tmp_path.iterdir()] == [".link.evalstore.parts"]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--plan", "a", "--merge", "b"], "--plan, --part and --merge are three commands"),
        (["dataset/small@1.0.0"], "'DATASET' or 'OUTPUTS'"),
        (["dataset/small@1.0.0", "a.jsonl", "--parts", "3"], "--parts is of --plan"),
        (["dataset/small@1.0.0", "a.jsonl", "--engine", "dask"], "--engine dask needs the address of its scheduler"),
        (["dataset/small@1.0.0", "a.jsonl", "--jobs", "2", "--scheduler", "x"], "--scheduler is of --engine dask"),
        (["--part", "0", "plan.json"], "0 is not in the range x>=1"),
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
def test_a_cluster_that_loses_a_worker_writes_what_one_process_does(
    store: ArtifactStore, cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    distributed = pytest.importorskip("distributed", reason="distributed is not installed: no cluster is tested")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1789401600")
    root = write_many(store, 4000)
    words = ("score", "dataset/many@worktree", "many.jsonl")
    with distributed.LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=None) as cluster:
        pid = next(iter(cluster.workers.values())).pid
        folder = root / "by-dask"

        def kill() -> None:
            while not list(folder.glob(".*.evalstore.parts/plan.json.parts/*.json")):
                time.sleep(0.01)
            os.kill(pid, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        ran = cli(*words, "--engine", "dask", "--scheduler", cluster.scheduler_address, "--out", folder, cwd=root)
        killer.join()
        assert ran.code == 0, ran.err
    assert cli(*words, "--jobs", "1", "--out", "by-one", cwd=root).code == 0
    one, many = (sorted((root / name).iterdir()) for name in ("by-one", "by-dask"))
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in many]
    nobody = cli(*words, "--engine", "dask", "--scheduler", "tcp://127.0.0.1:1", cwd=root)
    assert (nobody.code, "no scheduler of Dask answers here" in nobody.err) == (3, True)


def test_row_groups_of_parquet_are_parts(
    tmp_path: Path, plan: Plan, do: Any, merge: Any, scored: Callable[..., Run]
) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = [{"id": id_, "output": text} for id_, text in (("two", "thanks"), ("one", "please!"), ("stray", "?"))]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "model_a.parquet", row_group_size=1)
    written = plan(tmp_path / "model_a.parquet")
    assert len(written.plan.spans) == len(rows)
    for number in range(len(rows), 0, -1):
        do(written, number)
    expect_same(merge(written), scored("dataset/small@1.0.0", tmp_path / "model_a.parquet"))


def test_the_commands_of_the_page_do_what_it_says(store: ArtifactStore, cli: Callable[..., Any]) -> None:
    assert store.root
    outputs = [json.dumps({"id": id_, "output": "please"}) for id_ in ("one", "two")]
    (store.root / "model_a.jsonl").write_text("".join(f"{line}\n" for line in outputs))
    page = (Path(__file__).parents[2] / "docs/clusters.md").read_text("utf-8")
    section = page.partition("## A plan by hand")[2].partition("## ")[0]
    lines = re.findall(r"^\$ evalstore (.*)$", section.replace("--parts 3", "--parts 2"), re.MULTILINE)
    assert len(lines) == 5
    names = {"dataset/web_answers@1.0.0": "dataset/small@1.0.0", "outputs/model_a.jsonl": "model_a.jsonl"}
    codes = [cli(*(names.get(word, word) for word in line.split()), cwd=store.root).code for line in lines]
    assert codes == [0, 0, 0, 2, 0]  # there is no third part of two outputs
    assert [path.name for path in sorted((store.root / "runs/joined").iterdir())] == [
        "small-1.0.0-model_a.json",
        "small-1.0.0-model_a_samples.jsonl",
    ]
