"""Sums attributed questions up into factors, and draws a conclusion for each.

It has sums and shares only.
"""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from evalstore.audits.claims import choose_claim
from evalstore.audits.questions.question_attribution import AttributedQuestion
from evalstore.audits.questions.question_shares import BlockShare, FactorNames
from evalstore.audits.questions.share_patterns import AttributedChange
from evalstore.audits.values import (
    OWN_FACTORS,
    Cause,
    EditSource,
    Factor,
    FactorName,
    LineEffect,
    OwnShare,
    QuestionShare,
    join_names,
)
from evalstore.audits.wording.factors import describe_cancelled
from evalstore.statistics import (
    AnchorShift,
    ChangeEstimate,
    Conclusion,
    ExactMean,
    Interval,
    MoveCounts,
    ShareMoves,
    UnitTotals,
    compute_sign_flip_p,
    count_moves,
    estimate_change,
    estimate_mean,
    estimate_rest,
    estimate_rest_mean,
    estimate_shift,
    estimate_typical,
)

_WORST = 5
_KEPT_COUNTS = 1 << 10  # of like questions, before they are added to the sums
_ZERO = Fraction(0)
_SERVICE: FactorNames = (FactorName.JUDGE_SERVICE,)


@dataclass(slots=True)
class _CauseSum:
    share: ExactMean = field(default_factory=ExactMean)
    passes: ExactMean = field(default_factory=ExactMean)
    error: float = 0.0
    moved: int = 0

    def build_cause(self, source: EditSource, size: int) -> Cause:
        """Return the share of an edit in the means of `size` questions."""
        means = self.share.total / size, self.passes.total / size
        return Cause(source, *means, self.moved, self.error / size)


@dataclass(slots=True)
class _FactorSum:
    """The sums of one block of factors; `places` has the shares that slices need."""

    share: ExactMean = field(default_factory=ExactMean)
    passes: ExactMean = field(default_factory=ExactMean)
    first: ExactMean = field(default_factory=ExactMean)
    last: ExactMean = field(default_factory=ExactMean)
    shares: ShareMoves = field(default_factory=ShareMoves)
    pass_shares: ShareMoves = field(default_factory=ShareMoves)
    # Its part in the questions whose verdict turned.
    turned: ShareMoves = field(default_factory=ShareMoves)
    # By place, the shares of the questions that it moved.
    places: dict[int, Fraction] = field(default_factory=dict)
    moved: int = 0
    flipped: list[str] = field(default_factory=list)
    worst: list[QuestionShare] = field(default_factory=list)
    changed: int = 0
    causes: dict[EditSource, _CauseSum] = field(default_factory=dict)

    def add_block(self, block: BlockShare, alike: _AlikeQuestions, counted: _Counted) -> None:
        """Add the block of some questions to the sums."""
        (share, passes), group, times = block.share, alike.group, counted.times
        self.share.add(share, times)
        self.passes.add(passes, times)
        self.pass_shares.add(passes, group, times)
        self.first.add(block.first, times)
        self.last.add(block.last, times)
        if share:
            self.moved += times
            self.shares.add(share, group, times)
            self.worst += (QuestionShare(id_, share) for id_ in counted.first_ids)
            self.worst.sort(key=lambda one: (-abs(one.share), one.id))
            del self.worst[_WORST:]
        if alike.is_turned:
            self.turned.add(passes, group, times)
        for source, score, pass_share in block.edits:
            if (found := self.causes.get(source)) is None:
                found = self.causes[source] = _CauseSum()
            found.share.add(score.share, times)
            found.passes.add(pass_share.share, times)
            # All questions sample the same orders, so their errors can add up instead of cancelling
            # out.
            found.error += score.error * times
            found.moved += times * bool(score.share or pass_share.share)


