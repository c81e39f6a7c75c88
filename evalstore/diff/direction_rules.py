"""The direction rules of the catalogue: each has words, and a function of the change."""

from __future__ import annotations

from evalstore.checks.steps import STEPS_KEY
from evalstore.diff.answers.read_parts import find_shortening
from evalstore.diff.change import Change, DirectionRule
from evalstore.diff.deciders.judges import find_levels_direction
from evalstore.diff.deciders.juries import (
    find_added_judge_direction,
    find_aggregate_direction,
    find_jury_weights_direction,
)
from evalstore.diff.deciders.statements import find_statements_direction
from evalstore.diff.deciders.unmoved import is_all_tools_threshold
from evalstore.diff.direction import (
    ADDED_CHECK_DIRECTIONS,
    EITHER,
    LOOSER,
    NONE,
    STRICTER,
    bound_direction,
    direct_ungraded,
    flip_direction,
    is_always_scored,
    join_directions,
)
from evalstore.diff.findings import Direction
from evalstore.diff.kinds import KINDS, Limit
from evalstore.diff.tool_directions import find_tool_demand_direction, find_tool_verdict_direction
from evalstore.model import Combine

_ALL, _ANY, _AVG = Combine.ALL_PASS, Combine.ANY_PASS, Combine.WEIGHTED_AVG
_MIN, _MAX, _MEDIAN = Combine.MIN, Combine.MAX, Combine.MEDIAN

# Pairs of modes: whatever the scores and weights, the first never gives more than the second.
_GRADED = frozenset(
    {(_MIN, _AVG), (_AVG, _MAX), (_MIN, _MEDIAN), (_MEDIAN, _MAX), (_MIN, _MAX), (_ALL, _ANY)}
)
# If every check scores 0 or 1: the lowest modes, two that cannot be compared, the highest modes.
_BINARY = {_ALL: 0, _MIN: 0, _AVG: 1, _MEDIAN: 1, _ANY: 2, _MAX: 2}


def fix_direction(direction: Direction) -> DirectionRule:
    """Return the direction rule that always gives one direction."""
    return DirectionRule(str(direction), lambda _: direction)


def rank_words(*words: str) -> DirectionRule:
    """Return the direction rule of a choice whose words go from loose to strict.

    The direction of any other word is either.
    """

    def decide(change: Change) -> Direction:
        if change.old not in words or change.new not in words:
            return EITHER
        return STRICTER if words.index(change.new) > words.index(change.old) else LOOSER

    return DirectionRule(f"{' to '.join(words)} stricter, back looser, else either", decide)


def rank_policies(*words: str) -> DirectionRule:
    """Return the direction rule of a policy for unscored checks, from loose to strict.

    A score of 0 is never better than no score, but if the threshold is 0, its verdict is.
    """
    ranked = rank_words(*words)

    def decide_verdict(change: Change) -> Direction:
        passes_all = not all(state.threshold for state in change.states)
        return EITHER if passes_all else ranked.decide_score(change)

    return DirectionRule(
        f"{ranked.words}; the verdict either if 0 passes", ranked.decide_score, decide_verdict
    )


def direct_json_demand(direction: Direction) -> DirectionRule:
    """Return the direction rule of a demand on JSON.

    A question may lack the field that is added or removed.
    """

    def decide(change: Change) -> Direction:
        if change.name != "expected_fields":
            return direction
        check, rubric = change.checks[1], change.states[1]
        # A question may not say what is expected of a field, and its `also_valid` may be invalid:
        # then the check is unscored.
        unscored = direct_ungraded(check, rubric)
        demanded = flip_direction(direction) if check.negate else direction
        total = join_directions(
            demanded, unscored if direction is STRICTER else flip_direction(unscored)
        )
        return flip_direction(total) if check.negate else total

    return DirectionRule(
        f"{direction}; for a field either, if an unscored check can raise the score", decide
    )


def _direct_added_check(change: Change) -> Direction:
    before, after = change.states
    added = change.token in after.tokens
    # The check is judged in the rubric that has it.
    rubric = after if added else before
    if not is_always_scored(rubric.drop_check(change.token)):
        return EITHER  # without it there may be no score
    check = rubric[change.token]
    # A required check, and an error that fails the whole rubric, can only lower the score, whatever
    # the mode.
    lowers = check.is_required or (check.may_err and rubric.errors == "fail")
    direction = join_directions(
        ADDED_CHECK_DIRECTIONS[rubric.combine], STRICTER if lowers else NONE
    )
    return direction if added else flip_direction(direction)


