"""A judge's statements as a sum: which lists give the same score, and how far an edit moves it.

An example: the last of the statements {a, b, c} is removed, and the aggregate is the mean. The
score was a/3 + b/3 + c/3 and is now a/2 + b/2, so it rises by a/6 + b/6 - c/3. Whatever scores the
judges give, that is between -1/3 and 1/3. A statement that a judge calls not applicable is left out
of both sums.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from evalstore.checks.statements import build_statement_sum, find_weight_problem, read_statements
from evalstore.diff.change import Change, Proof
from evalstore.diff.deciders.juries import read_jury
from evalstore.diff.direction import (
    EITHER,
    bound_direction,
    direct_unscored,
    find_scored_share,
    flip_direction,
    join_directions,
)
from evalstore.diff.findings import Direction, JudgedScore
from evalstore.diff.rubric_state import CheckState
from evalstore.text import count_noun
from evalstore.versions import Bump

_ZERO, _ONE = Fraction(0), Fraction(1)


class StatementScore(NamedTuple):
    """The score of a check before `negate`: `constant`, plus each text's answer times its factor.

    The sum is cut off at 0 and 1. A text that is listed twice is asked about once, and statements
    with the weight 0 are left out. `shares` has the negative and the positive weights of each text,
    as parts of all weights; the score without texts that are not applicable follows from these.
    """

    constant: Fraction
    factors: Mapping[str, Fraction]
    shares: Mapping[str, tuple[Fraction, Fraction]]

    def compute(self, replies: Mapping[str, Fraction]) -> Fraction:
        """Return the score, given what the judges say about each text."""
        parts = (factor * replies[text] for text, factor in self.factors.items())
        return min(_ONE, max(_ZERO, sum(parts, self.constant)))


def read_statement_score(params: Mapping[str, Any]) -> StatementScore | None:
    """Return how the score of an llm_judge check follows from replies on its statements.

    None if there can be no score, or if the statements come from the question.
    """
    each = params["each"]
    if not isinstance(each, list) or not each:
        return None
    jury, statements = read_jury(params), read_statements(each)
    problem = find_weight_problem(params["aggregate"], statements)
    if jury is None or jury.is_unscorable or problem:
        return None
    built = build_statement_sum(params["aggregate"], statements)
    total = sum((abs(one.weight) for one in statements), _ZERO)
    factors: dict[str, Fraction] = {}
    shares: dict[str, tuple[Fraction, Fraction]] = {}
    for one, factor in zip(statements, built.factors, strict=True):
        if one.weight:
            factors[one.text] = factors.get(one.text, _ZERO) + factor
            below, above = shares.get(one.text, (_ZERO, _ZERO))
            share = one.weight / total
            shares[one.text] = (below + min(_ZERO, share), above + max(_ZERO, share))
    return StatementScore(built.constant, factors, shares)


def list_rises(old: StatementScore, new: StatementScore) -> dict[str, Fraction]:
    """Return, for each text, by how much the new factor is higher than the old one."""
    texts = [*new.factors, *(text for text in old.factors if text not in new.factors)]
    return {text: new.factors.get(text, _ZERO) - old.factors.get(text, _ZERO) for text in texts}


def prove_statements_unmoved(change: Change) -> Proof | None:
    """Prove that both lists give the same score, whatever the judges say about each statement."""
    old, new = _read_scores(change)
    if old is None or old != new:
        return None
    before, after = (check.params for check in change.checks)
    if before["aggregate"] != after["aggregate"]:
        return Proof("without a negative weight, mean and points are the same score")
    texts = [[one["text"] for one in side["each"]] for side in (before, after)]
    if {*texts[0]} != {*texts[1]}:
        return Proof(
            "its weight is 0, so it does not count; reports show the judges' answer", Bump.MINOR
        )
    names = [{one.id for one in read_statements(side["each"])} for side in (before, after)]
    if names[0] != names[1]:
        return Proof("only its name in reports changes", Bump.MINOR)
    return Proof("every statement keeps its share of the score")


def find_statements_direction(change: Change) -> Direction:
    """Return the direction in which other statements move the check's score."""
    old, new = _read_scores(change)
    if old is None or new is None or _has_doubtful_sum(change, old, new):
        return EITHER
    least, most = _find_extremes(old, new)
    direction = bound_direction(below=least >= 0, above=most <= 0)
    check, rubric = change.checks[1], change.states[1]
    # All are directions of the rubric: `negate` turns that of a score round, but not that of an
    # unscored check.
    failed = direct_unscored(check, rubric, rubric.errors)
    unscored: list[Direction] = []
    if not new.factors.keys() <= old.factors.keys():
        unscored.append(failed)
    if not old.factors.keys() <= new.factors.keys():
        unscored.append(flip_direction(failed))
    if old.constant != new.constant:
        # If only statements with a negative weight are applicable, points give no score, but a mean
        # does.
        idle = direct_unscored(check, rubric, rubric.missing)
        is_points = check.params["aggregate"] == "points"
        unscored.append(idle if is_points else flip_direction(idle))
    return _turn(join_directions(_turn(direction, check), *unscored), check)


