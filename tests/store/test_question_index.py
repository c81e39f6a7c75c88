"""The index of questions on disk answers as one in memory does, in whatever order it is asked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstore.errors import RefusedError
from evalstore.model import Question
from evalstore.store.question_index import on_disk, open_in_memory


def make_questions(ids: list[str]) -> list[Question]:
    return [
        Question(id_, f"Say {id_}.", {"id": id_, "input": f"Say {id_}.", "rubric_ref": f"rubric/{id_}"}) for id_ in ids
    ]


IDS = st.sampled_from(["a", "b", "c", "d", "e", "f"])


@given(st.permutations(["c", "a", "d", "b"]), st.lists(IDS, max_size=12))
def test_questions_are_found_in_any_order(ids: list[str], asked: list[str]) -> None:
    questions = make_questions(ids)
    in_memory = open_in_memory(questions, "d.jsonl")
    with on_disk(questions, "d.jsonl") as index:
        assert (index.count, index.rubric_refs) == (in_memory.count, in_memory.rubric_refs)
        assert [index.find(id_) for id_ in [*ids, *asked]] == [in_memory.find(id_) for id_ in [*ids, *asked]]
        assert list(index.list_ids()) == list(in_memory.list_ids()) == ids


def test_a_dataset_without_questions_has_an_index() -> None:
    with on_disk([], "d.jsonl") as index:
        assert (index.count, index.find("a"), list(index.list_ids())) == (0, None, [])


def test_the_first_question_that_stands_twice_is_named() -> None:
    questions = make_questions(["a", "b", "c", "b", "a"])
    for open_index in (lambda: on_disk(questions, "d.jsonl").__enter__(), lambda: open_in_memory(questions, "d.jsonl")):
        with pytest.raises(RefusedError, match="duplicate question id 'b'"):
            open_index()
