"""Sums attributed questions up into factors, with what may be concluded of each; holds sums and shares only."""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from evalstore.audits.question_grid import AttributedQuestion
from evalstore.audits.question_shares import BlockShare, Players
from evalstore.audits.values import Cause, EditSource, Factor, OwnShare, PlayerName, QuestionShare, name_players
from evalstore.audits.wording import choose_claim
from evalstore.statistics import (
    ChangeEstimate,
    ExactMean,
    ShareMoves,
    UnitTotals,
    compute_sign_flip_p,
    estimate_change,
)

_WORST = 5
_ZERO = Fraction(0)
_SAMPLED = frozenset({PlayerName.OUTPUTS, PlayerName.INPUT})


@dataclass(slots=True)
class _CauseSum:
    share: ExactMean = field(default_factory=ExactMean)
    passes: ExactMean = field(default_factory=ExactMean)
    error: float = 0.0
    moved: int = 0


@dataclass(slots=True)
class _FactorSum:
    """The sums of one block of players; `anchored` are the shares that are graded, `places` those that slices need."""

    share: ExactMean = field(default_factory=ExactMean)
    passes: ExactMean = field(default_factory=ExactMean)
    first: ExactMean = field(default_factory=ExactMean)
    last: ExactMean = field(default_factory=ExactMean)
    shares: ShareMoves = field(default_factory=ShareMoves)
    anchored: ShareMoves = field(default_factory=ShareMoves)
    anchored_units: UnitTotals = field(default_factory=UnitTotals)
    # By place, the shares of the questions that it moved.
    places: dict[int, Fraction] = field(default_factory=dict)
    moved: int = 0
    flipped: list[str] = field(default_factory=list)
    worst: list[QuestionShare] = field(default_factory=list)
    anchors: int = 0
    changed: int = 0
    causes: dict[EditSource, _CauseSum] = field(default_factory=dict)

    def add_question(self, id_: str, block: BlockShare, group: str | None, *, is_turned: bool) -> None:
        share, passes = block.share
        self.share.add(share)
        self.passes.add(passes)
        self.first.add(block.first)
        self.last.add(block.last)
        if share:
            self.moved += 1
            self.shares.add(share, group)
            if len(self.worst) < _WORST or abs(share) >= abs(self.worst[-1].share):
                insort(self.worst, QuestionShare(id_, share), key=lambda one: (-abs(one.share), one.id))
                del self.worst[_WORST:]
        # Of players that cancelled out on a question, none turned its verdict.
        if is_turned and passes:
            self.flipped.append(id_)
        for source, score, pass_share in block.edits:
            if (found := self.causes.get(source)) is None:
                found = self.causes[source] = _CauseSum()
            found.share.add(score.share)
            found.passes.add(pass_share.share)
            # All questions sample the same orders, so their errors can add up instead of cancelling out.
            found.error += score.error
            found.moved += bool(score.share or pass_share.share)


