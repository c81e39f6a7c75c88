"""Explains why two runs differ; the package's entry.

It reads, replays and attributes the difference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

from evalstore.audits.claims import hold_against_noise, list_judge_notes
from evalstore.audits.edits.rubric_plan import ContentLoader, RunReferences
from evalstore.audits.inference import open_stored_pair
from evalstore.audits.judge_evidence import has_other_engines
from evalstore.audits.judge_noise import JudgeNoiseReader, estimate_judge_noise
from evalstore.audits.question_view import MovedQuestions
from evalstore.audits.questions.question_attribution import AttributedQuestion, QuestionAttributor
from evalstore.audits.questions.question_sets import (
    COMPARABLE,
    SILENT,
    PairSet,
    PairSums,
    QuestionPair,
    build_side,
    has_equal_words,
    list_pairs,
    read_question_history,
)
from evalstore.audits.slices import AuditSlice, SliceKind, Slicer
from evalstore.audits.stored_run import (
    Grader,
    RunArtifactLoader,
    StoredRun,
    list_reuse_notes,
    list_score_notes,
    list_strictness_notes,
    make_disjoint_error,
    read_judge_model,
    read_strictness,
)
from evalstore.audits.totals import AuditTotals
from evalstore.audits.values import (
    Audit,
    Drift,
    Factor,
    FactorName,
    Flips,
    InputEdits,
    LineEffect,
)
from evalstore.audits.version_path import VersionFinder
from evalstore.audits.wording.gaps import describe_pairs, describe_renames
from evalstore.audits.wording.sentence import write_sentence
from evalstore.checks import find_check_kind
from evalstore.diff.findings import Direction
from evalstore.errors import RefusedError
from evalstore.model import OutputEnd, UnscoredReason, Verdict
from evalstore.model.judge import NO_REPLY
from evalstore.runs import GradedRow, Run
from evalstore.runs.aggregate_review import AggregateReview
from evalstore.runs.output_likeness import LikenessCounter, list_likeness_notes
from evalstore.scoring.judging import Judges, JudgeSession, open_session
from evalstore.statistics import ExactMean, UndeclaredGroups
from evalstore.store import ArtifactStore
from evalstore.text import make_excerpt

_EMPTY = "empty"
_WEIGHT = 0.02  # of the questions: what concerns more of them belongs in the answer
# Outputs that are not answers, in words: without text or tool call, or as the model's API reported.
_POOR = {
    _EMPTY: "empty outputs",
    OutputEnd.CUT: "outputs cut off at their longest length",
    OutputEnd.REFUSED: "refused outputs",
}
_SHOWN_DRIFTS = 5
_ZERO = Fraction(0)


@dataclass(slots=True)
class RunNotes:
    """What was noted about the questions so far; engines are by run (0 for A) and check kind.

    `questions` counts the compared ones, `outputs` those of all questions in the run that has more
    of them.

    On `ungraded` of them a check failed in both runs, or in the one that has it.
    """

    questions: int = 0
    outputs: int = 0
    ungraded: int = 0
    engines: dict[tuple[int, str, str], None] = field(default_factory=dict)
    failed: Counter[tuple[str, str]] = field(default_factory=Counter)
    reasons: dict[tuple[str, str], str] = field(default_factory=dict)
    # By kind, the outputs of run A and of run B that are not answers.
    poor: dict[str, list[int]] = field(default_factory=lambda: {kind: [0, 0] for kind in _POOR})

    def add_outputs(self, rows: tuple[GradedRow | None, GradedRow | None]) -> None:
        """Count the outputs of one question that are empty, cut off or refused.

        Their score does not matter.
        """
        self.outputs += max(len(row.outputs) if row else 0 for row in rows)
        for side, row in enumerate(rows):
            for output in (one.output for one in row.outputs) if row else ():
                self.poor[_EMPTY][side] += not output.text.strip() and not output.tool_calls
                if output.end is not None:
                    self.poor[output.end][side] += 1

    def add_question(self, rows: tuple[GradedRow, GradedRow]) -> None:
        """Note the checks of one question, as both runs recorded them."""
        self.questions += 1
        errors: tuple[dict[str, str], dict[str, str]] = {}, {}
        for side, row in enumerate(rows):
            for check in row.checks:
                if check.score is not None:
                    self.engines[side, check.kind, check.engine] = None
                elif check.unscored is UnscoredReason.ERROR:
                    errors[side][check.id] = check.reason
        self.ungraded += any(errors)
        for id_, reason in (errors[0] | errors[1]).items():
            failed = id_, _name_sides(id_ in errors[0], id_ in errors[1])
            self.failed[failed] += 1
            self.reasons.setdefault(failed, reason)

    def list_notes(self) -> Iterator[str]:
        """Yield the notes."""
        yield from self._list_poor(least=0)
        for kind, old, new in self._pair_engines():
            if has_other_engines(old, new):
                yield _word_engines(kind, old, new)
            elif any(name.endswith("(approximate)") for name in new):
                runs = "both runs" if old else "B"
                yield (
                    f"{kind} was graded by {', '.join(sorted(new))} in {runs}, which is an "
                    "approximation"
                )
        for failed in self.failed:
            reason = self.reasons[failed]
            # An audit asks for no reply that neither run had.
            unasked = reason.endswith(NO_REPLY.problem)
            more = "; evalstore score with --judge-url asks, into new runs" if unasked else ""
            yield f"{self._word_failed(failed)}: {make_excerpt(reason)}{more}"

    def list_asides(self) -> Iterator[str]:
        """Yield the notes without which the answer would mislead.

        They are about many questions.
        """
        poor = self._list_poor(least=_WEIGHT * self.outputs)
        yield from (f"{one[0].upper()}{one[1:]}" for one in poor)
        yield from (
            _word_engines(*one) for one in self._pair_engines() if has_other_engines(*one[1:])
        )
        often = [one for one, count in self.failed.items() if count > _WEIGHT * self.questions]
        yield from map(self._word_failed, often)

    def _list_poor(self, *, least: float) -> Iterator[str]:
        for poor, counts in self.poor.items():
            if abs(counts[0] - counts[1]) > least:
                yield f"{_POOR[poor]}: {counts[0]:,} in A, {counts[1]:,} in B"

    def _pair_engines(self) -> Iterator[tuple[str, set[str], set[str]]]:
        for kind in dict.fromkeys(kind for _, kind, _ in self.engines):
            if find_check_kind(kind).may_ask_judges:
                continue
            own = [(side, name) for side, one, name in self.engines if one == kind]
            old, new = ({name for at, name in own if at == side} for side in (0, 1))
            yield kind, old, new

    def _word_failed(self, failed: tuple[str, str]) -> str:
        id_, where = failed
        count = f"{self.failed[failed]:,} of {self.questions:,} questions"
        return f"{make_excerpt(id_, 60)} could not be graded in {where} on {count}"


def _name_sides(in_a: bool, in_b: bool) -> str:  # noqa: FBT001  # facts, not modes
    if in_a and in_b:
        return "either run"
    return "A" if in_a else "B"


def _word_engines(kind: str, old: set[str], new: set[str]) -> str:
    return (
        f"{kind} was graded by {', '.join(sorted(old))} in A and by {', '.join(sorted(new))} in B"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions:
    """What an audit may do, and what it keeps; each field is an option of `evalstore audit`.

    `allow_drift`: results that regrading does not reproduce are counted as such, instead of being
    refused. Judges answer from kept replies, then from what the runs recorded, then as `judges`
    says; if another model answered for a hosted judge in run B, `ask` allows asking it about the
    answers of run A. `by` is what the questions are also broken down by. `moved` is how many of the
    most-moved questions are kept in full.
    """

    allow_drift: bool = False
    judges: Judges = field(default_factory=Judges)
    ask: bool = False
    by: SliceKind | None = None
    moved: int = 0


def audit_runs(
    run_a: Run | Path | str, run_b: Run | Path | str, store: ArtifactStore, options: AuditOptions
) -> Audit:
    """Explain why the mean score of run B differs from run A's.

    `evalstore.api.audit` says what is refused.
    """
    with open_session(options.judges, store.git.common) as session:

        def build_audit() -> Audit:
            attributor = _open_runs(run_a, run_b, store, session, ask=options.ask)
            slicer = Slicer(options.by) if options.by else None
            job = AuditJob(attributor, session, MovedQuestions(options.moved), slicer)
            return job.build_audit(allow_drift=options.allow_drift)

        return session.repeat_until_answered(build_audit)


@dataclass(slots=True)
class AuditJob:
    """One pass over the questions of two runs."""

    attributor: QuestionAttributor
    session: JudgeSession
    moved: MovedQuestions
    slicer: Slicer | None
    a: StoredRun = field(init=False)
    b: StoredRun = field(init=False)
    # Of run A and run B, if judges are involved in any score.
    noise: tuple[JudgeNoiseReader, ...] = ()
    reviews: tuple[AggregateReview, AggregateReview] = field(init=False)
    sums: PairSums = field(default_factory=PairSums)
    totals: AuditTotals = field(init=False)
    notes: RunNotes = field(default_factory=RunNotes)
    likeness: LikenessCounter = field(default_factory=LikenessCounter)
    groups: UndeclaredGroups = field(default_factory=UndeclaredGroups)
    drift: list[Drift] = field(default_factory=list)
    # What replay does not reproduce, of score and passes.
    lost: tuple[ExactMean, ExactMean] = field(default_factory=lambda: (ExactMean(), ExactMean()))
    has_lost: bool = False
    # An edit may remove the score of one sample, which then leaves the mean to the others.
    has_samples: bool = False
    worse: list[str] = field(default_factory=list)
    better: list[str] = field(default_factory=list)
    input_changed: list[str] = field(default_factory=list)
    blank_edits: int = 0
    asked_anew: int = 0

    def __post_init__(self) -> None:
        self.a, self.b = self.attributor.a, self.attributor.b
        self.reviews = self.a.open_review(), self.b.open_review()
        self.totals = AuditTotals(has_slices=bool(self.slicer and self.slicer.has_places))

    def build_audit(self, *, allow_drift: bool) -> Audit:
        """Attribute all questions, one after the other, and sum them up."""
        if self.attributor.is_judged:
            finder = self.attributor.finder
            self.noise = JudgeNoiseReader(self.a, finder), JudgeNoiseReader(self.b, finder)
            for pair in list_pairs(self.a, self.b):
                if pair.set is PairSet.COMPARED:
                    self.attributor.add_evidence(pair)
        for pair in self.session.judges.watch(list_pairs(self.a, self.b), len(self.a.rows)):
            self.notes.add_outputs((pair.old, pair.new))
            for review, row in zip(self.reviews, (pair.old, pair.new), strict=True):
                if row is not None:
                    review.add(row)
            if pair.set is PairSet.COMPARED and pair.old and pair.new:
                self._add_question(pair, (pair.old, pair.new))
            else:
                self.sums.add_pair(pair)
                if pair.set in SILENT:
                    self._add_silence(pair)
                self._slice_question(pair)
        self.totals.add_counted()
        if not self.sums.count(*COMPARABLE):
            raise make_disjoint_error(self.a.run, self.b.run)
        if self.drift and not allow_drift:
            raise _make_drift_error(self.drift)
        for review in self.reviews:
            review.require_agreement()
        found = self._sum_up()
        found = replace(
            found,
            sentence=write_sentence(found),
            notes=(*found.notes, *list_judge_notes(found)),
            slices=self._list_slices(found),
            moved=self.moved.list_questions(),
            moved_count=self.moved.count,
        )
        _assert_sums(found, self.has_lost and not self.drift)
        return found

    def _add_silence(self, pair: QuestionPair) -> None:
        """Note how far a question moves that one run did not answer, if no answer counts as 0."""
        old, new = (row.score or _ZERO if row else _ZERO for row in (pair.old, pair.new))
        row = pair.new or pair.old
        self.totals.add_silence(new - old, row.group if row else None)

    def _add_question(self, pair: QuestionPair, rows: tuple[GradedRow, GradedRow]) -> None:
        question = self.attributor.attribute_question(pair)
        result = question.result
        self.drift += question.drift
        if result.is_emptied:
            emptied = pair._replace(set=PairSet.EMPTY)
            self.sums.add_pair(emptied)
            self._slice_question(emptied)
            return
        self.sums.add_pair(pair)
        if result.gaps:
            self.sums.add_gaps(question.id, result.gaps, result.left_out)
        row = self.b.questions[question.id].row
        self.has_samples |= any(one.samples for one in rows)
        is_turned = rows[0].verdict is not rows[1].verdict
        self.totals.add_question(question, rows[1].group, is_turned=is_turned)
        if result.shares and not rows[1].group:
            self.groups.add_question(question.id, rows[1].input, result.shares.own[0])
        self.moved.add_question(question, rows, row)
        self._slice_question(pair)
        self.notes.add_question(rows)
        for side, reader in enumerate(self.noise):
            reader.add_question(rows[side], rows[1 - side])
        if FactorName.INPUT in result.changed:
            self.input_changed.append(question.id)
            asked = self.a.questions[question.id], self.b.questions[question.id]
            self.blank_edits += has_equal_words(asked, rows)
            self.asked_anew += not rows[0].has_output_of(rows[1])
        else:
            self.likeness.add_pair(*rows)
        self._add_change(question, rows)

    def _slice_question(self, pair: QuestionPair) -> None:
        if self.slicer is not None:
            questions = self.b.questions if pair.id in self.b.questions else self.a.questions
            row = questions[pair.id].row if pair.id in questions else {}
            is_compared = pair.set is PairSet.COMPARED
            self.slicer.add_question((pair.old, pair.new), row, is_compared=is_compared)

    def _list_slices(self, found: Audit) -> tuple[AuditSlice, ...]:
        if self.slicer is None:
            return ()
        is_estimated = any(factor.anchors for factor in found.factors)
        shares, groups = self.totals.list_shares(), self.totals.groups
        return self.slicer.list_slices(shares, groups, is_estimated=is_estimated)

    def _add_change(self, question: AttributedQuestion, rows: tuple[GradedRow, GradedRow]) -> None:
        """Note how far a question moved, and how much of that replay does not reproduce."""
        old, new = ((row.score, row.pass_share) for row in rows)
        shares, left_out = question.result.shares, question.result.left_out
        if shares is None or shares.old != old or shares.new != new:
            ends = (
                shares.old if shares else (_ZERO, _ZERO),
                shares.new if shares else (_ZERO, _ZERO),
            )
            aside = left_out.score, left_out.passes
            for lost, before, after, *graded, gone in zip(
                self.lost, old, new, *ends, aside, strict=True
            ):
                rest = (after or _ZERO) - (before or _ZERO) - (graded[1] - graded[0]) - gone
                lost.add(rest)
                self.has_lost |= bool(rest)
        if rows[0].verdict is not rows[1].verdict:
            (self.worse if rows[0].verdict is Verdict.PASS else self.better).append(question.id)

    def _sum_up(self) -> Audit:
        a = build_side(self.a.run, len(self.a.rows), self.sums.sum_side(0))
        b = build_side(self.b.run, len(self.b.rows), self.sums.sum_side(1))
        common = self.sums.count(PairSet.COMPARED)
        compared = [self.sums.sum_side(side, [PairSet.COMPARED]).scores for side in (0, 1)]
        lines = self.sums.sum_lines(LineEffect(*(one.total / max(common, 1) for one in self.lost)))
        noise = estimate_judge_noise(self.noise, common)
        built = map(self._cut_interval, self.totals.build_factors())
        factors = tuple(hold_against_noise(one, noise) for one in built)
        own = self.totals.build_own_share(lines.no_answer, counts_silence=False)
        outputs = self.likeness.sum_up()
        flips = Flips(
            tuple(self.worse),
            tuple(self.better),
            self.totals.list_flips(),
            self.totals.compute_flip_p(),
        )
        return Audit(
            a=a,
            b=b,
            delta=b.score - a.score,
            passes_delta=b.passes - a.passes,
            common=common,
            common_a=compared[0].compute_mean() or _ZERO,
            common_b=compared[1].compute_mean() or _ZERO,
            factors=factors,
            lines=lines,
            own=own,
            own_as_zero=self.totals.build_own_share(lines.no_answer_as_zero, counts_silence=True),
            drift=tuple(self.drift),
            flips=flips,
            input_changed=tuple(self.input_changed),
            sentence="",
            input_edits=InputEdits(self.blank_edits, self.asked_anew),
            pairs_by_input=self.a.paired,
            price=self.attributor.price.count_calls(),
            judge_noise=noise,
            assumption=self.attributor.evidence.read_assumption(),
            ungraded=self.notes.ungraded,
            outputs=outputs,
            asides=(
                *describe_pairs(self.a.paired),
                *list_likeness_notes(outputs),
                *self.notes.list_asides(),
            ),
            notes=tuple(self._list_notes()),
        )

    def _cut_interval(self, factor: Factor) -> Factor:
        """Return a factor whose interval ends at 0 if no edit can go beyond.

        This must be proved for the edits of the rubrics.
        """
        is_alone = factor.members == (FactorName.RUBRIC,) and not self.has_samples
        if factor.ci is None or not is_alone or not factor.ci[0] < 0 < factor.ci[1]:
            return factor
        least, most = factor.ci
        direction = self.attributor.prove_direction()
        if direction is Direction.STRICTER:
            return replace(factor, ci=(least, 0.0))
        return replace(factor, ci=(0.0, most)) if direction is Direction.LOOSER else factor

    def _list_notes(self) -> Iterator[str]:
        yield from dict.fromkeys(self.attributor.finder.notes)
        yield from list_score_notes(self.a.run, self.b.run)
        yield from list_reuse_notes(*self.attributor.graders)
        yield from list_strictness_notes(
            *(read_strictness(one.run, self.attributor.finder.store) for one in (self.a, self.b))
        )
        yield from self.attributor.evidence.list_notes()
        yield from self.notes.list_notes()
        if self.totals.is_sampled and not self.totals.units.groups:
            yield from self.groups.list_notes()
        yield from self.session.list_failure_notes()
        if self.a.paired.count:
            yield describe_renames(self.b.dataset.resolved.name, self.a.paired)


def _open_runs(
    run_a: Run | Path | str,
    run_b: Run | Path | str,
    store: ArtifactStore,
    session: JudgeSession,
    *,
    ask: bool,
) -> QuestionAttributor:
    finder = VersionFinder(store)
    a, b = open_stored_pair(run_a, run_b, finder, session)
    loaders = [RunArtifactLoader.from_runs(finder, stored.run) for stored in (a, b)]
    tokens = ContentLoader(RunArtifactLoader.from_runs(finder, a.run, b.run))
    models = [read_judge_model(stored.run) for stored in (a, b)]
    # Under one rubric for both: an error that only `strict` caused is taken as recorded, and has a
    # separate line.
    strict = all(read_strictness(stored.run, finder.store) for stored in (a, b))
    graders = [
        Grader(tokens, session, model, strict=strict, takes_failures=True) for model in models
    ]
    return QuestionAttributor(
        a=a,
        b=b,
        finder=finder,
        session=session,
        tokens=tokens,
        references=(RunReferences(loaders[0], models[0]), RunReferences(loaders[1], models[1])),
        graders=(graders[0], graders[1]),
        history=read_question_history(a, b, finder),
        asks_service=ask,
    )


def _assert_sums(found: Audit, has_lost: bool) -> None:  # noqa: FBT001  # a fact, not a mode
    """Assert what holds by construction: no audit is better than one that does not add up."""
    lines = found.lines.total
    if found.delta != sum((factor.share for factor in found.factors), lines.score):
        raise AssertionError("the shares of an audit do not add up")
    if found.passes_delta != sum((factor.passes for factor in found.factors), lines.passes):
        raise AssertionError("the passes of an audit do not add up")
    # What replay does not reproduce is due to drift, or to a bug in the hybrids.
    if has_lost:
        raise AssertionError("a hybrid of no edits is not the rubric that it began with")
    for factor in found.factors:
        if factor.share != sum((cause.share for cause in factor.causes), Fraction(0)):
            raise AssertionError(f"the causes of {factor.name} do not add up")


def _make_drift_error(drifted: Sequence[Drift]) -> RefusedError:
    shown = "; ".join(f"{drift.run} {drift.id}: {drift.what}" for drift in drifted[:_SHOWN_DRIFTS])
    more = f"; and {len(drifted) - _SHOWN_DRIFTS} more" if len(drifted) > _SHOWN_DRIFTS else ""
    are = "result is" if len(drifted) == 1 else "results are"
    return RefusedError(
        f"{len(drifted):,} recorded {are} not reproduced: {shown}{more}",
        hint="an engine or a record changed; --allow-drift counts the difference as not reproduced",
    )
