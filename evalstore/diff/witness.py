"""Looks for an output whose score moves, and shows only outputs graded under both rubrics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import chain, islice, product

from evalstore.checks.kinds.fact_match import is_empty_check
from evalstore.diff.answers.joint import States, is_same_question
from evalstore.diff.answers.raw_answers import RawAnswer
from evalstore.diff.attempts import (
    Attempt,
    repeat_sample,
    yield_answers,
    yield_measured,
    yield_outputs,
    yield_texts,
)
from evalstore.diff.candidates.call_records import build_records
from evalstore.diff.candidates.output_assembly import OutputAssembly
from evalstore.diff.candidates.texts import (
    PLAIN_TEXT,
    build_few_candidates,
    list_expected_outputs,
    list_fragments,
    order_texts,
)
from evalstore.diff.change import STATEMENTS_CHANGED, Change, RubricEffect
from evalstore.diff.deciders.judges import list_possible_scores
from evalstore.diff.deciders.statements import compute_said, list_said, yield_replies
from evalstore.diff.direction import EITHER, LOOSER
from evalstore.diff.findings import Direction, JudgedScore, Witness
from evalstore.diff.kinds import KINDS, find_plain_kind
from evalstore.diff.limits import EVIDENCE
from evalstore.diff.plain_data import make_plain
from evalstore.diff.references import ArtifactLoader
from evalstore.diff.rubric_state import CheckState, RubricState, read_rubric_state
from evalstore.documents import write_canonical
from evalstore.errors import EvalstoreError
from evalstore.identity_cache import IdentityCache
from evalstore.model import CheckResult, Output, RubricResult, Sample, Scoring, UnscoredReason
from evalstore.model.measures import NO_MEASURES
from evalstore.text import list_odd_letters

_ENDS = (Fraction(0), Fraction(1))
# What judges are assumed to say, by the check's token: a score, or a score for each statement's
# text.
Judgements = Mapping[str, Fraction | Mapping[str, Fraction] | None]


class _EnoughError(Exception):
    """The budget of the search is spent."""


@dataclass(slots=True)
class _PreparedCheck:
    """One check, prepared once, with its results so far.

    It keeps `check` alive, so that no other object gets the same `id()`.
    """

    check: CheckState
    cost: int
    is_portable: bool
    grade: Callable[[Sample], CheckResult]
    results: dict[tuple[str | None, ...], CheckResult] = field(default_factory=dict)


@dataclass(slots=True)
class Replay:
    """Grades outputs under both rubrics; each check is prepared once.

    `load` reads what the rubrics refer to. `examples` are those of the two files, which are tried
    before any output is invented. `invents`: questions are invented, too.
    """

    old: RubricState
    new: RubricState
    load: ArtifactLoader | None = None
    examples: Sequence[Attempt] = ()
    invents: bool = True
    _spent: int = 0
    _limit: int = EVIDENCE.steps
    _prepared: dict[int, _PreparedCheck] = field(default_factory=dict)
    _inner: dict[tuple[str, str, str], RubricState | None] = field(default_factory=dict)
    _scorings: IdentityCache[Scoring] = field(
        default_factory=lambda: IdentityCache(RubricState.to_scoring)
    )

    def find(self, change: Change, direction: Direction) -> Witness | None:
        """Return the best output found whose score moves under this edit alone."""
        if change.rule == STATEMENTS_CHANGED:
            return self._find_by_replies(change)
        states, asks_more = change.states, _asks_more(change)
        texts = {} if asks_more or change.effect is None else change.effect.texts
        built = yield_measured(change) if asks_more else yield_outputs(change)
        plain = chain(self.examples, yield_texts(texts), built)
        found = self._choose_telling(self._try_samples(states, plain, texts, direction), states)
        if found is None and not asks_more:
            found = self._find_by_goals(states, change.effect, direction, change)
        if not self.invents or (
            found and found.output.strip() and None not in {found.old_score, found.new_score}
        ):
            return found
        # Without a question, some check may have nothing to grade.
        return (
            self._choose_telling(
                self._try_samples(states, yield_answers(change), {}, direction), states
            )
            or found
        )

    def find_quickly(self, change: Change, direction: Direction) -> Witness | None:
        """Return the first of a few outputs whose score moves under this edit alone."""
        if change.rule == STATEMENTS_CHANGED:
            return self._find_by_replies(change)
        if _asks_more(change):
            return None
        few = islice(build_few_candidates(change), EVIDENCE.few)
        tried = (Attempt(Sample(Output(text))) for text in few)
        return next(self._try_samples(change.states, tried, {}, direction), None)

    def find_total(
        self, effect: RubricEffect | None, shown: Iterable[Witness], direction: Direction
    ) -> Witness | None:
        """Return an output that gets different scores from the two rubrics.

        It is an example, a text of the effect, one of `shown`, or built for a goal of the effect.
        """
        states, texts = (self.old, self.new), effect.texts if effect else {}
        samples = chain(self.examples, yield_texts(texts), map(repeat_sample, shown))
        found = self._choose_telling(self._try_samples(states, samples, texts, direction), states)
        return found or self._find_by_goals(states, effect, direction)

    def _find_by_replies(self, change: Change) -> Witness | None:
        """Return an output whose score moves, given what judges may say about each statement.

        It is the first whose verdict changes, else the first whose score moves.
        """
        states, found, moves = change.states, None, list(yield_replies(change))
        texts = islice(yield_outputs(change), EVIDENCE.texts_beside)
        samples = chain([Attempt(Sample(Output(PLAIN_TEXT)))], texts)
        try:
            if not moves or not self._are_gradable(states, change.token):
                return None
            judgements = self._list_judgements(states, change.token)
            for sample, others, replies in product(samples, judgements, moves):
                witness = self._replay(states, sample, {**others, change.token: replies})
                if witness and witness.old_verdict is not witness.new_verdict:
                    return _add_said(witness, change, replies)
                if witness and found is None:
                    found = _add_said(witness, change, replies)
        except (EvalstoreError, _EnoughError):
            return found
        return found

    def _choose_telling(self, tried: Iterable[Witness], states: States) -> Witness | None:
        """Return the best witness; `_rank` says which is better, and an example is best."""
        found: list[tuple[tuple[bool, ...], int, Witness]] = []
        for number, witness in enumerate(tried):
            rank = self._rank(witness, states)
            found.append((rank, number, witness))
            if not any(rank[1:]) or self._spent > self._limit // 2:
                break
        return min(found, key=lambda one: one[:2])[2] if found else None

    def _rank(self, witness: Witness, states: States) -> tuple[bool, ...]:
        return (
            not witness.example,
            states != (self.old, self.new) and not self._is_total(witness),
            None in {witness.old_score, witness.new_score},
            bool(witness.judged) and not witness.least_shift,
            not witness.output.strip(),
            bool(list_odd_letters(witness.output)),
            witness.old_verdict is witness.new_verdict,
        )

    def _find_by_goals(
        self,
        states: States,
        effect: RubricEffect | None,
        direction: Direction,
        change: Change | None = None,
    ) -> Witness | None:
        """Return an output built for answers that move the score; `change` is set for one edit."""
        checks = (*states[0].checks, *states[1].checks)
        if effect is None or not effect.moves or any(map(self._hides_answer, checks)):
            return None
        # The search by single texts may have used up the budget: add some steps for this one.
        self._limit = min(
            self._limit + EVIDENCE.goal_steps, EVIDENCE.steps + 4 * EVIDENCE.goal_steps
        )
        expected = list_expected_outputs(change) if change else []
        assembly = OutputAssembly(
            states,
            self._grade_score,
            self._list_fragments,
            change.token if change else "",
            expected,
        )
        try:
            if not self._are_gradable(states):
                return None
            for goal in effect.list_goals():
                if not _allows(direction, goal.shift):
                    continue
                built = islice(assembly.build_outputs(goal), EVIDENCE.goal_outputs)
                for output in chain.from_iterable(map(_fill_blank, built)):
                    witness = self._replay(states, Attempt(Sample(output)), goal.judged)
                    if witness and _fits(witness, direction):
                        return witness
        except (EvalstoreError, _EnoughError):
            return None
        return None

    def _grade_score(self, check: CheckState, output: Output) -> Fraction | None:
        return self._grade(self._prepare_check(check), Sample(output)).score

    def _list_fragments(self, check: CheckState) -> list[str]:
        inner = self._find_inner(check)
        if inner is None:
            return list_fragments(check)
        parts = [list_fragments(one)[: EVIDENCE.texts_beside] for one in inner.checks]
        return [
            "\n\n".join(part[0] for part in parts if part),
            *(text for part in parts for text in part),
        ]

    def _try_samples(
        self,
        states: States,
        samples: Iterable[Attempt],
        texts: Mapping[str, Fraction | None],
        direction: Direction,
    ) -> Iterator[Witness]:
        """Yield witnesses that fit the direction.

        `texts` says how far texts move at least, whatever judges say. After the first witness, only
        a limited number of samples is tried.
        """
        left: int | None = None
        try:
            if self._spent > self._limit or not self._are_gradable(states):
                return
            judgements = self._list_judgements(states)
            for sample in samples:
                if left == 0:
                    return
                left = None if left is None else left - 1
                for judged in judgements:
                    witness = self._replay(states, sample, judged)
                    if witness and _fits(witness, direction):
                        left = EVIDENCE.outputs if left is None else left
                        shift = (
                            texts.get(witness.output)
                            if witness.judged and witness.question is None
                            else None
                        )
                        yield replace(witness, least_shift=shift)
                        break
        except (EvalstoreError, _EnoughError):
            return  # validation says what is wrong with a rubric that cannot be run

    def _is_total(self, witness: Witness) -> bool:
        """Whether an output moves between the two whole rubrics as it does under one edit."""
        states = self.old, self.new
        try:
            judges = [check for state in states for check in self._list_judges(state)]
            said = {one.check: one.score for one in witness.judged if not one.about}
            judged = {check.token: said.get(check.id) for check in judges}
            if None in judged.values() or not self._are_gradable(states):
                return False
            total = self._replay(states, repeat_sample(witness), judged)
        except (EvalstoreError, _EnoughError):
            return False
        return total is not None and _answer(total) == _answer(witness)

    def _are_gradable(self, states: States, edited: str = "") -> bool:
        # A judge that is asked the same says the same before and after. If it is asked something
        # else, its answer is unknown. A judge that is asked on one side only may say anything. For
        # the `edited` check, the replies on its statements are given.
        judged = [{check.token: check for check in self._list_judges(state)} for state in states]
        shared = judged[0].keys() & judged[1].keys()
        for token in shared - {edited}:
            old, new = judged[0][token], judged[1][token]
            if old is not new and not is_same_question(old, new):
                return False
        return all(self._is_gradable(check) for state in states for check in state.checks)

    def _list_judgements(self, states: States, edited: str = "") -> list[Mapping[str, Fraction]]:
        """Return judges' scores by token: all highest, all lowest, then one at its threshold."""
        judges = chain.from_iterable(map(self._list_judges, states))
        checks = [check for check in judges if check.token != edited]
        if not checks:
            return [{}]
        # The scores of two checks that ask the same are one list.
        possible = {check.token: list_possible_scores(check, self.load) for check in checks}
        highest = {token: max(scores or _ENDS) for token, scores in possible.items()}
        lowest = {token: min(scores or _ENDS) for token, scores in possible.items()}
        judgements: list[Mapping[str, Fraction]] = [highest, lowest]
        bars = _iterate_bars(checks, possible)
        for check, score in islice(bars, EVIDENCE.judged_scores):
            # Checks that ask the same get the same score.
            alike = {one.token: score for one in checks if is_same_question(check, one)}
            judgements += [{**highest, **alike}, {**lowest, **alike}]
        return judgements

    def _is_gradable(self, check: CheckState) -> bool:
        if not check.grading.holds_rubric:
            return _is_answerable(check)
        if (inner := self._find_inner(check)) is None:
            return False
        # A composite hides the errors of its checks, so none of these may need an engine that other
        # machines may lack.
        return all(_is_answerable(one) and _is_portable(one) for one in inner.checks)

    def _list_judges(self, state: RubricState) -> Iterator[CheckState]:
        """Yield the checks that ask judges, in a rubric and in the rubrics of its composites."""
        for check in state.checks:
            inner = self._find_inner(check)
            yield from filter(_names_judges, (check,) if inner is None else inner.checks)

    def _hides_judge(self, check: CheckState) -> bool:
        inner = self._find_inner(check)
        return inner is not None and any(map(_names_judges, inner.checks))

    def _hides_answer(self, check: CheckState) -> bool:
        """Whether a text cannot show the answer: a question or an inner judge decides it."""
        return find_plain_kind(check.kind) != check.kind or self._hides_judge(check)

    def _find_inner(self, check: CheckState) -> RubricState | None:
        """Return a composite's rubric, with its id in front of its checks' ids; else None."""
        if not check.grading.holds_rubric or self.load is None:
            return None
        key = check.params["rubric_ref"], check.token, check.id
        if key not in self._inner:
            try:
                inner = read_rubric_state(make_plain(self.load(key[0]).value))
            except EvalstoreError:  # without it, nothing can be graded
                inner = None
            checks = inner.checks if inner else ()
            named = tuple(
                replace(one, token=f"{key[1]}/{one.id}", id=f"{key[2]}/{one.id}") for one in checks
            )
            self._inner[key] = inner and replace(inner, checks=named)
        return self._inner[key]

    def _replay(self, states: States, attempt: Attempt, judged: Judgements) -> Witness | None:
        old, new = (self._run(state, attempt.sample, judged) for state in states)
        if (old.score, old.verdict) == (new.score, new.verdict):
            return None
        names = {check.token: check.id for state in states for check in self._list_judges(state)}
        scores = {token: score for token, score in judged.items() if isinstance(score, Fraction)}
        shown = tuple(JudgedScore(names[one], scores[one]) for one in scores if one in names)
        output, question = attempt.sample.output, attempt.sample.question
        return Witness(
            output.text,
            old.score,
            new.score,
            old.verdict,
            new.verdict,
            output.tool_calls,
            shown,
            question=question.row if question else None,
            example=attempt.example,
            measures=output.measures,
        )

    def _run(self, state: RubricState, sample: Sample, judged: Judgements) -> RubricResult:
        from evalstore.checks import combine_results

        self._spend(EVIDENCE.combining * len(state.checks))
        results = [self._answer(check, sample, judged) for check in state.checks]
        return combine_results(self._scorings.find(state), results)

    def _answer(self, check: CheckState, sample: Sample, judged: Judgements) -> CheckResult:
        if _names_judges(check):
            said = judged[check.token]
            score = compute_said(check, said) if isinstance(said, Mapping) else said
            return check.grade_answer(RawAnswer(score))
        if not self._hides_judge(check):
            return self._grade(self._prepare_check(check), sample)
        from evalstore.checks.evaluate import apply_threshold
        from evalstore.checks.kinds.composite import grade_inner_result

        inner = self._find_inner(check)
        assert inner is not None  # noqa: S101  # it hides a judge
        grade = grade_inner_result(
            check.params["rubric_ref"], inner.to_scoring(), self._run(inner, sample, judged)
        )
        return apply_threshold(check.to_check(), grade, strict=False)

    def _grade(self, check: _PreparedCheck, sample: Sample) -> CheckResult:
        output, row = sample.output, sample.question.row if sample.question else None
        calls = None if output.tool_calls is None else write_canonical(list(output.tool_calls))
        asked = None if row is None else write_canonical(dict(row))
        numbers = "" if output.measures == NO_MEASURES else str(output.measures)
        known = output.text, calls, asked, numbers
        if known not in check.results:
            self._spend(
                check.cost * (1 + sum(len(part or "") for part in known) // EVIDENCE.chars_per_step)
            )
            result = check.grade(sample)
            if result.unscored is UnscoredReason.ERROR and not check.is_portable:
                raise _EnoughError  # an engine is missing here, so no witness is reliable
            check.results[known] = result
        return check.results[known]

    def _prepare_check(self, check: CheckState) -> _PreparedCheck:
        if id(check) not in self._prepared:
            from evalstore.checks import CheckContext, prepare_check

            cost, written = self._measure_cost(check)
            self._spend(written * EVIDENCE.compiling)
            grade = prepare_check(check.to_check(), CheckContext(self.load))
            self._prepared[id(check)] = _PreparedCheck(check, cost, _is_portable(check), grade)
        return self._prepared[id(check)]

    def _measure_cost(self, check: CheckState) -> tuple[int, int]:
        """Return the cost of grading with a check, and the length of its schemas."""
        if inner := self._find_inner(check):
            costs = [self._measure_cost(one) for one in inner.checks]
            return sum(cost for cost, _ in costs), sum(written for _, written in costs)
        listed = sum(len(value) for value in check.params.values() if isinstance(value, list))
        written = (
            len(write_canonical(check.params["schema"]))
            if check.params.get("schema") is not None
            else 0
        )
        return KINDS[check.kind].cost + listed + written // EVIDENCE.schema_chars_per_step, written

    def _spend(self, steps: int) -> None:
        self._spent += steps
        if self._spent > self._limit:
            raise _EnoughError


def _add_said(witness: Witness, change: Change, replies: Mapping[str, Fraction]) -> Witness:
    """Return a witness with what judges are assumed to say about each statement."""
    supposed = bool(change.decision and change.decision.is_assumed)
    judged = (*list_said(change, replies), *witness.judged)
    return replace(witness, judged=judged, supposed=supposed)


def _allows(direction: Direction, shift: Fraction | None) -> bool:
    """Whether a claim with this direction allows such a shift of the score."""
    if direction is EITHER or shift is None:
        return direction is EITHER
    return shift >= 0 if direction is LOOSER else shift <= 0


def _fits(witness: Witness, direction: Direction) -> bool:
    """Whether a claim with this direction is about this output.

    Only `EITHER` says something about an output that gains or loses its score.
    """
    return direction is EITHER or None not in {witness.old_score, witness.new_score}


def _iterate_bars(
    checks: Sequence[CheckState], possible: Mapping[str, Sequence[Fraction]]
) -> Iterator[tuple[CheckState, Fraction]]:
    """Yield each check with its scores other than the lowest and the highest."""
    for check in checks:
        for score in possible[check.token] or _list_bars(check):
            if score not in _ENDS:
                yield check, score


def _asks_more(change: Change) -> bool:
    """Whether the changed check reads more than a text and calls of tools that it names."""
    for check in change.edited_checks:
        if is_empty_check(check.params):
            continue
        kind = KINDS[check.kind]
        if kind.reads_more_than_text(check.params):
            return True
        if kind.demands_calls and not build_records(change):
            return True
    return False


def _is_answerable(check: CheckState) -> bool:
    """Whether a check can be graded: without a judge, or with an assumed reply."""
    return not check.reads_part if _names_judges(check) else _is_unjudged(check)


def _is_unjudged(check: CheckState) -> bool:
    # A check that asks no judge can be graded here. If it reads a question or recorded calls that
    # the output lacks, it has nothing to grade, and other checks can still be shown to move.
    return not KINDS[check.kind].asks_judges(check.params)


def _is_portable(check: CheckState) -> bool:
    return not check.grading.holds_rubric and check.is_portable


def _names_judges(check: CheckState) -> bool:
    """Whether the check's score is what judges say."""
    return check.grading.is_judgement


def _list_bars(check: CheckState) -> list[Fraction]:
    bar = check.bar or Fraction(0)
    return [1 - bar if check.negate else bar]


def _fill_blank(output: Output) -> Iterator[Output]:
    yield from (output._replace(text=text) for text in order_texts([output.text]))


def _answer(witness: Witness) -> tuple[object, ...]:
    return witness.old_score, witness.new_score, witness.old_verdict, witness.new_verdict
