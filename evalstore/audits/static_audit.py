"""Audits two runs without grading anything: what their recorded scores and the comparison of their rulers prove."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

from evalstore.audits.explain import build_side
from evalstore.audits.question_sets import PairSet, PairSums, QuestionPair, build_pair
from evalstore.audits.shapley import ShareBounds, bound_shares
from evalstore.audits.static_players import PlayerFinder, open_players
from evalstore.audits.stored_run import list_score_notes, make_disjoint_error, make_unscored_error, require_dataset
from evalstore.audits.values import OWN_PLAYERS, LineEffect, Lines, PlayerName, RunSide
from evalstore.diff.direction import join_directions
from evalstore.diff.findings import Direction
from evalstore.errors import RefusedError
from evalstore.model import Verdict, has_failed_check
from evalstore.runs import Run, read_run
from evalstore.runs.pair_tables import open_pair_tables
from evalstore.runs.row_pairs import PairTables, RowPair, UnstoredText
from evalstore.scoring.judging.session import Watch, watch_nothing
from evalstore.store import ArtifactStore
from evalstore.text import make_excerpt

_ZERO = Fraction(0)
_Pair = tuple[str, str]
_Ends = tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]


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
    ungraded: int = 0
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Alike:
    """Questions of which one thing is true: their players, what these did to the score and to passes, and how many.

    The bounds are None where no players can have made such a change, `changes`.
    """

    players: tuple[PlayerName, ...]
    score: tuple[ShareBounds, ...] | None
    passes: tuple[ShareBounds, ...] | None
    changes: tuple[Fraction, Fraction]
    rubrics: _Pair | None
    count: int = 0


def audit_statically(
    run_a: Path | str,
    run_b: Path | str,
    store: ArtifactStore | None,
    *,
    allow_drift: bool = False,
    watch: Watch = watch_nothing,
) -> StaticAudit:
    """Bound each player's share from the records of two runs: outputs, replies and the store itself may be missing.

    A store that has what graded the runs proves more: in which direction a rubric moved, and what in it was idle.
    `watch` wraps the iteration over `QuestionPair`s, of which one may stand for several questions.
    Raises `RefusedError` where a run names no versions, or nothing was scored in both; also for scores that its rulers
    cannot have given (unless `allow_drift`: then they count as not reproduced).
    """
    runs = read_run(Path(run_a)), read_run(Path(run_b))
    for run in runs:
        require_dataset(run)
    with open_players(runs, store) as players, open_pair_tables(runs, players.asked) as tables:
        for side, run in enumerate(runs):
            if not tables.has_score(side):
                raise make_unscored_error(run)
        players.prepare(tables)
        return StaticJob(runs, players, tables, watch, allow_drift).build_audit()


@dataclass(slots=True)
class StaticJob:
    """One pass over the records of two runs; where judges have a part, one before it for what is known of them."""

    runs: tuple[Run, Run]
    players: PlayerFinder
    tables: PairTables
    watch: Watch
    allow_drift: bool
    pairs: PairSums = field(default_factory=PairSums)
    # What no ruler can have given, and how many questions of run A and of run B there are.
    lost: list[RowPair] = field(default_factory=list)
    lost_change: list[Fraction] = field(default_factory=lambda: [_ZERO, _ZERO])
    answered: list[int] = field(default_factory=lambda: [0, 0])
    # Of run A and of run B, how many of the compared questions have an output that is not stored.
    unstored: list[int] = field(default_factory=lambda: [0, 0])
    flips: list[int] = field(default_factory=lambda: [0, 0])
    ungraded: int = 0
    _proved: dict[_Pair, ProvedDirection] = field(default_factory=dict)
    _alike: dict[tuple[object, ...], _Alike] = field(default_factory=dict)

    def build_audit(self) -> StaticAudit:
        """Bound all compared questions, and sum the bounds up."""
        if self.players.is_judged:
            for pair, _ in self._list_compared():
                self.players.add_evidence(pair)
        for pair, found in self._list_compared(self._add_pair):
            self._add_question(found, pair)
        count = self.pairs.count(PairSet.COMPARED)
        if not count:
            raise make_disjoint_error(*self.runs)
        a, b = (build_side(run, self.answered[side], self.pairs.sum_side(side)) for side, run in enumerate(self.runs))
        lines = self.pairs.sum_lines(self._sum_lost(count))
        missing = ShareBounds(lines.no_answer_as_zero.score, lines.no_answer_as_zero.score)
        factors, own = self._sum_bounds(count)
        reach = Counter[_Pair]()
        for alike in self._alike.values():
            reach.update({alike.rubrics: alike.count} if alike.rubrics else {})
        return StaticAudit(
            a=a,
            b=b,
            delta=b.score - a.score,
            passes_delta=b.passes - a.passes,
            common=count,
            factors=factors,
            lines=lines,
            own=own + missing,
            proved=tuple(replace(one, questions=reach[pair]) for pair, one in self._proved.items()),
            unstored=(self.unstored[0], self.unstored[1]),
            flips=(self.flips[0], self.flips[1]),
            ungraded=self.ungraded,
            notes=tuple(self._list_notes()),
        )

    def _list_compared(
        self, note: Callable[[QuestionPair], None] = lambda _: None
    ) -> Iterator[tuple[QuestionPair, RowPair]]:
        """Yield the questions that are compared; `note` is told of all."""
        # What judges said tells questions apart that are graded alike.
        for found in self.watch(self.tables.list_pairs(one_by_one=self.players.is_judged), self.runs[0].questions):
            self.players.look_at(found)
            pair = build_pair(found.id, found.old, found.new, found.is_asked)._replace(times=found.times)
            note(pair)
            if pair.set is PairSet.COMPARED:
                yield pair, found

    def _add_pair(self, pair: QuestionPair) -> None:
        self.pairs.add_pair(pair)
        for side, row in enumerate((pair.old, pair.new)):
            self.answered[side] += pair.times * (row is not None)

    def _add_question(self, found: RowPair, pair: QuestionPair) -> None:
        old, new, times = pair.old, pair.new, pair.times
        if old is None or new is None:
            return
        ends = (old.score or _ZERO, new.score or _ZERO), (old.pass_share, new.pass_share)
        for side, row in enumerate((old, new)):
            self.unstored[side] += times * any(isinstance(one.output.text, UnstoredText) for one in row.outputs)
        self.ungraded += times * has_failed_check((*old.checks, *new.checks))
        if old.verdict is not new.verdict:
            self.flips[new.verdict is Verdict.PASS] += times
        players = self.players.find_players(pair)
        rubrics = (old.rubric, new.rubric) if PlayerName.RUBRIC in players else None
        # Most questions of a run are like many others; whole numbers are quicker to look up than fractions are.
        key = players, rubrics, bool(old.samples or new.samples), *_list_numbers(*ends[0], *ends[1])
        if (alike := self._alike.get(key)) is None:
            alike = self._alike[key] = self._bound_question(players, ends, rubrics, is_lone=not key[2])
        alike.count += times
        if alike.score is None or alike.passes is None:
            self.lost.append(found)
            for channel, change in enumerate(alike.changes):
                self.lost_change[channel] += change * times

    def _bound_question(
        self, differing: frozenset[PlayerName], ends: _Ends, rubrics: _Pair | None, *, is_lone: bool
    ) -> _Alike:
        players = tuple(name for name in PlayerName if name in differing)
        score = verdict = Direction.EITHER
        if rubrics is not None:
            if rubrics not in self._proved:
                self._proved[rubrics] = ProvedDirection(*rubrics, *self.players.prove_directions(*rubrics))
            proved = self._proved[rubrics]
            # A sample may lose its score by an edit, and so leave the mean of the others.
            score, verdict = (proved.score, proved.verdict) if is_lone else (Direction.EITHER,) * 2
        in_score, in_passes = (
            _bound_players(players, *pair, direction)
            for pair, direction in zip(ends, (score, join_directions(score, verdict)), strict=True)
        )
        return _Alike(players, in_score, in_passes, (ends[0][1] - ends[0][0], ends[1][1] - ends[1][0]), rubrics)

    def _sum_bounds(self, size: int) -> tuple[tuple[BoundedFactor, ...], ShareBounds]:
        """Return what each player can have done to the means of so many questions, and the bounds of the own share."""
        sums = {player: BoundedFactor(player, ShareBounds(), ShareBounds(), 0) for player in PlayerName}
        for alike in self._alike.values():
            if alike.score is None or alike.passes is None:
                continue
            weight = Fraction(alike.count, size)
            for name, *bounds in zip(alike.players, alike.score, alike.passes, strict=True):
                held = sums[name]
                score, passes = (one.weigh(weight) for one in bounds)
                sums[name] = BoundedFactor(name, held.score + score, held.passes + passes, held.changed + alike.count)
        own = sum((sums[name].score for name in OWN_PLAYERS), ShareBounds())
        return tuple(one for one in sums.values() if one.changed), own

    def _sum_lost(self, size: int) -> LineEffect:
        """Return what the scores that no ruler can have given stand for; raises `RefusedError` where they may not."""
        if self.lost and not self.allow_drift:
            first = sorted(one for pair in self.lost for one in pair.list_ids())[:5]
            names = ", ".join(make_excerpt(id_, 40) for _, id_ in first)
            count = sum(pair.times for pair in self.lost)
            raise RefusedError(
                f"the rubrics cannot have given the recorded scores of {count:,} questions, such as {names}",
                hint="an engine or a record changed; --allow-drift counts the difference as not reproduced",
            )
        return LineEffect(self.lost_change[0] / size, self.lost_change[1] / size)

    def _list_notes(self) -> Iterator[str]:
        yield from self.players.list_notes()
        yield from list_score_notes(*self.runs)


def _list_numbers(*fractions: Fraction) -> Iterator[int]:
    for fraction in fractions:
        yield from fraction.as_integer_ratio()


def _bound_players(
    players: tuple[PlayerName, ...], old: Fraction, new: Fraction, rubric: Direction
) -> tuple[ShareBounds, ...] | None:
    """Return the bounds of each player in one question; None where no players can have made this change."""
    if not players:
        return () if old == new else None
    found = bound_shares(old, new, [rubric if name is PlayerName.RUBRIC else Direction.EITHER for name in players])
    return None if any(one.least > one.most for one in found) else found
