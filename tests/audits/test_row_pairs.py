"""Static audits count like rows by DuckDB, and say the same as by the reader of rows, whatever is odd."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalstore.audits.static_audit import StaticAudit, audit_statically
from evalstore.errors import EvalstoreError
from evalstore.runs import Run, pair_tables, parquet, read_run
from evalstore.store import ArtifactStore
from tests.audits.conftest import Desk
from tests.audits.test_acceptance import BAN, BRIEF, JUDGED
from tests.rows import mark_slow

duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed: pip install 'evalstore[duckdb]'")
pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'evalstore[parquet]'")

SIZE = 90
FORM = {"id": "form", "kind": "format"}  # unscored where a question asks for no format


class Paths:
    """Counts the runs that the reader of rows read."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.rows = 0
        real = pair_tables.read_bare_rows

        def read(run: Run) -> Any:
            self.rows += 1
            return real(run)

        patch.setattr(pair_tables, "read_bare_rows", read)


@pytest.fixture
def paths(monkeypatch: pytest.MonkeyPatch) -> Paths:
    return Paths(monkeypatch)


def say(desk: Desk, runs: tuple[Run, Run], **options: Any) -> StaticAudit | str:
    with ArtifactStore.open(desk.repo.root) as store:
        try:
            return audit_statically(runs[0].path, runs[1].path, store, **options)
        except EvalstoreError as error:
            return str(error)


def say_by_rows(desk: Desk, runs: tuple[Run, Run], **options: Any) -> StaticAudit | str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pair_tables, "find_spec", lambda _: None)
        return say(desk, runs, **options)


def write_parquet(run: Run) -> Run:
    """Return the same run with its rows in Parquet, in row groups of some rows."""
    samples = run.samples.with_suffix(".parquet")
    with pytest.MonkeyPatch.context() as patch, samples.open("wb") as file:
        patch.setattr(parquet, "_GROUP_SIZE", 20_000)
        parquet.write_parquet(iter(run.samples.read_bytes().splitlines()), file)
    run.samples.unlink()
    run.path.write_text(run.path.read_text().replace(run.samples.name, samples.name))
    return read_run(run.path)


