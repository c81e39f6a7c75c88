"""Asks judges about the same stored outputs in old and new wording; counts flips, and their own.

Only calls that differ between the two sides are asked twice: whatever else a check asks has one
reply on both sides, which moves nothing. Replies are kept like those of a run; nothing is written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from hashlib import blake2b
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from evalstore.agreement.noise import NO_ENDPOINT_HINT
from evalstore.audits.check_matching import EncodedCheck, match_checks
from evalstore.audits.side_replay import ChangeSide, GradingRule, SideReplay
from evalstore.audits.stored_run import (
    StoredRun,
    read_judge_model,
    read_stored_run,
    read_strictness,
)
from evalstore.audits.version_path import VersionFinder
from evalstore.checks import CheckContext, prepare_check
from evalstore.diff import AskedChange, FlippedVerdict
from evalstore.documents import compute_digest
from evalstore.errors import Place, RefusedError
from evalstore.model import (
    CheckResult,
    JudgeCall,
    JudgeReply,
    Kind,
    Question,
    Sample,
    Verdict,
    find_check_pins,
)
from evalstore.model.judge import NO_REPLY
from evalstore.runs import GradedRow
from evalstore.scoring.judging import CallPlan, Judges, JudgeSession, open_session
from evalstore.statistics import Conclusion, bound_rate, estimate_change
from evalstore.store import ArtifactStore

# Candidates per wanted verdict in a stratum: some are asked the same thing on both sides.
_SPARE = 2
_EXAMPLES = 5
_Ask = Callable[[JudgeCall], JudgeReply]


@dataclass(frozen=True, slots=True)
class WordingRequest:
    """What to ask about: `verdicts` many verdicts of the run at `run`, the same ones every time."""

    run: Path
    verdicts: int


class _Pair(NamedTuple):
    """A check that asks judges, before and after the change."""

    old: EncodedCheck
    new: EncodedCheck


class _Candidate(NamedTuple):
    """A stored output that a check grades: its order, question, sample and check."""

    place: bytes
    id: str
    sample: int
    pair: _Pair


class _VerdictUnit(NamedTuple):
    """A verdict to compare: an output, with its question on both sides.

    The side `repeated` is asked twice. `replies` are the digests of those that the run was graded
    with: they pick the old wording's own reply among several kept ones.
    """

    id: str
    pair: _Pair
    samples: tuple[Sample, Sample]
    repeated: int
    replies: tuple[str, ...]


class _Verdicts(NamedTuple):
    """A unit's results in the old wording, in the new, and in one of them once more."""

    unit: _VerdictUnit
    old: CheckResult
    new: CheckResult
    again: CheckResult

    @property
    def is_judged(self) -> bool:
        """Whether all three have a score."""
        return Verdict.UNSCORED not in {self.old.verdict, self.new.verdict, self.again.verdict}

    @property
    def flips(self) -> bool:
        """Whether the new wording gives another verdict."""
        return self.old.verdict is not self.new.verdict

    @property
    def flips_itself(self) -> bool:
        """Whether the same wording gives another verdict."""
        return self.again.verdict is not (self.new if self.unit.repeated else self.old).verdict

    @property
    def shift(self) -> Fraction:
        """How far the new wording moves the score."""
        return (self.new.score or Fraction(0)) - (self.old.score or Fraction(0))


@dataclass(slots=True)
class _SideGrader:
    """Grades the checks of one side by the answers of `ask`; equal ones are prepared once."""

    replay: SideReplay
    model: Mapping[str, Any]
    strict: bool
    ask: _Ask
    _checks: dict[str, Callable[[Sample], CheckResult]] = field(default_factory=dict)

    def grade(self, judged: EncodedCheck, sample: Sample) -> CheckResult:
        """Return the result of a check for an output."""
        if judged.content not in self._checks:
            context = CheckContext(
                self.replay.grader.load, self.ask, self.model, strict=self.strict
            )
            self._checks[judged.content] = prepare_check(judged.check, context)
        return self._checks[judged.content](sample)


