"""Judges one change: its rule's row, the proofs that lower it, and the directions that rise to the rubric."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from evalstore.diff.change import OF_CHECKS, Change, Channel, Proof, Rule
from evalstore.diff.direction import EITHER, NONE, flip, lift, share
from evalstore.diff.findings import Certainty, Diff, Direction, Profile
from evalstore.diff.plain import leftovers, told
from evalstore.diff.refs import imported_directions, imported_shift
from evalstore.diff.rules import RULES
from evalstore.documents import json_pointer
from evalstore.versions import Bump


class Judgement(NamedTuple):
    """What a rule says of a change."""

    rule: Rule
    level: Bump
    directions: tuple[Direction, Direction]
    certainty: Certainty
    message: str
    reason: str
    max_shift: Fraction | None


def classify(change: Change, profile: Profile = Profile.SCORE) -> Judgement:
    """Return the level, directions and words of one change; a decider that ran is the only thing that lowers it."""
    rule = RULES[change.rule]
    proof = change.proof or next((proof for decider in rule.deciders if (proof := decider(change))), None)
    judged = _proved(change, RULES[proof.rule or rule.id], proof) if proof else _unproved(change, rule)
    headline = judged.rule.headline if profile is Profile.HEADLINE else None
    if headline is None or headline.only not in {None, change.name}:
        return judged
    return judged._replace(level=max(judged.level, headline.level))


def _unproved(change: Change, rule: Rule) -> Judgement:
    directions = _directions(change, rule)
    shift = _shift(change, rule, directions[0])
    reason = change.decided.reason if change.decided else rule.reason
    return Judgement(rule, rule.level, directions, _certainty(change, rule), _message(change, rule), reason, shift)


def _proved(change: Change, rule: Rule, proof: Proof) -> Judgement:
    sure = proof.certainty is not Certainty.ASSUMED
    directions = (NONE, NONE) if sure else _directions(change, rule)
    shift = Fraction(0) if sure else None
    return Judgement(rule, proof.level, directions, proof.certainty, _message(change, rule), proof.text, shift)


def _directions(change: Change, rule: Rule) -> tuple[Direction, Direction]:
    if rule.channel is Channel.NOTHING:
        return NONE, NONE
    direction = (change.decided and change.decided.direction) or rule.law.of(change)
    verdict = rule.law.verdict(change) if rule.law.verdict else direction
    imported = _imported(change)
    score, verdict = imported_directions(imported) if imported else (direction, verdict)
    if rule.channel is Channel.VERDICT:
        return NONE, direction
    if rule.channel is Channel.SCORE:
        return score, verdict
    check, rubric = change.checks[1], change.states[1]
    if rule.channel is Channel.BAR and not check.reads_bar:
        return lift(check, rubric, NONE, direction)
    if rule.channel is Channel.BAR:
        return lift(check, rubric, EITHER, EITHER)
    if check.negate:
        score, verdict = flip(score), flip(verdict)
    return lift(check, rubric, score, verdict)


def _imported(change: Change) -> Diff | None:
    """Return the diff that says where a change moves; what was decided of it says more."""
    return None if change.decided else change.imported


def _shift(change: Change, rule: Rule, score: Direction) -> Fraction | None:
    if score is NONE:
        return Fraction(0)
    imported = _imported(change)
    shift = imported_shift(imported) if imported else None
    if rule.shift:
        shift = rule.shift(change)
    if rule.channel in OF_CHECKS:
        shares = [share(check, rubric) for check, rubric in zip(change.checks, change.states, strict=True)]
        part = None if None in shares else max(known for known in shares if known is not None)
        shift = part if part is None or shift is None else part * shift
    return shift if shift is not None and shift < 1 else None


def _certainty(change: Change, rule: Rule) -> Certainty:
    if change.imported is None:
        return change.decided.certainty if change.decided else rule.certainty
    unsure = any(finding.certainty is Certainty.ASSUMED for finding in change.imported.findings)
    return Certainty.ASSUMED if unsure else Certainty.BY_DEFINITION


def _message(change: Change, rule: Rule) -> str:
    item = change.item
    words = {
        "old": told(change.old),
        "new": told(change.new),
        "item": told(item),
        "demand": change.name if isinstance(item, bool) else f"{change.name}: {told(item)!r}",
        "came": "gains" if change.comes else "loses",
        "name": change.name,
        "where": _where(change),
        "what": leftovers(change.old, change.new) if "{what}" in rule.message else "",
        "why": "",
        **{word: told(value) for word, value in change.words.items()},
    }
    return rule.message.format(**words)


def _where(change: Change) -> str:
    owner = change.words.get("check") or change.words.get("question")
    name = change.name or json_pointer(change.new_pointer or change.old_pointer or ()) or "the document"
    return told(f"{name} of {owner}" if owner and change.name else name)
