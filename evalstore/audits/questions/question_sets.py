"""Sorts the questions of two runs: those that are compared, and those behind each line.

It also finds what changed them last. The means of both runs are narrowed down together: first to
the questions of both datasets, then to those answered in both runs, then to those that both could
grade, then to those in which some check had something to grade in both. What a step changes in the
difference of the means is its line. In the remaining questions, checks with nothing to grade in one
run are left out of both; what that changes belongs to the last of these lines. So the lines and the
factors sum to the whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from fractions import Fraction
from itertools import chain
from typing import NamedTuple

from evalstore.audits.stored_run import StoredRun
from evalstore.audits.values import (
    VALUE_RULE,
    EditSource,
    EmptyCheck,
    FailedCheck,
    LineEffect,
    Lines,
    Mix,
    Origin,
    RunSide,
)
from evalstore.audits.version_path import VersionFinder
from evalstore.model import CheckResult, Question, UnscoredReason
from evalstore.model.measures import NO_MEASURES
from evalstore.model.question import REFERENCE_KEYS, drop_blanks, is_read_by_checks
from evalstore.release.history.artifact_parts import ArtifactPart
from evalstore.runs import GradedRow, Run
from evalstore.statistics import ExactMean
from evalstore.text import make_excerpt

_REFERENCE_RULE = "question-reference-changed"
_REFERENCE_KEYS = frozenset(REFERENCE_KEYS)
_REFERENCE_MESSAGE = "the expected answer changed"
_ZERO = Fraction(0)


class PairSet(Enum):
    """How a question is used.

    It is compared, or behind the line of errors, nothing to grade, no answer, or the mix.
    """

    COMPARED = auto()
    ERRORS = auto()
    EMPTY = auto()
    SILENT_A = auto()
    SILENT_B = auto()
    ADDED = auto()
    REMOVED = auto()


# A question in one of these sets says something about both runs.
COMPARABLE = (
    PairSet.COMPARED,
    PairSet.ERRORS,
    PairSet.EMPTY,
    PairSet.SILENT_A,
    PairSet.SILENT_B,
)
SILENT = (PairSet.SILENT_A, PairSet.SILENT_B)


class Gap(NamedTuple):
    """A check, or one within a composite, that had nothing to grade in one run.

    The other run graded it.
    """

    run: str
    path: tuple[str, ...]
    check: CheckResult

    @property
    def name(self) -> str:
        """The name of the check, `<composite>/<check>` within one."""
        return "/".join(self.path)


class QuestionPair(NamedTuple):
    """One question of two runs: its row in each, and how it is used.

    A row is None if there is no answer; `set` is None if the question counts nowhere.
    """

    id: str
    old: GradedRow | None
    new: GradedRow | None
    set: PairSet | None


def list_pairs(a: StoredRun, b: StoredRun) -> Iterator[QuestionPair]:
    """Yield the questions of both runs, in the order of A's rows.

    Those that only B has come last.
    """
    for id_ in chain(a.rows, (id_ for id_ in b.rows if id_ not in a.rows)):
        old, new = a.rows.get(id_), b.rows.get(id_)
        found: PairSet | None
        if old is None:
            found = PairSet.SILENT_A if id_ in a.questions else PairSet.ADDED
        elif new is None:
            found = PairSet.SILENT_B if id_ in b.questions else PairSet.REMOVED
        else:
            old, new = share_measures(old, new)
            found = _sort_answered(old, new)
        yield QuestionPair(id_, old, new, found)


def share_measures(old: GradedRow, new: GradedRow) -> tuple[GradedRow, GradedRow]:
    """Return the rows of a question with the numbers that only one run kept for equal outputs.

    A run keeps none if its rubric reads none, but the outputs are no different for that.
    """
    return _adopt_measures(old, new), _adopt_measures(new, old)


def _adopt_measures(row: GradedRow, other: GradedRow) -> GradedRow:
    if row.samples and other.samples:
        adopted = map(_adopt_measures, row.samples, other.samples)
        return row._replace(samples=(*adopted, *row.samples[len(other.samples) :]))
    mine, theirs = row.output, other.output
    if mine.measures == theirs.measures or mine.measures != NO_MEASURES:
        return row
    is_same = mine.text == theirs.text and mine.tool_calls == theirs.tool_calls
    # A check that had nothing to grade may have looked for them.
    if not is_same or any(check.gaps for check in row.checks):
        return row
    return row._replace(output=mine._replace(measures=theirs.measures))


def _sort_answered(old: GradedRow, new: GradedRow) -> PairSet | None:
    if (_may_fail(old) or _may_fail(new)) and next(_list_failures(old, new), None) is not None:
        return PairSet.ERRORS
    if old.score is not None and new.score is not None:
        return PairSet.COMPARED
    return None if old.score is None and new.score is None else PairSet.EMPTY


@dataclass(slots=True)
class SideSum:
    """The sums over the rows of one run that have a score."""

    scores: ExactMean = field(default_factory=ExactMean)
    passes: ExactMean = field(default_factory=ExactMean)


def build_side(run: Run, questions: int, sums: SideSum) -> RunSide:
    """Return what a run came to."""
    return RunSide(
        run=str(run.path),
        score=sums.scores.compute_mean() or _ZERO,
        passes=sums.passes.compute_mean() or _ZERO,
        questions=questions,
        scored=sums.scores.count,
        model=run.model,
        dataset=run.dataset.ref if run.dataset else "",
        rubrics=tuple(pinned.ref for pinned in run.rubrics),
        coverage=run.coverage,
        ungraded=run.ungraded if run.is_withheld else "",
        prompt=run.prompt,
    )


@dataclass(slots=True)
class _SetSum:
    """The sums over one set of questions, of run A and of run B."""

    questions: int = 0
    sides: tuple[SideSum, SideSum] = field(default_factory=lambda: (SideSum(), SideSum()))


@dataclass(slots=True)
class PairSums:
    """The sums over all questions so far, by how they are used.

    Ids are kept only for those behind a line.
    """

    ids: dict[PairSet, list[str]] = field(default_factory=dict)
    failures: Counter[tuple[str, str]] = field(default_factory=Counter)
    first_errors: dict[tuple[str, str], CheckResult] = field(default_factory=dict)
    gaps: Counter[tuple[str, str]] = field(default_factory=Counter)
    first_gaps: dict[tuple[str, str], CheckResult] = field(default_factory=dict)
    # The questions in which a check had nothing to grade in one run, and what that moved in those
    # that are compared by their other checks.
    emptied: list[str] = field(default_factory=list)
    left_out: tuple[ExactMean, ExactMean] = field(
        default_factory=lambda: (ExactMean(), ExactMean())
    )
    _sums: dict[PairSet | None, _SetSum] = field(default_factory=dict)

    def add_pair(self, pair: QuestionPair) -> None:
        """Add a question."""
        if pair.set not in self._sums:
            self._sums[pair.set] = _SetSum()
        found = self._sums[pair.set]
        found.questions += 1
        for side, row in zip(found.sides, (pair.old, pair.new), strict=True):
            if row is not None and row.score is not None:
                side.scores.add(row.score)
                side.passes.add(row.pass_share)
        if pair.set not in {PairSet.COMPARED, None}:
            self.ids.setdefault(pair.set, []).append(pair.id)
        if pair.set is PairSet.EMPTY and pair.old and pair.new:
            self.add_gaps(pair.id, [*list_row_gaps(pair.old, pair.new)], LineEffect())
        if pair.set is PairSet.ERRORS and pair.old and pair.new:
            for run, name, check in _list_failures(pair.old, pair.new):
                self.failures[run, name] += 1
                self.first_errors.setdefault((run, name), check)

    def add_gaps(self, id_: str, gaps: Sequence[Gap], effect: LineEffect) -> None:
        """Add the checks with nothing to grade in one run of a question.

        `effect` is what leaving them out of both moves.
        """
        self.emptied.append(id_)
        for name in dict.fromkeys((gap.run, gap.name) for gap in gaps):
            self.gaps[name] += 1
        for gap in gaps:
            self.first_gaps.setdefault((gap.run, gap.name), gap.check)
        self.left_out[0].add(effect.score)
        self.left_out[1].add(effect.passes)

    def count(self, *sets: PairSet) -> int:
        """Return how many questions some sets have."""
        return sum(self._sums[one].questions for one in sets if one in self._sums)

    def sum_side(self, side: int, sets: Iterable[PairSet] | None = None) -> SideSum:
        """Return the sums of run A (0) or B (1) over some sets.

        Over all rows if `sets` is empty.
        """
        found = SideSum()
        for one in self._sums if sets is None else sets:
            if one in self._sums:
                found.scores.add_all(self._sums[one].sides[side].scores)
                found.passes.add_all(self._sums[one].sides[side].passes)
        return found

    def sum_lines(self, lost: LineEffect) -> Lines:
        """Return the lines; `lost` is what replay does not reproduce on the compared questions."""
        compared = self._change_means([PairSet.COMPARED])
        filled = self._change_means([PairSet.COMPARED, PairSet.EMPTY])
        graded = self._change_means([PairSet.COMPARED, PairSet.EMPTY, PairSet.ERRORS])
        asked = self._change_means(COMPARABLE)
        common = max(self.count(PairSet.COMPARED), 1)
        left_out = LineEffect(*(one.total / common for one in self.left_out))
        return Lines(
            mix=_subtract(self._change_means(PairSet), asked),
            no_answer=_subtract(asked, graded),
            no_answer_as_zero=_subtract(self._change_means(COMPARABLE, zeros=True), graded),
            nothing_to_grade=_add(_subtract(filled, compared), left_out),
            judge_errors=_subtract(graded, filled),
            not_reproduced=lost,
            questions=Mix(
                added=self._list_ids(PairSet.ADDED),
                removed=self._list_ids(PairSet.REMOVED),
            ),
            silent_a=self._list_ids(PairSet.SILENT_A),
            silent_b=self._list_ids(PairSet.SILENT_B),
            errors=self._list_ids(PairSet.ERRORS),
            emptied=tuple(self.emptied),
            empty_checks=tuple(self._list_empty_checks()),
            failed_checks=tuple(self._list_failed_checks()),
        )

    def _list_empty_checks(self) -> Iterator[EmptyCheck]:
        for (run, name), count in self.gaps.most_common():
            check = self.first_gaps[run, name]
            yield EmptyCheck(run, name, check.kind, count, check.reason)

    def _list_failed_checks(self) -> Iterator[FailedCheck]:
        for (run, name), count in self.failures.most_common():
            check = self.first_errors[run, name]
            yield FailedCheck(run, name, check.kind, count, check.reason)

    def _list_ids(self, one: PairSet) -> tuple[str, ...]:
        return tuple(self.ids.get(one, ()))

    def _change_means(self, sets: Iterable[PairSet], *, zeros: bool = False) -> LineEffect:
        """Return the change of both means over some sets, or 0 if one run has none.

        With `zeros`, a missing answer counts as 0.
        """
        held = [*sets]
        means = []
        for side in (0, 1):
            found = self.sum_side(side, held)
            silent = self.count(*SILENT) - self.sum_side(side, SILENT).scores.count if zeros else 0
            count = found.scores.count + silent
            if not count:
                return LineEffect()
            means.append((found.scores.total / count, found.passes.total / count))
        return LineEffect(means[1][0] - means[0][0], means[1][1] - means[0][1])


def _list_failures(old: GradedRow, new: GradedRow) -> Iterator[tuple[str, str, CheckResult]]:
    """Yield each check that one run graded and the other could not, by sample.

    It comes with that run, its name and its result.
    """
    for pair in zip(old.outputs, new.outputs, strict=False):
        failed = [dict(_list_errors(row)) for row in pair]
        for side in (0, 1):
            is_lost = pair[side].score is None and pair[1 - side].score is not None
            for name, check in failed[side].items():
                has_twin = any(other.id == check.id for other in pair[1 - side].checks)
                # A check that the other run does not have fails if the question has no score for
                # it.
                if name not in failed[1 - side] and (has_twin or is_lost):
                    yield "AB"[side], name, check


def find_gaps(old: Mapping[str, CheckResult], new: Mapping[str, CheckResult]) -> Iterator[Gap]:
    """Yield what had nothing to grade in only one of two results.

    Both are by the names of the checks.
    """
    for name, result in old.items():
        sides = result, new.get(name, result)
        gaps = sides[0].gaps, sides[1].gaps
        apart = gaps[0] ^ gaps[1]
        if not apart or any(one.unscored is UnscoredReason.ERROR for one in sides):
            continue
        for inner in [""] if "" in apart else sorted(apart):
            side = int(inner in gaps[1])
            yield Gap("AB"[side], (name, inner) if inner else (name,), sides[side])


def list_row_gaps(old: GradedRow, new: GradedRow) -> Iterator[Gap]:
    """Yield the same for two rows of a question, sample by sample, as recorded."""
    for pair in zip(old.outputs, new.outputs, strict=False):
        yield from find_gaps(*({check.id: check for check in row.checks} for row in pair))


def _may_fail(row: GradedRow) -> bool:
    for check in row.checks:
        if check.unscored is not None or check.inner_errors:
            return True
    return bool(row.samples)


def _list_errors(row: GradedRow) -> Iterator[tuple[str, CheckResult]]:
    """Yield the checks of a row that could not be graded, by name.

    Within a composite a name is `<composite>/<check>`.
    """
    for check in row.checks:
        if check.unscored is UnscoredReason.ERROR:
            yield check.id, check
        for inner in check.inner_errors if check.score is not None else ():
            yield f"{check.id}/{inner}", check


def _add(one: LineEffect, other: LineEffect) -> LineEffect:
    return LineEffect(one.score + other.score, one.passes + other.passes)


def _subtract(whole: LineEffect, part: LineEffect) -> LineEffect:
    return LineEffect(whole.score - part.score, whole.passes - part.passes)


@dataclass(frozen=True, slots=True)
class QuestionHistory:
    """Where the changes of questions come from, by id: of their inputs, references and rubrics."""

    inputs: Mapping[str, Origin]
    references: Mapping[str, Origin]
    rubrics: Mapping[str, Origin]


def read_question_history(a: StoredRun, b: StoredRun, finder: VersionFinder) -> QuestionHistory:
    """Find the origins for the questions of both runs whose row or rubric changed.

    One walk finds all of them.
    """
    # Runs with the same version of a dataset share one collection of questions.
    has_other_dataset = a.questions is not b.questions
    parts: list[ArtifactPart] = []
    for id_ in a.rows if has_other_dataset or _has_other_rubrics(a, b) else ():
        if id_ in b.rows:
            parts += (ArtifactPart(area, id_) for area in _list_changed_areas(a, b, id_))
    found = finder.find_origins(a.dataset, b.dataset, parts) if parts else {}
    by_area: dict[str, dict[str, Origin]] = {"input": {}, "reference": {}, "rubric": {}}
    for part, origin in found.items():
        by_area[part.area][part.name] = origin
    return QuestionHistory(by_area["input"], by_area["reference"], by_area["rubric"])


def trace_reference(
    history: QuestionHistory, id_: str, questions: tuple[Question, Question], change: Origin
) -> EditSource:
    """Return the source of what graders read about a question, before and after.

    It is the commit that last changed it. If there is none, it is the change of the dataset.
    """
    origin = history.references.get(id_, change)
    old, new = (question.row for question in questions)
    moved = sorted(
        key for key in {*old, *new} if key not in _REFERENCE_KEYS and old.get(key) != new.get(key)
    )
    if names := ", ".join(make_excerpt(key) for key in moved if is_read_by_checks(key)):
        return EditSource(
            VALUE_RULE,
            origin,
            rules=(VALUE_RULE,),
            message=f"the value of a check changed: {names}",
        )
    return EditSource(_REFERENCE_RULE, origin, rules=(_REFERENCE_RULE,), message=_REFERENCE_MESSAGE)


def has_equal_words(
    questions: tuple[Question, Question], rows: tuple[GradedRow, GradedRow]
) -> bool:
    """Whether both runs were asked the same, ignoring white space.

    Their own records decide, else their datasets.
    """
    if any(row.asked is not None for row in rows):
        old, new = (drop_blanks(row.asked or row.input) for row in rows)
        return bool(old == new)
    return questions[0].words_digest == questions[1].words_digest


def find_repin(history: QuestionHistory, id_: str) -> Origin | None:
    """Return the commit that gave a question its other rubric.

    Returns None if an option of the run did.
    """
    origin = history.rubrics.get(id_)
    return origin if origin and origin.commit else None


def _has_other_rubrics(a: StoredRun, b: StoredRun) -> bool:
    """Whether a question may have a rubric of another name.

    It cannot if both runs used the same single rubric.
    """
    names = [{ref.partition("@")[0] for ref in stored.rubrics} for stored in (a, b)]
    return names[0] != names[1] or len(names[0]) != 1


def _list_changed_areas(a: StoredRun, b: StoredRun, id_: str) -> Iterator[str]:
    old, new = a.questions.get(id_), b.questions.get(id_)
    if a.questions is not b.questions and old is not None and new is not None:
        if old.input_digest != new.input_digest:
            yield "input"
        if old.reference_digest != new.reference_digest:
            yield "reference"
    if a.find_rubric_name(id_) != b.find_rubric_name(id_):
        yield "rubric"
