"""Rules for every kind of artifact: notes, extensions, order, and changes that match no other rule."""

from __future__ import annotations

from evalstore.diff.change import Change, ChangeRule, HeadlineLevel, Proof, Scope, name_decider
from evalstore.diff.direction_rules import NEVER, UNKNOWN
from evalstore.diff.findings import Certainty
from evalstore.versions import Bump


@name_decider("beside_scoring")
def _show_beside_scoring(change: Change) -> Proof | None:
    """Show that the key stands in no check, so that only a bundle may read it."""
    if change.token:
        return None
    return Proof("scoring reads no such key; a bundle may", Bump.MINOR, certainty=Certainty.ASSUMED)


ROWS = (
    ChangeRule(
        id="unclassified-change",
        artifact="any",
        level=Bump.MAJOR,
        direction=UNKNOWN,
        scope=Scope.SCORE,
        message="{where} changes in a way that no rule knows ({what})",
        reason="what cannot be judged may move a score",
        example="nothing → bonus: 1",
        instead="nothing → x_note: 1 (a key that begins with x_ is read by nobody)",
        certainty=Certainty.ASSUMED,
    ),
    ChangeRule(
        id="metadata-changed",
        artifact="any",
        level=Bump.PATCH,
        direction=NEVER,
        scope=Scope.NOTHING,
        message="{where} changes from {old!r} to {new!r}",
        reason="it is for people; scoring never reads it",
        example="title: Old → title: New",
    ),
    ChangeRule(
        id="spelling-changed",
        artifact="any",
        level=Bump.PATCH,
        direction=NEVER,
        scope=Scope.NOTHING,
        message="the same is written otherwise ({what})",
        reason="defaults are written out or left out, or a value has another spelling; all means what it meant",
        example="nothing → missing: skip",
    ),
    ChangeRule(
        id="extension-field-changed",
        artifact="any",
        level=Bump.MAJOR,
        direction=UNKNOWN,
        scope=Scope.SCORE,
        message="the extra key {where} changes",
        reason="extra keys are allowed, and something may read them",
        example="values: [foo], severity: low → values: [foo], severity: high",
        instead="severity: low → severity: high (beside the checks, or declared cosmetic in evalstore.yaml)",
        deciders=(_show_beside_scoring,),
        certainty=Certainty.ASSUMED,
    ),
    ChangeRule(
        id="list-reordered",
        artifact="any",
        level=Bump.PATCH,
        direction=NEVER,
        scope=Scope.NOTHING,
        message="the order of {where} changes",
        reason="it is read as a set",
        example="values: [foo, bar, baz] → values: [baz, foo, bar]",
        headline=HeadlineLevel(Bump.MINOR, only="questions"),
    ),
)