def _has_doubtful_sum(change: Change, old: StatementScore, new: StatementScore) -> bool:
    """Whether the direction may be another if some statements are not applicable."""
    if any(below and above for side in (old, new) for below, above in side.shares.values()):
        return True
    before, after = change.checks
    return before.params["aggregate"] != after.params["aggregate"] and old.shares != new.shares


def bound_statements_shift_scored(change: Change) -> Fraction | None:
    """Return how far other statements move the score if all are scored; None if unknown."""
    old, new = _read_scores(change)
    share = find_scored_share(change.checks[1], change.states[1])
    if old is None or new is None or share is None:
        return None
    least, most = _find_extremes(old, new)
    return share * max(-least, most)


def yield_replies(change: Change) -> Iterator[dict[str, Fraction]]:
    """Yield replies on all texts for which the edit moves the score, the best to show first.

    Replies on the edited texts move the score as far as possible, first down, then up. Of the other
    texts none is answered with no, then one, then two, and so on.
    """
    old, new = _read_scores(change)
    if old is None or new is None:
        return
    rises, edited = list_rises(old, new), list_edited_texts(change)
    others = [text for text in rises if text not in edited]
    for number in range(len(others) + 1):
        rest = {text: Fraction(place >= number) for place, text in enumerate(others)}
        for way in (-1, 1):
            mine = {text: Fraction(way * rises[text] > 0) for text in edited if text in rises}
            replies = {**mine, **rest}
            if old.compute(replies) != new.compute(replies):
                yield replies


def compute_said(check: CheckState, replies: Mapping[str, Fraction]) -> Fraction | None:
    """Return the score of a check before `negate`, given what its judges say about each text."""
    score = read_statement_score(check.params)
    return score and score.compute(replies)


def list_said(change: Change, replies: Mapping[str, Fraction]) -> Iterator[JudgedScore]:
    """Yield what judges are assumed to say: about each edited statement, then about the others."""
    name, edited = change.checks[1].id, list_edited_texts(change)
    yield from (JudgedScore(name, replies[text], f'"{text}"') for text in edited if text in replies)
    others = Counter(said for text, said in replies.items() if text not in edited)
    for said, number in others.items():
        which = "every other statement" if len(others) == 1 else count_noun(number, "other")
        yield JudgedScore(name, said, which)


def list_edited_texts(change: Change) -> list[str]:
    """Return the texts of statements that were added, removed or given another weight."""
    sides = [_sum_weights(check) for check in change.checks]
    differ = [text for text in {**sides[0], **sides[1]} if sides[0].get(text) != sides[1].get(text)]
    # If only the aggregate changes, it concerns all of them.
    return differ or list(sides[0])


def _sum_weights(check: CheckState) -> dict[str, Fraction]:
    weights: dict[str, Fraction] = {}
    for one in read_statements(check.params["each"]):
        weights[one.text] = weights.get(one.text, _ZERO) + one.weight
    return weights


def _read_scores(change: Change) -> tuple[StatementScore | None, StatementScore | None]:
    old, new = (read_statement_score(check.params) for check in change.checks)
    return old, new


def _find_extremes(old: StatementScore, new: StatementScore) -> tuple[Fraction, Fraction]:
    """Return how far the score can rise at least and at most, before it is cut off at 0 and 1."""
    constant, rises = new.constant - old.constant, list_rises(old, new).values()
    least = sum((min(_ZERO, rise) for rise in rises), constant)
    return least, sum((max(_ZERO, rise) for rise in rises), constant)


def _turn(direction: Direction, check: CheckState) -> Direction:
    return flip_direction(direction) if check.negate else direction