@dataclass(slots=True)
class _AnchorSum:
    """The anchors of some judged checks and models, and what the service did to them.

    `estimated` is how many shares rest on them. `borrowed` is how many other questions lent them a
    shift, if there are none with exactly these checks.
    """

    borrowed: int = 0
    units: UnitTotals = field(default_factory=UnitTotals)
    shares: ShareMoves = field(default_factory=ShareMoves)
    estimated: Counter[FactorNames] = field(default_factory=Counter)


@dataclass(slots=True)
class _OwnSum:
    """What outputs and inputs did; unknown once others moved with them."""

    shares: ShareMoves = field(default_factory=ShareMoves)
    is_known: bool = True

    def add_share(self, share: Fraction | None, group: str | None, times: int) -> None:
        self.is_known &= share is not None
        if share:
            self.shares.add(share, group, times)


class _AlikeQuestions(NamedTuple):
    """Questions with equal sums: their result, their group, and whether their verdict turned."""

    change: AttributedChange
    group: str | None
    is_turned: bool
    is_estimated: bool


@dataclass(slots=True)
class _Counted:
    """How many questions are alike, and the first ids among them: all of them moved equally far."""

    times: int = 0
    first_ids: list[str] = field(default_factory=list)

    def add_question(self, id_: str) -> None:
        self.times += 1
        if len(self.first_ids) < _WORST or id_ < self.first_ids[-1]:
            insort(self.first_ids, id_)
            del self.first_ids[_WORST:]


