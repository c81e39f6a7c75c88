"""Static audits that count like rows by their columns: the same answer as row by row, and rows wherever one is odd."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evalstore.audits import static_audit
from evalstore.audits.static_audit import StaticAudit, audit_statically
from evalstore.errors import EvalstoreError
from evalstore.runs import Run, alike_rows, parquet, read_run
from evalstore.store import ArtifactStore
from tests.audits.conftest import Desk
from tests.audits.test_acceptance import BAN, BRIEF

pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'evalstore[parquet]'")

SIZE = 90
FORM = {"id": "form", "kind": "format"}  # unscored where a question asks for no format


class Paths:
    """Says whether an audit read rows one by one."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.rows = 0
        real = static_audit._read_all_rows
        patch.setattr(alike_rows, "_FEWEST", 0)
        patch.setattr(alike_rows, "_BLOCK", 32)
        patch.setattr(alike_rows, "_CHUNK", 5_000)
        patch.setattr(static_audit, "_read_all_rows", lambda run: self.note(real(run)))

    def note(self, rows: Iterator[Any]) -> Iterator[Any]:
        self.rows += 1
        return rows


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
        patch.setattr(alike_rows, "_FEWEST", 1 << 60)
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


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
@pytest.mark.parametrize("seed", range(2))
def test_columns_and_rows_say_the_same(desk: Desk, paths: Paths, seed: int, form: str) -> None:
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


ODD = {
    "a question was not answered": edit_rows(lambda rows: rows.pop(40)),
    "two questions changed places": edit_rows(lambda rows: rows.insert(3, rows.pop(70))),
    "a question is answered twice": edit_rows(lambda rows: rows.append(rows[0])),
    "a question of nobody": edit_rows(lambda rows: rows[5].update(sample_id="nobody")),
    "an output is not stored": edit_rows(lambda rows: rows[8].update(output={"raw": [None]})),
    "an output that was edited": edit_rows(lambda rows: rows[8].update(output={"raw": ["another"]})),
    "a digest that was edited": edit_rows(lambda rows: rows[8]["metadata"].update(evalstore_output_digest="00")),
    "no output at all": edit_rows(lambda rows: drop(rows[8], "output")),
    "a sample": edit_rows(lambda rows: rows[8]["metadata"].update(evalstore_sample="1")),
    "a row of others": edit_rows(lambda rows: drop(rows[9], "metadata")),
    "no digest": edit_rows(lambda rows: drop(rows[9], "metadata", "evalstore_output_digest")),
    "a verdict that contradicts": edit_rows(lambda rows: rows[9]["metadata"].update(evalstore_verdict="unscored")),
    "a score that is none": edit_rows(lambda rows: rows[9]["metadata"].update(evalstore_score="a lot")),
    "a rubric of nobody": edit_rows(lambda rows: rows[9]["metadata"].update(evalstore_rubric="rubric/x@1.0.0")),
    "another score": edit_rows(lambda rows: rows[9]["metadata"].update(evalstore_score="1/7")),
    "no JSON": lambda text: text.replace('"input":', '"input"', 1),
    "a bare control character": lambda text: text.replace('"raw": ["', '"raw": ["\t', 1),
    "two rows on a line": lambda text: text.replace("}\n{", "} {", 1),
    "a row on two lines": lambda text: text.replace(', "metadata"', ',\n"metadata"', 1),
    "a key twice": lambda text: text.replace('"sample_id": "q0"', '"sample_id": "x", "sample_id": "q0"', 1),
    "half a character": lambda text: text.replace('"sample_id": "q1"', '"sample_id": "\\ud800"', 1),
    "no UTF-8": lambda text: text.replace('"raw": ["', '"raw": ["\udcff', 1),
    "cut off": lambda text: text[:-200],
    "nothing": lambda _: "",
}


def test_what_is_odd_is_said_as_by_rows(desk: Desk, paths: Paths) -> None:
    runs = make_runs(desk, 5)
    texts = [run.samples.read_text("utf-8") for run in runs]
    for odd, change in ODD.items():
        # Only what leaves two plain runs can look plain when it is in both.
        for sides in ((0,), (0, 1))[: 2 if "question" in odd or "edited" in odd else 1]:
            for side in sides:
                runs[side].samples.write_text(change(texts[side]), "utf-8", "surrogateescape")
            paths.rows = 0
            found = say(desk, runs, allow_drift=True)
            # What is edited in both runs alike is plain again.
            assert paths.rows or ("edited" in odd and len(sides) == 2), odd
            assert found == say_by_rows(desk, runs, allow_drift=True), odd
        for run, text in zip(runs, texts, strict=True):
            run.samples.write_text(text, "utf-8")


def test_what_is_odd_in_parquet_is_said_as_by_rows(desk: Desk, paths: Paths) -> None:
    old, new = make_runs(desk, 6)
    text, aggregate = new.samples.read_text("utf-8"), new.path.read_text("utf-8")
    old = write_parquet(old)
    # Of Parquet the recorded digests are taken at their word, and texts that are no JSON cannot be in it.
    for odd in (
        *("a question was not answered", "two questions changed places", "an output is not stored", "a sample"),
        *("no digest", "a score that is none"),
    ):
        new.samples.write_text(ODD[odd](text), "utf-8")
        runs = old, write_parquet(new)
        paths.rows = 0
        found = say(desk, runs, allow_drift=True)
        assert paths.rows, odd
        assert found == say_by_rows(desk, runs, allow_drift=True), odd
        new.path.write_text(aggregate, "utf-8")


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
    assert "the recorded scores of 40 questions, such as q0, q1" in str(found)
    assert found == say_by_rows(desk, runs)


def test_without_the_library_or_with_few_rows_nothing_is_counted(
    desk: Desk, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = make_runs(desk, 7)
    monkeypatch.setattr(alike_rows, "find_spec", lambda _: None)
    found, read = say(desk, runs), paths.rows
    assert read == 2
    monkeypatch.undo()
    assert say(desk, runs) == found


def test_a_check_without_a_score_is_looked_at(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    plain = '[{"id":"a","unscored":null,"reason":"says \\"unscored\\" and more"}]'
    odd = [
        '[{"id":"a","unscored":"error"}]',
        '[{"id":"a", "unscored": null}]',
        '[{"id":"a","unscored":null,"inner_errors":["x"]}]',
        '[{"id":"a","\\u0075nscored":"error"}]',
    ]
    found = alike_rows._mask_graded(pa.chunked_array([[plain, plain], odd, [plain]]))
    assert found.to_pylist() == [None, None, *odd, None]
