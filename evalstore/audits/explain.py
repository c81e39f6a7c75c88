"""Explains why two runs differ: reads both, replays them, and attributes the difference; the entry of this package."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from evalstore.audits.grader import (
    Grader,
    RunArtifactLoader,
    list_reuse_notes,
    list_run_pins,
    read_judge_model,
    read_strictness,
)
from evalstore.audits.judge_noise import estimate_judge_noise
from evalstore.audits.moved_questions import MovedQuestions
from evalstore.audits.question_grid import QuestionAttributor
from evalstore.audits.question_sets import QuestionSets, compute_mean, read_passes, sort_questions, sum_lines
from evalstore.audits.rubric_plan import RunRulers, TokenLoader
from evalstore.audits.run_notes import list_run_notes
from evalstore.audits.run_opening import open_stored_run
from evalstore.audits.slices import AuditSlice, SliceKind, slice_by_check, slice_by_labels
from evalstore.audits.stored_run import StoredRun, follow_renames, read_question_history
from evalstore.audits.totals import AuditTotals
from evalstore.audits.values import Audit, Drift, Flips, LineEffect, RunSide
from evalstore.audits.version_path import VersionFinder
from evalstore.audits.wording import list_noise_notes, write_sentence
from evalstore.errors import RefusedError
from evalstore.judging import Judges, JudgeSession, open_session
from evalstore.runs import Run
from evalstore.statistics import compute_sign_flip_p
from evalstore.store import ArtifactStore

_SHOWN_DRIFTS = 5


def audit(  # noqa: PLR0913  # what a command line can say, each by its name
    run_a: Run | Path | str,
    run_b: Run | Path | str,
    store: ArtifactStore,
    *,
    allow_drift: bool = False,
    judges: Judges | None = None,
    ask: bool = False,
    by: SliceKind | None = None,
    moved: int = 0,
) -> Audit:
    """Explain why the mean score of run B differs from run A's; all shares are exact and add up.

    A run is a `Run` or the path of its aggregate JSON. Judges answer from the replies in the repository's cache, else
    as the runs recorded it, else as `judges` says; what stays unknown makes players move together, and the price says
    how many calls would tell them apart. Where another model answered for a hosted judge in run B, `ask` lets it be
    asked about the answers of run A. `moved` is how many of the questions that moved most are kept in full. Raises
    `RefusedError` when a run cannot be replayed in this store, when replay gives other results than recorded (unless
    `allow_drift`: then the difference counts as not reproduced), or when nothing can be compared.
    """
    with open_session(judges or Judges(), store.git.find_common_directory) as session:
        # Each pass notes the calls that it lacks; the loop ends because every pass asks for all of them.
        while True:
            job = _open_job(run_a, run_b, store, session, ask=ask)
            job.moved.limit = moved
            found = job.build_audit(allow_drift=allow_drift, by=by)
            if not session.can_ask:
                return found
            session.ask_missing()


@dataclass(slots=True)
class AuditJob:
    """One pass over the questions of two runs."""

    a: StoredRun
    b: StoredRun
    sets: QuestionSets
    attributor: QuestionAttributor
    session: JudgeSession
    totals: AuditTotals = field(default_factory=AuditTotals)
    moved: MovedQuestions = field(default_factory=lambda: MovedQuestions(0))
    drift: list[Drift] = field(default_factory=list)
    lost: list[tuple[Fraction, Fraction]] = field(default_factory=list)

    def build_audit(self, *, allow_drift: bool, by: SliceKind | None) -> Audit:
        """Attribute all questions, and sum them up."""
        for id_ in self.sets.compared:
            self.attributor.add_evidence(id_)
        for id_ in self.sets.compared:
            self._add_question(id_)
        if self.drift and not allow_drift:
            raise _make_drift_error(self.drift)
        found = self._sum_up()
        found = replace(
            found,
            sentence=write_sentence(found),
            notes=(*found.notes, *list_noise_notes(found)),
            slices=self._list_slices(by) if by else (),
            moved=self.moved.list_questions(),
            moved_count=self.moved.count,
        )
        _assert_sums(found, any(score or passes for score, passes in self.lost) and not self.drift)
        return found

    def _add_question(self, id_: str) -> None:
        question = self.attributor.attribute_question(id_)
        old, new = self.a.rows[id_], self.b.rows[id_]
        self.drift += question.drift
        self.totals.add_question(question, new.group)
        self.moved.add_question(question, (old, new), tuple(_read_tags(self.b.questions[id_].question.row)))
        ends = [(row.score or Fraction(0), read_passes(row)) for row in (old, new)]
        shares = question.shares
        graded = (shares.old, shares.new) if shares else ((Fraction(0),) * 2,) * 2
        change = [ends[1][channel] - ends[0][channel] - graded[1][channel] + graded[0][channel] for channel in (0, 1)]
        self.lost.append((change[0], change[1]))

    def _sum_up(self) -> Audit:
        a, b, common = build_side(self.a), build_side(self.b), len(self.sets.compared)
        lost = (
            LineEffect(*(sum(column, Fraction(0)) / common for column in zip(*self.lost, strict=True)))
            if common
            else LineEffect()
        )
        lines = sum_lines(self.a, self.b, self.sets, lost)
        factors = self.totals.build_factors()
        flips, own = self._find_flips(), self.totals.build_own_share(lines.no_answer.score)
        compared = [(self.a.rows[id_], self.b.rows[id_]) for id_ in self.sets.compared]
        return Audit(
            a=a,
            b=b,
            delta=b.score - a.score,
            passes_delta=b.passes - a.passes,
            common=common,
            common_a=compute_mean(old.score or Fraction(0) for old, _ in compared) if common else Fraction(0),
            common_b=compute_mean(new.score or Fraction(0) for _, new in compared) if common else Fraction(0),
            factors=factors,
            lines=lines,
            own=own,
            own_as_zero=self.totals.build_own_share(lines.no_answer_as_zero.score),
            drift=tuple(self.drift),
            flips=flips,
            input_changed=tuple(self._list_changed_inputs()),
            sentence="",
            price=self.attributor.price.count_calls(),
            judge_noise=estimate_judge_noise(self.a, self.b, self.sets.compared, self.attributor.finder),
            notes=tuple(self._list_notes()),
        )

    def _list_slices(self, by: SliceKind) -> tuple[AuditSlice, ...]:
        ids = self.sets.compared
        if by is SliceKind.CHECK:
            return slice_by_check([(self.a.rows[id_], self.b.rows[id_]) for id_ in ids])
        if by is SliceKind.GROUP:
            labels = [[group] if group else [] for group in self.totals.groups]
        else:
            labels = [_read_tags(self.b.questions[id_].question.row) for id_ in ids]
        return slice_by_labels(labels, self.totals.list_shares(), self.totals.groups)

    def _find_flips(self) -> Flips:
        # Of samples, the share that passes fell or rose; of a single output, its verdict turned.
        turned = {id_: read_passes(self.b.rows[id_]) - read_passes(self.a.rows[id_]) for id_ in self.sets.compared}
        worse = tuple(id_ for id_, change in turned.items() if change < 0)
        better = tuple(id_ for id_, change in turned.items() if change > 0)
        sampled = self.totals.has_other_outputs or self.totals.has_estimates
        # With single outputs this is McNemar's test.
        p = compute_sign_flip_p([*turned.values()], [None] * len(turned)) if sampled else None
        return Flips(worse, better, self.totals.list_flips(), p)

    def _list_changed_inputs(self) -> Iterator[str]:
        a, b = self.a.questions, self.b.questions
        return (id_ for id_ in self.sets.compared if a[id_].input_digest != b[id_].input_digest)

    def _list_notes(self) -> Iterator[str]:
        yield from dict.fromkeys(self.attributor.finder.notes)
        yield from list_reuse_notes(*self.attributor.graders)
        yield from self.attributor.evidence.list_notes()
        yield from list_run_notes(self.a, self.b, self.sets.compared)
        yield from self.session.list_failure_notes()
        yield from self.session.list_store_notes()


def _open_job(
    run_a: Run | Path | str, run_b: Run | Path | str, store: ArtifactStore, session: JudgeSession, *, ask: bool
) -> AuditJob:
    finder = VersionFinder(store)
    a, b = open_stored_run(run_a, finder, session), open_stored_run(run_b, finder, session)
    a = follow_renames(a, b, finder)
    sets = sort_questions(a, b)
    if not (sets.compared or sets.errors or any(sets.silent)):
        raise RefusedError("no question was scored in both runs, so nothing can be compared")
    for stored in (a, b):
        require_rulers(stored, sets.compared)
    return AuditJob(a, b, sets, open_attributor(a, b, sets.compared, finder, session, asks_service=ask), session)


def open_attributor(  # noqa: PLR0913  # two runs, and what they are compared with
    a: StoredRun,
    b: StoredRun,
    ids: Sequence[str],
    finder: VersionFinder,
    session: JudgeSession,
    *,
    asks_service: bool,
) -> QuestionAttributor:
    """Return what attributes the questions `ids` of two runs."""
    loaders = [RunArtifactLoader(finder, list_run_pins(stored.run)) for stored in (a, b)]
    tokens = TokenLoader(RunArtifactLoader(finder, (*list_run_pins(a.run), *list_run_pins(b.run))))
    models = [read_judge_model(stored.run) for stored in (a, b)]
    graders = [
        Grader(tokens, session, model, strict=read_strictness(stored.run, finder.store))
        for model, stored in zip(models, (a, b), strict=True)
    ]
    return QuestionAttributor(
        a=a,
        b=b,
        finder=finder,
        session=session,
        tokens=tokens,
        rulers=(RunRulers(loaders[0], models[0]), RunRulers(loaders[1], models[1])),
        graders=(graders[0], graders[1]),
        history=read_question_history(a, b, ids, finder),
        asks_service=asks_service,
    )


def _read_tags(row: Mapping[str, Any]) -> list[str]:
    tags = row.get("tags")
    return [str(tag) for tag in tags] if isinstance(tags, list) else []


def require_rulers(stored: StoredRun, ids: Sequence[str]) -> None:
    """Raise `RefusedError` for a row whose question or rubric a run does not name."""
    for id_ in ids:
        row = stored.rows[id_]
        if id_ not in stored.questions:
            raise RefusedError(f"{stored.run.path} has a row for {row.id}, which is no question of its dataset")
        if row.rubric not in stored.rubrics:
            what = row.rubric or "the rubric"
            raise RefusedError(f"{stored.run.path} does not say what {what} was that graded {row.id}")


def _assert_sums(found: Audit, has_lost: bool) -> None:  # noqa: FBT001  # a fact, not a mode
    """Assert what holds by construction: no audit is better than one that does not add up."""
    lines = found.lines.total
    if found.delta != sum((factor.share for factor in found.factors), lines.score):
        raise AssertionError("the shares of an audit do not add up")
    if found.passes_delta != sum((factor.passes for factor in found.factors), lines.passes):
        raise AssertionError("the passes of an audit do not add up")
    # What replay does not reproduce is explained by drift, or by a bug in the hybrids.
    if has_lost:
        raise AssertionError("a hybrid of no edits is not the rubric that it began with")
    for factor in found.factors:
        if factor.share != sum((cause.share for cause in factor.causes), Fraction(0)):
            raise AssertionError(f"the causes of {factor.name} do not add up")


def build_side(stored: StoredRun) -> RunSide:
    """Return what a run came to; raises `RefusedError` where its aggregate says otherwise than its rows."""
    run = stored.run
    scored = [(row.score, read_passes(row)) for row in stored.rows.values() if row.score is not None]
    score = compute_mean(score for score, _ in scored)
    if run.score not in {None, score}:
        raise RefusedError(
            f"{run.path} says {run.score}, but its rows average to {score}",
            hint="the aggregate and its rows do not belong together; score the outputs again",
        )
    return RunSide(
        run=str(run.path),
        score=score,
        passes=compute_mean(passes for _, passes in scored),
        questions=len(stored.rows),
        scored=len(scored),
        model=run.model,
        dataset=run.dataset.ref if run.dataset else "",
        rubrics=tuple(pinned.ref for pinned in run.rubrics),
    )


def _make_drift_error(drifted: Sequence[Drift]) -> RefusedError:
    shown = "; ".join(f"{drift.run} {drift.id}: {drift.what}" for drift in drifted[:_SHOWN_DRIFTS])
    more = f"; and {len(drifted) - _SHOWN_DRIFTS} more" if len(drifted) > _SHOWN_DRIFTS else ""
    return RefusedError(
        f"{len(drifted)} recorded results are not reproduced: {shown}{more}",
        hint="an engine or a record changed; --allow-drift counts the difference as not reproduced",
    )
