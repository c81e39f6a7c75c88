"""Lists what the checks of two rubrics can answer together, and what that adds to the score.

An answer to a text is listed only if some text gets it; a judge may answer anything. A check that
is on both sides and counts the same can be left out.

An unchanged check answers the same on both sides. So does one of which only the threshold, the
weight or `required` changed. What a check says about a text follows from the languages that contain
the text; a combination of these that no text has is left out. A check that reads more than the
text, or for which there is no automaton, answers whatever its kind can answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from itertools import chain, product
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from evalstore.diff.answers.raw_answers import ERROR, FAILED, MISSING, PASSED, RawAnswer
from evalstore.diff.answers.text_scores import TextScore
from evalstore.diff.answers.texts import read_text_score
from evalstore.diff.attainable_scores import list_scores
from evalstore.diff.deciders.judges import list_possible_scores
from evalstore.diff.direction import VERDICT_MODES
from evalstore.diff.kinds import KINDS, Params
from evalstore.diff.limits import PROOFS
from evalstore.diff.plain_data import is_same
from evalstore.diff.references import ArtifactLoader
from evalstore.diff.rubric_state import CheckState, RubricState
from evalstore.identity_cache import IdentityCache
from evalstore.languages import pattern_comparison  # a lazy package: names load on first use
from evalstore.languages.patterns import OUTPUT_LIMIT
from evalstore.model import CheckResult, Combine, UnscoredReason
from evalstore.model.question_params import find_question_key

if TYPE_CHECKING:
    from evalstore.checks.evaluate import CountedCheck
    from evalstore.languages.pattern_comparison import Membership, MembershipTable, RegexTree


_ORDER_MODES = frozenset({Combine.MIN, Combine.MAX, Combine.MEDIAN})

States = tuple[RubricState, RubricState]
# The number of a variable: all checks that always give the same answer are one variable.
_Key = int
# The variable of each check, by the `id()` of the check.
VariableNumbers = dict[int, _Key]
# The checks that follow from the text alone, by the `id()` of the check.
TextScores = Mapping[int, TextScore]
# The checks that are one variable.
_Variables = Mapping[_Key, list[CheckState]]
_ZERO = Fraction(0)
# How some variables that do not follow from the text answer together. Each way has one answer per
# variable, and the most visible characters that an output with these answers can have.
FreeWays = Mapping[tuple[_Key, ...], Mapping[tuple[RawAnswer, ...], int]]
# The checks of one side, each with the function that grades its raw answer, and its variable.
_Graders = Sequence[tuple[CheckState, Callable[[RawAnswer], CheckResult], _Key]]


class JointAnswer(NamedTuple):
    """One way to answer: both sides' results in order, and a shortest text with these answers.

    The text is None if a check errs on it. `free` has the raw answers of the variables that do not
    follow from the text.
    """

    old: tuple[CheckResult, ...]
    new: tuple[CheckResult, ...]
    text: str | None
    free: Mapping[_Key, RawAnswer]


class TextWay(NamedTuple):
    """What all checks of the text answer to some texts, and the shortest of these texts.

    Each text has at least `visible` characters that are not blank. `text` is None if a check errs.
    """

    text: str | None
    visible: int
    answers: Mapping[_Key, RawAnswer]


class KnownTexts(NamedTuple):
    """What is known about texts: each check's languages, and a table of their combinations.

    `places` says which column of `table` a language has. About a check with any other language,
    nothing is known.
    """

    scores: TextScores
    places: Mapping[RegexTree, int]
    table: MembershipTable


@dataclass(frozen=True, slots=True)
class JointAnswers:
    """All ways to answer.

    If `continuous`, some score can be anything in an interval, and the ways have only its corners.
    The groups of `free_ways` depend on the length of the text, and not on each other.
    """

    states: States
    continuous: bool
    numbers: VariableNumbers
    text_ways: tuple[TextWay, ...]
    free_ways: FreeWays
    # Checks that have nothing to grade for the same outputs: those without recorded calls.
    missing_together: frozenset[_Key]

    @property
    def count(self) -> int:
        """How many ways there are at most."""
        return len(self.text_ways) * prod(map(len, self.free_ways.values()))

    def __iter__(self) -> Iterator[JointAnswer]:
        graders = self._list_graders()
        keys = [key for group in self.free_ways for key in group]
        for text in self.text_ways:
            fitting = [_select_fitting(ways, text.visible) for ways in self.free_ways.values()]
            for chosen in product(*fitting):
                free = dict(zip(keys, chain.from_iterable(chosen), strict=True))
                if answer := self._build_answer(text, free, graders):
                    yield answer

    def list_distinct(self) -> Iterator[JointAnswer]:
        """Yield the ways to answer, but only one of those that swap answers of equal checks."""
        graders = self._list_graders()
        # A longer output can be answered in fewer ways; most texts are short enough for all.
        lengths = sorted({most for ways in self.free_ways.values() for most in ways.values()})
        list_free = cache(partial(self._list_free, graders))
        for text in self.text_ways:
            length = next((length for length in lengths if length >= text.visible), text.visible)
            for free in list_free(length):
                if answer := self._build_answer(text, free, graders):
                    yield answer

    def _list_free(
        self, graders: tuple[_Graders, _Graders], visible: int
    ) -> list[Mapping[_Key, RawAnswer]]:
        """Return the distinct ways to answer what does not follow from the text."""
        ways: dict[tuple[int, ...], Mapping[_Key, RawAnswer]] = {(): {}}
        numbers: dict[object, int] = {}
        for keys, group in self.free_ways.items():
            longer: dict[tuple[int, ...], Mapping[_Key, RawAnswer]] = {}
            for answers in _select_fitting(group, visible):
                added = dict(zip(keys, answers, strict=True))
                found = self._list_parts(added, graders)
                parts = [numbers.setdefault(part, len(numbers)) for part in found]
                for known, free in ways.items():
                    longer.setdefault(tuple(sorted((*known, *parts))), {**free, **added})
            ways = longer
        return [*ways.values()]

    def _list_graders(self) -> tuple[_Graders, _Graders]:
        # A check gives the same few raw answers, as identical objects, again and again.
        sides: list[_Graders] = []
        for state in self.states:
            graders = [IdentityCache(check.grade_answer).find for check in state.checks]
            numbers = [self.numbers[id(check)] for check in state.checks]
            sides.append([*zip(state.checks, graders, numbers, strict=True)])
        return sides[0], sides[1]

    def _build_answer(
        self, text: TextWay, free: Mapping[_Key, RawAnswer], graders: tuple[_Graders, _Graders]
    ) -> JointAnswer | None:
        """Return what all checks answer; None if no output can get these answers."""
        answers = {**text.answers, **free}
        reasons = [answers[key].unscored for key in self.missing_together]
        if len({reason is UnscoredReason.MISSING for reason in reasons}) > 1:
            return None
        old, new = (tuple([grade(answers[key]) for _, grade, key in side]) for side in graders)
        return JointAnswer(old, new, text.text, free)

    def _list_parts(
        self, answers: Mapping[_Key, RawAnswer], graders: tuple[_Graders, _Graders]
    ) -> Iterator[object]:
        """Yield all that the answers add to both results, and whether they are missing together."""
        for side, checks in enumerate(graders):
            for check, grade, key in checks:
                if key in answers:
                    result = grade(answers[key])
                    yield (
                        side,
                        key in self.missing_together,
                        check.weight,
                        check.is_required,
                        result.score,
                        result.verdict,
                        result.unscored,
                    )


def _select_fitting(
    ways: Mapping[tuple[RawAnswer, ...], int], visible: int
) -> list[tuple[RawAnswer, ...]]:
    """Return the ways in which an output with this many visible characters can be answered."""
    return [way for way, most in ways.items() if most >= visible]


def list_joint_answers(
    states: States,
    numbers: VariableNumbers,
    known: KnownTexts,
    load: ArtifactLoader | None,
) -> JointAnswers | None:
    """Return what both rubrics can answer together; None if there are too many ways.

    A check whose languages are not in `known` is a free variable. `load` reads the judges that the
    rubrics ask.
    """
    checks = _list_variables(states, numbers)
    texts = dict(_iterate_text_scores(checks, known))
    free = {key: users for key, users in checks.items() if key not in texts}
    scores = _list_scores(free, states, numbers, load)
    free_ways = _list_free_ways(free, states, scores)
    # No automaton says on which texts a check errs, so it may err on any of them.
    erring = [key for key in texts if checks[key][0].may_err]
    if len(known.table.texts) << len(erring) > PROOFS.ways:
        return None
    answers = JointAnswers(
        states,
        not all(scores.values()),
        numbers,
        tuple(_list_text_ways(texts, erring, known)),
        free_ways,
        frozenset(key for key, users in free.items() if _needs_calls(users[0])),
    )
    return answers if answers.count <= PROOFS.ways else None


def _iterate_text_scores(checks: _Variables, known: KnownTexts) -> Iterator[tuple[_Key, TextScore]]:
    """Yield the variables that follow from the text alone, if all their languages are known."""
    for key, (check, *_) in checks.items():
        score = known.scores.get(id(check))
        if score and all(language in known.places for language in score.languages):
            yield key, score


def _list_scores(
    free: _Variables, states: States, numbers: VariableNumbers, load: ArtifactLoader | None
) -> dict[_Key, Sequence[Fraction]]:
    """Return the scores that each variable can have; none if it can be any score of an interval."""
    old, new = ({numbers[id(check)] for check in state.checks} for state in states)
    # A judge that is asked on one side only is not read: any score from it counts as possible.
    loads = {key: load if key in old & new else None for key in free}
    return {key: list_possible_scores(users[0], loads[key]) for key, users in free.items()}


def _list_free_ways(
    free: _Variables, states: States, scores: Mapping[_Key, Sequence[Fraction]]
) -> FreeWays:
    ways = dict(_list_groups(free))
    grouped = {key for group in ways for key in group}
    for key, users in free.items():
        if key not in grouped:
            answers = _list_free_answers(users, states, free, scores[key])
            ways[key,] = {(answer,): OUTPUT_LIMIT for answer in answers}
    return ways


def _list_groups(free: _Variables) -> FreeWays:
    """Return the ways of the variables that read the same traits of an output."""
    groups: dict[tuple[_Key, ...], Mapping[tuple[RawAnswer, ...], int]] = {}
    for kind in sorted({users[0].kind for users in free.values()}):
        params = {key: users[0].params for key, users in free.items() if users[0].kind == kind}
        if ways := KINDS[kind].joint_answers(list(params.values())):
            groups[tuple(params)] = ways
    return groups


def _needs_calls(check: CheckState) -> bool:
    """Whether a check has nothing to grade if, and only if, no calls are recorded."""
    return KINDS[check.kind].demands_calls and check.params["tools"] is not None


def number_variables(states: Iterable[RubricState]) -> VariableNumbers:
    """Return a number for each check, by `id()`; checks that always answer the same share one.

    Answers are compared before `negate` and the threshold apply. Parameters are compared as values,
    and not as JSON, because they can be large.
    """
    numbers: VariableNumbers = {}
    firsts: list[CheckState] = []
    for check in (check for state in states for check in state.checks):
        if id(check) not in numbers:
            known = (
                number for number, first in enumerate(firsts) if is_same_question(first, check)
            )
            numbers[id(check)] = number = next(known, len(firsts))
            firsts += [check] if number == len(firsts) else []
    return numbers


def is_same_question(one: CheckState, other: CheckState) -> bool:
    """Whether two checks always answer the same, before `negate` and the threshold apply."""
    if one.kind != other.kind or (one.may_miss, one.may_err) != (other.may_miss, other.may_err):
        return False
    if not is_same(one.params, other.params) and not is_same(*map(_simplify_params, (one, other))):
        return False
    if one.reads_threshold and one.threshold != other.threshold:
        return False
    # A check fails if `on` leaves nothing to read, with or without `negate`.
    if one.reads_part and one.negate is not other.negate:
        return False
    # The threshold of a rubric that was not found is unknown: whether its score passes says nothing
    # about 1 - score.
    return one.negate is other.negate or None not in {one.bar, other.bar}


def _simplify_params(check: CheckState) -> Params:
    """Return simpler parameters with the same answers: effective limits, and no duplicates."""
    kind, params = KINDS[check.kind], check.params
    simple = dict(params)
    for name, param in kind.params.items():
        if param.limit and not find_question_key(params[name]):
            simple[name] = param.limit.of(params)
        # The length of a list may decide which outputs take too many steps.
        if param.is_set and param.items and not check.may_err:
            simple[name] = sorted({*params[name]})
    return kind.simplify(simple)


def _list_variables(states: States, numbers: VariableNumbers) -> _Variables:
    variables: dict[_Key, list[CheckState]] = {}
    for state in states:
        for check in state.checks:
            variables.setdefault(numbers[id(check)], []).append(check)
    return variables


def read_text_scores(states: Iterable[RubricState]) -> TextScores:
    """Return the checks that depend on the text alone, without those that may be missing."""
    checks = {id(check): check for state in states for check in state.checks if not check.may_miss}
    scores = {number: read_text_score(check) for number, check in checks.items()}
    return {number: score for number, score in scores.items() if score}


def _list_text_ways(
    texts: Mapping[_Key, TextScore], erring: Sequence[_Key], known: KnownTexts
) -> Iterator[TextWay]:
    counts = [*map(pattern_comparison.count_visible, known.places)]
    answerers = {key: _make_answerer(score, known.places) for key, score in texts.items()}
    ways: dict[tuple[int, ...], TextWay] = {}
    for members, text in known.table.texts.items():
        visible = max(
            (count for count, found in zip(counts, members, strict=True) if found), default=0
        )
        answers = {key: answer(members) for key, answer in answerers.items()}
        alike = tuple(map(id, answers.values()))
        way = ways.setdefault(alike, TextWay(text, visible, answers))
        ways[alike] = way._replace(visible=min(visible, way.visible))
    for way in ways.values():
        yield way
        for erred in list(product((False, True), repeat=len(erring)))[1:]:
            errors = {key: ERROR for key, errs in zip(erring, erred, strict=True) if errs}
            yield way._replace(text=None, answers={**way.answers, **errors})


def _make_answerer(
    score: TextScore, places: Mapping[RegexTree, int]
) -> Callable[[Membership], RawAnswer]:
    """Return what maps a text's languages to the check's answer; equal answers are one object."""
    own = [places[language] for language in score.languages]
    answers: dict[Fraction, RawAnswer] = {}

    @cache
    def answer(found: Membership) -> RawAnswer:
        computed = score.compute(found)
        return answers.setdefault(computed, RawAnswer(computed))

    return lambda members: answer(tuple(members[place] for place in own))


def _list_free_answers(
    users: list[CheckState],
    states: States,
    free: _Variables,
    scores: Sequence[Fraction],
) -> Iterator[RawAnswer]:
    check = users[0]
    raw = [RawAnswer(score) for score in scores] or list(_list_corners(users, states, free))
    if any(user.bar is None for user in users):
        # A composite without a threshold passes if its rubric passes, whatever the score.
        raw = [one._replace(passes=passes) for one in raw for passes in (False, True)]
    yield from raw
    if check.may_miss:
        yield MISSING
    if check.may_err:
        yield ERROR


def _list_corners(users: list[CheckState], states: States, free: _Variables) -> Iterator[RawAnswer]:
    """Yield the scores that are enough to try instead of all of [0, 1].

    A rubric's score is linear in the scores of its checks as long as their order and their verdicts
    stay the same. So it is largest, and smallest, in a corner of such a region. Corners are 0, 1,
    and both sides of each threshold at which a verdict changes. If scores are ranked, the scores at
    which two checks change places are corners too.
    """
    yield from (FAILED, PASSED)
    # If scores are ranked, a corner may be at the threshold of another check, or the rubric's score
    # may be that of a check.
    ranked = any(state.combine in _ORDER_MODES for state in states)
    sharing = [one for group in free.values() for one in group] if ranked else users
    moved = {state.threshold for state in states}
    thresholds = (
        [(one, one.bar) for one in sharing if one.bar] if any(map(_reads_verdicts, states)) else []
    )
    if ranked and len(moved) > 1:
        thresholds += [(one, bar) for one in users for bar in moved]
    bars = {1 - bar if one.negate else bar for one, bar in thresholds}
    for bar in sorted(bars):
        for side in (-1, 0, 1):
            if 0 <= bar + side * Fraction(1, 1000) <= 1:
                yield RawAnswer(bar, side=side)
    if ranked:
        yield from map(RawAnswer, sorted(_list_meeting_places(states) - bars))


def _list_meeting_places(states: States) -> set[Fraction]:
    """Return the scores between 0 and 1 at which a continuous score can equal another score."""
    checks = [check for state in states for check in state.checks]
    places = {score for check in checks for score in list_scores(check)}
    # With `negate`, a score is also compared with 1 - itself, and they are equal at one half.
    if len({check.negate for check in checks}) > 1:
        places |= {1 - score for score in places} | {Fraction(1, 2)}
    return places - {Fraction(0), Fraction(1)}


def _reads_verdicts(state: RubricState) -> bool:
    return state.combine in VERDICT_MODES or any(map(state.needs_verdict, state.checks))


def drop_unchanged(pair: States, numbers: VariableNumbers) -> States:
    """Return both sides without the checks that are on both and count the same, one for one."""
    sides = [
        [(_identify_part(check, state, numbers), check) for check in state.checks] for state in pair
    ]
    common = Counter(part for part, _ in sides[0]) & Counter(part for part, _ in sides[1])
    kept: list[RubricState] = []
    for state, side in zip(pair, sides, strict=True):
        left, checks = Counter(common), []
        for part, check in side:
            if left[part]:
                left[part] -= 1
            else:
                checks.append(check)
        kept.append(replace(state, checks=tuple(checks)))
    return kept[0], kept[1]


def _identify_part(
    check: CheckState, state: RubricState, numbers: VariableNumbers
) -> tuple[object, ...]:
    """Return all of a check that can affect the rubric's score or verdict."""
    bar = None if check.binary else check.threshold
    weight = check.weight if state.combine is Combine.WEIGHTED_AVG else None
    return (
        numbers[id(check)],
        check.negate,
        bar,
        weight,
        check.is_required and state.combine is not Combine.ALL_PASS,
    )


