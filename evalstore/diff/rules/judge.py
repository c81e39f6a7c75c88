"""Rules for a judge (catalogue H), without comparing templates: a model reads every byte of them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from evalstore.diff.change import Change, Channel, Headline, Proof, Rule
from evalstore.diff.findings import Certainty
from evalstore.diff.laws import NEVER, UNKNOWN
from evalstore.versions import Bump

_RATES = ("tpr", "tnr")
_SEED = "model: {id: small, seed: 1} → model: {id: small, seed: 2} (the same law, drawn again)"
_BESIDE = "a new judge beside it, to which rubrics move one by one"


def _seed_only(change: Change) -> Proof | None:
    """Show that only the seed changes, which draws again from the same distribution."""
    if change.name != "seed":
        return None
    return Proof("a seed draws again from the same distribution", Bump.MINOR)


def _refreshed(change: Change) -> Proof | None:
    """Show that the validation is refreshed, and no rate is lower."""
    old, new = (_rates(side) for side in (change.old, change.new))
    if len(new) < len(_RATES) or any(new[name] < rate for name, rate in old.items()):
        return None
    return Proof("the validation is refreshed, and no rate is lower")


def _rates(validation: Any) -> dict[str, int | Decimal]:
    known = validation if isinstance(validation, dict) else {}
    return {name: known[name] for name in _RATES if isinstance(known.get(name), int | Decimal)}


def _row(id_: str, number: str, message: str, reason: str, example: str) -> Rule:
    return Rule(
        id=id_,
        number=number,
        artifact="judge",
        level=Bump.MAJOR,
        law=UNKNOWN,
        channel=Channel.SCORE,
        message=message,
        reason=reason,
        mirror=id_,
        example=example,
        instead=_SEED if id_ == "judge-sampling-changed" else _BESIDE,
        deciders=(_seed_only,) if id_ == "judge-sampling-changed" else (),
        certainty=Certainty.ASSUMED,
        # The law of the scores stays, but the draw that a headline rests on does not.
        headline=Headline(Bump.MAJOR, only="seed") if id_ == "judge-sampling-changed" else None,
    )


ROWS = (
    Rule(
        id="judge-id-changed",
        number="59",
        artifact="judge",
        level=Bump.MAJOR,
        law=NEVER,
        channel=Channel.NOTHING,
        message="the id changes from {old} to {new}",
        reason="every pin on the old id breaks",
        mirror="judge-id-changed",
        example="id: tone → id: taste",
        instead="title: Old → title: New (another name for people; pins hold on to the id)",
    ),
    _row(
        "judge-template-changed",
        "60",
        "the template changes",
        "a model reads every byte of it: wording, order, even blanks can move a score",
        "Is it kind? → Is it kind and calm?",
    ),
    _row(
        "judge-template-variable-changed",
        "62",
        "the template's variables change from {old} to {new}",
        "other texts are filled in",
        "variables: [criterion] → variables: []",
    ),
    _row(
        "judge-score-type-changed",
        "63",
        "the score type changes from {old} to {new}",
        "the types are different scales",
        "score_type: continuous → score_type: binary",
    ),
    _row(
        "judge-levels-changed",
        "64",
        "the levels change from {old} to {new}",
        "a level's place decides its value",
        "level_names: [bad, good] → level_names: [bad, fair, good]",
    ),
    _row(
        "judge-level-value-changed",
        "65",
        "the values of the levels change from {old} to {new}",
        "the same level gives another score",
        "level_scores: [0, 1] → level_scores: [0.1, 1]",
    ),
    _row(
        "judge-reply-pattern-changed",
        "66",
        "the reply pattern changes from {old} to {new}",
        "the pattern decides which text becomes which number",
        "reply_pattern: '(.*)' → reply_pattern: 'score (.*)'",
    ),
    _row(
        "judge-scale-changed",
        "66b",
        "the scale changes from {old} to {new}",
        "the same reply lies elsewhere between 0 and 1",
        "scale: {max: 5} → scale: {max: 10}",
    ),
    _row(
        "judge-model-changed",
        "67",
        "{where} changes from {old} to {new}",
        "another model gives other scores",
        "model: {id: small} → model: {id: large}",
    ),
    _row(
        "judge-sampling-changed",
        "68",
        "{where} changes from {old} to {new}",
        "the scores are drawn otherwise",
        "temperature: 0 → temperature: 1",
    ),
    Rule(
        id="judge-validation-changed",
        number="69",
        artifact="judge",
        level=Bump.MINOR,
        law=NEVER,
        channel=Channel.NOTHING,
        message="the validation changes from {old} to {new}",
        reason="scores stay, but the judge is known to be worse, or no longer known",
        mirror="judge-validation-changed",
        example="tpr: 0.93, tnr: 0.9} → tpr: 0.91, tnr: 0.92}",
        instead="tpr: 0.93, tnr: 0.9} → tpr: 0.93, tnr: 0.92} (measured again, and no rate is lower)",
        deciders=(_refreshed,),
    ),
    Rule(
        id="judge-applicable-to-widened",
        number="71",
        artifact="judge",
        level=Bump.MINOR,
        law=NEVER,
        channel=Channel.NOTHING,
        message="the judge also claims {item}",
        reason="one more domain; no score moves",
        mirror="judge-applicable-to-narrowed",
        example="applicable_to: [drupal] → applicable_to: [drupal, web]",
        instead="a note under x_…, where it is no claim",
    ),
    Rule(
        id="judge-applicable-to-narrowed",
        number="72",
        artifact="judge",
        level=Bump.MAJOR,
        law=NEVER,
        channel=Channel.NOTHING,
        message="the judge no longer claims {item}",
        reason="rubrics that use it there no longer validate",
        mirror="judge-applicable-to-widened",
        example="applicable_to: [drupal, web] → applicable_to: [drupal]",
        instead=_BESIDE,
    ),
)
