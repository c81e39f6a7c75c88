"""Lists what is tried as a witness: texts, records of calls, answers to invented questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import islice, product
from typing import NamedTuple

from evalstore.diff.candidates.call_records import build_records
from evalstore.diff.candidates.invented_questions import build_questions
from evalstore.diff.candidates.recorded_numbers import build_measures
from evalstore.diff.candidates.texts import PLAIN_TEXT, build_candidates, order_texts
from evalstore.diff.change import Change
from evalstore.diff.findings import Witness
from evalstore.diff.limits import EVIDENCE
from evalstore.errors import Place
from evalstore.model import Output, Question, Sample


class Attempt(NamedTuple):
    """A sample to try; if it is an example of a file, `example` is its place."""

    sample: Sample
    example: Place | None = None


def yield_texts(texts: Mapping[str, Fraction | None]) -> Iterator[Attempt]:
    """Yield texts in the order to try them: sure to move the score, then in ASCII, then short."""
    ordered = order_texts(texts, lambda text: (texts[text] is None, not text.isascii()))
    yield from (Attempt(Sample(Output(text))) for text in ordered)


def yield_outputs(change: Change) -> Iterator[Attempt]:
    """Yield outputs to try: texts, with records of calls if the check reads calls."""
    if records := build_records(change):
        few = list(islice(build_candidates(change), EVIDENCE.texts_beside))
        yield from (Attempt(Sample(Output(text, record))) for record, text in product(records, few))
    else:
        yield from (Attempt(Sample(Output(text))) for text in build_candidates(change))


def yield_measured(change: Change) -> Iterator[Attempt]:
    """Yield a plain text with numbers that a run may record, if the check reads these."""
    for measures in build_measures(change):
        yield Attempt(Sample(Output(PLAIN_TEXT, measures=measures)))


def yield_answers(change: Change) -> Iterator[Attempt]:
    """Yield outputs as answers to invented questions, if a check reads the question."""
    for row, filled in build_questions(change):
        question = Question(row["id"], row["input"], row)
        for attempt in yield_outputs(filled):
            yield Attempt(replace(attempt.sample, question=question))
        for text in islice(build_candidates(filled), EVIDENCE.texts_beside):
            # What is looked for, with more text after or before it.
            yield Attempt(Sample(Output(f"{text}\n\n{PLAIN_TEXT}"), question))
            yield Attempt(Sample(Output(f"{PLAIN_TEXT}\n\n{text}"), question))


def repeat_sample(witness: Witness) -> Attempt:
    """Return the sample of a witness, to try it with other rubrics."""
    row = witness.question
    question = (
        None if row is None else Question(str(row.get("id", "")), str(row.get("input", "")), row)
    )
    output = Output(witness.output, witness.tool_calls, measures=witness.measures)
    return Attempt(Sample(output, question), witness.example)
