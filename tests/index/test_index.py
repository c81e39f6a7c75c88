"""Many stores as one table: what the documented questions answer, hostile stores, and that nothing is left out in silence."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from evalstore.index import COLUMNS
from evalstore.runs import UsedArtifact, write_run
from evalstore.runs.read import find_run_time
from evalstore.runs.tables import ColumnType, write_json_rows, write_parquet_rows
from tests.runs.conftest import RUN

pytestmark = pytest.mark.heavy

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "scale.md").read_text("utf-8")
QUERIES = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
JUDGE = 'id: fair\nversion: "{0}.0.0"\ntemplate: "Is this right, in words number {0}? {{{{ output }}}}"\nscore_type: binary\n'
RUBRIC = (
    'id: tone\nversion: "{0}.0.0"\nchecks:\n  - {{id: said, kind: format, format: text}}\n'
    "  - {{id: judged, kind: llm_judge, judge_prompt_ref: judge/fair@{0}.0.0}}\nscoring: {{combine: all_pass}}\n"
)
DATASET = 'id: answers\nversion: "1.0.0"\ndefaults: {rubric_ref: rubric/tone@1.0.0}\nquestions: [{id: a, input: x}]\n'


@pytest.fixture
def stores(git: Callable[..., str], template: Callable[..., Any], tmp_path: Path) -> Path:
    """Return a folder with `repo`: its rubric moved on to a second judge, its dataset did not, and it has a run."""

    def make() -> None:
        git("status")
        for number in (1, 2):
            write(repo / "judges/fair.yaml", JUDGE.format(number))
            write(repo / "rubrics/tone.yaml", RUBRIC.format(number))
            git("add", ".")
            git("commit", "-qm", "a release")
            for name in ("judge/fair", "rubric/tone"):
                trailers = f"Evalstore-Bump: major\nEvalstore-Previous: {number - 1}.0.0"
                git("tag", "-am", f"{name}\n\n{trailers}", f"{name}@{number}.0.0")
        write(repo / "datasets/answers.yaml", DATASET)
        write(repo / "judges/odd.yaml", "id: odd\nversion: 1.0.0\ntemplate: [\n")
        used = (UsedArtifact(f"{name}@1.0.0", "1.0.0", "0" * 64, "1" * 64) for name in ("rubric/tone", "judge/fair"))
        rubric, judge = used
        run = replace(RUN, name="answers", at="1760000000.5", rubrics=(rubric,), judges=(judge,))
        with write_run(repo / "runs/deep", "answers") as draft:
            draft.publish(run)

    repo = tmp_path / "repo"
    template("index", make)
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def pick(rows: list[dict[str, Any]], record: str, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row.get(name) for name in names) for row in rows if row["record"] == record]


def ask_duckdb(folder: Path, query: str) -> list[tuple[Any, ...]]:
    import duckdb

    return duckdb.sql(query.replace("'index.parquet'", f"'{folder}/index.parquet'")).fetchall()


def ask_sqlite(folder: Path, query: str) -> list[tuple[Any, ...]]:
    rows = [tuple(row.get(name) for name in COLUMNS) for row in read(folder / "index.jsonl")]
    base = sqlite3.connect(":memory:")
    quoted = ", ".join(f'"{name}"' for name in COLUMNS)
    base.execute(f"CREATE TABLE 'index.parquet' ({quoted})")
    base.executemany(f"INSERT INTO 'index.parquet' VALUES ({', '.join('?' * len(COLUMNS))})", rows)  # noqa: S608
    found = base.execute(query).fetchall()
    base.close()
    return found


@pytest.mark.parametrize(
    ("ask", "suffix"),
    [
        (ask_sqlite, "jsonl"),
        pytest.param(
            ask_duckdb,
            "parquet",
            marks=pytest.mark.skipif(
                not (find_spec("duckdb") and find_spec("pyarrow")), reason="DuckDB or pyarrow is not installed"
            ),
        ),
    ],
)
def test_the_questions_of_the_page_are_answered(
    stores: Path, cli: Callable[..., Any], ask: Callable[[Path, str], list[tuple[Any, ...]]], suffix: str
) -> None:
    ran = cli("index", "repo", "--out", f"index.{suffix}", cwd=stores)
    assert ran.code == 1  # a judge of it cannot be read
    pins, runs, findings = (ask(stores, query) for query in QUERIES)
    assert pins == [("repo", "dataset/answers", "judge/fair", "1.0.0", "rubric/tone@1.0.0")]
    assert [(*row[:4], str(row[4])[:10]) for row in runs] == [("repo", "judge/fair", "1.0.0", 1, "2025-10-09")]
    assert findings == [("repo", "document-malformed", 1, "judges/odd.yaml")]


def test_every_record_has_its_rows(stores: Path, cli: Callable[..., Any]) -> None:
    cli("index", "repo", "--out", "index.jsonl", cwd=stores)
    rows = read(stores / "index.jsonl")
    assert pick(rows, "artifact", "artifact", "version", "latest", "releases", "changed") == [
        ("dataset/answers", "1.0.0", None, 0, None),
        ("judge/fair", "2.0.0", "2.0.0", 2, False),
        ("judge/odd", None, None, 0, None),
        ("rubric/tone", "2.0.0", "2.0.0", 2, False),
    ]
    assert pick(rows, "release", "artifact", "version", "bump", "previous")[:2] == [
        ("judge/fair", "2.0.0", "major", "1.0.0"),
        ("judge/fair", "1.0.0", "major", "0.0.0"),
    ]
    assert pick(rows, "pin", "artifact", "used", "version", "via", "questions") == [
        ("rubric/tone", "judge/fair", "2.0.0", None, None),
        ("dataset/answers", "rubric/tone", "1.0.0", None, 1),
        ("dataset/answers", "judge/fair", "1.0.0", "rubric/tone@1.0.0", None),
    ]
    assert {row[0] for row in pick(rows, "run", "used")} == {"dataset/small", "rubric/tone", "judge/fair"}
    assert pick(rows, "problem", "severity", "file") == [("error", "judges/odd.yaml")]
    assert all(row["store"] == "repo" for row in rows)


def test_an_index_is_the_same_again_and_replaces_nothing_else(stores: Path, cli: Callable[..., Any]) -> None:
    for suffix in ("jsonl", "parquet") if find_spec("pyarrow") else ("jsonl",):
        out = stores / f"index.{suffix}"
        cli("index", "repo", "--out", out.name, cwd=stores)
        first = out.read_bytes()
        assert cli("index", "repo", "--out", out.name, cwd=stores).code == 1
        assert out.read_bytes() == first
    (stores / "mine.jsonl").write_text('{"id": "a"}\n')
    (stores / "link.jsonl").symlink_to("mine.jsonl")
    for name in ("mine.jsonl", "link.jsonl"):
        ran = cli("index", "repo", "--out", name, cwd=stores)
        assert (ran.code, (stores / "mine.jsonl").read_text()) == (3, '{"id": "a"}\n')
        assert "is not an index" in ran.err
    assert cli("index", "repo", "--out", "index.csv", cwd=stores).code == 2
    assert cli("index", "repo", "--runs", "../runs", "--out", "index.jsonl", cwd=stores).code == 2
    assert sorted(path.name for path in stores.iterdir() if path.name[0] == ".") == []


def test_stores_are_found_in_a_tree_once_and_by_name(
    stores: Path, git: Callable[..., str], cli: Callable[..., Any]
) -> None:
    for team in ("a", "b"):
        shutil.copytree(stores / "repo", stores / f"tree/{team}/evals", symlinks=True)
    git("clone", "-q", "--bare", str(stores / "repo"), str(stores / "tree/bare.git"), cwd=stores)
    (stores / "tree/link").symlink_to("a")
    ran = cli("index", "tree", "tree/a", "nowhere", "tree/a/evals/rubrics", "--out", "index.jsonl", cwd=stores)
    rows = read(stores / "index.jsonl")
    assert ran.code == 1
    assert [row[0] for row in pick(rows, "store", "store")] == ["tree/a/evals", "tree/b/evals", "tree/bare.git"]
    counts = Counter((row["record"], row["store"]) for row in rows)
    assert counts["pin", "tree/a/evals"] == counts["pin", "tree/b/evals"] == 3
    assert (counts["pin", "tree/bare.git"], counts["release", "tree/bare.git"]) == (1, 4)
    found = {row[:2] for row in pick(rows, "problem", "store", "message")}
    assert {("nowhere", "there is no such folder"), ("tree/a/evals/rubrics", "no store is here")} <= found


def test_what_cannot_be_read_is_a_row(stores: Path, cli: Callable[..., Any], git: Callable[..., str]) -> None:
    repo = stores / "repo"
    shutil.copytree(repo, stores / "broken", symlinks=True)
    write(stores / "broken/evalstore.yaml", "strict: [\n")
    write(repo / "runs/torn.json", '{"evaluation_results": [')
    write(repo / "runs/odd.json", '{"evaluation_results": 3}')
    write(repo / "runs/other.json", '{"anything": 1}')
    (repo / "runs/link.json").symlink_to(next(repo.glob("runs/deep/*.json")))
    os.mkfifo(repo / "runs/fifo.json")
    os.mkfifo(repo / "rubrics/fifo.yaml")
    git("tag", "rubric/tone@two", cwd=repo)
    ran = cli("index", "repo", "broken", "--out", "index.jsonl", cwd=stores)
    rows = read(stores / "index.jsonl")
    problems = pick(rows, "problem", "store", "severity", "file")
    assert sorted(problems, key=str) == [
        ("broken", "error", "evalstore.yaml"),
        ("repo", "error", "judges/odd.yaml"),
        ("repo", "error", "runs/odd.json"),
        ("repo", "error", "runs/torn.json"),
        ("repo", "warning", None),
    ]
    assert (ran.code, ran.out.count("error: "), ran.out.count("warning: ")) == (1, 4, 1)
    assert len({row[0] for row in pick(rows, "run", "run")}) == 1
    assert ("file-unreadable", "rubrics/fifo.yaml") in pick(rows, "finding", "rule", "file")


def test_what_a_store_brings_along_leads_nowhere(stores: Path, cli: Callable[..., Any]) -> None:
    repo = stores / "repo"
    (repo / "runs").rename(stores / "elsewhere")
    (repo / "runs").symlink_to(stores / "elsewhere")
    cli("index", "repo", "--out", "index.jsonl", cwd=stores)
    rows = read(stores / "index.jsonl")
    assert pick(rows, "run", "run") == []
    assert ("error", "runs", "is a link, and links are not followed") in pick(
        rows, "problem", "severity", "file", "message"
    )


def test_forged_texts_of_runs_are_values(stores: Path, cli: Callable[..., Any]) -> None:
    [path] = (stores / "repo").glob("runs/deep/*.json")
    text = path.read_text("utf-8").replace("judge/fair@1.0.0", "\\\\u001b[2J/x@9").replace("org/m", "\\ufffe\\u009b")
    path.write_text(text.replace("1760000000.5", "9" * 12), "utf-8")
    for suffix in ("jsonl", "parquet") if find_spec("pyarrow") else ("jsonl",):
        ran = cli("index", "repo", "--out", f"index.{suffix}", cwd=stores)
        assert (ran.code, "\x1b" in ran.out + ran.err) == (1, False)
    runs = pick(read(stores / "index.jsonl"), "run", "used", "used_kind", "time", "model")
    assert ("\x1b[2J/x", None, None, "\ufffe\x9b") in runs


def test_without_a_store_an_index_stays(stores: Path, cli: Callable[..., Any]) -> None:
    (stores / "empty").mkdir()
    (stores / "index.jsonl").write_text('{"record": "store", "store": "x"}\n')
    ran = cli("index", "empty", "--out", "index.jsonl", cwd=stores)
    assert (ran.code, (stores / "index.jsonl").read_text()) == (3, '{"record": "store", "store": "x"}\n')
    assert ran.err.startswith("error: empty: no store can be read: no store is here")


def test_the_page_says_what_the_columns_are() -> None:
    table = re.findall(r"^\| `(\w+)` \| (\w+) \| (.*) \|$", PAGE, re.MULTILINE)
    assert table == [(name, str(column.type), column.meaning) for name, column in COLUMNS.items()]


@pytest.mark.parametrize(
    ("at", "time"),
    [
        ("1760000000", "2025-10-09T08:53:20"),
        ("1760000000.5", "2025-10-09T08:53:20.500000"),
        ("2025-10-09T10:53:20+02:00", "2025-10-09T08:53:20"),
        ("2025-10-09", "2025-10-09T00:00:00"),
        ("9" * 30, None),
        ("0001-01-01T00:00:00+14:00", None),
        ("yesterday", None),
    ],
)
def test_the_time_of_a_run_is_read_in_every_form(at: str, time: str | None) -> None:
    found = find_run_time(replace(RUN, at=at))
    assert (found and found.isoformat().removesuffix("+00:00")) == time


def test_a_value_that_no_column_can_hold_is_null(tmp_path: Path) -> None:
    columns = {"a": ColumnType.INTEGER, "b": ColumnType.NUMBER, "c": ColumnType.TEXT}
    rows = [{"a": 1 << 63, "b": 10**400, "c": "\ud800"}, {"a": -5, "b": 0.5, "c": "é\0", "d": 1}]
    with (tmp_path / "rows.jsonl").open("wb") as file:
        write_json_rows(rows, columns, file)
    assert read(tmp_path / "rows.jsonl") == [{"c": "\\ud800"}, {"a": -5, "b": 0.5, "c": "é\0"}]
    pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    with (tmp_path / "rows.parquet").open("wb") as file:
        write_parquet_rows(rows, columns, file)
    assert pq.read_table(tmp_path / "rows.parquet").to_pylist() == [
        {"a": None, "b": None, "c": "\\ud800"},
        {"a": -5, "b": 0.5, "c": "é\0"},
    ]
