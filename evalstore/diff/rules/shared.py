"""Rules for every kind of artifact: notes, extensions, order, and what no other rule knows."""

from __future__ import annotations

from evalstore.diff.change import Change, Channel, Headline, Proof, Rule
from evalstore.diff.findings import Certainty
from evalstore.diff.laws import NEVER, UNKNOWN
from evalstore.versions import Bump


def _beside_scoring(change: Change) -> Proof | None:
    if change.token:
        return None
    return Proof("scoring reads no such key; a bundle may", Bump.MINOR, certainty=Certainty.ASSUMED)


ROWS = (
    Rule(
        id="unclassified-change",
        number="-",
        artifact="any",
        level=Bump.MAJOR,
        law=UNKNOWN,
        channel=Channel.SCORE,
        message="{where} changes in a way that no rule knows ({what})",
        reason="what cannot be judged may move a score",
        mirror="unclassified-change",
        example="variables: {criterion: names a tag} → {criterion: names a context}",
        certainty=Certainty.ASSUMED,
    ),
    Rule(
        id="metadata-changed",
        number="2",
        artifact="any",
        level=Bump.PATCH,
        law=NEVER,
        channel=Channel.NOTHING,
        message="{where} changes from {old!r} to {new!r}",
        reason="it is for people; scoring never reads it",
        mirror="metadata-changed",
        example="title: Caching → title: Cache metadata in answers",
    ),
    Rule(
        id="spelling-changed",
        number="-",
        artifact="any",
        level=Bump.PATCH,
        law=NEVER,
        channel=Channel.NOTHING,
        message="the same is written otherwise ({what})",
        reason="defaults are written out or left out, or a value has another spelling; all means what it meant",
        mirror="spelling-changed",
        example="scoring: {combine: min} → scoring: {combine: min, missing: skip}",
    ),
    Rule(
        id="extension-field-changed",
        number="3",
        artifact="any",
        level=Bump.MAJOR,
        law=UNKNOWN,
        channel=Channel.SCORE,
        message="the extra key {where} changes",
        reason="extra keys are allowed, and something may read them",
        mirror="extension-field-changed",
        example="severity: high → severity: low",
        deciders=(_beside_scoring,),
        certainty=Certainty.ASSUMED,
    ),
    Rule(
        id="list-reordered",
        number="29",
        artifact="any",
        level=Bump.PATCH,
        law=NEVER,
        channel=Channel.NOTHING,
        message="the order of {where} changes",
        reason="it is read as a set",
        mirror="list-reordered",
        example="values: [so that, because] → values: [because, so that]",
        headline=Headline(Bump.MINOR, only="questions"),
    ),
)
