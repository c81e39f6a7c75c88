"""Builds the texts that a rubric is probed with, from its own words and from a question; grades none of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any, NamedTuple

from evalstore.checks.examples import GradedExample
from evalstore.diff.kinds import KINDS
from evalstore.diff.rubric_state import CheckState, RubricState
from evalstore.documents import write_canonical
from evalstore.errors import RefError
from evalstore.model import Question, Sample, Verdict
from evalstore.text import make_excerpt

_REFUSAL = "I'm sorry, but I can't help with that."
_DENIAL = "It is not true that: "
# The parameter of a kind that lists phrases; of any other kind the first text is taken that it passes.
_PHRASES = {
    "must_contain_any": "values",
    "must_not_contain": "values",
    "fact_match": "facts",
    "markdown_structure": "required_sections",
}


class ProbeText(NamedTuple):
    """A text to grade, and the verdict that a sound rubric gives to it."""

    name: str
    wanted: Verdict
    text: str


def build_texts(rubric: RubricState, question: Question | None) -> Iterator[ProbeText]:
    """Yield the texts: those that say nothing, those that say only what is looked for, and the reference."""
    yield ProbeText("empty", Verdict.FAIL, "")
    yield ProbeText("refusal", Verdict.FAIL, _REFUSAL)
    if question is not None and question.input.strip():
        yield ProbeText("the question", Verdict.FAIL, question.input)
    if phrases := list(dict.fromkeys(_list_phrases(rubric, question))):
        yield ProbeText("all phrases in a line", Verdict.FAIL, " ".join(" ".join(phrases).split()))
    if question is not None and (reference := find_reference(question.row)):
        yield ProbeText("the reference", Verdict.PASS, reference)
        yield ProbeText("the reference, denied", Verdict.FAIL, f"{_DENIAL}{reference}")


def find_reference(row: Mapping[str, Any]) -> str:
    """Return the expected answer as a text: the first of several, a structure as JSON, or else all expected facts."""
    expected = row.get("expected")
    if isinstance(expected, list):
        expected = expected[0] if expected else None
    if isinstance(expected, str):
        return expected
    if expected is not None:
        return write_canonical(expected)
    return "\n".join(_read_facts(row))


def _list_phrases(rubric: RubricState, question: Question | None) -> Iterator[str]:
    """Yield what the checks look for; nothing that one of them bans."""
    for check in rubric.checks:
        if check.negate is KINDS[check.kind].bans:
            yield from _list_phrases_of_check(check)
    if question is not None and any(check.kind == "fact_match" for check in rubric.checks):
        yield from _read_facts(question.row)


def _list_phrases_of_check(check: CheckState) -> Iterable[str]:
    if check.kind in _PHRASES:
        return check.params[_PHRASES[check.kind]] or ()
    return islice(KINDS[check.kind].sample_texts(check.params), 1)


def _read_facts(row: Mapping[str, Any]) -> list[str]:
    facts = row.get("expected_facts")
    return [fact for fact in facts if isinstance(fact, str)] if isinstance(facts, list) else []


@dataclass(frozen=True, slots=True)
class ProbedText:
    """One kind of text over all questions that have it; `wanted` is the verdict that a sound rubric gives to it.

    `example` is the text for the first question, and `verdicts` counts what became of it. `mean` is over those that
    have a score, None without any. `wrong` are the questions that got the opposite of what is wanted, in order; without
    questions it is the empty id. `undecided` counts those whose verdict hangs on a check that could not be graded.
    `sample` is the first that is wrong, else the first.
    """

    name: str
    wanted: Verdict
    example: str
    verdicts: dict[Verdict, int]
    mean: Fraction | None
    wrong: tuple[str, ...]
    undecided: int
    sample: Sample


@dataclass(frozen=True, slots=True)
class RubricMutant:
    """The rubric with one part changed: `message` says which, at the JSON pointer of that part."""

    message: str
    pointer: str


@dataclass(frozen=True, slots=True)
class RubricProbe:
    """One rubric, probed; of a judge its examples alone.

    `questions` were asked, none without a dataset. Of `mutants`, the rubric with one part changed, the `survivors` give
    each of the `outputs` the same score and verdict; without outputs there are none. `examples` are those of its file.
    `calls` to judges are needed for what has no verdict.
    """

    ref: str
    dataset: str | None
    questions: int
    texts: tuple[ProbedText, ...]
    outputs: int = 0
    mutants: int = 0
    survivors: tuple[RubricMutant, ...] = ()
    examples: tuple[GradedExample, ...] = ()
    calls: int = 0
    notes: tuple[str, ...] = ()

    def find_text(self, name: str) -> ProbedText:
        """Return the text with this name; raises `RefError` where there is none."""
        found = next((text for text in self.texts if text.name == name), None)
        if found is None:
            names = "; ".join(text.name for text in self.texts)
            raise RefError(f"no text is called {make_excerpt(name)}", hint=f"one of: {names}" if names else "")
        return found

    @property
    def sound(self) -> bool:
        """Whether every text and example was graded, and none got the opposite of what is wanted, or is expected.

        One that a rubric has nothing to grade in is graded; where that is so of all texts, nothing was seen.
        """
        has_verdict = any(text.verdicts.keys() - {Verdict.UNSCORED} for text in self.texts) or not self.texts
        is_met = all(one.result and not one.is_failed for one in self.examples)
        return has_verdict and is_met and not any(text.wrong or text.undecided for text in self.texts)
