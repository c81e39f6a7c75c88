"""Follows a changed reference: imports the diff between the two artifacts that it names."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import replace

from evalstore.checks import find_inner_ref
from evalstore.diff.change import Change, Decision, Proof
from evalstore.diff.direction import EITHER, is_always_scored
from evalstore.diff.findings import Certainty, Diff
from evalstore.diff.plain_data import make_plain
from evalstore.diff.rubric_state import read_rubric_state
from evalstore.errors import EvalstoreError
from evalstore.model import Artifact, PinType, Ref, parse_ref
from evalstore.versions import Bump

ArtifactLoader = Callable[[str], Artifact]
ArtifactComparer = Callable[[Artifact, Artifact], Diff]

_JUDGE, _COMPOSITE = "judge-ref-changed", "composite-ref-changed"
_QUESTION = "question-rubric-ref-changed"
REFERENCES = frozenset({_JUDGE, _COMPOSITE, _QUESTION})
_UNGRADED = Decision(Certainty.BY_DEFINITION, "without a rubric a question is not graded")
# Rules of edits that may decide whether an output has a score at all.
_RULES_OF_UNSCORING = frozenset(
    {
        "check-added",
        "check-removed",
        "check-kind-changed",
        "check-weight-changed",
        "check-target-changed",
    }
    | {
        "scoring-combine-changed",
        "scoring-required-changed",
        "json-schema-tightened",
        "json-schema-loosened",
    }
    | {"scoring-missing-policy-changed", "scoring-errors-policy-changed", "format-changed"}
)
_SCORE_MAY_COME_OR_GO = Decision(
    Certainty.BY_DEFINITION,
    "its rubric may leave other outputs unscored, and unscored is not 0",
    direction=EITHER,
)
_OTHER = "it is another artifact"
_COMMIT = frozenset("0123456789abcdef")
_COMMIT_LENGTHS = frozenset({40, 64})


def import_reference(
    change: Change,
    load: ArtifactLoader | None,
    compare: ArtifactComparer,
    locked: Container[str] = (),
) -> Change:
    """Return the change of a reference with its imported diff, or why that is unknown.

    A floating reference imports nothing, because its meaning may change, unless it is `locked`.
    """
    if change.rule not in REFERENCES:
        return change
    if None in (change.old, change.new):
        absent = "no judge" if change.rule == _JUDGE else "no rubric"
        words = {"old": absent} if change.old is None else {"new": absent}
        decision = _UNGRADED if change.rule == _QUESTION else change.decision
        return replace(change.with_words(**words), decision=decision)
    # Fails closed: every early return below keeps the rule's own level, major, with the reason in
    # the message.
    try:
        old, new = (
            parse_ref(ref if isinstance(ref, str) else "") for ref in (change.old, change.new)
        )
    except EvalstoreError:
        return change.with_reason("one side has no valid reference")
    # A floating reference may name another artifact tomorrow; only the lock file prevents that.
    if not is_pinned(new):
        if str(new) not in locked:
            return replace(change, rule="ref-unpinned")
        change = change.with_words(held=str(new))
    if load is None:
        return change.with_reason(
            _OTHER if old.name != new.name else "the artifacts are not available"
        )
    try:
        sides = load(str(old)), load(str(new))
        if old.name != new.name and sides[1].former_name != old.name:
            return replace(change.with_reason(_OTHER), is_sent=change.rule == _JUDGE)
        return _import_diff(change, sides, compare)
    except EvalstoreError as error:
        return change.with_reason(error.message)


def _import_diff(
    change: Change, sides: tuple[Artifact, Artifact], compare: ArtifactComparer
) -> Change:
    if (
        change.rule == _COMPOSITE
        and sides[0].digest != sides[1].digest
        and any(map(_has_composite, sides))
    ):
        return change.with_reason(
            "composites can be only one level deep, and one side has another inside"
        )
    # `compare` compares the same pair only once, however many references name it.
    imported = compare(*sides)
    if _has_turned_threshold(change, imported):
        return change.with_reason("negate inverts its score, and the threshold for it changes")
    return replace(
        change,
        imported_diff=imported,
        decision=_SCORE_MAY_COME_OR_GO if _may_lose_score(change, imported, sides) else None,
    )


def prove_same_content(change: Change) -> Proof | None:
    """Prove that both references mean the same content."""
    if (
        change.imported_diff is None
        or change.imported_diff.old.digest != change.imported_diff.new.digest
    ):
        return None
    return Proof("both versions have the same digest", rule="ref-repinned-same-content")


def prove_locked_harmless(change: Change) -> Proof | None:
    """Prove that a floating but locked reference changes no score: minor, because it can move."""
    if (
        "held" not in change.words
        or change.imported_diff is None
        or change.imported_diff.required_bump is Bump.MAJOR
    ):
        return None
    return Proof(
        f"evalstore.lock keeps it at {change.imported_diff.new.ref}: no score moves",
        Bump.MINOR,
        "ref-unpinned",
    )


def prove_harmless(change: Change) -> Proof | None:
    """Prove that nothing that changed between the two versions changes a score."""
    if change.imported_diff is None or change.imported_diff.required_bump is Bump.MAJOR:
        return None
    level = max(change.imported_diff.required_bump, Bump.PATCH)
    return Proof(f"the change between the two versions is {level}: no score moves", level)


def prove_readers_unmoved(change: Change) -> Proof | None:
    """Prove that the checks that read it ask the same, or do not count in their rubric."""
    if change.imported_diff is None or change.imported_diff.required_bump is Bump.MAJOR:
        return None
    level = max(change.imported_diff.required_bump, Bump.PATCH)
    return Proof("the checks that read it ask for the same, or do not count", level)


def prove_default_unused(change: Change) -> Proof | None:
    """Prove that no question that both sides have uses the default."""
    if change.words.get("users") != "0":
        return None
    return Proof("no question on both sides uses this default")


def is_pinned(ref: Ref) -> bool:
    """Whether a reference always means the same: one version, or one commit."""
    if ref.type is PinType.REVISION:
        return len(ref.revision) in _COMMIT_LENGTHS and _COMMIT.issuperset(ref.revision)
    return ref.type is PinType.EXACT


def _has_composite(artifact: Artifact) -> bool:
    """Whether a rubric has a composite. Nested, that is unscored, which its diff does not show."""
    checks = artifact.value.get("checks")
    listed = checks if isinstance(checks, list) else []
    return any(map(find_inner_ref, listed))


def _has_turned_threshold(change: Change, imported: Diff) -> bool:
    """Whether a composite is negated and passes by its rubric's threshold, which changes.

    The directions in that rubric's diff are for its own score, not for the negated one.
    """
    if change.rule != _COMPOSITE or change.checks[1].threshold is not None:
        return False
    rules = {"scoring-threshold-changed", "scoring-verdict-changed"}
    moves = any(finding.rule in rules for finding in imported.findings)
    return moves and change.checks[1].negate


def _may_lose_score(change: Change, imported: Diff, sides: tuple[Artifact, Artifact]) -> bool:
    """Whether a composite may gain or lose its score, which its rubric's diff does not compare.

    It may if no check of the rubric is always scored, and an edit decides which outputs have a
    score.
    """
    if change.rule != _COMPOSITE:
        return False
    major = {finding.rule for finding in imported.findings if finding.level is Bump.MAJOR}
    if major.isdisjoint(_RULES_OF_UNSCORING):
        return False
    rubrics = [read_rubric_state(make_plain(side.value)) for side in sides]
    return not all(rubric and is_always_scored(rubric) for rubric in rubrics)
