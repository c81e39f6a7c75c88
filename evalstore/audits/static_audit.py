"""Audits two runs without grading anything: what their recorded scores and the comparison of their rulers prove."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

from evalstore.audits.explain import build_side, open_attributor, require_rulers
from evalstore.audits.question_grid import QuestionAttributor
from evalstore.audits.question_sets import PairSet, PairSums, list_pairs
from evalstore.audits.static_bounds import ShareBounds, bound_shares
from evalstore.audits.stored_run import StoredRun, follow_renames, read_stored_run
from evalstore.audits.values import LineEffect, Lines, PlayerName, RunSide
from evalstore.audits.version_path import VersionFinder
from evalstore.diff import DiffFinding, compare
from evalstore.diff.direction import join_directions
from evalstore.diff.findings import Certainty, Direction
from evalstore.errors import EvalstoreError, RefusedError
from evalstore.judging import Judges, open_session
from evalstore.model import Output
from evalstore.runs import GradedRow, read_bare_rows, read_run
from evalstore.statistics import ExactMean
from evalstore.store import ArtifactStore
from evalstore.text import make_excerpt

_OWN = (PlayerName.INPUT, PlayerName.OUTPUTS)
_SHOWN, _NAME = 5, 40
_Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ProvedDirection:
    """Where one rubric of run A, exchanged for that of run B, can move the score and the verdict of an output."""

    old: str
    new: str
    score: Direction
    verdict: Direction
    questions: int = 0


@dataclass(frozen=True, slots=True)
class BoundedFactor:
    """What one player can have done on the compared questions; `changed` counts those in which it differs."""

    player: PlayerName
    score: ShareBounds
    passes: ShareBounds
    changed: int


@dataclass(frozen=True, slots=True)
class StaticAudit:
    """Why run B can score otherwise than run A: a bound for each player, exact lines, and what was proved of rubrics.

    `own` bounds what the outputs themselves did, with answers that B lacks counted as 0. `unstored` are the compared
    questions whose output run A or run B does not hold. `flips` counts verdicts, from pass to fail and back.
    """

    a: RunSide
    b: RunSide
    delta: Fraction
    passes_delta: Fraction
    common: int
    factors: tuple[BoundedFactor, ...]
    lines: Lines
    own: ShareBounds
    proved: tuple[ProvedDirection, ...]
    unstored: tuple[int, int]
    flips: tuple[int, int]
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _BoundSum:
    """The sum of many bounds of shares."""

    least: ExactMean = field(default_factory=ExactMean)
    most: ExactMean = field(default_factory=ExactMean)

    def add(self, bounds: ShareBounds) -> None:
        self.least.add(bounds.least)
        self.most.add(bounds.most)

    def divide_by(self, count: int) -> ShareBounds:
        return ShareBounds(self.least.total, self.most.total).divide_by(count)


@dataclass(slots=True)
class _Bounds:
    score: _BoundSum = field(default_factory=_BoundSum)
    passes: _BoundSum = field(default_factory=_BoundSum)
    changed: int = 0


def audit_statically(
    run_a: Path | str, run_b: Path | str, store: ArtifactStore, *, allow_drift: bool = False
) -> StaticAudit:
    """Bound each player's share from the records of two runs alone: outputs and replies may be missing.

    Raises `RefusedError` where a run names no versions, its rulers are not in the store, or nothing was scored in both;
    also for scores that its rulers cannot have given (unless `allow_drift`: then they count as not reproduced).
    """
    finder = VersionFinder(store)
    (a, bare_a), (b, bare_b) = (_read_side(run, finder, name) for run, name in ((run_a, "A"), (run_b, "B")))
    a = follow_renames(a, b, finder)
    sums, compared = PairSums(), list[str]()
    for pair in list_pairs(a, b):
        sums.add_pair(pair)
        if pair.set is PairSet.COMPARED:
            require_rulers(a, b, pair)
            compared.append(pair.id)
    if not compared:
        raise RefusedError("no question was scored in both runs, so nothing can be compared")
    with open_session(Judges(), store.git.find_common_directory) as session:
        attributor = open_attributor(a, b, finder, session, asks_service=False)
        job = StaticJob(a, b, compared, sums, attributor, finder, allow_drift)
        return job.build_audit((bare_a & {*compared}, bare_b & {*compared}))


@dataclass(slots=True)
class StaticJob:
    """One pass over the records of two runs."""

    a: StoredRun
    b: StoredRun
    compared: Sequence[str]
    pairs: PairSums
    attributor: QuestionAttributor
    finder: VersionFinder
    allow_drift: bool
    sums: dict[PlayerName, _Bounds] = field(default_factory=dict)
    own: _BoundSum = field(default_factory=_BoundSum)
    lost: list[tuple[str, Fraction, Fraction]] = field(default_factory=list)
    _proved: dict[_Pair, ProvedDirection] = field(default_factory=dict)
    # By pair of rubrics, the questions that it graded.
    _reach: Counter[_Pair] = field(default_factory=Counter)

    def build_audit(self, bare: tuple[set[str], set[str]]) -> StaticAudit:
        """Bound all compared questions, and sum the bounds up."""
        for id_ in self.compared if self.attributor.is_judged else ():
            self.attributor.add_evidence(id_)
        for id_ in self.compared:
            self._add_question(id_)
        a, b = (build_side(stored, self.pairs.sum_side(side)) for side, stored in enumerate((self.a, self.b)))
        count, lines = len(self.compared), self.pairs.sum_lines(self._sum_lost())
        missing = ShareBounds(lines.no_answer_as_zero.score, lines.no_answer_as_zero.score)
        found = {player: self.sums[player] for player in PlayerName if player in self.sums}
        return StaticAudit(
            a=a,
            b=b,
            delta=b.score - a.score,
            passes_delta=b.passes - a.passes,
            common=count,
            factors=tuple(
                BoundedFactor(player, one.score.divide_by(count), one.passes.divide_by(count), one.changed)
                for player, one in found.items()
            ),
            lines=lines,
            own=self.own.divide_by(count) + missing,
            proved=tuple(replace(one, questions=self._reach[pair]) for pair, one in self._proved.items()),
            unstored=(len(bare[0]), len(bare[1])),
            flips=self._count_flips(),
            notes=tuple(self._list_notes()),
        )

    def _add_question(self, id_: str) -> None:
        old, new = self.a.rows[id_], self.b.rows[id_]
        ends = (old.score or Fraction(0), new.score or Fraction(0)), (old.pass_share, new.pass_share)
        differing = self.attributor.find_players(id_)
        players = tuple(name for name in PlayerName if name in differing)
        score, verdict = self._find_directions(old, new) if PlayerName.RUBRIC in players else (Direction.EITHER,) * 2
        bounds = [
            _bound_players(players, *pair, direction)
            for pair, direction in zip(ends, (score, join_directions(score, verdict)), strict=True)
        ]
        if None in bounds:
            self.lost.append((id_, ends[0][1] - ends[0][0], ends[1][1] - ends[1][0]))
            return
        for name, in_score, in_passes in zip(players, *(found or () for found in bounds), strict=True):
            if (total := self.sums.get(name)) is None:
                total = self.sums[name] = _Bounds()
            total.score.add(in_score)
            total.passes.add(in_passes)
            total.changed += 1
            if name in _OWN:
                self.own.add(in_score)

    def _sum_lost(self) -> LineEffect:
        """Return what the scores that no ruler can have given stand for; raises `RefusedError` where they may not."""
        if self.lost and not self.allow_drift:
            names = ", ".join(make_excerpt(id_, _NAME) for id_, _, _ in self.lost[:_SHOWN])
            raise RefusedError(
                f"the rulers cannot have given the recorded scores of {len(self.lost):,} questions, such as {names}",
                hint="an engine or a record changed; --allow-drift counts the difference as not reproduced",
            )
        size = len(self.compared)
        score = sum((change for _, change, _ in self.lost), Fraction(0))
        passes = sum((change for _, _, change in self.lost), Fraction(0))
        return LineEffect(score / size, passes / size)

    def _find_directions(self, old: GradedRow, new: GradedRow) -> tuple[Direction, Direction]:
        pair = old.rubric, new.rubric
        if pair not in self._proved:
            self._proved[pair] = self._prove_directions(*pair)
        self._reach[pair] += 1
        proved = self._proved[pair]
        # A sample may lose its score by an edit, and so leave the mean of the others.
        if old.samples or new.samples:
            return Direction.EITHER, Direction.EITHER
        return proved.score, proved.verdict

    def _prove_directions(self, old: str, new: str) -> ProvedDirection:
        sides = self.a.rubrics[old].version.resolved, self.b.rubrics[new].version.resolved
        if sides[0].name != sides[1].name:
            return ProvedDirection(old, new, Direction.EITHER, Direction.EITHER)
        try:
            findings = compare(sides[0].artifact, sides[1].artifact, load=self.finder.store.load).findings
        except EvalstoreError as error:
            self.finder.notes.append(f"{old} and {new} cannot be compared: {error.message}")
            return ProvedDirection(old, new, Direction.EITHER, Direction.EITHER)
        return ProvedDirection(old, new, *join_proved_directions(findings))

    def _count_flips(self) -> tuple[int, int]:
        turned = [self.b.rows[id_].pass_share - self.a.rows[id_].pass_share for id_ in self.compared]
        return sum(change < 0 for change in turned), sum(change > 0 for change in turned)

    def _list_notes(self) -> Iterator[str]:
        yield from dict.fromkeys(self.finder.notes)
        yield from self.attributor.evidence.list_notes()


def join_proved_directions(findings: Iterable[DiffFinding]) -> tuple[Direction, Direction]:
    """Return where edits together can move a score and a verdict; one of which nothing is proved can do either."""
    known = [
        (one.direction, one.verdict_direction)
        if one.certainty is not Certainty.ASSUMED
        else (Direction.EITHER, Direction.EITHER)
        for one in findings
    ]
    score, verdict = (join_directions(*ends) for ends in zip(*known, strict=True)) if known else (Direction.NONE,) * 2
    return score, verdict


@lru_cache(maxsize=4096)  # most questions of a dataset have few scores
def _bound_players(
    players: tuple[PlayerName, ...], old: Fraction, new: Fraction, rubric: Direction
) -> tuple[ShareBounds, ...] | None:
    """Return the bounds of each player in one question; None where no players can have made this change."""
    if not players:
        return () if old == new else None
    found = bound_shares(old, new, [rubric if name is PlayerName.RUBRIC else Direction.EITHER for name in players])
    return None if any(one.least > one.most for one in found) else found


def _read_side(run: Path | str, finder: VersionFinder, name: str) -> tuple[StoredRun, set[str]]:
    """Return a run with all rows that have a score, and the questions whose output is not stored."""
    source, rows, bare = read_run(Path(run)), list[GradedRow](), set[str]()
    for row, is_stored in read_bare_rows(source):
        if is_stored:
            rows.append(row)
        elif row.score is not None:
            # Two outputs that nobody stored may differ, so each side has a text of its own for them.
            rows.append(replace(row, output=Output(f"not stored in {name}")))
            bare.add(row.id)
    return read_stored_run(source, finder, rows), bare
