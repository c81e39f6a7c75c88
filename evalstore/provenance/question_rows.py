"""Reads what the questions of a dataset mean, version after version; a line that the last one had is known."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from evalstore.documents import write_canonical
from evalstore.model import Artifact, Kind, iterate_questions
from evalstore.provenance.artifact_parts import QuestionMeanings, read_question_meanings
from evalstore.store import ArtifactStore
from evalstore.store.rows import parse_row, read_row_lines

_Named = tuple[str, QuestionMeanings]
_DIGEST_SIZE = 16  # bytes


@dataclass(slots=True)
class QuestionRows:
    """The questions of one dataset's versions; of the last version read, what each line of its rows means."""

    store: ArtifactStore
    _defaults: str = ""
    _by_line: dict[bytes, _Named] = field(default_factory=dict)

    def read(self, dataset: Artifact, commit: str | None) -> Iterator[_Named]:
        """Yield the questions of a dataset at a commit (None: on disk), each with what it means; none of other kinds.

        Raises `LoadError` for a row that is none, and what a malformed question raises.
        """
        if dataset.kind is not Kind.DATASET:
            return
        defaults = dataset.value.get("defaults", {})
        if "rows" not in dataset.value:
            for question in iterate_questions(dataset.value):
                yield question.id, read_question_meanings(question, defaults)
            return
        known = self._by_line if self._defaults == write_canonical(defaults) else {}
        found: dict[bytes, _Named] = {}
        for line in read_row_lines(self.store, dataset, commit=commit, tag=None):
            # By digest: the lines themselves may be as large as the file.
            key = hashlib.blake2b(line.data, digest_size=_DIGEST_SIZE).digest()
            found[key] = known.get(key) or _read_row(parse_row(line), dataset.value, defaults)
            yield found[key]
        self._defaults, self._by_line = write_canonical(defaults), found


def _read_row(row: Mapping[str, Any], dataset: Mapping[str, Any], defaults: Mapping[str, Any]) -> _Named:
    (question,) = iterate_questions(dataset, [row])
    return question.id, read_question_meanings(question, defaults)
