"""Grades what ought to fail under a rubric, and stored outputs under its mutants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

from evalstore.checks import CheckContext, combine_results, prepare_rubric
from evalstore.diff.plain_data import make_plain
from evalstore.diff.rubric_state import read_rubric as read_state
from evalstore.errors import Place, RefusedError
from evalstore.judging import Judges, JudgeSession, open_session
from evalstore.model import (
    Kind,
    Output,
    Question,
    RubricResult,
    Sample,
    Scoring,
    UnscoredReason,
    Verdict,
    parse_ref,
    read_rubric,
)
from evalstore.probes.mutants import iterate_mutants
from evalstore.probes.survivors import find_survivors
from evalstore.probes.texts import ProbeText, build_texts
from evalstore.probes.values import ProbedText, RubricProbe
from evalstore.runs import StoredOutput, find_samples, read_outputs
from evalstore.statistics import ExactMean
from evalstore.store import ArtifactStore, Resolved
from evalstore.store.question_index import open_question_index

_MUTANT_LIMIT = 1_000
_OPPOSITE = {Verdict.PASS: Verdict.FAIL, Verdict.FAIL: Verdict.PASS}


def probe(
    rubric: str,
    store: ArtifactStore,
    *,
    dataset: str | None = None,
    outputs: Path | None = None,
    judges: Judges | None = None,
) -> RubricProbe:
    """Return what a rubric gives to texts that say nothing, and which changes of it no stored output tells apart.

    With `dataset` each text is graded for every question that the rubric grades (for all, where it grades none); with
    `outputs`, a file of any shape that evalstore.runs reads, the mutants of the rubric grade them. Judges answer from
    kept replies, or as `judges` says. Raises `RefusedError` for what is no rubric, and where no output is a question's.
    """
    ruler = _resolve(store, rubric, Kind.RUBRIC)
    questions = ProbeQuestions(store, ruler.name, _resolve(store, dataset, Kind.DATASET) if dataset else None)
    with open_session(judges or Judges(), store.git.find_common_directory) as session:
        while True:
            found = _probe_once(ruler, questions, outputs, session)
            if not session.can_ask:
                return replace(found, calls=len(session.missing))
            session.ask_missing()


@dataclass(frozen=True, slots=True)
class ProbeQuestions:
    """The questions of a dataset that a rubric grades: all of them where it grades none, and None without a dataset."""

    store: ArtifactStore
    rubric: str
    dataset: Resolved | None

    def iterate(self) -> Iterator[Question | None]:
        """Yield each question."""
        if self.dataset is None:
            yield None
            return
        grades = self._find_choice(self.dataset)
        yield from filter(grades, self.store.questions(self.dataset))

    def iterate_samples(self, outputs: Path) -> Iterator[Sample]:
        """Yield the stored outputs to them, in the order of the file."""
        stored = (one for one in read_outputs(find_samples(outputs)) if isinstance(one, StoredOutput))
        if self.dataset is None:
            yield from (Sample(one.output) for one in stored)
            return
        grades = self._find_choice(self.dataset)
        with open_question_index(self.dataset, self.store) as index:
            pairs = ((one.output, index.find(one.id)) for one in stored)
            yield from (Sample(output, found[1]) for output, found in pairs if found and grades(found[1]))

    def _find_choice(self, dataset: Resolved) -> Callable[[Question], bool]:
        return self._grades if any(map(self._grades, self.store.questions(dataset))) else lambda _: True

    def _grades(self, question: Question) -> bool:
        return bool(question.rubric_ref) and parse_ref(question.rubric_ref or "").name == self.rubric


@dataclass(slots=True)
class _ResultTally:
    """What became of one kind of text so far."""

    example: ProbeText
    verdicts: Counter[Verdict] = field(default_factory=Counter)
    scores: ExactMean = field(default_factory=ExactMean)
    wrong: list[str] = field(default_factory=list)
    # Why a check could not be graded, once for each.
    errors: dict[str, str] = field(default_factory=dict)
    undecided: int = 0

    def add(self, result: RubricResult, scoring: Scoring, id_: str) -> None:
        failed = {check.id: check.reason for check in result.checks if check.unscored is UnscoredReason.ERROR}
        if failed:
            self.errors = failed | self.errors
            result = _settle_errors(result, scoring)
            self.undecided += result.verdict is Verdict.UNSCORED
        self.verdicts[result.verdict] += 1
        if result.score is not None:
            self.scores.add(result.score)
        if result.verdict is _OPPOSITE[self.example.wanted]:
            self.wrong.append(id_)

    def build_text(self) -> ProbedText:
        name, wanted, text = self.example
        mean = self.scores.compute_mean()
        return ProbedText(name, wanted, text, dict(self.verdicts), mean, tuple(self.wrong), self.undecided)


def _settle_errors(result: RubricResult, scoring: Scoring) -> RubricResult:
    """Return what the rubric says whatever the checks say that could not be graded; unscored where that differs."""
    ends = [
        combine_results(
            scoring,
            [
                check._replace(score=score, verdict=verdict, unscored=None)
                if check.unscored is UnscoredReason.ERROR
                else check
                for check in result.checks
            ],
        )
        for score, verdict in ((Fraction(0), Verdict.FAIL), (Fraction(1), Verdict.PASS))
    ]
    score = ends[0].score if ends[0].score == ends[1].score else None
    verdict = ends[0].verdict if ends[0].verdict is ends[1].verdict else Verdict.UNSCORED
    return replace(result, score=score, verdict=verdict)


def _resolve(store: ArtifactStore, ref: str, kind: Kind) -> Resolved:
    resolved = store.resolve(ref)
    if resolved.kind is not kind:
        raise RefusedError(f"{ref} is a {resolved.kind}, not a {kind}")
    return resolved


def _probe_once(ruler: Resolved, questions: ProbeQuestions, outputs: Path | None, session: JudgeSession) -> RubricProbe:
    value = make_plain(ruler.artifact.value)
    state = read_state(value)
    if state is None:
        raise RefusedError(f"{ruler.ref} cannot be read as a rubric", hint="`evalstore validate` shows the place")
    store = questions.store
    context = CheckContext(store.load, session.ask, session.judges.model, strict=store.strict)
    rubric, tallies, count = read_rubric(value), dict[str, _ResultTally](), 0
    grade = prepare_rubric(rubric, context)
    for question in questions.iterate():
        count += question is not None
        for text in build_texts(state, question):
            result = grade(Sample(Output(text.text), question))
            tallies.setdefault(text.name, _ResultTally(text)).add(
                result, rubric.scoring, question.id if question else ""
            )
    failed = {id_: reason for tally in tallies.values() for id_, reason in tally.errors.items()}
    found = RubricProbe(
        ref=ruler.ref,
        dataset=questions.dataset.ref if questions.dataset else None,
        questions=count,
        texts=tuple(tally.build_text() for tally in tallies.values()),
        notes=tuple(f"{id_} could not be graded: {reason}" for id_, reason in failed.items()),
    )
    if outputs is None:
        return found
    mutants = list(iterate_mutants(value))
    tried = mutants[:_MUTANT_LIMIT]
    left = find_survivors(rubric, tried, questions.iterate_samples(outputs), context)
    if not left.outputs:
        raise RefusedError("holds no output to a question that this rubric grades", place=Place(str(outputs)))
    more = (f"of {len(mutants):,} mutants the first {len(tried):,} were tried",) if mutants[len(tried) :] else ()
    return replace(found, outputs=left.outputs, mutants=len(tried), survivors=left.mutants, notes=(*found.notes, *more))
