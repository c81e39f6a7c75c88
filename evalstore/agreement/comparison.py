"""What two models of one judge say about the same outputs: agreement, flips, shifts; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction
from typing import NamedTuple

from evalstore.agreement.confusion import COUNT_NAMES, Agreement, Confusion
from evalstore.documents.edit_entries import Scalar
from evalstore.lint.judges import LEAST_ROWS
from evalstore.model import Verdict
from evalstore.runs import UsedArtifact
from evalstore.statistics import (
    CorrectedShare,
    ExactMean,
    Interval,
    ShareMoves,
    UnitTotals,
    correct_share,
    estimate_mean,
)
from evalstore.versions import Bump

_FLIP_LIMIT = 100  # reports show the first; the counts include all


class Judgement(NamedTuple):
    """What one model says about an output.

    The score is None if only a verdict, or nothing, is known.
    """

    score: Fraction | None
    verdict: Verdict
    reason: str = ""


class JudgementPair(NamedTuple):
    """An output under both models: its question, check (empty for labelled rows) and label."""

    id: str
    check: str
    old: Judgement
    new: Judgement
    label: Verdict | None = None

    @property
    def is_judged(self) -> bool:
        """Whether both models have a verdict."""
        return Verdict.UNSCORED not in {self.old.verdict, self.new.verdict}


@dataclass(frozen=True, slots=True)
class MeanShift:
    """A mean under both models, and the 95 % interval of its shift (None for too few outputs)."""

    old: Fraction
    new: Fraction
    interval: Interval | None

    @property
    def shift(self) -> Fraction:
        """How far the mean moves."""
        return self.new - self.old


@dataclass(slots=True)
class ShiftTally:
    """The two means so far, and their difference by question or group."""

    old: ExactMean = field(default_factory=ExactMean)
    new: ExactMean = field(default_factory=ExactMean)
    units: UnitTotals = field(default_factory=UnitTotals)
    moves: ShareMoves = field(default_factory=ShareMoves)

    def add(self, old: Fraction, new: Fraction, group: str) -> None:
        """Add what both models give; everything from one question or group is one unit."""
        self.old.add(old)
        self.new.add(new)
        self.units.add_question(group)
        self.moves.add(new - old, group)

    def summarize(self) -> MeanShift | None:
        """Return the shift; None if there is nothing."""
        old, new = self.old.compute_mean(), self.new.compute_mean()
        if old is None or new is None:
            return None
        estimate = estimate_mean(self.units.count_units(self.moves))
        return MeanShift(old, new, estimate.interval if estimate else None)


@dataclass(frozen=True, slots=True)
class ComparedJudgements:
    """What both models say about the same outputs.

    `verdicts` has the old model's verdicts as labels and the new one's as verdicts.

    `unjudged` counts the outputs for which a model has no verdict; they are in no number. `scores`
    is None if a model gave verdicts only. `flips` are the first outputs whose verdict changed.
    """

    verdicts: Confusion
    unjudged: int
    scores: MeanShift | None
    passes: MeanShift | None
    flips: tuple[JudgementPair, ...]


@dataclass(slots=True)
class PairTally:
    """The counts of all pairs so far."""

    counts: Counter[str] = field(default_factory=Counter)
    unjudged: int = 0
    scores: ShiftTally = field(default_factory=ShiftTally)
    passes: ShiftTally = field(default_factory=ShiftTally)
    ends: tuple[ShareMoves, ShareMoves] = field(
        default_factory=lambda: (ShareMoves(), ShareMoves())
    )
    flips: list[JudgementPair] = field(default_factory=list)
    first_failure: str = ""

    def add(self, pair: JudgementPair, group: str) -> None:
        """Count one pair; everything from one question or group is one unit."""
        old, new = pair.old, pair.new
        if not pair.is_judged:
            self.unjudged += 1
            failed = old if old.verdict is Verdict.UNSCORED else new
            self.first_failure = self.first_failure or failed.reason
            return
        self.counts[COUNT_NAMES[old.verdict, new.verdict]] += 1
        before, after = (Fraction(one.verdict is Verdict.PASS) for one in (old, new))
        self.passes.add(before, after, group)
        for moves, share in zip(self.ends, (before, after), strict=True):
            moves.add(share, group)
        if old.score is not None and new.score is not None:
            self.scores.add(old.score, new.score, group)
        if old.verdict is not new.verdict:
            self.flips += [pair][: _FLIP_LIMIT - len(self.flips)]

    def summarize(self) -> ComparedJudgements:
        """Return what was counted."""
        return ComparedJudgements(
            Confusion(**self.counts),
            self.unjudged,
            self.scores.summarize(),
            self.passes.summarize(),
            tuple(self.flips),
        )

    def correct(
        self, labelled: LabelledSides
    ) -> tuple[CorrectedShare | None, CorrectedShare | None]:
        """Return the pass rate under each model without its errors, by the labelled rows."""
        old, new = self.ends
        return self._correct_side(old, labelled.old), self._correct_side(new, labelled.new)

    def _correct_side(self, moves: ShareMoves, side: Agreement) -> CorrectedShare | None:
        units = self.passes.units.count_units(moves)
        return correct_share(units, side.confusion.tpr, side.confusion.tnr)


@dataclass(frozen=True, slots=True)
class LabelledSides:
    """Both models on the labelled rows, and the run's pass rate without the errors of each.

    `problem` says why a run has no corrected pass rate; it is empty if it has one, or if there is
    no run.
    """

    old: Agreement
    new: Agreement
    corrected: tuple[CorrectedShare | None, CorrectedShare | None] = (None, None)
    problem: str = ""

    def correct(self, pairs: PairTally, obstacle: str) -> LabelledSides:
        """Return the same with a run's corrected pass rates, unless `obstacle` says why not."""
        rows = min(self.old.confusion.rows, self.new.confusion.rows)
        shortage = (
            f"{rows:,} labelled rows are too few: it takes {LEAST_ROWS}"
            if rows < LEAST_ROWS
            else ""
        )
        if problem := obstacle or shortage:
            return replace(self, problem=problem)
        return replace(self, corrected=pairs.correct(self))


@dataclass(frozen=True, slots=True)
class RunShift:
    """The new model's shifts of a run's mean score and pass rate; None if nothing has a score."""

    run: str
    scores: MeanShift | None
    passes: MeanShift | None


@dataclass(frozen=True, slots=True)
class JudgeReplacement:
    """What another model does to the verdicts of a judge, and the file that it gets.

    `judgements` are of the run's outputs, else of the labelled rows. `retires` is the day on which
    the endpoint switches the new model off, if it says so. `required_bump` and `next_version` are
    those of the file, None for a judge that was never released. `written` is the file, None if
    nothing was written.
    """

    judge: UsedArtifact
    old_model: str
    new_model: str
    judgements: ComparedJudgements
    run: RunShift | None = None
    labelled: LabelledSides | None = None
    retires: date | None = None
    required_bump: Bump | None = None
    next_version: str | None = None
    notes: tuple[str, ...] = ()
    entries: Mapping[str, Scalar | None] = field(default_factory=dict)
    diff: str = ""
    written: str | None = None