def measure_part(state: RubricState, results: Sequence[CheckResult]) -> tuple[object, ...]:
    """Return what some checks contribute: this and the other checks' results give the score."""
    from evalstore.checks.evaluate import select_counted

    scoring = state.to_scoring()
    counted = select_counted(scoring, results)
    fails = scoring.errors == "fail" and any(
        result.unscored is UnscoredReason.ERROR for result in results
    )
    closes = any(check.id in scoring.required and not check.passed for check in counted)
    passes = not state.needs_all or all(
        check.passed for check in counted if scoring.has_weight(check.id)
    )
    return fails, closes, passes, bool(counted), _PARTS[state.combine](counted)


def _sum_part(counted: Sequence[CountedCheck]) -> object:
    return sum((check.weight * check.score for check in counted), _ZERO), sum(
        (one.weight for one in counted), _ZERO
    )


_PARTS: Mapping[Combine, Callable[[Sequence[CountedCheck]], object]] = {
    Combine.WEIGHTED_AVG: _sum_part,
    Combine.ALL_PASS: lambda counted: all(check.passed for check in counted),
    Combine.ANY_PASS: lambda counted: any(check.passed for check in counted),
    Combine.MIN: lambda counted: min((check.score for check in counted), default=None),
    Combine.MAX: lambda counted: max((check.score for check in counted), default=None),
    Combine.MEDIAN: lambda counted: sorted(check.score for check in counted),
}
