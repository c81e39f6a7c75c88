"""Matches outputs to the questions that they answer, in the order of the outputs; grades nothing."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from evalstore.documents import write_canonical
from evalstore.errors import Place, RefusedError
from evalstore.runs import MissingOutput, StoredOutput
from evalstore.store.question_index import Found, QuestionIndex
from evalstore.text import make_excerpt

_NO_LINE = "the file of outputs has none"


@dataclass(slots=True)
class OutputMatcher:
    """Matches outputs by id: keeps the line of each question's output (0 for none), and counts odd outputs.

    Outputs of one question have different sample numbers. A row of Every Eval Ever that repeats an output does so for
    another metric, and is skipped.
    """

    file: str
    questions: QuestionIndex
    strays: int = 0
    first_stray: str = ""
    reasons: dict[str, str] = field(default_factory=dict)
    repeats: int = 0
    doubts: int = 0
    first_doubt: str = ""
    # Arrays by position of the question: 16 bytes each, so that a million questions fit.
    _lines: array[int] = field(init=False)
    _output_hashes: array[int] = field(init=False)
    # Of the samples after the first, by question and sample: memory grows with these alone.
    _samples: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._lines = array("Q", bytes(8 * self.questions.count))
        self._output_hashes = array("q", bytes(8 * self.questions.count))

    def match_outputs(self, outputs: Iterable[StoredOutput | MissingOutput]) -> Iterator[tuple[StoredOutput, Found]]:
        """Yield each output with its question and that one's position; refuses a second output for one sample."""
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
            number = found[0]
            output_hash = hash(_make_output_key(recorded)) if recorded.from_eee_row else 0
            # The same output again is another metric of it; another one is a second answer, and refused.
            if line_and_hash := self._find_sample(number, recorded.sample):
                if not recorded.from_eee_row or output_hash != line_and_hash[1]:
                    raise self._make_duplicate_error(recorded, line_and_hash[0])
                self.repeats += 1
                continue
            self._note_sample(number, recorded, output_hash)
            yield recorded, found

    @property
    def count_missing(self) -> int:
        """How many questions have no output."""
        return self._lines.count(0) - sum(not self._lines[number] for number in {key[0] for key in self._samples})

    def find_missing(self) -> dict[str, str]:
        """Return the questions without any output, and why, as far as the file says."""
        if not self.count_missing:
            return {}
        sampled = {number for number, _ in self._samples}
        return {
            id_: self.reasons.get(id_, _NO_LINE)
            for number, id_ in enumerate(self.questions.list_ids())
            if not self._lines[number] and number not in sampled
        }

    def list_notes(self, dataset: str) -> Iterator[str]:
        """Yield notes about questions and outputs without a match, and about odd outputs."""
        if self.count_missing:
            yield f"questions of {dataset} without an output: {self.count_missing:,} of {self.questions.count:,}"
        if self.reasons:
            id_, reason = next(iter(self.reasons.items()))
            yield (
                f"left out, because there is no output: {len(self.reasons):,} "
                f"(the first is '{make_excerpt(id_, 60)}': {reason})"
            )
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
            hint='keep one output for each question, or number several answers to it: "sample": 0, 1, 2, …',
        )

    def _find_sample(self, number: int, sample: int) -> tuple[int, int] | None:
        """Return the line and the hash of an output of this sample that was there before."""
        if sample:
            return self._samples.get((number, sample))
        return (self._lines[number], self._output_hashes[number]) if self._lines[number] else None

    def _note_sample(self, number: int, recorded: StoredOutput, output_hash: int) -> None:
        if recorded.sample:
            self._samples[number, recorded.sample] = recorded.line, output_hash
        else:
            self._lines[number], self._output_hashes[number] = recorded.line, output_hash

    def _note_left_out(self, missing: MissingOutput) -> None:
        self.reasons.setdefault(missing.id, missing.reason)


def _make_output_key(recorded: StoredOutput) -> tuple[str, str]:
    calls = recorded.output.tool_calls
    return recorded.output.text, "" if calls is None else write_canonical([dict(call) for call in calls])
