"""Matches outputs to their questions, in the order of the outputs; grades nothing."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from evalstore.documents import write_canonical
from evalstore.errors import Place, RefusedError
from evalstore.model import Question
from evalstore.runs import MissingOutput, StoredOutput
from evalstore.scoring.asked import AskedIndex, has_input_of, is_asked_of, normalize_spaces
from evalstore.store.question_index import QuestionIndex
from evalstore.text import make_excerpt

_QUOTED = 80  # characters of what was asked, in a sentence
_NO_LINE = "the file of outputs has none"


class OutputMatch(NamedTuple):
    """An output, its question's position, and the hash of an Every Eval Ever row (or 0).

    `other` says what was asked instead of the question; empty if the question itself was asked.
    """

    recorded: StoredOutput
    number: int
    question: Question
    output_hash: int
    other: str = ""


@dataclass(slots=True)
class OddOutputs:
    """The odd outputs so far: strays, unreadable rows, doubtful labels, missing outputs.

    A stray answers no question of the dataset. `reasons` has a reason for each missing output;
    `stray_asked`: the first stray says what it was asked.
    """

    strays: int = 0
    first_stray: str = ""
    stray_asked: bool = False
    unread: int = 0
    first_unread: str = ""
    doubts: int = 0
    first_doubt: str = ""
    reasons: dict[str, str] = field(default_factory=dict)

    def join(self, other: OddOutputs) -> None:
        """Add the odd outputs of the next part of the file."""
        self.stray_asked = self.stray_asked if self.strays else other.stray_asked
        self.strays += other.strays
        self.doubts += other.doubts
        self.unread += other.unread
        self.first_unread = self.first_unread or other.first_unread
        self.first_stray = self.first_stray or other.first_stray
        self.first_doubt = self.first_doubt or other.first_doubt
        for id_, reason in other.reasons.items():
            self.reasons.setdefault(id_, reason)


@dataclass(slots=True)
class OutputMatcher:
    """Matches outputs to questions by id, or by what was asked.

    Notes each output's line, and counts odd outputs. Several outputs of one question must have
    different sample numbers. A row of Every Eval Ever that repeats an output is about another
    metric, and is skipped.
    """

    file: str
    questions: QuestionIndex
    by_input: bool = False
    odd: OddOutputs = field(default_factory=OddOutputs)
    repeats: int = 0
    others: int = 0
    first_other: str = ""
    _asked: AskedIndex = field(init=False)
    # Arrays by position of the question, with 16 bytes each, so that a million questions fit. Lines
    # are stored plus one: 0 means no output, and some formats have no lines and give 0.
    _lines: array[int] = field(init=False)
    _output_hashes: array[int] = field(init=False)
    # For samples after the first, by question and sample: only these make memory grow.
    _samples: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._asked = AskedIndex(self.questions)
        self._lines = array("Q", bytes(8 * self.questions.count))
        self._output_hashes = array("Q", bytes(8 * self.questions.count))

    def match_outputs(
        self, outputs: Iterable[StoredOutput | MissingOutput]
    ) -> Iterator[OutputMatch]:
        """Yield each output with its question and the question's position.

        Raises `RefusedError` for a second output of one sample, and for an output under the id of
        one question that was asked another.
        """
        odd = self.odd
        for recorded in outputs:
            if isinstance(recorded, MissingOutput):
                self._note_missing(recorded)
                continue
            if recorded.doubt:
                odd.first_doubt = (
                    odd.first_doubt or f"{Path(self.file).name}:{recorded.line}: {recorded.doubt}"
                )
                odd.doubts += 1
            found = (
                self._find_asked(recorded) if self.by_input else self.questions.find(recorded.id)
            )
            if found is None:
                self._note_stray(recorded)
                continue
            other = "" if self.by_input else self._find_other(recorded, found[1])
            output_hash = _hash_output(recorded) if recorded.from_eee_row else 0
            if self.note_output(found[0], recorded.sample, recorded.line, output_hash):
                self.note_other(other)
                yield OutputMatch(recorded, *found, output_hash, other)

    def note_other(self, other: str) -> None:
        """Count an output that was asked something else, if `other` is not empty."""
        self.others += bool(other)
        self.first_other = self.first_other or other

    def _note_missing(self, missing: MissingOutput) -> None:
        if not missing.id:
            self.odd.first_unread = self.odd.first_unread or missing.reason
            self.odd.unread += 1
            return
        self.odd.reasons.setdefault(self._name_missing(missing), missing.reason)

    def _name_missing(self, missing: MissingOutput) -> str:
        """Return the id of the question that has no output, found by id or by what was asked."""
        if not self.by_input:
            return missing.id
        ids = self._asked.find_ids(missing.asked)
        return ids[0] if len(ids) == 1 else f"line {missing.line}"

    def _note_stray(self, recorded: StoredOutput) -> None:
        if not self.odd.strays:
            self.odd.first_stray, self.odd.stray_asked = recorded.id, bool(recorded.asked)
        self.odd.strays += 1

    def _find_other(self, recorded: StoredOutput, question: Question) -> str:
        """Return what an output was asked instead of its question, or an empty text.

        Raises `RefusedError` if it was asked another question of the dataset.
        """
        asked = recorded.asked
        if not asked or question.broken or has_input_of(asked, question):
            return ""
        another = self._asked.find_ids(asked)
        is_own = not another and is_asked_of(asked, question)
        around = None if another or is_own else self._asked.find_around(asked)
        if id_ := next(iter(another), around):
            raise self._make_other_error(recorded, question, id_)
        words = f"asked {_quote(asked[0])}, and the question is {_quote(question.input)}"
        return "" if is_own else f"'{make_excerpt(recorded.id, 60)}': {words}"

    def _find_asked(self, recorded: StoredOutput) -> tuple[int, Question] | None:
        """Return the question whose input is what was asked, and its position."""
        if not recorded.asked:
            raise RefusedError(
                "this output does not say what was asked",
                place=Place(self.file, recorded.line),
                hint='--match input needs the input in every record, as "input" in a line',
            )
        ids = self._asked.find_ids(recorded.asked)
        if recorded.id in ids:
            return self.questions.find(recorded.id)
        if len(ids) > 1:
            message = (
                f"{_name_id(ids[0])} and {_name_id(ids[1])} have the input "
                f"{_quote(recorded.asked[0])}"
            )
            hint = "nothing says which of them this output answers; give it the id of one"
            raise RefusedError(message, place=Place(self.file, recorded.line), hint=hint)
        id_ = next(iter(ids), None) or self._asked.find_around(recorded.asked)
        return self.questions.find(id_) if id_ is not None else None

    def _make_other_error(
        self, recorded: StoredOutput, question: Question, id_: str
    ) -> RefusedError:
        found = self.questions.find(id_)
        text = next(
            (text for text in recorded.asked if found and has_input_of([text], found[1])),
            recorded.asked[0],
        )
        return RefusedError(
            f"the output to {_name_id(question.id)} answers {_name_id(id_)}: it was asked "
            f"{_quote(text)}, and the question {_name_id(question.id)} is "
            f"{_quote(question.input)}",
            place=Place(self.file, recorded.line),
            hint="--match input joins outputs to questions by what was asked; or correct the ids",
        )

    def note_output(self, number: int, sample: int, line: int, output_hash: int) -> bool:
        """Note an output's line for the question at `number`; return False if it was noted before.

        The same output again is a row about another metric. A different one is a second answer:
        raises `RefusedError`.
        """
        if line_and_hash := self._find_sample(number, sample):
            if not output_hash or output_hash != line_and_hash[1]:
                raise self._make_duplicate_error(number, line, line_and_hash[0])
            self.repeats += 1
            return False
        if sample:
            self._samples[number, sample] = line, output_hash
        else:
            self._lines[number], self._output_hashes[number] = line + 1, output_hash
        return True

    @property
    def count_missing(self) -> int:
        """The number of questions without an output."""
        return self._lines.count(0) - sum(
            not self._lines[number] for number in {key[0] for key in self._samples}
        )

    def find_missing(self) -> dict[str, str]:
        """Return the questions without any output, and why, as far as the file says."""
        if not self.count_missing:
            return {}
        sampled = {number for number, _ in self._samples}
        broken = self.questions.find_broken()
        missing: dict[str, str] = {}
        for number, id_ in enumerate(self.questions.list_ids()):
            if not self._lines[number] and number not in sampled:
                reason = broken.get(id_) or self.odd.reasons.get(id_, _NO_LINE)
                missing[id_] = reason
        return missing

    def list_notes(self, dataset: str) -> Iterator[str]:
        """Yield notes about questions and outputs without a match, and about odd outputs."""
        if self.count_missing:
            yield (
                f"questions of {dataset} without an output: {self.count_missing:,} of "
                f"{self.questions.count:,}"
            )
        if self.odd.reasons:
            id_, reason = next(iter(self.odd.reasons.items()))
            yield (
                f"left out, because there is no output: {len(self.odd.reasons):,} "
                f"(the first is '{make_excerpt(id_, 60)}': {reason})"
            )
        if self.odd.strays:
            first = make_excerpt(self.odd.first_stray, 60)
            yield (
                f"outputs without a question in {dataset}: {self.odd.strays:,} (the first is "
                f"'{first}')"
            )
        if self.odd.unread:
            yield (
                f"rows that cannot be read: {self.odd.unread:,} (the first: "
                f"{make_excerpt(self.odd.first_unread)})"
            )
        if self.others:
            yield (
                f"outputs that were asked something else: {self.others:,} (the first is "
                f"{self.first_other})"
            )
        if self.repeats:
            yield f"rows that repeat an output for another metric: {self.repeats:,}"
        if self.odd.doubts:
            yield (
                f"{self.odd.first_doubt}; rows with a label that their shape contradicts: "
                f"{self.odd.doubts:,}"
            )

    def _make_duplicate_error(self, number: int, line: int, first: int) -> RefusedError:
        id_ = next(islice(self.questions.list_ids(), number, None))
        # A whole document may be one line, and YAML rows have no line.
        where = f" (first on line {first})" if first != line else ""
        return RefusedError(
            f"duplicate id '{make_excerpt(id_, 60)}'{where}",
            place=Place(self.file, line or None),
            hint=(
                "keep one output for each question, or number several answers to it in lines "
                '{"id", "output", "sample": 0, 1, 2, …}'
            ),
        )

    def _find_sample(self, number: int, sample: int) -> tuple[int, int] | None:
        """Return the line and the hash of an earlier output of this sample, or None."""
        if sample:
            return self._samples.get((number, sample))
        line = self._lines[number]
        return (line - 1, self._output_hashes[number]) if line else None


def _name_id(id_: str) -> str:
    return f"'{make_excerpt(id_, 60)}'"


def _quote(text: str) -> str:
    return f"'{make_excerpt(normalize_spaces(text), _QUOTED)}'"


def _hash_output(recorded: StoredOutput) -> int:
    """Return a hash of an output in 8 bytes, never 0, and the same in every process."""
    calls = recorded.output.tool_calls
    written = write_canonical(
        [recorded.output.text, None if calls is None else [dict(call) for call in calls]]
    )
    return int.from_bytes(blake2b(written.encode(), digest_size=8).digest()) | 1
