"""Rules for every kind of artifact: notes, extensions, order, and unmatched changes."""

from __future__ import annotations

from evalstore.diff.change import Change, ChangeRule, HeadlineLevel, Proof, Scope
from evalstore.diff.findings import Certainty
from evalstore.versions import Bump


def _show_beside_scoring(change: Change) -> Proof | None:
    """Prove that no check has the key, so that only a bundle may read it."""
    if change.token:
        return None
    return Proof(
        "scoring does not read this key, but a bundle may", Bump.MINOR, certainty=Certainty.ASSUMED
    )


ROWS = (
    ChangeRule(
        id="unclassified-change",
        artifact="any",
        message="{where} changes in a way no rule covers ({what})",
        reason="an unknown change may move a score",
        example="nothing → bonus: 1",
        instead="nothing → x_note: 1 (evalstore ignores keys that begin with x_)",
        certainty=Certainty.ASSUMED,
    ),
    ChangeRule(
        id="metadata-changed",
        artifact="any",
        level=Bump.PATCH,
        scope=Scope.NOTHING,
        message="{where}: {change}",
        reason="it is for people; scoring never reads it",
        example="title: Old → title: New",
    ),
    ChangeRule(
        id="examples-changed",
        artifact="any",
        level=Bump.PATCH,
        scope=Scope.NOTHING,
        message="the examples change: {counts}",
        reason="they say what is expected of an output; scoring never reads them",
        example="nothing → examples: [{output: bar, verdict: fail}]",
    ),
    ChangeRule(
        id="spelling-changed",
        artifact="any",
        level=Bump.PATCH,
        scope=Scope.NOTHING,
        message="only the notation changes ({what})",
        reason=(
            "defaults are written out or left out, or a value is spelled differently; the "
            "meaning stays"
        ),
        example="nothing → missing: skip",
    ),
    ChangeRule(
        id="extension-field-changed",
        artifact="any",
        message="the extra key {where} changes",
        reason="evalstore ignores extra keys, but another tool may read them",
        example="values: [foo], severity: low → values: [foo], severity: high",
        instead=(
            "severity: low → severity: high (outside the checks, or declared cosmetic in "
            "evalstore.yaml)"
        ),
        deciders=(_show_beside_scoring,),
        certainty=Certainty.ASSUMED,
    ),
    ChangeRule(
        id="list-reordered",
        artifact="any",
        level=Bump.PATCH,
        scope=Scope.NOTHING,
        message="the order of {where} changes{why}",
        reason="the order has no meaning",
        example="values: [foo, bar, baz] → values: [baz, foo, bar]",
        headline=HeadlineLevel(Bump.MINOR, only="questions"),
    ),
)