@dataclass(slots=True)
class AuditTotals:
    """The sums over all compared questions so far.

    Only with `has_slices` is anything kept about each one.
    """

    has_slices: bool = False
    questions: int = 0
    units: UnitTotals = field(default_factory=UnitTotals)
    groups: list[str | None] = field(default_factory=list)
    own: tuple[_OwnSum, _OwnSum, _OwnSum] = field(
        default_factory=lambda: (_OwnSum(), _OwnSum(), _OwnSum())
    )
    own_passes: _OwnSum = field(default_factory=_OwnSum)
    # For the questions that one run did not answer, what that moves if no answer counts as 0.
    silent: UnitTotals = field(default_factory=UnitTotals)
    silent_shares: ShareMoves = field(default_factory=ShareMoves)
    is_judged: bool = False
    is_sampled: bool = False
    turned: ShareMoves = field(default_factory=ShareMoves)
    # By place, how far the checks that are left out moved a question.
    _left_out: dict[int, Fraction] = field(default_factory=dict)
    # What is not in the sums yet.
    _alike: dict[_AlikeQuestions, _Counted] = field(default_factory=dict)
    _sums: dict[FactorNames, _FactorSum] = field(default_factory=dict)
    _silent: dict[int, tuple[EditSource, ...]] = field(default_factory=dict)
    _anchors: dict[tuple[object, ...], _AnchorSum] = field(default_factory=dict)

    def add_question(
        self, question: AttributedQuestion, group: str | None, *, is_turned: bool
    ) -> None:
        """Add one question; `is_turned` says that its verdict differs from run A's."""
        place, change = self.questions, question.result
        self.questions += 1
        self.units.add_question(group)
        if self.has_slices:
            self.groups.append(group)
            if change.left_out.score:
                self._left_out[place] = change.left_out.score
        blocks = change.shares.blocks if change.shares else {}
        for names, block in blocks.items() if is_turned or self.has_slices else ():
            total = self._find_sum(names)
            # If factors cancelled out on a question, none of them turned its verdict.
            if is_turned and block.share[1]:
                total.flipped.append(question.id)
            if self.has_slices and block.share[0]:
                total.places[place] = block.share[0]
        if question.service_keys:
            self._add_anchor(question, blocks, group)
        alike = _AlikeQuestions(change, group, is_turned, question.is_estimated)
        if alike not in self._alike:
            if len(self._alike) >= _KEPT_COUNTS:
                self.add_counted()
            self._alike[alike] = _Counted()
        self._alike[alike].add_question(question.id)

    def add_counted(self) -> None:
        """Add the questions that were only counted so far to the sums, which are then complete."""
        for alike, counted in self._alike.items():
            self._add_sums(alike, counted)
        self._alike.clear()

    def _add_sums(self, alike: _AlikeQuestions, counted: _Counted) -> None:
        change, group, times = alike.change, alike.group, counted.times
        self.is_judged |= change.is_judged
        self.is_sampled |= alike.is_estimated or not OWN_FACTORS.isdisjoint(change.changed)
        if change.silent:
            # One value per plan of rubrics, and there are few.
            self._silent[id(change.silent)] = change.silent
        blocks = change.shares.blocks if change.shares else {}
        sampled = {FactorName.JUDGE_SERVICE, *OWN_FACTORS} if alike.is_estimated else OWN_FACTORS
        joint = {name for names in blocks if len(names) > 1 for name in names}
        for name in change.changed - joint:
            self._find_sum((name,)).changed += times
        for names, block in blocks.items():
            total = self._find_sum(names)
            total.changed += times * (len(names) > 1)
            total.add_block(block, alike, counted)
        turned = sum((blocks[one].share[1] for one in blocks if not sampled.isdisjoint(one)), _ZERO)
        self.turned.add(turned, group, times)
        if change.shares:
            score, passes = change.shares.own
            shares = (score, change.shares.own_old, change.shares.own_new, passes)
            for own, share in zip((*self.own, self.own_passes), shares, strict=True):
                own.add_share(None if joint & OWN_FACTORS else share, group, times)

    def add_silence(self, share: Fraction, group: str | None) -> None:
        """Add a question that one run did not answer; `share` is how far that moves its score."""
        self.silent.add_question(group)
        self.silent_shares.add(share, group)

    def build_factors(self) -> tuple[Factor, ...]:
        """Return the factors: the single ones, then the joint ones."""
        joint = sorted((names for names in self._sums if len(names) > 1), key=join_names)
        listed: list[FactorNames] = [*((name,) for name in FactorName), *joint]
        estimates = {names: one for names in listed if (one := self._estimate(names))}
        conclusions = self._conclude(estimates)
        return tuple(
            self._build_factor(one, estimates.get(one), conclusions.get(one)) for one in listed
        )

    def list_shares(self) -> Mapping[str, Mapping[int, Fraction]]:
        """Return by factor the shares of the questions that it moved, by their place.

        It is empty without slices. What checks with nothing to grade moved is under the name of its
        line.
        """
        shares = {join_names(names): total.places for names, total in self._list_sums()}
        return {**shares, "nothing_to_grade": self._left_out} if self._left_out else shares

    def compute_flip_p(self) -> float | None:
        """Return how often chance gives what was sampled so uneven a part in the verdicts.

        Returns None if nothing was sampled. If only outputs changed, one per question, this is
        McNemar's test.
        """
        return compute_sign_flip_p(self.units.count_units(self.turned)) if self.is_sampled else None

    def list_flips(self) -> Mapping[str, tuple[str, ...]]:
        """Return by factor the questions in whose verdict it has a part."""
        sums = [(names, total) for names, total in self._list_sums() if total.flipped]
        return {join_names(names): tuple(total.flipped) for names, total in sums}

    def build_own_share(self, line: LineEffect, *, counts_silence: bool) -> OwnShare:
        """Return the share of the outputs by three rubrics, with what missing answers add.

        With `counts_silence`, a question without an answer moves the typical one as well.
        """
        own = (*self.own, self.own_passes)
        lines = (line.score, line.score, line.score, line.passes)
        pairs = [*zip(own, lines, strict=True)]
        size = self.questions or 1
        ends = [one.shares.total / size + moved if one.is_known else None for one, moved in pairs]
        spans = [self._find_own_interval(one, moved) for one, moved in pairs]
        typical, ci_typical = self._find_own_typical(counts_silence=counts_silence)
        return OwnShare(
            shapley=ends[0],
            old=ends[1],
            new=ends[2],
            ci=spans[0],
            ci_old=spans[1],
            ci_new=spans[2],
            passes=ends[3],
            ci_passes=spans[3],
            typical=typical,
            ci_typical=ci_typical,
        )

    def _find_own_interval(self, own: _OwnSum, line: Fraction) -> Interval | None:
        """Return the interval of an own share, shifted by what is counted, which is not chance."""
        if not own.is_known:
            return None
        moved = float(line)
        if not self._list_own_factors():
            return moved, moved
        shifts = self._list_own_shifts()
        if shifts and own is self.own_passes:  # anchors say nothing about verdicts
            return None
        mean = estimate_rest_mean(self.units.count_units(own.shares), shifts)
        return (mean.interval[0] + moved, mean.interval[1] + moved) if mean else None

    def _find_own_typical(self, *, counts_silence: bool) -> tuple[Fraction | None, Interval | None]:
        """Return how far the typical question moved by itself, and the interval of that."""
        own = self.own[0]
        if not own.is_known:
            return None, None
        units, shares = self.units, own.shares
        if counts_silence:
            units, shares = units.join(self.silent), shares.join(self.silent_shares)
        if not self._list_own_factors() and units.questions == self.questions:
            return _ZERO, (0.0, 0.0)
        found = estimate_typical(units.count_units(shares))
        if found is None or self._list_own_shifts():
            return None, None
        return found.median, found.interval

    def _list_own_factors(self) -> list[FactorNames]:
        return [
            names for names, total in self._sums.items() if total.changed and OWN_FACTORS & {*names}
        ]

    def _list_own_shifts(self) -> list[AnchorShift]:
        return [shift for names in self._list_own_factors() for shift in self._list_shifts(names)]

    def _add_anchor(
        self,
        question: AttributedQuestion,
        blocks: Mapping[FactorNames, BlockShare],
        group: str | None,
    ) -> None:
        """Add an anchor, or the shares that rest on others like it.

        If outputs move with the service, no share does.
        """
        total = self._anchors.setdefault(question.service_keys, _AnchorSum())
        if question.is_estimated:
            total.borrowed = max(total.borrowed, question.anchors)
            service = FactorName.JUDGE_SERVICE
            lone = (names for names in blocks if names == _SERVICE or service not in names)
            total.estimated.update(
                names for names in lone if not {*OWN_FACTORS, *_SERVICE}.isdisjoint(names)
            )
        else:
            total.units.add_question(group)
            if _SERVICE in blocks:
                total.shares.add(blocks[_SERVICE].share[0], group)

    def _list_sums(self) -> list[tuple[FactorNames, _FactorSum]]:
        """Return the sums in the order of the report; they were added in that of the questions."""
        order = list(FactorName)
        return sorted(
            self._sums.items(), key=lambda item: (len(item[0]), [*map(order.index, item[0])])
        )

    def _find_sum(self, names: FactorNames) -> _FactorSum:
        if names not in self._sums:
            self._sums[names] = _FactorSum()
        return self._sums[names]

    def _build_factor(
        self, names: FactorNames, estimate: ChangeEstimate | None, conclusion: Conclusion | None
    ) -> Factor:
        total, size = self._sums.get(names, _FactorSum()), self.questions or 1
        ends = total.first.total / size, total.last.total / size
        anchors = self._count_anchors(names)
        is_sampled = not OWN_FACTORS.isdisjoint(names) or bool(anchors)
        has_signs = is_sampled and not anchors and bool(total.changed)
        causes = self._build_causes(names, total, size)
        claim = choose_claim(
            names,
            estimate,
            conclusion if is_sampled else None,
            is_judged=self.is_judged,
            anchors=anchors,
        )
        return Factor(
            members=names,
            share=total.share.total / size,
            passes=total.passes.total / size,
            order=(min(ends), max(ends)),
            ci=estimate.mean.interval if estimate and estimate.mean else None,
            standard_error=estimate.mean.standard_error if estimate and estimate.mean else None,
            p=estimate.p if estimate and is_sampled else None,
            changed=total.changed,
            moved=total.moved,
            flipped=len(total.flipped),
            # What cancels is seen in the row of a factor that moved next to nothing.
            claim="; ".join(words for words in (describe_cancelled(causes), claim) if words),
            causes=causes,
            worst=tuple(total.worst),
            conclusion=conclusion if is_sampled else None,
            anchors=anchors or None,
            detectable=estimate.mean.detectable_effect if estimate and estimate.mean else None,
            typical=self._count_moves(total.shares) if has_signs else None,
            verdicts=self._count_moves(total.turned) if has_signs else None,
            ci_passes=self._find_interval(total.pass_shares) if has_signs else None,
        )

    def _find_interval(self, moves: ShareMoves) -> Interval | None:
        mean = estimate_mean(self.units.count_units(moves))
        return None if mean is None else mean.interval

    def _count_moves(self, moves: ShareMoves) -> MoveCounts:
        return count_moves(self.units.count_units(moves))

    def _estimate(self, names: FactorNames) -> ChangeEstimate | None:
        """Return what the shares show about questions like these.

        An estimate shows no more than its anchors do.
        """
        total, shifts = self._sums.get(names), [*self._list_shifts(names)]
        if total is None or not total.changed:
            return None
        if names == _SERVICE and shifts:
            return estimate_shift(shifts, float(total.share.total / self.questions))
        units = self.units.count_units(total.shares)
        return estimate_rest(units, shifts) if shifts else estimate_change(units)

    def _list_shifts(self, names: FactorNames) -> Iterator[AnchorShift]:
        """Yield the shifts by which shares of some factors were estimated.

        Anchors concern the service's own part.
        """
        for one in self._anchors.values():
            if count := one.estimated[names]:
                count += one.units.questions if names == _SERVICE else 0
                yield AnchorShift(one.units.count_units(one.shares), count / self.questions)

    def _count_anchors(self, names: FactorNames) -> int:
        found = (one for one in self._anchors.values() if one.estimated[names])
        return sum(one.units.questions or one.borrowed for one in found)

    def _conclude(
        self, estimates: Mapping[FactorNames, ChangeEstimate]
    ) -> dict[FactorNames, Conclusion]:
        """Return the conclusions.

        If the service's shift is estimated, there is one conclusion for it and for what was
        estimated from it. The rest is tested against the anchors. If that shows nothing, it is no
        more certain that the service moved.
        """
        found = {names: one.conclusion for names, one in estimates.items()}
        pair = [names for names in estimates if self._count_anchors(names)]
        if any(found[names] is Conclusion.SIGNIFICANT for names in pair if names != _SERVICE):
            if found.get(_SERVICE) is Conclusion.NOT_RESOLVABLE:
                found[_SERVICE] = Conclusion.BOUNDED
        elif any(found[names] is Conclusion.NOT_RESOLVABLE for names in pair):
            found |= dict.fromkeys(pair, Conclusion.NOT_RESOLVABLE)
        return found

    def _build_causes(self, names: FactorNames, total: _FactorSum, size: int) -> tuple[Cause, ...]:
        causes = [found.build_cause(source, size) for source, found in total.causes.items()]
        # Findings that can move nothing (metadata, order) belong to the rubric, and so do edits
        # that moved nothing.
        if names == (FactorName.RUBRIC,) and not any(
            len(one) > 1 and FactorName.RUBRIC in one for one in self._sums
        ):
            silent = dict.fromkeys(
                source for sources in self._silent.values() for source in sources
            )
            causes += [
                Cause(source, _ZERO, _ZERO, 0) for source in silent if source not in total.causes
            ]
        return tuple(
            sorted(
                causes, key=lambda cause: (-abs(cause.share), -abs(cause.passes), cause.source.part)
            )
        )