def make_runs(desk: Desk, seed: int, **options: Any) -> tuple[Run, Run]:
    """Return runs of two rubrics whose outputs are drawn, some the same, some without a score."""
    chance = random.Random(seed)  # noqa: S311  # no secret
    desk.rubric("1.0.0", BAN, BRIEF, FORM)
    desk.rubric("2.0.0", {**BAN, "values": ["foo", "good"]}, BRIEF, FORM)
    questions = [
        {"id": f"q{place}", "input": "x", **({"format": "text"} if place % 9 else {})} for place in range(SIZE)
    ]
    for version in ("1.0.0", "2.0.0"):
        desk.dataset(version, questions)
    words = ("ok", "foo", "good", 'a "quoted" \\ word', "dé\u2028jà", "")
    texts = [[" ".join(chance.choices(words, k=2)) for _ in range(SIZE)] for _ in range(2)]
    texts[1][: SIZE // 2] = texts[0][: SIZE // 2]
    return desk.score("1.0.0", texts[0], "a", **options), desk.score("2.0.0", texts[1], "b", **options)


@pytest.mark.process
@pytest.mark.parametrize("form", ["jsonl", "parquet"])
@pytest.mark.parametrize("seed", range(2))
def test_duckdb_and_the_reader_of_rows_say_the_same(desk: Desk, paths: Paths, seed: int, form: str) -> None:
    runs = make_runs(desk, seed)
    if form == "parquet":
        runs = write_parquet(runs[0]), write_parquet(runs[1])
    found = say(desk, runs)
    assert paths.rows == 0
    assert isinstance(found, StaticAudit)
    assert found == say_by_rows(desk, runs)
    assert paths.rows
    assert (found.common, {str(one.player) for one in found.factors}) == (SIZE, {"rubric", "outputs"})


def edit_rows(edit: Callable[[list[dict[str, Any]]], object]) -> Callable[[str], str]:
    def change(text: str) -> str:
        rows = [json.loads(line) for line in text.splitlines()]
        edit(rows)
        return "".join(json.dumps(row) + "\n" for row in rows)

    return change


def drop(row: dict[str, Any], *keys: str) -> None:
    for key in keys[:-1]:
        row = row[key]
    del row[keys[-1]]


# What DuckDB answers, too.
COUNTED = {
    "a question was not answered": edit_rows(lambda rows: rows.pop(40)),
    "two questions changed places": edit_rows(lambda rows: rows.insert(3, rows.pop(70))),
    "a question is answered twice": edit_rows(lambda rows: rows.append(rows[0])),
    "a question is answered twice, and not by the other": edit_rows(lambda rows: (rows.pop(1), rows.append(rows[8]))),
    "a question of nobody": edit_rows(lambda rows: rows[5].update(sample_id="nobody")),
    "an odd name": edit_rows(lambda rows: rows[5].update(sample_id="'; DROP TABLE old; -- \x00 \u2028 \U0001f600")),
    "a second sample": edit_rows(
        lambda rows: rows.append({**rows[0], "metadata": {**rows[3]["metadata"], "evalstore_sample": "1"}})
    ),
    "a sample": edit_rows(lambda rows: rows[8]["metadata"].update(evalstore_sample="1")),
    "an output is not stored": edit_rows(lambda rows: rows[8].update(output={"raw": [None]})),
    "no output at all": edit_rows(lambda rows: drop(rows[8], "output")),
    "no output and no score": edit_rows(
        lambda rows: (
            rows[8].update(output=None),
            rows[8]["metadata"].update(evalstore_score="", evalstore_verdict="unscored"),
        )
    ),
    "an output that was edited": edit_rows(lambda rows: rows[8].update(output={"raw": ["another"]})),
    "a digest that was edited": edit_rows(lambda rows: rows[8]["metadata"].update(evalstore_output_digest="00")),
    "another question": edit_rows(lambda rows: rows[8]["metadata"].update(evalstore_input_digest="00")),
    "another reference": edit_rows(lambda rows: rows[8]["metadata"].update(evalstore_reference_digest="00")),
    "no digest": edit_rows(lambda rows: drop(rows[9], "metadata", "evalstore_output_digest")),
    "a rubric of nobody": edit_rows(lambda rows: rows[9]["metadata"].update(evalstore_rubric="rubric/x@1.0.0")),
    "another score": edit_rows(lambda rows: rows[9]["metadata"].update(evalstore_score="1/7")),
    "a large score": edit_rows(lambda rows: rows[9]["metadata"].update(evalstore_score=f"{10**40 - 1}/{10**40}")),
    "a check that failed": lambda text: text.replace('\\"unscored\\":null', '\\"unscored\\":\\"error\\"', 1),
    "a check that is none": lambda text: text.replace('\\"unscored\\":null', '\\"unscored\\":\\"x\\"', 1),
    "blank lines": lambda text: text.replace("\n", "\n \n\n"),
    "nothing": lambda _: "",
}
# What is left to the reader of rows.
LEFT = {
    "a row of others": edit_rows(lambda rows: drop(rows[9], "metadata")),
    "a decimal of many places": lambda text: text.replace('"evalstore_score": ', '"other": ', 1).replace(
        '"evaluation": {"score": ', '"evaluation": {"score": 0.10000000000000000000000000000000055, "other": ', 1
    ),
    "a verdict that contradicts": edit_rows(lambda rows: rows[9]["metadata"].update(evalstore_verdict="unscored")),
    "a score that is none": edit_rows(lambda rows: rows[9]["metadata"].update(evalstore_score="a lot")),
    "a score that is a number": edit_rows(lambda rows: rows[9]["metadata"].update(evalstore_score=1)),
    "a name that is a number": edit_rows(lambda rows: rows[9].update(sample_id=7)),
    "a name that is true": edit_rows(lambda rows: rows[9].update(sample_id=True)),
    "an output that is a number": edit_rows(lambda rows: rows[8].update(output={"raw": [7]})),
    "an output that is one text": edit_rows(lambda rows: rows[8].update(output={"raw": "x"})),
    "two outputs": edit_rows(lambda rows: rows[8].update(output={"raw": ["x", "y"]})),
    "calls": edit_rows(lambda rows: rows[8]["metadata"].update(evalstore_tool_calls='[{"name": "f"}]')),
    "a transcript": edit_rows(lambda rows: rows[8].update(messages=[{"role": "assistant", "content": "x"}])),
    "no JSON": lambda text: text.replace('"input":', '"input"', 1),
    "null": lambda text: "null\n" + text,
    "a bare control character": lambda text: text.replace('"raw": ["', '"raw": ["\t', 1),
    "two rows on a line": lambda text: text.replace("}\n{", "} {", 1),
    "a row on two lines": lambda text: text.replace(', "metadata"', ',\n"metadata"', 1),
    "a key twice": lambda text: text.replace('"sample_id": "q0"', '"sample_id": "x", "sample_id": "q0"', 1),
    "half a character": lambda text: text.replace('"sample_id": "q1"', '"sample_id": "\\ud800"', 1),
    "no UTF-8": lambda text: text.replace('"raw": ["', '"raw": ["\udcff', 1),
    "cut off": lambda text: text[:-200],
}


@pytest.mark.parametrize(
    ("edits", "is_counted"), [(dict([*LEFT.items()][::3]), False), *map(mark_slow, ((LEFT, False), (COUNTED, True)))]
)
def test_what_is_odd_is_said_as_by_rows(
    desk: Desk,
    paths: Paths,
    edits: dict[str, Callable[[str], str]],
    is_counted: bool,  # noqa: FBT001  # a case
) -> None:
    runs = make_runs(desk, 5)
    texts = [run.samples.read_text("utf-8") for run in runs]
    said = set()
    for odd, change in edits.items():
        # Only what is in both runs alike is not a difference between them.
        for sides in ((1,), (0, 1))[: 2 if "question" in odd or "edited" in odd else 1]:
            for side in sides:
                runs[side].samples.write_text(change(texts[side]), "utf-8", "surrogateescape")
            paths.rows = 0
            found = say(desk, runs, allow_drift=True)
            assert (paths.rows == 0) is is_counted, odd
            assert found == say_by_rows(desk, runs, allow_drift=True), odd
            said.add(str(found))
        for run, text in zip(runs, texts, strict=True):
            run.samples.write_text(text, "utf-8")
    assert len(said) > len(edits) / 2


@pytest.mark.slow
def test_what_is_odd_in_parquet_is_said_as_by_rows(desk: Desk, paths: Paths) -> None:
    old, new = make_runs(desk, 6)
    text, aggregate = new.samples.read_text("utf-8"), new.path.read_text("utf-8")
    old = write_parquet(old)
    # Texts that are not JSON cannot be in it.
    names = [name for name, change in COUNTED.items() if name != "nothing" and change(text) != text]
    for odd in (*names, "a score that is none", "two outputs", "calls", "a transcript"):
        new.samples.write_text({**COUNTED, **LEFT}[odd](text).replace("\n \n\n", "\n"), "utf-8")
        runs = old, write_parquet(new)
        paths.rows = 0
        found = say(desk, runs, allow_drift=True)
        assert (paths.rows == 0) is (odd in COUNTED), odd
        assert found == say_by_rows(desk, runs, allow_drift=True), odd
        new.path.write_text(aggregate, "utf-8")


def test_renamed_questions_and_those_of_one_dataset_alone(desk: Desk, paths: Paths) -> None:
    desk.rubric("1.0.0", BAN, BRIEF)
    desk.dataset("1.0.0", [{"id": name, "input": "x"} for name in ("a", "b", "c", "gone")])
    desk.dataset("2.0.0", [{"id": name, "input": "x"} for name in ("c", "a", "b_two", "fresh")], "1.0.0")
    (desk.repo.root / "evalstore.yaml").write_text("renames: {dataset/d: {b: b_two}}\n")
    texts = {"a": "ok", "b": "foo", "c": "ok", "gone": "foo"}, {"c": "foo", "a": "ok", "b_two": "foo", "fresh": "ok"}
    runs = desk.score("1.0.0", texts[0], "a"), desk.score("2.0.0", texts[1], "b")
    found = say(desk, runs)
    assert paths.rows == 0
    assert isinstance(found, StaticAudit)
    assert (found.common, found.lines.questions.added, found.lines.questions.removed) == (3, ("fresh",), ("gone",))
    assert found == say_by_rows(desk, runs)


def test_judged_runs_and_rows_of_other_tools_are_counted_by_both(desk: Desk, paths: Paths) -> None:
    desk.judge("1.0.0")
    desk.rubric("1.0.0", JUDGED, BAN)
    desk.dataset("1.0.0", 6)
    runs = desk.score("1.0.0", ["good", "ok", "x"] * 2, "a"), desk.score("1.0.0", ["good", "foo", "y"] * 2, "b")
    found = say(desk, runs)
    assert paths.rows == 0
    assert found == say_by_rows(desk, runs)


def test_what_no_ruler_can_have_given_is_named(desk: Desk, paths: Paths) -> None:
    desk.rubric("1.0.0", BAN)
    desk.dataset("1.0.0", 40)
    runs = desk.score("1.0.0", ["ok"] * 40, "a"), desk.score("1.0.0", ["ok"] * 40, "b")
    text, whole = runs[1].samples.read_text(), runs[1].path.read_text()
    runs[1].samples.write_text(
        text.replace('_score": "1", "evalstore_verdict": "pass"', '_score": "0", "evalstore_verdict": "fail"')
    )
    runs[1].path.write_text(whole.replace('"evalstore_score": "1"', '"evalstore_score": "0"'))
    found = say(desk, runs)
    assert "the recorded scores of 40 questions, such as q0, q1, q2, q3, q4" in str(found)
    assert found == say_by_rows(desk, runs)


def test_a_name_is_no_pattern_and_no_statement(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.rubric("1.0.0", BAN)
    desk.dataset("1.0.0", 3)
    runs = desk.score("1.0.0", ["ok"] * 3, "a"), desk.score("1.0.0", ["ok", "foo", "ok"], "b")
    whole = say(desk, runs)
    assert isinstance(whole, StaticAudit)
    folder = tmp_path / "it's *[a-z]?{x}"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    moved = []
    for run, name in zip(runs, ("*'; --", "[ab]?"), strict=True):
        samples = folder / f"{name}.jsonl"
        samples.write_bytes(run.samples.read_bytes())
        path = folder / f"{name}.json"
        path.write_text(run.path.read_text().replace(run.samples.name, samples.name))
        moved.append(read_run(path))
    found = say(desk, (moved[0], moved[1]))
    assert isinstance(found, StaticAudit)
    assert (found.delta, found.factors) == (whole.delta, whole.factors)


def test_a_database_reads_two_files_and_nothing_else(tmp_path: Path) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text('{"id": "x"}\n')
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "old").write_text('{"id": "x"}\n')
    database = pair_tables._connect(folder)
    read = "SELECT * FROM read_json(?, format = 'newline_delimited', columns = {id: 'VARCHAR'})"
    assert database.execute(read, [str(folder / "old")]).fetchall() == [("x",)]
    for statement, values in (
        (read, [str(secret)]),
        (f"COPY (SELECT 1) TO '{tmp_path / 'written.csv'}'", []),
        ("SELECT * FROM 'http://127.0.0.1:9/x.json'", []),
        ("INSTALL httpfs", []),
        ("LOAD httpfs", []),
        ("SET enable_external_access = true", []),
        ("SELECT * FROM secret", []),
    ):
        with pytest.raises(duckdb.Error):
            database.execute(statement, values)
    assert not (tmp_path / "written.csv").exists()
    database.close()
