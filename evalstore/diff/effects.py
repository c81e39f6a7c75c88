"""Finds what the edits of a rubric do, each alone and all together: one search for the texts of all their checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from itertools import starmap
from operator import eq
from typing import TYPE_CHECKING, NamedTuple

from evalstore.budget import SharedBudget
from evalstore.diff.answers.joint import (
    JointAnswer,
    JointAnswers,
    States,
    VariableNumbers,
    drop_unchanged,
    list_joint_answers,
    measure_part,
    number_variables,
    read_text_check,
)
from evalstore.diff.answers.texts import TextScore
from evalstore.diff.change import AnswerGoal, Change, RubricEffect
from evalstore.diff.direction import (
    EITHER,
    LOOSER,
    NONE,
    STRICTER,
    VERDICT_MODES,
    bound_direction,
    intersect_directions,
    is_always_scored,
    join_directions,
)
from evalstore.diff.findings import Claim, DiffFinding, Direction, TotalEffect
from evalstore.diff.kinds import KINDS
from evalstore.diff.limits import EFFECTS, PROOFS
from evalstore.diff.references import ArtifactLoader
from evalstore.diff.rubric_state import CheckState, RubricState
from evalstore.languages import (
    pattern_comparison,
)  # its names are imported where texts are searched
from evalstore.model import CheckResult, Output, Sample, UnscoredReason, Verdict, has_failed_check

if TYPE_CHECKING:
    from evalstore.languages.pattern_comparison import MembershipTable, RegexTree

    _Languages = tuple[RegexTree, ...]


_ZERO = Fraction(0)
# How far beside a bar a judge's score lies that is just below or above it.
_BESIDE = Fraction(1, 1000)
_ERROR = UnscoredReason.ERROR
_WHOLE = (Fraction(0), Fraction(1))
_STAYS = (_ZERO, _ZERO)
_PASSED = {Verdict.FAIL: 0, Verdict.PASS: 1}


class _Outcome(NamedTuple):
    score: Fraction | None
    verdict: Verdict


def find_effect(answers: JointAnswers) -> RubricEffect:
    """Return what an edit does, given all that the checks before and after it can answer together."""
    before, after = map(_Combiner, answers.states)
    extent, scored, texts = _Extent(), _Extent(), dict[str, _Extent]()
    moving: list[tuple[JointAnswer, Fraction | None]] = []
    for answer in answers:
        old, new = before.combine(answer.old), after.combine(answer.new)
        extent.add(old, new)
        if old != new and answer.text is not None:
            moving.append(
                (answer, None if old.score is None or new.score is None else new.score - old.score)
            )
        results = (*answer.old, *answer.new)
        if all(result.score is not None for result in results):
            scored.add(old, new)
        # No text that can be shown makes a check err; a check of calls has nothing to grade
        # wherever none are recorded.
        if answer.text is not None and not has_failed_check(results):
            texts.setdefault(answer.text, _Extent()).add(old, new)
    scores, verdicts = extent.directions
    if answers.continuous and any(state.combine not in VERDICT_MODES for state in answers.states):
        # The ways are corners: between two of them the score, and so the verdict, may be any other.
        verdicts = join_directions(
            scores, _compare_thresholds(*(state.threshold for state in answers.states))
        )
    return RubricEffect(
        moves=extent.lost or {scores, verdicts} != {NONE},
        direction=scores,
        verdict_direction=verdicts,
        max_shift=extent.shift,
        max_shift_scored=scored.shift,
        ways=answers.count,
        texts={text: one.least_shift for text, one in texts.items() if one.moves},
        goals=tuple(_list_goals(answers, moving)),
    )


def _list_goals(
    answers: JointAnswers, moving: Sequence[tuple[JointAnswer, Fraction | None]]
) -> Iterator[AnswerGoal]:
    """Yield goals of the answers that move, those that are easiest to build first."""
    for answer, shift in sorted(moving, key=lambda pair: _rank_answer(pair[0]))[: EFFECTS.goals]:
        judges = {
            check.token: answer.free[answers.numbers[id(check)]]
            for state in answers.states
            for check in state.checks
            if KINDS[check.kind].asks_judges(check.params)
            and answers.numbers[id(check)] in answer.free
        }
        scores = [{result.id: result.score for result in side} for side in (answer.old, answer.new)]
        judged = {
            token: raw.score + raw.side * _BESIDE
            for token, raw in judges.items()
            if raw.score is not None
        }
        # A judge that fails cannot be shown.
        if len(judged) == len(judges):
            yield AnswerGoal(answer.text or "", shift, (scores[0], scores[1]), judged)


def _rank_answer(answer: JointAnswer) -> tuple[int, int, int]:
    """Return how hard an answer is to build: what errs, what is missing, what is between 0 and 1."""
    results = {*answer.old, *answer.new}
    errors = sum(result.unscored is _ERROR for result in results)
    missing = sum(result.score is None for result in results)
    return errors, missing, sum(result.score not in _WHOLE for result in results) - missing


@dataclass(slots=True)
class _Extent:
    """How far scores rise at least and at most (a fall is below 0), and whether verdicts do.

    `lost`: an output has a score on one side only.
    """

    rises: tuple[Fraction, Fraction] | None = None
    failed: bool = False
    passed: bool = False
    lost: bool = False

    def add(self, old: _Outcome, new: _Outcome) -> None:
        if old.score is None or new.score is None:
            self.lost = self.lost or old.score is not new.score
            return
        rise = new.score - old.score
        least, most = self.rises or (rise, rise)
        self.rises = min(least, rise), max(most, rise)
        self.failed = self.failed or _PASSED[old.verdict] > _PASSED[new.verdict]
        self.passed = self.passed or _PASSED[old.verdict] < _PASSED[new.verdict]

    @property
    def shift(self) -> Fraction:
        least, most = self.rises or _STAYS
        return max(-least, most)

    @property
    def directions(self) -> tuple[Direction, Direction]:
        least, most = self.rises or _STAYS
        scores = bound_direction(below=least >= 0, above=most <= 0)
        return scores, bound_direction(below=not self.failed, above=not self.passed)

    @property
    def moves(self) -> bool:
        return {*self.directions} != {NONE}

    @property
    def least_shift(self) -> Fraction | None:
        """How far every score rises at least, or falls where it is below 0; None where one may stay."""
        least, most = self.rises or _STAYS
        return None if self.lost else least if least > 0 else most if most < 0 else None


@dataclass(slots=True)
class _Combiner:
    """Combines results as scoring does; the order of the checks does not count, so equal sets are combined once."""

    state: RubricState
    outcomes: dict[tuple[int, ...], _Outcome] = field(default_factory=dict)
    parts: dict[object, int] = field(default_factory=dict)
    numbers: dict[tuple[int, int], int] = field(default_factory=dict)

    def combine(self, results: tuple[CheckResult, ...]) -> _Outcome:
        key = tuple(sorted(map(self._number_part, enumerate(results))))
        if key not in self.outcomes:
            from evalstore.checks import combine_results

            combined = combine_results(self.state.to_scoring(), results)
            self.outcomes[key] = _Outcome(combined.score, combined.verdict)
        return self.outcomes[key]

    def _number_part(self, placed: tuple[int, CheckResult]) -> int:
        """Return the number of all that a result adds to the score; the same results come again and again."""
        place, result = placed
        known = place, id(result)
        if known not in self.numbers:
            check = self.state.checks[place]
            part = check.weight, check.is_gate, result.score, result.verdict, result.unscored
            self.numbers[known] = self.parts.setdefault(part, len(self.parts))
        return self.numbers[known]


def _compare_thresholds(old: Fraction, new: Fraction) -> Direction:
    return NONE if old == new else STRICTER if new > old else LOOSER


_STILL = TotalEffect(NONE, NONE, Fraction(0), Fraction(0))
_UNKNOWN = TotalEffect(EITHER, EITHER, None)


def attach_effects(
    changes: Sequence[Change], load: ArtifactLoader | None
) -> tuple[list[Change], RubricEffect | None]:
    """Return the changes, each edit of scoring with what it does alone, and what all of them do together."""
    edits = [
        index
        for index, change in enumerate(changes)
        if change.before and is_scoring_edit(*change.states)
    ]
    if not edits:
        return [*changes], None
    ends = changes[edits[0]].states[0], changes[edits[-1]].states[1]
    pairs = [*(changes[index].states for index in edits), *([ends] if len(edits) > 1 else [])]
    effects = find_effects(pairs, load)
    found = dict(zip(edits, effects, strict=False))
    return [
        replace(change, effect=found.get(index)) for index, change in enumerate(changes)
    ], effects[-1]


def is_scoring_edit(before: RubricState, after: RubricState) -> bool:
    """Whether scoring reads something that differs: not the names of checks, nor keys that it ignores."""
    if len(before.checks) != len(after.checks) or _list_settings(before) != _list_settings(after):
        return True
    # Of many checks an edit leaves all but one as they are.
    pairs = zip(before.checks, after.checks, strict=True)
    return any(one is not other and _list_parts(one) != _list_parts(other) for one, other in pairs)


def _list_settings(rubric: RubricState) -> tuple[object, ...]:
    return rubric.combine, rubric.threshold, rubric.missing, rubric.errors


def _list_read_settings(rubric: RubricState) -> tuple[object, ...]:
    """Return the settings without those that nothing reads: a policy for what cannot be, a bar between 0 and 1."""
    threshold = rubric.threshold
    if rubric.combine in VERDICT_MODES and threshold:
        threshold = Fraction(1)
    missing = rubric.missing if any(check.may_miss for check in rubric.checks) else None
    return (
        rubric.combine,
        threshold,
        missing,
        rubric.errors if any(check.may_err for check in rubric.checks) else None,
    )


def _list_parts(check: CheckState) -> tuple[object, ...]:
    return (
        check.token,
        check.kind,
        check.params,
        check.threshold,
        check.negate,
        check.weight,
        check.is_gate,
    )


def find_effects(pairs: Sequence[States], load: ArtifactLoader | None) -> list[RubricEffect | None]:
    """Return what each edit, given as the rubric before and after it, does; None where that is too much to find out."""
    states = [state for pair in pairs for state in pair]
    if len(pairs) > EFFECTS.edits:
        return [None] * len(pairs)
    budget, ways, numbers = SharedBudget(EFFECTS.total_steps), 0, number_variables(states)
    if any(len(state.checks) > EFFECTS.checks for state in states):
        return [_prove_still(pair, numbers, budget, load) for pair in pairs]
    common = _search_texts(numbers, states, budget)
    effects: list[RubricEffect | None] = []
    for pair in pairs:
        languages, table = common or _search_changed_texts(pair, numbers, budget)
        answers = list_joint_answers(pair, numbers, languages, table, load)
        fits = answers is not None and ways + answers.count <= EFFECTS.ways
        ways += answers.count if answers and fits else 0
        effects.append(
            find_effect(answers) if answers and fits else _prove_still(pair, numbers, budget, load)
        )
    return effects


def _prove_still(
    pair: States, numbers: VariableNumbers, budget: SharedBudget, load: ArtifactLoader | None
) -> RubricEffect | None:
    """Return the effect of an edit that moves nothing, looking only at the checks that it changes; None otherwise.

    What the changed checks give to the rubric's score is the same on both sides, whatever the
    others answer.
    """
    old, new = pair
    if _list_read_settings(old) != _list_read_settings(new):
        return None
    changed = drop_unchanged(pair, numbers)
    if all(
        len(state.checks) == len(part.checks) for state, part in zip(pair, changed, strict=True)
    ):
        return None  # that is what was looked at
    languages, table = _search_texts(numbers, changed, budget) or ((), _make_empty_table())
    answers = list_joint_answers(changed, numbers, languages, table, load)
    if answers is None or answers.count > PROOFS.ways:
        return None
    for answer in answers:
        sides = zip((answer.old, answer.new), changed, strict=True)
        before, after = (measure_part(state, results) for results, state in sides)
        if before != after:
            return None
    return RubricEffect(moves=False, ways=answers.count)


def join_effects(
    changes: Sequence[Change], findings: Sequence[DiffFinding], effect: RubricEffect | None
) -> TotalEffect:
    """Return what all edits do together; `effect` is that of the edits of scoring, None where it is not known."""
    edits, others = [], []
    for change, finding in zip(changes, findings, strict=True):
        if {*finding.directions} != {NONE}:
            is_edit = change.before and is_scoring_edit(*change.states)
            edits += [(change, finding)] if is_edit else []
            others += [] if is_edit else [finding]
    return _join([_join_edits(edits, effect), *others])


def _join_edits(
    edits: Sequence[tuple[Change, DiffFinding]], effect: RubricEffect | None
) -> TotalEffect:
    states = [state for change, _ in edits for state in change.states]
    # Between two edits a check may lose its score and get it back: no sum of the two covers that.
    is_sum = len(edits) < 2 or all(map(is_always_scored, states))  # noqa: PLR2004  # two edits
    total = _join([finding for _, finding in edits]) if is_sum else _UNKNOWN
    return (
        narrow_effect(total, effect)
        if effect and effect.moves
        else total
        if effect is None
        else _STILL
    )


def narrow_effect(claim: TotalEffect, effect: RubricEffect) -> TotalEffect:
    """Return a claim with the directions and bounds that hold by it and by all that the checks can answer."""
    score = intersect_directions(claim.direction, effect.direction)
    verdict = intersect_directions(claim.verdict_direction, effect.verdict_direction)
    # Where no two scores differ, a score itself is lost or won: then the direction is what the rule
    # says of that.
    directions = claim.directions if {score, verdict} == {NONE} else (score, verdict)
    shift = effect.max_shift if claim.max_shift is None else min(effect.max_shift, claim.max_shift)
    return TotalEffect(*directions, shift, min(shift, effect.max_shift_scored))


def _join(parts: Sequence[Claim]) -> TotalEffect:
    return TotalEffect(
        join_directions(*(part.direction for part in parts)),
        join_directions(*(part.verdict_direction for part in parts)),
        _add([part.max_shift for part in parts]),
        _add([part.max_shift_scored for part in parts]),
    )


def _add(shifts: Sequence[Fraction | None]) -> Fraction | None:
    known = [shift for shift in shifts if shift is not None]
    return min(Fraction(1), sum(known, Fraction(0))) if len(known) == len(shifts) else None


def _search_changed_texts(
    pair: States, numbers: VariableNumbers, budget: SharedBudget
) -> tuple[_Languages, MembershipTable]:
    """Return the texts that tell the checks apart that are on one side only; nothing is read of what is too much."""
    keys = [{numbers[id(check)] for check in state.checks} for state in pair]
    changed = [
        replace(
            state,
            checks=tuple(
                check for check in state.checks if numbers[id(check)] in keys[0] ^ keys[1]
            ),
        )
        for state in pair
    ]
    return _search_texts(numbers, changed, budget) or ((), _make_empty_table())


def _make_empty_table() -> MembershipTable:
    """Return the table where no text is read: one combination, of nothing."""
    return pattern_comparison.MembershipTable({(): ""}, is_complete=True)


def _search_texts(
    numbers: VariableNumbers, states: Sequence[RubricState], budget: SharedBudget
) -> tuple[_Languages, MembershipTable] | None:
    """Return the combinations that texts have; None where not all are found, or the scorer says otherwise."""
    checks = {numbers[id(check)]: check for state in states for check in state.checks}
    scores = {
        number: score for number, check in checks.items() if (score := read_text_check(check))
    }
    languages = tuple(
        dict.fromkeys(language for score in scores.values() for language in score.languages)
    )
    if not languages:
        return (), _make_empty_table()
    if len(languages) > EFFECTS.languages:
        return None
    table, spent = _find_memberships(languages, min(EFFECTS.search_steps, budget.left))
    budget.left -= spent
    if table is None:
        return None
    places = {language: place for place, language in enumerate(languages)}
    confirmed = all(
        _is_confirmed(checks[number], score, places, table) for number, score in scores.items()
    )
    return (languages, table) if table.is_complete and confirmed else None


@lru_cache(maxsize=64)
def _find_memberships(languages: _Languages, steps: int) -> tuple[MembershipTable | None, int]:
    """Return what texts have, and the steps it took; a site, an index and an audit compare the same releases again."""
    search = SharedBudget(steps)
    try:
        return pattern_comparison.find_memberships(languages, search), search.spent
    except pattern_comparison.UndecidedError:
        return None, search.spent


def _is_confirmed(
    check: CheckState, score: TextScore, places: Mapping[RegexTree, int], table: MembershipTable
) -> bool:
    """Whether the scorer gives every text the score that its languages say."""
    mine = [places[language] for language in score.languages]
    said = (score.compute(tuple(members[place] for place in mine)) for members in table.texts)
    return all(starmap(eq, zip(said, _grade_texts(check, table), strict=True)))


def _grade_texts(check: CheckState, table: MembershipTable) -> Iterator[Fraction | None]:
    from evalstore.checks import prepare_check

    grade = prepare_check(replace(check, negate=False).to_check())
    return (grade(Sample(Output(text))).score for text in table.texts.values())
