"""The index of a run's rows: the same rows as reading them all, in any order, with none of them in memory."""

from __future__ import annotations

import json
import random
import re
import tracemalloc
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from evalstore.errors import LoadError, RefusedError
from evalstore.runs import Run, UsedArtifact, read_rows
from evalstore.runs.row_index import RowIndex
from evalstore.runs.values import merge_samples

Write = Callable[..., Run]
# The last looks like parts of a row, which only its quotation marks tell from one.
TEXTS = ["x", "ü" * 50, None, '", "output": {"raw": ["", "evalstore_sample": "7", "evalstore_rubric": "no"']


def make_row(id_: str, sample: int = 0, score: str = "1/2", text: str | None = "an answer") -> dict[str, Any]:
    grade = {"evalstore_score": score, "evalstore_verdict": "pass", "evalstore_rubric": f"rubric/r{sample % 2}@1.0.0"}
    return {
        "sample_id": id_,
        "input": {"raw": "asked"},
        "output": {"raw": None if text is None else [text]},
        "metadata": {**grade, **({"evalstore_sample": str(sample)} if sample else {})},
    }


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_rows(rows: Sequence[Any], blanks: str = "") -> Run:
        samples = tmp_path / "r_samples.jsonl"
        lines = (row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows)
        samples.write_text("".join(f"{line}\n{blanks}" for line in lines))
        return Run(tmp_path / "r.json", samples, "", "", "", "", None, (), "", None, None, 0, 0, {}, {})

    return write_rows


@pytest.mark.parametrize("seed", range(4))
def test_an_index_holds_the_rows_of_the_file(write: Write, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311  # no secret
    keys = [(f"q{number} ä", sample) for number in range(30) for sample in range(chance.randint(1, 3))]
    chance.shuffle(keys)
    rows = [make_row(*key, f"{chance.randint(0, 5)}/7", chance.choice(TEXTS)) for key in keys]
    run = write(rows, blanks=" \n" * (seed % 2))
    by_id: dict[str, list[Any]] = {}
    for row in read_rows(run):
        by_id.setdefault(row.id, []).append(row)
    index = RowIndex(run)
    assert [*index] == [*by_id]
    assert len(index) == len(by_id)
    for id_ in chance.sample([*by_id], len(by_id)):
        assert index[id_] == merge_samples(by_id[id_])
        assert index.find_rubric(id_) == by_id[id_][0].rubric
    assert ("other" in index, index.get("other")) == (False, None)


def test_a_sample_that_stands_twice_is_refused(write: Write) -> None:
    with pytest.raises(RefusedError, match="contains the question a twice"):
        RowIndex(write([make_row("a"), make_row("a", 1), make_row("b"), make_row("a", 1)]))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "not JSON"),
        ("[]", "a line is one JSON object"),
        ('{"output": {"raw": ["x"]}, "sample_id": [1]}', "`sample_id` is not text"),
        ('{"id": "a"}', "no `output`"),
    ],
)
def test_a_line_that_is_no_row_has_its_place(write: Write, line: str, words: str) -> None:
    with pytest.raises(LoadError, match=words) as caught:
        RowIndex(write([make_row("a"), line]))
    assert (caught.value.place.line, Path(caught.value.place.file).name) == (2, "r_samples.jsonl")


def test_a_run_whose_texts_were_taken_out_is_not_graded_again(write: Write) -> None:
    run = write([make_row("a"), make_row("b", text=None)])
    assert [*RowIndex(run)] == ["a"]  # of another tool, whose model said nothing
    own = replace(run, dataset=UsedArtifact("dataset/d@1.0.0", "1.0.0", "0", "0"))
    with pytest.raises(RefusedError, match="the text of this output was taken out"):
        RowIndex(own)


@pytest.mark.parametrize(
    ("evaluation", "words"),
    [
        ({"score": 0.5, "is_correct": True}, ""),
        ({"score": 0.25, "is_correct": True}, "its score 0.25 contradicts its exact score, 1/2"),
        ({"score": -1, "is_correct": True}, "its score -1 contradicts its exact score, 1/2"),
        ({"score": 0.5, "is_correct": False}, "its `is_correct` contradicts its verdict, pass"),
        ({"score": 0.5, "is_correct": 1}, "its `is_correct` contradicts its verdict, pass"),
        ({"score": "x"}, "its score 'x' is not a number"),
    ],
)
def test_the_numbers_that_other_programs_read_agree_with_the_exact_ones(
    write: Write, evaluation: dict[str, Any], words: str
) -> None:
    right = {**make_row("before"), "evaluation": {"score": 0.5, "is_correct": True}}
    run = write([right, {**make_row("a"), "evaluation": evaluation}])
    with pytest.raises(LoadError, match=re.escape(words)) if words else nullcontext():
        assert [row.score for row in read_rows(run)] == [Fraction(1, 2)] * 2


def test_what_only_a_strict_reader_sees_is_found_when_the_row_is_read(write: Write) -> None:
    doubled = json.dumps(make_row("b")).replace('"input"', '"sample_id": "b", "input"')
    index = RowIndex(write([make_row("a"), doubled]))
    assert index["a"].score == Fraction(1, 2)
    with pytest.raises(LoadError, match="duplicate") as caught:
        index["b"]
    assert caught.value.place.line == 2


def test_a_file_that_changes_meanwhile_is_not_believed(write: Write) -> None:
    run = write([make_row("a"), make_row("b")])
    index = RowIndex(run)
    run.samples.write_text(run.samples.read_text().replace('"b"', '"c"'))
    with pytest.raises(LoadError, match="changed while it was read"):
        index["b"]


def test_no_row_stays_in_memory(write: Write) -> None:
    size, text = 2_000, "x" * 2_000
    run = write([make_row(f"question-{number}", text=text) for number in range(size)])
    tracemalloc.start()
    try:
        index = RowIndex(run)
        assert sum(row.score or 0 for row in index.values()) == size / 2
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 400 * size  # some hundred bytes a question, of rows with 2,000 characters
    assert peak < 800 * size
