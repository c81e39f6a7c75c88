"""Judges one change by its rule: level, proofs, directions and message, in a rule set."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from evalstore.diff.change import CHECK_SCOPES, Change, ChangeRule, Proof, Scope
from evalstore.diff.direction import (
    EITHER,
    NONE,
    bound_share,
    flip_direction,
    lift_direction,
    turn_direction,
)
from evalstore.diff.effects.totals import narrow_effect
from evalstore.diff.findings import (
    Certainty,
    Claim,
    Diff,
    DiffFinding,
    Direction,
    Profile,
    TotalEffect,
)
from evalstore.diff.plain_data import describe_exchange, describe_value, list_differences
from evalstore.diff.rules import RULES
from evalstore.diff.settings import RULE_SETS
from evalstore.documents import format_json_pointer
from evalstore.text import add_article, make_printable
from evalstore.versions import Bump
from evalstore.word_diff import compare_words, is_reworded


class RuledLevel(NamedTuple):
    """The rule that a change belongs to, what proves that it moves nothing, and its level."""

    rule: ChangeRule
    proof: Proof | None
    level: Bump


def classify(
    change: Change, profile: Profile = Profile.SCORE, rule_set: int = RULE_SETS[-1]
) -> DiffFinding:
    """Return the level, directions and message of one change; only a proof lowers the level.

    Nothing that is newer than the rule set is used.
    """
    change = restrict_to_rule_set(change, rule_set)
    rule, proof, level = judge_change(change, profile, rule_set)
    known = _classify_by_proof(change, rule, proof) if proof else _classify_by_rule(change, rule)
    return known if known.level is level else replace(known, level=level, level_before=level)


def judge_change(
    change: Change, profile: Profile = Profile.SCORE, rule_set: int = RULE_SETS[-1]
) -> RuledLevel:
    """Return the level of one change, its rule and proof, but no message and no directions."""
    change = restrict_to_rule_set(change, rule_set)
    rule = RULES[change.rule]
    proof = change.proof or _find_proof(change, rule, rule_set)
    if proof:
        rule = _find_rule(proof.rule or rule.id, rule_set)
    level = proof.level if proof else rule.level
    headline = rule.headline if profile is Profile.HEADLINE else None
    if headline and headline.only in {None, change.name}:
        level = max(level, headline.level)
    return RuledLevel(rule, proof, level)


def restrict_to_rule_set(change: Change, rule_set: int) -> Change:
    """Return the change as a rule set knows it, without any rule or proof that is newer."""
    rule = _find_rule(change.rule, rule_set).id
    proof = change.proof if change.proof and change.proof.since <= rule_set else None
    decision = change.decision if change.decision and change.decision.since <= rule_set else None
    if (rule, proof, decision) == (change.rule, change.proof, change.decision):
        return change  # nearly always: comparing is cheaper than a copy
    return replace(change, rule=rule, proof=proof, decision=decision)


def _find_rule(id_: str, rule_set: int) -> ChangeRule:
    """Return the rule; for a rule set that does not have it yet, the rule that it replaces."""
    rule = RULES[id_]
    # The replaced rule may be newer than the rule set as well.
    while rule.since > rule_set:
        rule = RULES[rule.replaces]
    return rule


def _find_proof(change: Change, rule: ChangeRule, rule_set: int) -> Proof | None:
    # The first proof counts, in the order of the row.
    proofs = (decider(change) for decider in rule.deciders)
    return next((proof for proof in proofs if proof and proof.since <= rule_set), None)


def _classify_by_rule(change: Change, rule: ChangeRule) -> DiffFinding:
    directions = find_directions(change, rule)
    claim = TotalEffect(*directions, *_bound_shifts(change, rule, directions[0]))
    if change.effect and rule.scope is not Scope.NOTHING:
        claim = narrow_effect(claim, change.effect)
    reason = change.decision.reason if change.decision else rule.reason
    certainty = find_certainty(change, rule, None)
    return _make_finding(change, replace(rule, certainty=certainty, reason=reason), claim)


def _classify_by_proof(change: Change, rule: ChangeRule, proof: Proof) -> DiffFinding:
    # If it is only assumed that nothing moves, there is no bound, because it may move after all.
    shift = None if proof.certainty is Certainty.ASSUMED else Fraction(0)
    proved = replace(rule, level=proof.level, certainty=proof.certainty, reason=proof.text)
    return _make_finding(change, proved, TotalEffect(NONE, NONE, shift, shift))


def _make_finding(change: Change, rule: ChangeRule, claim: Claim) -> DiffFinding:
    """Return the finding of a change; `rule` has the level and reason for this very change."""
    return DiffFinding(
        *claim.directions,
        claim.max_shift,
        claim.max_shift_scored,
        rule=rule.id,
        level=rule.level,
        level_before=rule.level,
        certainty=rule.certainty,
        message=_write_message(change, rule),
        reason=rule.reason,
        is_sent=rule.is_sent or change.is_sent,
    )


def find_directions(change: Change, rule: ChangeRule) -> tuple[Direction, Direction]:
    """Return the directions of the score and the verdict of an edit that no proof covers."""
    if rule.scope is Scope.NOTHING:
        return NONE, NONE
    direction = (change.decision and change.decision.direction) or rule.direction.decide_score(
        change
    )
    verdict = rule.direction.decide_verdict(change) if rule.direction.decide_verdict else direction
    imported = _get_deciding_diff(change)
    score, verdict = imported.total.directions if imported else (direction, verdict)
    if rule.scope is Scope.VERDICT:
        return NONE, direction
    if rule.scope is Scope.SCORE:
        return score, verdict
    check, rubric = change.checks[1], change.states[1]
    if rule.scope is Scope.CHECK_VERDICT:
        score, verdict = (EITHER, EITHER) if check.reads_threshold else (NONE, direction)
    elif rule.scope is Scope.ANSWER:
        score, verdict = ((flip_direction(score),) * 2) if check.negate else (score, verdict)
    else:
        # A negated check turns the directions round, before the combine mode and required checks
        # are taken into account.
        score, verdict = turn_direction(score, check), turn_direction(verdict, check)
    return (lift_direction(check, rubric, score, verdict),) * 2


def _get_deciding_diff(change: Change) -> Diff | None:
    """Return the imported diff that gives the directions, unless a decision does."""
    return None if change.decision else change.imported_diff


def _bound_shifts(
    change: Change, rule: ChangeRule, score: Direction
) -> tuple[Fraction | None, Fraction | None]:
    """Return how far the score moves at most, whatever errs, and if every check is scored."""
    if score is NONE:
        return Fraction(0), Fraction(0)
    shift = _bound_shift(change, rule)
    scored = rule.shift_scored(change) if rule.shift_scored else None
    return shift, scored if scored is None or scored < 1 else None


def _bound_shift(change: Change, rule: ChangeRule) -> Fraction | None:
    imported = _get_deciding_diff(change)
    # A bound of 1 or more excludes nothing, because scores are from 0 to 1. So it becomes None.
    shift = imported.total.max_shift if imported else None
    if rule.shift:
        shift = rule.shift(change)
    # A check moves the rubric's score by no more than its share of the weights.
    if rule.scope in CHECK_SCOPES:
        shares = [*map(bound_share, change.checks, change.states)]
        part = None if None in shares else max(known for known in shares if known is not None)
        shift = part if part is None or shift is None else part * shift
    return shift if shift is not None and shift < 1 else None


def find_certainty(change: Change, rule: ChangeRule, proof: Proof | None) -> Certainty:
    """Return how sure the level of a change is, given its rule and proof."""
    if proof:
        return proof.certainty
    if change.imported_diff is None:
        return change.decision.certainty if change.decision else rule.certainty
    unsure = any(
        finding.certainty is Certainty.ASSUMED for finding in change.imported_diff.findings
    )
    return Certainty.ASSUMED if unsure else Certainty.BY_DEFINITION


def _write_message(change: Change, rule: ChangeRule) -> str:
    item = change.item
    old, new = describe_exchange(change.old, change.new)
    words = {
        "old": old,
        "new": new,
        "a_new": add_article(new),
        "change": f'"{compare_words(change.old, change.new)}"'
        if is_reworded(change.old, change.new)
        else f"{old} → {new}",
        "item": describe_value(item),
        "demand": change.name
        if isinstance(item, bool)
        else f"{change.name}: {describe_value(item)!r}",
        "came": "gains" if change.is_addition else "loses",
        "name": change.name,
        "where": _name_place(change),
        "what": list_differences(change.old, change.new) if "{what}" in rule.message else "",
        "why": "",
        "lack": ", where `on` finds nothing in the output,",
        **{word: make_printable(value) for word, value in change.words.items()},
    }
    return rule.message.format(**words)


def _name_place(change: Change) -> str:
    owner = change.words.get("check") or change.words.get("question")
    name = (
        change.name
        or format_json_pointer(change.new_pointer or change.old_pointer or ())
        or "the document"
    )
    return describe_value(f"{name} of {owner}" if owner and change.name else name)