@dataclass(slots=True)
class AuditTotals:
    """The sums over all compared questions so far; only with `has_slices` anything is held of each one of them."""

    has_slices: bool = False
    questions: int = 0
    units: UnitTotals = field(default_factory=UnitTotals)
    groups: list[str | None] = field(default_factory=list)
    own_old: ExactMean | None = field(default_factory=ExactMean)
    own_new: ExactMean | None = field(default_factory=ExactMean)
    is_judged: bool = False
    is_sampled: bool = False
    turned: ShareMoves = field(default_factory=ShareMoves)
    _sums: dict[Players, _FactorSum] = field(default_factory=dict)
    _silent: dict[int, tuple[EditSource, ...]] = field(default_factory=dict)

    def add_question(self, question: AttributedQuestion, group: str | None, *, is_turned: bool) -> None:
        """Add one question; `is_turned`: its verdict is not that of run A."""
        place = self.questions
        self.questions += 1
        self.units.add_question(group)
        if self.has_slices:
            self.groups.append(group)
        self.is_judged |= question.is_judged
        self.is_sampled |= bool(question.anchors) or not _SAMPLED.isdisjoint(question.changed)
        if question.silent:
            # One value a plan of rubrics, and there are few.
            self._silent[id(question.silent)] = question.silent
        blocks = question.shares.blocks if question.shares else {}
        sampled = {PlayerName.JUDGE_SERVICE, *_SAMPLED} if question.anchors else _SAMPLED
        turned = _ZERO
        joint = {name for players in blocks if len(players) > 1 for name in players}
        for name in question.changed - joint:
            self._find_sum((name,)).changed += 1
        for players, block in blocks.items():
            total = self._find_sum(players)
            total.changed += len(players) > 1
            total.add_question(question.id, block, group, is_turned=is_turned)
            if not sampled.isdisjoint(players):
                turned += block.share[1]
            if self.has_slices and block.share[0]:
                total.places[place] = block.share[0]
            if PlayerName.JUDGE_SERVICE in players:
                total.anchors = max(total.anchors, question.anchors)
                if not question.anchors:
                    total.anchored_units.add_question(group)
                    total.anchored.add(block.share[0], group)
        if turned:
            self.turned.add(turned, group)
        if question.shares:
            self.own_old = _add(self.own_old, question.shares.own_old)
            self.own_new = _add(self.own_new, question.shares.own_new)
            if not _SAMPLED.isdisjoint(joint):
                self.own_old = self.own_new = None

    def build_factors(self) -> tuple[Factor, ...]:
        """Return the factors: each player, then the joint ones."""
        joint = sorted((players for players in self._sums if len(players) > 1), key=name_players)
        return tuple(self._build_factor(players) for players in (*((name,) for name in PlayerName), *joint))

    def list_shares(self) -> Mapping[str, Mapping[int, Fraction]]:
        """Return by factor the shares of the questions that it moved, by their place; empty without slices."""
        return {name_players(players): total.places for players, total in self._list_sums()}

    def compute_flip_p(self) -> float | None:
        """Return how often chance gives so uneven a part in the verdicts to what was sampled; None where nothing was.

        With other outputs alone, one to a question, this is McNemar's test.
        """
        return compute_sign_flip_p(self.units.count_units(self.turned)) if self.is_sampled else None

    def list_flips(self) -> Mapping[str, tuple[str, ...]]:
        """Return by factor the questions whose verdict it has a part in."""
        return {name_players(players): tuple(total.flipped) for players, total in self._list_sums() if total.flipped}

    def build_own_share(self, line: Fraction) -> OwnShare:
        """Return the share of the outputs by three rulers, with what missing answers add."""
        size = self.questions or 1
        joint = any(len(players) > 1 and not _SAMPLED.isdisjoint(players) for players in self._sums)
        shares = (total.share.total for players, total in self._sums.items() if players[0] in _SAMPLED)
        own = None if joint else sum(shares, _ZERO) / size + line
        ends = [None if end is None else end.total / size + line for end in (self.own_old, self.own_new)]
        return OwnShare(own, ends[0], ends[1])

    def _list_sums(self) -> list[tuple[Players, _FactorSum]]:
        """Return the sums in the order of the report; they were added in that of the questions."""
        order = list(PlayerName)
        return sorted(self._sums.items(), key=lambda item: (len(item[0]), [*map(order.index, item[0])]))

    def _find_sum(self, players: Players) -> _FactorSum:
        if players not in self._sums:
            self._sums[players] = _FactorSum()
        return self._sums[players]

    def _build_factor(self, players: Players) -> Factor:
        total, size = self._sums.get(players, _FactorSum()), self.questions or 1
        ends = total.first.total / size, total.last.total / size
        is_sampled = not _SAMPLED.isdisjoint(players) or bool(total.anchors)
        estimate = self._estimate(total) if total.changed else None
        return Factor(
            players=players,
            share=total.share.total / size,
            passes=total.passes.total / size,
            order=(min(ends), max(ends)),
            ci=estimate.mean.interval if estimate and estimate.mean else None,
            standard_error=estimate.mean.standard_error if estimate and estimate.mean else None,
            p=estimate.p if estimate and is_sampled else None,
            changed=total.changed,
            moved=total.moved,
            flipped=len(total.flipped),
            claim=choose_claim(
                players, estimate, is_sampled=is_sampled, is_judged=self.is_judged, anchors=total.anchors
            ),
            causes=self._build_causes(players, total, size),
            worst=tuple(total.worst),
            conclusion=estimate.conclusion if estimate and is_sampled else None,
            anchors=total.anchors or None,
        )

    def _estimate(self, total: _FactorSum) -> ChangeEstimate:
        """Return what the shares tell of questions like these; an estimated share tells what its anchors do."""
        if not total.anchors:
            return estimate_change(self.units.count_units(total.shares))
        return estimate_change(total.anchored_units.count_units(total.anchored))

    def _build_causes(self, players: Players, total: _FactorSum, size: int) -> tuple[Cause, ...]:
        causes = [
            Cause(source, found.share.total / size, found.passes.total / size, found.moved, found.error / size)
            for source, found in total.causes.items()
        ]
        # Findings that can move nothing (metadata, order) belong to the rubric, and so do edits that moved nothing.
        if players == (PlayerName.RUBRIC,) and not any(len(one) > 1 and PlayerName.RUBRIC in one for one in self._sums):
            silent = dict.fromkeys(source for sources in self._silent.values() for source in sources)
            causes += [Cause(source, _ZERO, _ZERO, 0) for source in silent if source not in total.causes]
        return tuple(sorted(causes, key=lambda cause: (-abs(cause.share), -abs(cause.passes), cause.source.part)))


def _add(total: ExactMean | None, share: Fraction | None) -> ExactMean | None:
    """Return a sum with one share more; None once one of them is unknown."""
    if total is None or share is None:
        return None
    total.add(share)
    return total