def _direct_added_verdict(change: Change) -> Direction:
    score, rubric = _direct_added_check(change), change.states[0]
    if score is EITHER or not any(state.needs_all for state in change.states):
        return score
    # One more check has to pass, in whichever direction it moves the score.
    return STRICTER if change.token not in rubric.tokens else LOOSER


def _direct_demand(change: Change) -> Direction:
    return STRICTER if change.is_addition else LOOSER


def _errors_may_oppose(change: Change) -> bool:
    """Whether JSON graded on one side only can move the rubric against the check's direction.

    It can if an error fails the whole rubric, or if the threshold lets a score of 0 pass, because
    an error never passes.
    """
    fatal = change.states[1].errors == "fail"
    return any(check.may_err and (fatal or not check.binary) for check in change.checks)


def _find_limit(change: Change) -> Limit | None:
    """Return the limit of the changed parameter; None if the parameter is not a limit."""
    return KINDS[change.checks[1].kind].params[change.name].limit


def _direct_modes(change: Change) -> Direction:
    """Return whether the new mode can only raise, or only lower, the score."""
    before, after = change.states
    old, new = before.combine, after.combine
    # Only an average leaves out checks with weight 0, so it may have no score where others do.
    if not all(check.weight for check in before.checks) and not all(
        map(is_always_scored, (before, after))
    ):
        return EITHER
    if all(check.binary for check in before.checks) and _BINARY[old] != _BINARY[new]:
        return LOOSER if _BINARY[old] < _BINARY[new] else STRICTER
    return bound_direction(below=(old, new) in _GRADED, above=(new, old) in _GRADED)


def _direct_modes_verdict(change: Change) -> Direction:
    score, states = _direct_modes(change), change.states
    modes = [state.combine for state in states]
    if not any(state.needs_all for state in states) or modes.count(_AVG) != 1:
        return score
    # Only in an average there are checks with weight 0, which need not pass.
    if all(check.weight for check in states[0].checks):
        return score
    return join_directions(score, STRICTER if modes[0] is _AVG else LOOSER)


def _direct_bound(change: Change) -> Direction:
    before, after = change.checks
    limit = _find_limit(change)
    if (
        limit is None
        or before.may_miss is not after.may_miss
        or (limit.ends_grading and _errors_may_oppose(change))
    ):
        return EITHER
    raised = limit.of(after.params) > limit.of(before.params)
    return STRICTER if raised is limit.is_minimum else LOOSER


def _direct_format(change: Change) -> Direction:
    if _find_limit(change):
        return _direct_bound(change)
    if change.name != "format" or _errors_may_oppose(change):
        return EITHER
    if None not in {change.old, change.new}:
        return FORMATS.decide_score(change)
    named = change.old or change.new
    if any(check.may_miss for check in change.checks) or (
        named == "text" and not change.checks[1].params["min_chars"]
    ):
        return EITHER
    # The question may ask for json, for text, or for neither.
    more = STRICTER if named == "json" else LOOSER
    return more if change.old is None else flip_direction(more)


def _direct_reading(change: Change) -> Direction:
    return _direct_steps(change) if change.name == STEPS_KEY else _direct_extract(change)


def _direct_steps(change: Change) -> Direction:
    """Return the direction of more or fewer steps, if what they add leaves a piece of the text."""
    check = change.checks[1]
    added = find_shortening(change.old, change.new)
    sign = KINDS[check.kind].piece_sign(check.params)
    if added is None or not sign or any(one.may_miss or one.may_err for one in change.checks):
        return EITHER
    # If a step finds nothing, the check fails, whatever a piece would score.
    rises = sign == 1 if not check.negate else sign == -1
    if rises and any(step.kind.may_find_nothing for step in added):
        return EITHER
    is_longer = len(change.new or ()) > len(change.old or ())
    return LOOSER if (sign == 1) is is_longer else STRICTER


