"""Holds the questions of a run's dataset as they were asked: one is in memory, the others where the dataset is."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping
from contextlib import ExitStack

from evalstore.model import INPUT_KEYS, Question
from evalstore.store import ArtifactStore, Resolved
from evalstore.store.question_index import open_question_index


class DatasetQuestions(Mapping[str, Question]):
    """The questions of one version of a dataset by id; a dataset with a file of rows stays on disk."""

    def __init__(self, resolved: Resolved, store: ArtifactStore) -> None:
        opened = ExitStack()
        self._index = opened.enter_context(open_question_index(resolved, store))
        weakref.finalize(self, opened.close)
        self._last: Question | None = None

    def __getitem__(self, id_: str) -> Question:
        if self._last is None or self._last.id != id_:
            if (found := self._index.find(id_)) is None:
                raise KeyError(id_)
            self._last = found[1]
        return self._last

    def __iter__(self) -> Iterator[str]:
        return iter(self._index.list_ids())

    def __len__(self) -> int:
        return self._index.count


def mix_questions(reference: Question, input_: Question) -> Question:
    """Return the question with the reference of one version and the input of another; cells of an audit mix both."""
    if reference.input_digest == input_.input_digest:
        return reference
    reference_fields = {key: value for key, value in reference.row.items() if key not in INPUT_KEYS}
    input_fields = {key: input_.row[key] for key in INPUT_KEYS if key in input_.row}
    return Question(reference.id, input_.input, {**reference_fields, **input_fields})
