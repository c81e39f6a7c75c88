"""Audits two runs without grading anything: what their recorded scores and the comparison of their rulers prove."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path

from evalstore.audits.explain import build_side, open_attributor, require_rulers
from evalstore.audits.ordered_runs import OutOfOrderError, open_ordered_runs
from evalstore.audits.question_grid import QuestionAttributor
from evalstore.audits.question_sets import PairSet, PairSums, QuestionPair, list_pairs
from evalstore.audits.static_bounds import ShareBounds, bound_shares
from evalstore.audits.stored_run import follow_renames, read_stored_run
from evalstore.audits.values import LineEffect, Lines, PlayerName, RunSide
from evalstore.audits.version_path import VersionFinder
from evalstore.diff import DiffFinding, compare
from evalstore.diff.direction import join_directions
from evalstore.diff.findings import Certainty, Direction
from evalstore.errors import EvalstoreError, RefusedError
from evalstore.judging import Judges, open_session
from evalstore.judging.session import Watch, watch_nothing
from evalstore.model import Output, has_failed_check
from evalstore.runs import GradedRow, Run, read_bare_rows, read_run
from evalstore.statistics import ExactMean
from evalstore.store import ArtifactStore
from evalstore.text import make_excerpt

_OWN = (PlayerName.INPUT, PlayerName.OUTPUTS)
_SHOWN, _NAME = 5, 40
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
class _BoundSum:
    """The sum of many bounds of shares."""

    least: ExactMean = field(default_factory=ExactMean)
    most: ExactMean = field(default_factory=ExactMean)

    def add(self, bounds: ShareBounds, times: int) -> None:
        self.least.add(bounds.least, times)
        self.most.add(bounds.most, times)

    def divide_by(self, count: int) -> ShareBounds:
        return ShareBounds(self.least.total, self.most.total).divide_by(count)


@dataclass(slots=True)
class _Bounds:
    score: _BoundSum = field(default_factory=_BoundSum)
    passes: _BoundSum = field(default_factory=_BoundSum)
    changed: int = 0


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
    store: ArtifactStore,
    *,
    allow_drift: bool = False,
    watch: Watch = watch_nothing,
) -> StaticAudit:
    """Bound each player's share from the records of two runs alone: outputs and replies may be missing.

    `watch` wraps the iteration over `QuestionPair`s, of which one may stand for several questions.
    Raises `RefusedError` where a run names no versions, its rulers are not in the store, or nothing was scored in both;
    also for scores that its rulers cannot have given (unless `allow_drift`: then they count as not reproduced).
    """
    with open_session(Judges(watch=watch), store.git.find_common_directory) as session:
        # What is refused is read again as a whole, so that it is refused in the words of any other run.
        with suppress(OutOfOrderError, EvalstoreError):
            finder = VersionFinder(store)
            if (ordered := open_ordered_runs(run_a, run_b, finder, _read_all_rows)) is not None:
                attributor = open_attributor(ordered.a, ordered.b, finder, session, asks_service=False)
                # What judges said tells questions apart that are graded alike.
                if not attributor.is_judged:
                    with suppress(OutOfOrderError):
                        return StaticJob(attributor, ordered.list_alike, allow_drift).build_audit()
                return StaticJob(attributor, ordered.list_pairs, allow_drift).build_audit()
        finder = VersionFinder(store)
        a, b = (read_stored_run(run, finder, _read_all_rows(run)) for run in map(read_run, map(Path, (run_a, run_b))))
        a = follow_renames(a, b, finder)
        attributor = open_attributor(a, b, finder, session, asks_service=False)
        return StaticJob(attributor, partial(list_pairs, a, b), allow_drift).build_audit()


@dataclass(slots=True)
class StaticJob:
    """One pass over the records of two runs; where judges have a part, one before it for what is known of them."""

    attributor: QuestionAttributor
    list_pairs: Callable[[], Iterator[QuestionPair]]
    allow_drift: bool
    pairs: PairSums = field(default_factory=PairSums)
    lost: list[tuple[str, Fraction, Fraction]] = field(default_factory=list)
    # Of run A and of run B, how many of the compared questions have an output that is not stored.
    unstored: list[int] = field(default_factory=lambda: [0, 0])
    flips: list[int] = field(default_factory=lambda: [0, 0])
    ungraded: int = 0
    _proved: dict[_Pair, ProvedDirection] = field(default_factory=dict)
    _alike: dict[tuple[object, ...], _Alike] = field(default_factory=dict)

    def build_audit(self) -> StaticAudit:
        """Bound all compared questions, and sum the bounds up."""
        if self.attributor.is_judged:
            for pair in self._list_compared():
                self.attributor.add_evidence(pair.id)
        for pair in self._list_compared(self.pairs.add_pair):
            if pair.old and pair.new:
                self._add_question(pair.id, pair.old, pair.new, pair.times)
        count = self.pairs.count(PairSet.COMPARED)
        if not count:
            raise RefusedError("no question was scored in both runs, so nothing can be compared")
        stored = self.attributor.a, self.attributor.b
        a, b = (build_side(run, self.pairs.sum_side(side)) for side, run in enumerate(stored))
        lines = self.pairs.sum_lines(self._sum_lost(count))
        missing = ShareBounds(lines.no_answer_as_zero.score, lines.no_answer_as_zero.score)
        found, own = self._sum_bounds()
        reach = Counter[_Pair]()
        for alike in self._alike.values():
            reach.update({alike.rubrics: alike.count} if alike.rubrics else {})
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
            own=own.divide_by(count) + missing,
            proved=tuple(replace(one, questions=reach[pair]) for pair, one in self._proved.items()),
            unstored=(self.unstored[0], self.unstored[1]),
            flips=(self.flips[0], self.flips[1]),
            ungraded=self.ungraded,
            notes=tuple(self._list_notes()),
        )

    def _list_compared(self, note: Callable[[QuestionPair], None] = lambda _: None) -> Iterator[QuestionPair]:
        """Yield the questions that are compared; `note` is told of all."""
        attributor = self.attributor
        for pair in attributor.session.judges.watch(self.list_pairs(), attributor.a.run.questions):
            note(pair)
            if pair.set is PairSet.COMPARED:
                require_rulers(attributor.a, attributor.b, pair)
                yield pair

    def _add_question(self, id_: str, old: GradedRow, new: GradedRow, times: int) -> None:
        ends = (old.score or _ZERO, new.score or _ZERO), (old.pass_share, new.pass_share)
        for side, row in enumerate((old, new)):
            self.unstored[side] += times * any(isinstance(one.output.text, UnstoredText) for one in row.outputs)
        self.ungraded += times * has_failed_check((*old.checks, *new.checks))
        if ends[1][0] != ends[1][1]:
            self.flips[ends[1][0] < ends[1][1]] += times
        players = self.attributor.find_players(id_)
        rubrics = (old.rubric, new.rubric) if PlayerName.RUBRIC in players else None
        # Most questions of a run are like many others; whole numbers are quicker to look up than fractions are.
        key = players, rubrics, bool(old.samples or new.samples), *_list_numbers(*ends[0], *ends[1])
        if (alike := self._alike.get(key)) is None:
            alike = self._alike[key] = self._bound_question(players, ends, rubrics, is_lone=not key[2])
        alike.count += times
        if alike.score is None or alike.passes is None:
            if times > 1:
                raise OutOfOrderError(f"{id_} stands for others that have to be named")
            self.lost.append((id_, *alike.changes))

    def _bound_question(
        self, differing: frozenset[PlayerName], ends: _Ends, rubrics: _Pair | None, *, is_lone: bool
    ) -> _Alike:
        players = tuple(name for name in PlayerName if name in differing)
        score = verdict = Direction.EITHER
        if rubrics is not None:
            proved = self._proved.get(rubrics) or self._prove_directions(*rubrics)
            self._proved[rubrics] = proved
            # A sample may lose its score by an edit, and so leave the mean of the others.
            score, verdict = (proved.score, proved.verdict) if is_lone else (Direction.EITHER,) * 2
        in_score, in_passes = (
            _bound_players(players, *pair, direction)
            for pair, direction in zip(ends, (score, join_directions(score, verdict)), strict=True)
        )
        return _Alike(players, in_score, in_passes, (ends[0][1] - ends[0][0], ends[1][1] - ends[1][0]), rubrics)

    def _sum_bounds(self) -> tuple[dict[PlayerName, _Bounds], _BoundSum]:
        """Return the sums of each player's bounds, in order, and of those that are the outputs' own."""
        sums, own = dict[PlayerName, _Bounds](), _BoundSum()
        for alike in self._alike.values():
            if alike.score is None or alike.passes is None:
                continue
            for name, in_score, in_passes in zip(alike.players, alike.score, alike.passes, strict=True):
                total = sums.setdefault(name, _Bounds())
                total.score.add(in_score, alike.count)
                total.passes.add(in_passes, alike.count)
                total.changed += alike.count
                if name in _OWN:
                    own.add(in_score, alike.count)
        return {player: sums[player] for player in PlayerName if player in sums}, own

    def _sum_lost(self, size: int) -> LineEffect:
        """Return what the scores that no ruler can have given stand for; raises `RefusedError` where they may not."""
        if self.lost and not self.allow_drift:
            names = ", ".join(make_excerpt(id_, _NAME) for id_, _, _ in self.lost[:_SHOWN])
            raise RefusedError(
                f"the rulers cannot have given the recorded scores of {len(self.lost):,} questions, such as {names}",
                hint="an engine or a record changed; --allow-drift counts the difference as not reproduced",
            )
        score = sum((change for _, change, _ in self.lost), Fraction(0))
        passes = sum((change for _, _, change in self.lost), Fraction(0))
        return LineEffect(score / size, passes / size)

    def _prove_directions(self, old: str, new: str) -> ProvedDirection:
        a, b = self.attributor.a.rubrics[old], self.attributor.b.rubrics[new]
        sides = a.version.resolved, b.version.resolved
        if sides[0].name != sides[1].name:
            return ProvedDirection(old, new, Direction.EITHER, Direction.EITHER)
        try:
            findings = compare(sides[0].artifact, sides[1].artifact, load=self.attributor.finder.store.load).findings
        except EvalstoreError as error:
            self.attributor.finder.notes.append(f"{old} and {new} cannot be compared: {error.message}")
            return ProvedDirection(old, new, Direction.EITHER, Direction.EITHER)
        return ProvedDirection(old, new, *join_proved_directions(findings))

    def _list_notes(self) -> Iterator[str]:
        yield from dict.fromkeys(self.attributor.finder.notes)
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


class UnstoredText(str):
    """Stands for the text of an output that a run does not hold: it may differ from that of any other run."""

    __slots__ = ()


def _read_all_rows(run: Run) -> Iterator[GradedRow]:
    """Yield the rows of a run, also those that have a score and no output."""
    unstored = Output(UnstoredText(f"not stored in {run.path}"))
    for row, is_stored in read_bare_rows(run):
        if is_stored:
            yield row
        elif row.score is not None:
            yield replace(row, output=unstored)