def _direct_extract(change: Change) -> Direction:
    # They differ if there is no fence: then `fence` fails, and `auto` reads the whole output.
    # About `whole` nothing is sure: no JSON contains a fence, but text that is nested too deep to
    # be read may contain one.
    if {change.old, change.new} != {"auto", "fence"} or _errors_may_oppose(change):
        return EITHER
    return LOOSER if change.new == "auto" else STRICTER


def _direct_case(change: Change) -> Direction:
    check = change.checks[1]
    asks_judge = KINDS[check.kind].asks_judges(check.params)
    # Nothing is known about a kind that lists its texts under another name.
    texts = None if asks_judge else check.params.get("values", check.params.get("facts"))
    # The lower case of this letter depends on the letters around it, because it has another form at
    # the end of a word. Texts from the question are assumed not to contain it.
    if texts is None or any("\N{GREEK CAPITAL LETTER SIGMA}" in text for text in texts):
        return EITHER
    return LOOSER if bool(change.new) is KINDS[check.kind].bans else STRICTER


def _direct_minimum(change: Change) -> Direction:
    return STRICTER if change.new > change.old else LOOSER


def _direct_composite_threshold(change: Change) -> Direction:
    # Without its own threshold it passes if its rubric passes, and that threshold may be unknown.
    before, after = change.checks
    if before.bar is None or after.bar is None:
        return EITHER
    return STRICTER if after.bar > before.bar else LOOSER


def _direct_partial_credit(change: Change) -> Direction:
    return LOOSER if change.new else STRICTER


def _direct_partial_verdict(change: Change) -> Direction:
    return (
        NONE if all(map(is_all_tools_threshold, change.checks)) else _direct_partial_credit(change)
    )


BY_COMBINE = DirectionRule(
    "by combine; a required check, or an error that fails all, stricter; under verdict: all, the "
    "verdict stricter, too",
    _direct_added_check,
    _direct_added_verdict,
)
BY_MODES = DirectionRule(
    "by the order of the two modes; under verdict: all, the verdict also by checks of weight 0",
    _direct_modes,
    _direct_modes_verdict,
)
BY_PANEL = DirectionRule(
    "added: min stricter, max looser; removed the reverse; either if a failure can raise it",
    find_added_judge_direction,
)
BY_WAYS = DirectionRule(
    "by the order min, mean and median, max; majority either", find_aggregate_direction
)
BY_LEVELS = DirectionRule("raised looser, lowered stricter, both either", find_levels_direction)
BY_VOTES = DirectionRule("either; a majority by the groups that win", find_jury_weights_direction)
BY_STATEMENTS = DirectionRule(
    "by the factor of each statement and by unscored ones, else either", find_statements_direction
)
BY_ANSWERS = DirectionRule("by the outputs that both wordings find, else either", lambda _: EITHER)
BY_CASE = DirectionRule(
    "ignoring case finds more: contain looser, ban stricter; either with a capital sigma",
    _direct_case,
)
DEMAND = DirectionRule("added stricter, removed looser", _direct_demand)
BOUND = DirectionRule("tightened stricter, loosened looser", _direct_bound)
FORMATS = rank_words("text", "json")
FORMAT = DirectionRule(
    (
        "text to json stricter, back looser; a format from the question by what it may be; either "
        "if errors fail all"
    ),
    _direct_format,
)
EXTRACTED = DirectionRule(
    "fence to auto looser, back stricter; a piece of a text contains less; else either",
    _direct_reading,
)
MINIMUM = DirectionRule("raised stricter, lowered looser", _direct_minimum)
COMPOSITE_MARK = DirectionRule(
    "raised stricter, lowered looser; unset is its rubric's threshold, either if unknown",
    _direct_composite_threshold,
)
PARTIAL = DirectionRule(
    "on looser, off stricter; the verdict none if it needs all tools",
    _direct_partial_credit,
    _direct_partial_verdict,
)
# The effect, given all that the checks can answer, narrows this.
FACTS = DirectionRule(
    "by the share of facts: either, unless one is part of another", lambda _: EITHER
)
TOOLS = DirectionRule(
    (
        "more demands stricter, fewer looser; either if a share has other parts, or if exact "
        "allows other calls"
    ),
    find_tool_demand_direction,
    find_tool_verdict_direction,
)