@dataclass(slots=True)
class WordingTrial:
    """All parts of a comparison of wordings before the first judge is asked."""

    request: WordingRequest
    stored: StoredRun
    sides: tuple[SideReplay, SideReplay]
    session: JudgeSession
    model: Mapping[str, Any]
    strict: bool
    _calls: dict[str, JudgeCall] = field(default_factory=dict)
    _repeats: dict[str, int] = field(default_factory=dict)
    _wanted: Collection[str] = ()
    _unasked: str = ""

    def plan_calls(self) -> CallPlan:
        """Return the judge calls that asking would make, without making any."""
        self._judge_units(self._choose_units())
        return self.session.plan_calls()

    def ask_judges(self) -> AskedChange:
        """Judge, and ask until no reply is missing; refuses if nothing was judged."""
        units = self._choose_units()
        found = self.session.repeat_until_answered(lambda: self._judge_units(units))
        self.session.refuse_missing(NO_ENDPOINT_HINT)
        return self._count_flips(found)

    def list_notes(self) -> Iterator[str]:
        """Yield notes about replies: calls that failed, and who could have made replies up."""
        return self.session.list_notes()

    def _choose_units(self) -> list[_VerdictUnit]:
        """Return what to ask about: a share of each check and recorded verdict, ordered by hash."""
        graders = tuple(self._make_grader(side, self._note_call) for side in (0, 1))
        strata: dict[tuple[str, str], list[_Candidate]] = {}
        sizes: Counter[tuple[str, str]] = Counter()
        most = _SPARE * self.request.verdicts
        for stratum, candidate in self._list_candidates():
            sizes[stratum] += 1
            kept = strata.setdefault(stratum, [])
            kept.append(candidate)
            if len(kept) > 2 * most:
                kept[:] = sorted(kept)[:most]
        # In the order of their share of a stratum, so that the first n are drawn from all strata in
        # proportion.
        ordered: list[tuple[Fraction, _Candidate]] = []
        for stratum, kept in strata.items():
            for number, candidate in enumerate(sorted(kept)[:most]):
                ordered.append((Fraction(2 * number + 1, 2 * sizes[stratum]), candidate))
        units: list[_VerdictUnit] = []
        for _, candidate in sorted(ordered):
            if len(units) == self.request.verdicts:
                break
            units += self._make_unit(candidate, graders)
        if not units:
            raise RefusedError(
                self._unasked or "the change alters no prompt about an output of this run",
                place=Place(str(self.request.run)),
                hint=(
                    "name a run that this artifact graded; --run alone shows what moves without "
                    "asking anybody"
                ),
            )
        return units

    def _list_candidates(self) -> Iterator[tuple[tuple[str, str], _Candidate]]:
        pairs: dict[tuple[str, ...], list[_Pair]] = {}
        for id_, row in self.stored.rows.items():
            questions = [side.questions.get(id_) for side in self.sides]
            if not self._is_reached(row, questions):
                continue
            key = (row.rubric, *(question.rubric_ref or "" for question in questions if question))
            if key not in pairs:
                pairs[key] = list(self._pair_checks(row, questions))
            for pair, output in product(pairs[key], row.outputs):
                name = pair.old.check.id
                recorded = next(
                    (one.verdict for one in output.checks if one.id == name), output.verdict
                )
                place = blake2b(f"{id_}\0{output.sample}\0{name}".encode(), digest_size=16).digest()
                yield (name, str(recorded)), _Candidate(place, id_, output.sample, pair)

    def _is_reached(self, row: GradedRow, questions: Sequence[Question | None]) -> bool:
        """Whether the change can affect what is asked about a row that both sides have."""
        before, after = questions
        if before is None or after is None or before.input_digest != after.input_digest:
            return False
        if self.sides[0].side.artifact.kind is Kind.DATASET and before.row == after.row:
            return False
        return any(side.can_affect(row) for side in self.sides)

    def _pair_checks(self, row: GradedRow, questions: Sequence[Question | None]) -> Iterator[_Pair]:
        """Yield the checks of a row that ask judges on both sides, perhaps differently."""
        pairs = zip(self.sides, questions, strict=True)
        found = [side.find_grading(row, question) for side, question in pairs if question]
        if None in found:
            return
        old, new = ({one.check.id: one for one in _list_judged(rule)} for rule in found if rule)
        before, after = ([judged.check for judged in side.values()] for side in (old, new))
        is_whole = self.sides[0].side.artifact.kind is Kind.DATASET
        for old_id, new_id in match_checks(before, after):
            pair = _Pair(old[old_id], new[new_id])
            sides = zip(self.sides, pair, strict=True)
            refers = any(side.has_subject(judged.check) for side, judged in sides)
            if is_whole or pair.old.content != pair.new.content or refers:
                yield pair

    def _make_unit(
        self, candidate: _Candidate, graders: Sequence[_SideGrader]
    ) -> Iterator[_VerdictUnit]:
        """Yield a candidate as a unit if judges are asked different things on the two sides."""
        row = next(
            one for one in self.stored.rows[candidate.id].outputs if one.sample == candidate.sample
        )
        samples = tuple(Sample(row.output, side.questions[candidate.id]) for side in self.sides)
        calls: list[dict[str, JudgeCall]] = []
        for grader, judged, sample in zip(graders, candidate.pair, samples, strict=True):
            self._calls.clear()
            result = grader.grade(judged, sample)
            calls.append(dict(self._calls))
            self._unasked = self._unasked or ("" if self._calls else result.reason)
        old, new = calls
        if not old or not new or old.keys() == new.keys():
            return
        # An added statement has no old wording to ask twice, so the new one is asked twice.
        repeated = 0 if old.keys() - new.keys() else 1
        changed = [call for key, call in calls[repeated].items() if key not in calls[1 - repeated]]
        times = 1 + max(call.sample for call in changed)
        self._repeats |= {call.key: times for call in changed}
        # What is asked next is not known yet: all that such a judge is asked is repeated.
        self._repeats |= {call.judge: times for call in changed if call.next_prompt}
        recorded = next((one for one in row.checks if one.id == candidate.pair.old.check.id), None)
        replies = recorded.reply_digests if recorded and not self.session.judges.fresh else ()
        yield _VerdictUnit(
            candidate.id, candidate.pair, (samples[0], samples[1]), repeated, replies
        )

    def _note_call(self, call: JudgeCall) -> JudgeReply:
        # Of a judge that asks twice, the second prompt shows but for the reply to the first.
        self._calls[call.key + compute_digest(call.next_prompt)] = call
        return NO_REPLY

    def _ask(self, call: JudgeCall) -> JudgeReply:
        return self.session.ask(call, wanted=self._wanted)

    def _ask_again(self, call: JudgeCall) -> JudgeReply:
        times = self._repeats.get(call.key, self._repeats.get(call.judge, 0))
        return self._ask(replace(call, sample=call.sample + times))

    def _make_grader(self, side: int, ask: _Ask) -> _SideGrader:
        return _SideGrader(self.sides[side], self.model, self.strict, ask)

    def _judge_units(self, units: Sequence[_VerdictUnit]) -> list[_Verdicts]:
        first = [self._make_grader(side, self._ask) for side in (0, 1)]
        again = [self._make_grader(side, self._ask_again) for side in (0, 1)]
        found = []
        for unit in units:
            self._wanted = unit.replies
            old, new = (first[side].grade(unit.pair[side], unit.samples[side]) for side in (0, 1))
            repeated = again[unit.repeated].grade(
                unit.pair[unit.repeated], unit.samples[unit.repeated]
            )
            found.append(_Verdicts(unit, old, new, repeated))
        return found

    def _count_flips(self, found: Sequence[_Verdicts]) -> AskedChange:
        judged = [one for one in found if one.is_judged]
        if not judged:
            reason = next(
                (result.reason for one in found for result in one[1:] if result.score is None), ""
            )
            raise RefusedError(
                f"none of {len(found):,} outputs could be judged in both wordings: {reason}",
                place=Place(str(self.request.run)),
            )
        flipped, own = [one for one in judged if one.flips], sum(one.flips_itself for one in judged)
        excess = Counter((Fraction(one.flips - one.flips_itself), 1) for one in judged)
        to_fail = sum(one.new.verdict is Verdict.FAIL for one in flipped)
        return AskedChange(
            run=str(self.request.run),
            verdicts=len(judged),
            to_fail=to_fail,
            to_pass=len(flipped) - to_fail,
            own=own,
            unjudged=len(found) - len(judged),
            beyond_noise=len(flipped) > own
            and estimate_change(excess).conclusion is Conclusion.SIGNIFICANT,
            mean_shift=sum((one.shift for one in judged), Fraction(0)) / len(judged),
            bound=None if flipped else bound_rate(len(judged)),
            engines=tuple(sorted({name for one in judged for name in one.new.engine.split(", ")})),
            flips=tuple(map(_describe_flip, flipped[:_EXAMPLES])),
        )


def _list_judged(rule: GradingRule) -> Iterator[EncodedCheck]:
    return (one for one in rule[1] if any(find_check_pins((), one.check.params)))


def _describe_flip(one: _Verdicts) -> FlippedVerdict:
    name, old, new = one.unit.pair.new.check.id, one.old, one.new
    return FlippedVerdict(
        one.unit.id, name, old.score, new.score, old.verdict, new.verdict, new.reason
    )


@contextmanager
def open_wording_trial(
    request: WordingRequest,
    old: ChangeSide,
    new: ChangeSide,
    *,
    store: ArtifactStore,
    judges: Judges,
) -> Iterator[WordingTrial]:
    """Open a comparison of wordings: find run and questions, and open the cache of replies.

    Judges that name no model get that of `judges`, else the one that the run recorded.
    """
    with open_session(judges, store.git.common) as session:
        finder = VersionFinder(store)
        stored = read_stored_run(request.run, finder)
        sides = tuple(SideReplay.from_run(side, stored, finder, session) for side in (old, new))
        model = judges.model or read_judge_model(stored.run)
        strict = read_strictness(stored.run, store)
        yield WordingTrial(request, stored, (sides[0], sides[1]), session, model, strict)
