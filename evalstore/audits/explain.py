"""Explains why two runs differ: reads both, replays them, and attributes the difference; the entry of this package."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from evalstore.audits.attribution import Attribution
from evalstore.audits.grader import build_grader, find_drift
from evalstore.audits.question_grid import CommonQuestion, QuestionAttributor
from evalstore.audits.stored_run import StoredRun, read_question_history, read_stored_run
from evalstore.audits.totals import compute_mean, find_flips, sum_factors, sum_mix
from evalstore.audits.values import Audit, Drift, RunSide
from evalstore.audits.version_path import VersionFinder
from evalstore.audits.wording import write_sentence
from evalstore.errors import RefusedError
from evalstore.judging import Judges, JudgeSession, open_session
from evalstore.runs import Run
from evalstore.store import ArtifactStore

_SHOWN_DRIFTS = 5


def audit(
    run_a: Run | Path | str,
    run_b: Run | Path | str,
    store: ArtifactStore,
    *,
    allow_drift: bool = False,
    judges: Judges | None = None,
) -> Audit:
    """Explain why the mean score of run B differs from run A's; all shares are exact and add up.

    A run is a `Run` or the path of its aggregate JSON. Judges answer from the replies in the repository's cache, else
    as the runs recorded it, else as `judges` says. Raises `RefusedError` when a run cannot be replayed in this store,
    when replay gives other results than recorded (unless `allow_drift`: then the difference counts as not reproduced),
    when replies of judges are missing, or when no question was scored in both.
    """
    with open_session(judges or Judges(), store.git.find_common_directory) as session:
        # Each pass notes the calls that it lacks; the loop ends because every pass asks for all of them.
        while (found := _audit_once(run_a, run_b, store, session, allow_drift=allow_drift)) is None:
            session.ask_missing()
        return found


def _audit_once(
    run_a: Run | Path | str, run_b: Run | Path | str, store: ArtifactStore, session: JudgeSession, *, allow_drift: bool
) -> Audit | None:
    """Return the audit, or None while replies are missing that an endpoint can be asked for."""
    finder = VersionFinder(store)
    a, b = read_stored_run(run_a, finder), read_stored_run(run_b, finder)
    grader = build_grader(a, b, finder, session)
    drifted = (*find_drift(a, grader, "A"), *find_drift(b, grader, "B"))
    both = [id_ for id_, row in a.rows.items() if row.score is not None and _is_scored(b, id_)]
    if not both:
        raise RefusedError("no question was scored in both runs, so nothing can be compared")
    # Attribute before anything is refused: it notes the calls of all questions, which are then asked at once.
    attributor = QuestionAttributor(a, b, finder, grader, read_question_history(a, b, both, finder))
    commons = [attributor.attribute_question(id_) for id_ in both]
    if drifted and not allow_drift:
        raise _make_drift_error(drifted)
    if session.can_ask:
        return None
    if session.missing or session.failures:
        raise _make_missing_error(session)
    return _build_audit(attributor, commons, drifted)


def _build_audit(attributor: QuestionAttributor, commons: list[CommonQuestion], drifted: tuple[Drift, ...]) -> Audit:
    a, b = attributor.a, attributor.b
    # Inseparable questions have no shares; they stand in the mix.
    separable = [(common, common.attribution) for common in commons if common.attribution is not None]
    if not separable:
        raise RefusedError("no common question can be graded under a mix of the two runs, so nothing can be separated")
    compared = [common.id for common, _ in separable]
    factors = sum_factors(separable, [b.rows[id_].group for id_ in compared])
    mix = sum_mix(a.rows, b.rows, [common.id for common in commons], compared)
    lost = {common.id: _find_lost_change(a, b, common, found) for common, found in separable}
    sides = _build_side(a), _build_side(b)
    found = Audit(
        a=sides[0],
        b=sides[1],
        delta=sides[1].score - sides[0].score,
        common=len(compared),
        common_a=compute_mean(a.rows[id_].score for id_ in compared),
        common_b=compute_mean(b.rows[id_].score for id_ in compared),
        factors=factors,
        mix=mix,
        not_reproduced=compute_mean(lost.values()),
        drift=drifted,
        flips=find_flips(a.rows, b.rows, compared),
        input_changed=tuple(id_ for id_ in compared if a.questions[id_].input_digest != b.questions[id_].input_digest),
        sentence=write_sentence(sides[1].score - sides[0].score, factors, mix.effect, compute_mean(lost.values())),
        notes=(*dict.fromkeys(attributor.finder.notes), *attributor.grader.list_notes()),
    )
    _assert_sums(found, {id_ for id_, share in lost.items() if share})
    return found


def _assert_sums(found: Audit, lost: set[str]) -> None:
    """Assert what holds by construction: no audit is better than one that does not add up."""
    if found.delta != sum((factor.share for factor in found.factors), found.mix.effect + found.not_reproduced):
        raise AssertionError("the shares of an audit do not add up")
    # What replay does not reproduce is explained by drift, or by a bug in the hybrids.
    if lost - {drift.id for drift in found.drift}:
        raise AssertionError("a hybrid of no edits is not the rubric that it began with")
    for factor in found.factors:
        if factor.share != sum((cause.share for cause in factor.causes), Fraction(0)):
            raise AssertionError(f"the causes of {factor.name} do not add up")


def _is_scored(stored: StoredRun, id_: str) -> bool:
    return id_ in stored.rows and stored.rows[id_].score is not None


def _find_lost_change(a: StoredRun, b: StoredRun, common: CommonQuestion, found: Attribution) -> Fraction:
    """Return how much of one question's recorded change replay does not reproduce."""
    old, new = a.rows[common.id].score, b.rows[common.id].score
    return (new or Fraction(0)) - (old or Fraction(0)) - (found.new - found.old)


def _build_side(stored: StoredRun) -> RunSide:
    run = stored.run
    score = compute_mean(row.score for row in stored.rows.values())
    if run.score not in {None, score}:
        raise RefusedError(
            f"{run.path} says {run.score}, but its rows average to {score}",
            hint="the aggregate and its rows do not belong together; score the outputs again",
        )
    return RunSide(
        run=str(run.path),
        score=score,
        questions=len(stored.rows),
        scored=sum(row.score is not None for row in stored.rows.values()),
        model=run.model,
        dataset=run.dataset.ref if run.dataset else "",
        rubrics=tuple(pinned.ref for pinned in run.rubrics),
    )


def _make_missing_error(session: JudgeSession) -> RefusedError:
    if session.failures:
        count, first = len(session.failures), next(iter(session.failures.values()))
        return RefusedError(
            f"to tell the shares apart, replies of judges are needed, and {count:,} calls failed: {first}",
            hint="the replies that came are kept, and the same command asks for the rest",
        )
    return RefusedError(
        f"to tell the shares apart, replies of judges are needed that are not kept: {len(session.missing):,}",
        hint="name an endpoint that answers them: --judge-url, EVALSTORE_JUDGE_URL",
    )


def _make_drift_error(drifted: tuple[Drift, ...]) -> RefusedError:
    shown = "; ".join(f"{drift.run} {drift.id}: {drift.what}" for drift in drifted[:_SHOWN_DRIFTS])
    more = f"; and {len(drifted) - _SHOWN_DRIFTS} more" if len(drifted) > _SHOWN_DRIFTS else ""
    return RefusedError(
        f"{len(drifted)} recorded results are not reproduced: {shown}{more}",
        hint="an engine or a record changed; --allow-drift counts the difference as not reproduced",
    )
