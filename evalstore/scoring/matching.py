"""Matches outputs to the questions that they answer, in the order of the outputs; grades nothing."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from evalstore.documents import write_canonical
from evalstore.errors import Place, RefusedError
from evalstore.model import Question
from evalstore.runs import MissingOutput, StoredOutput
from evalstore.scoring.question_index import QuestionIndex
from evalstore.text import make_excerpt


@dataclass(slots=True)
class OutputMatcher:
    """Matches outputs by id: keeps the line of each question's output (0 for none), and counts odd outputs.

    A row of Every Eval Ever that repeats an output does so for another metric, and is skipped.
    """

    file: str
    questions: QuestionIndex
    strays: int = 0
    first_stray: str = ""
    left_out: int = 0
    first_left_out: str = ""
    repeats: int = 0
    doubts: int = 0
    first_doubt: str = ""
    # Arrays by position of the question: 16 bytes each, so that a million questions fit.
    _lines: array[int] = field(init=False)
    _output_hashes: array[int] = field(init=False)

    def __post_init__(self) -> None:
        self._lines = array("Q", bytes(8 * self.questions.count))
        self._output_hashes = array("q", bytes(8 * self.questions.count))

    def match_outputs(self, outputs: Iterable[StoredOutput | MissingOutput]) -> Iterator[tuple[StoredOutput, Question]]:
        """Yield each output with its question; refuses a second output for a question."""
        for recorded in outputs:
            if isinstance(recorded, MissingOutput):
                self._note_left_out(recorded)
                continue
            if recorded.doubt:
                self.first_doubt = self.first_doubt or f"{Path(self.file).name}:{recorded.line}: {recorded.doubt}"
                self.doubts += 1
            found = self.questions.find(recorded.id)
            if found is None:
                self.first_stray = self.first_stray or recorded.id
                self.strays += 1
                continue
            number, question = found
            output_hash = hash(_make_output_key(recorded)) if recorded.from_eee_row else 0
            # The same output again is another metric of it; another one is a second answer, and refused.
            if self._lines[number]:
                if not recorded.from_eee_row or output_hash != self._output_hashes[number]:
                    raise self._make_duplicate_error(recorded, self._lines[number])
                self.repeats += 1
                continue
            self._lines[number], self._output_hashes[number] = recorded.line, output_hash
            yield recorded, question

    @property
    def count_missing(self) -> int:
        """How many questions have no output."""
        return self._lines.count(0)

    def list_notes(self, dataset: str) -> Iterator[str]:
        """Yield notes about questions and outputs without a match, and about odd outputs."""
        if self.count_missing:
            yield f"questions of {dataset} without an output: {self.count_missing:,} of {self.questions.count:,}"
        if self.left_out:
            yield f"left out, because there is no output: {self.left_out:,} (the first is {self.first_left_out})"
        if self.strays:
            first = make_excerpt(self.first_stray, 60)
            yield f"outputs without a question in {dataset}: {self.strays:,} (the first is '{first}')"
        if self.repeats:
            yield f"rows that give an output once more, for another metric: {self.repeats:,}"
        if self.doubts:
            yield f"{self.first_doubt}; rows with a label that their shape contradicts: {self.doubts:,}"

    def _make_duplicate_error(self, recorded: StoredOutput, first: int) -> RefusedError:
        return RefusedError(
            f"the id '{make_excerpt(recorded.id, 60)}' stands twice (first on line {first})",
            place=Place(self.file, recorded.line),
            hint="keep one output for each question",
        )

    def _note_left_out(self, missing: MissingOutput) -> None:
        self.first_left_out = self.first_left_out or f"'{make_excerpt(missing.id, 60)}': {missing.reason}"
        self.left_out += 1


def _make_output_key(recorded: StoredOutput) -> tuple[str, str]:
    calls = recorded.output.tool_calls
    return recorded.output.text, "" if calls is None else write_canonical([dict(call) for call in calls])
