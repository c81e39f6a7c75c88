"""The index of questions on disk answers as one in memory does, in whatever order it is asked."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstore.errors import RefusedError
from evalstore.model import Question
from evalstore.store.question_index import on_disk, open_in_memory
from evalstore.store.rows import RowLine


def make_questions(ids: list[str]) -> list[Question]:
    return [
        Question(id_, f"Say {id_}.", {"id": id_, "input": f"Say {id_}.", "rubric_ref": f"rubric/{id_}"}) for id_ in ids
    ]


def make_lines(ids: list[str]) -> list[RowLine]:
    rows = (json.dumps(question.row).encode() for question in make_questions(ids))
    return [RowLine(row, "d.jsonl", number) for number, row in enumerate(rows, start=1)]


IDS = st.sampled_from(["a", "b", "c", "d", "e", "f"])


@given(st.permutations(["c", "a", "d", "b"]), st.lists(IDS, max_size=12))
def test_questions_are_found_in_any_order(ids: list[str], asked: list[str]) -> None:
    questions = make_questions(ids)
    in_memory = open_in_memory(questions, "d.jsonl")
    with on_disk(make_lines(ids), {}, "d.jsonl") as index:
        assert (index.count, index.rubric_refs) == (in_memory.count, in_memory.rubric_refs)
        assert [index.find(id_) for id_ in [*ids, *asked]] == [in_memory.find(id_) for id_ in [*ids, *asked]]
        assert list(index.list_ids()) == list(in_memory.list_ids()) == ids


def test_a_dataset_without_questions_has_an_index() -> None:
    with on_disk([], {}, "d.jsonl") as index:
        assert (index.count, index.find("a"), list(index.list_ids())) == (0, None, [])


def test_the_first_question_that_stands_twice_is_named() -> None:
    ids = ["a", "b", "c", "b", "a"]
    numbered = [replace(one, find_line=lambda line=line: line) for line, one in enumerate(make_questions(ids), 1)]
    for open_index in (
        lambda: on_disk(make_lines(ids), {}, "d.jsonl").__enter__(),
        lambda: on_disk(make_lines(ids), {}, "d.jsonl", ["c", "b"]).__enter__(),
        lambda: open_in_memory(numbered, "d.jsonl"),
    ):
        with pytest.raises(RefusedError, match=r"^d.jsonl:4: duplicate question id 'b' \(first on line 2\)$"):
            open_index()


def test_only_what_is_asked_is_read_and_refused() -> None:
    lines = [*make_lines(["a", "b", "b"]), *(RowLine(row, "d.jsonl", 4) for row in (b'{"id": "d", ', b"[1]"))]
    with on_disk(lines, {}, "d.jsonl", ["a", "z"]) as index:
        assert (index.count, index.rubric_refs, [*index.find_broken()]) == (5, ("rubric/a",), ["the row (line 4)"])
        assert [*index.list_lines()] == [lines[0], lines[4]]
        assert [*index.list_ids()] == ["a", "b", "b", "d", "the row (line 4)"]
