"""Finds the changes between two documents by their kind; key by key where the kinds differ or a side is unreadable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

from evalstore.diff.attainable_scores import find_attainable_scores
from evalstore.diff.change import Change, Proof
from evalstore.diff.changes.check_judging import list_model_edits
from evalstore.diff.changes.composites import load_inner_rubric
from evalstore.diff.changes.dataset import find_question_changes, read_question_set
from evalstore.diff.changes.edit_script import (
    build_key_change,
    find_extra_key_changes,
    find_key_changes,
)
from evalstore.diff.changes.rubric import find_rubric_changes
from evalstore.diff.classify import classify
from evalstore.diff.direction import is_always_scored
from evalstore.diff.document import Sides
from evalstore.diff.findings import Certainty, Direction
from evalstore.diff.kinds import KINDS, Row
from evalstore.diff.limits import PROOFS
from evalstore.diff.plain_data import describe_value, is_same, make_plain, pair_checks
from evalstore.diff.references import ArtifactLoader
from evalstore.diff.rubric_state import CheckState, CompositeFacts, RubricState, read_rubric
from evalstore.model import Kind, is_cosmetic
from evalstore.model.artifact import RENAMED_FROM, find_former_name
from evalstore.model.example import EXAMPLES, read_examples
from evalstore.text import SHORT_EXCERPT

KEY_RULES = {
    "id": "judge-id-changed",
    "template": "judge-template-changed",
    "variables": "judge-template-variable-changed",
    "score_type": "judge-score-type-changed",
    "scale": "judge-scale-changed",
    "level_names": "judge-levels-changed",
    "level_scores": "judge-level-value-changed",
    "reply_pattern": "judge-reply-pattern-changed",
}
_RETIRES = "retires"  # a day, which no executor reads
_MORE = len(" and 99 more")
_LEVEL_KEYS = ("level_names", "level_scores")
_DEFAULTS: Mapping[str, Any] = {
    "variables": [],
    "score_type": "continuous",
    "scale": {"min": 0, "max": 1},
    "model": {},
    "applicable_to": None,
}
_MEASURED_KEYS = frozenset(
    {"tpr", "tnr", "validated_against", "validated_at", "sample_size", "digest"}
)


def find_judge_changes(
    old: Mapping[str, Any], new: Mapping[str, Any], rule_set: int
) -> Iterator[Change]:
    """Yield the edits between two judges' mappings; the rule set says which of them leave a validation stale."""
    before, after = {**_DEFAULTS, **old}, {**_DEFAULTS, **new}
    edits = [
        *_find_ruled_key_changes(before, after),
        *_find_judge_model_changes(before["model"], after["model"]),
    ]
    yield from edits
    yield from _find_validation_changes(
        old.get("validation"),
        new.get("validation"),
        [edit for edit in edits if _can_move_score(edit, rule_set)],
    )
    yield from _find_domain_changes(before, after)
    if not is_same(old.get(_RETIRES), new.get(_RETIRES)):
        yield build_key_change("metadata-changed", _RETIRES, (old, new))
    yield from _find_example_changes(old, new)
    known = {
        *KEY_RULES,
        "model",
        "validation",
        "applicable_to",
        "version",
        RENAMED_FROM,
        _RETIRES,
        EXAMPLES,
    }
    yield from find_extra_key_changes(old, new, known=known)


def _find_ruled_key_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    differ = {key: sides for key, sides in find_key_changes(old, new).items() if key in KEY_RULES}
    if differ.keys() >= set(_LEVEL_KEYS):
        # Names and scores of levels are one edit where both change.
        levels = tuple({key: side.get(key) for key in _LEVEL_KEYS} for side in (old, new))
        differ = {key: sides for key, sides in differ.items() if key not in _LEVEL_KEYS}
        differ["level_names"] = levels[0], levels[1]
    for key, (old_value, new_value) in differ.items():
        set_of_names = key == "variables" and _sort_names(old_value) == _sort_names(new_value)
        rule = "list-reordered" if set_of_names else KEY_RULES[key]
        yield Change(rule, old_value, new_value, (key,), (key,), name=key, judges=(old, new))


def _sort_names(names: Any) -> Any:
    return (
        sorted(names)
        if isinstance(names, list) and all(isinstance(name, str) for name in names)
        else object()
    )


def _find_judge_model_changes(old: Any, new: Any) -> Iterator[Change]:
    if not (isinstance(old, dict) and isinstance(new, dict)):
        old, new = {"id": old}, {"id": new}
    for rule, key, old_value, new_value in list_model_edits(old, new):
        yield Change(
            rule, old_value, new_value, ("model", key), ("model", key), name=f"model/{key}"
        )


def _find_validation_changes(old: Any, new: Any, moving: list[Change]) -> Iterator[Change]:
    at = ("validation",)
    old_value, new_value = (side if isinstance(side, dict) else {} for side in (old, new))
    if not is_same(old, new):
        differ = find_key_changes(old_value, new_value) if old_value and new_value else {}
        edits = [
            f"{key} {' to '.join(map(describe_value, sides))}" for key, sides in differ.items()
        ]
        words = {"changes": _list_edits(edits) or ("it is gone" if old_value else "it is new")}
        yield Change("judge-validation-changed", old, new, at, at, name="validation", words=words)
    measured = [
        {key: side[key] for key in _MEASURED_KEYS if key in side} for side in (old_value, new_value)
    ]
    # Rates that were measured before an edit which may move scores do not hold for the judge as it
    # is now.
    moved = [edit.name.partition("/")[0] for edit in moving]
    if measured[1] and is_same(*measured) and moved:
        words = {"moved": " and ".join(dict.fromkeys(moved))}
        yield Change(
            "judge-validation-stale",
            None,
            None,
            at,
            at,
            name="validation",
            words=words,
            discriminator=moved,
        )


def _list_edits(edits: Sequence[str]) -> str:
    """Return as many edits as a message has room for, the first in any case, and how many more there are."""
    ends = accumulate(len(edit) + len(", ") for edit in edits)
    shown = sum(end <= SHORT_EXCERPT - _MORE for end in ends) or 1
    rest = len(edits) - shown
    return ", ".join(edits) if rest <= 0 else f"{', '.join(edits[:shown])} and {rest} more"


def _can_move_score(edit: Change, rule_set: int) -> bool:
    return classify(edit, rule_set=rule_set).direction is not Direction.NONE


def _find_domain_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    at = ("applicable_to",)
    before, after = old["applicable_to"], new["applicable_to"]
    if is_same(before, after):
        return
    if not (isinstance(before, list) and isinstance(after, list)):
        yield Change("judge-applicable-to-narrowed", before, after, at, at)
        return
    removed, added = (
        [item for item in one if item not in other]
        for one, other in ((before, after), (after, before))
    )
    if removed:
        yield Change("judge-applicable-to-narrowed", removed, None, at, at)
    if added:
        validation = new.get("validation")
        backed = isinstance(validation, dict) and validation.get("validated_against")
        words = {"backing": "" if backed else "; no `validated_against` backs the claim"}
        yield Change("judge-applicable-to-widened", None, added, at, at, words=words)
    if not (removed or added):
        yield Change("list-reordered", before, after, at, at, name="applicable_to")


def _find_example_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    """Yield the edit of the examples: how many come, go, and expect something else."""
    if is_same(old.get(EXAMPLES), new.get(EXAMPLES)):
        return
    before, after = (
        {example.key: example for example in read_examples(side)} for side in (old, new)
    )
    both = before.keys() & after.keys()
    counts = {
        "added": len(after.keys() - both),
        "removed": len(before.keys() - both),
        "with another expectation": sum(
            before[key].expected != after[key].expected for key in both
        ),
    }
    words = (
        ", ".join(f"{count} {word}" for word, count in counts.items() if count)
        or "other words, or another order"
    )
    yield build_key_change("examples-changed", EXAMPLES, (old, new)).with_words(counts=words)


_KIND = "composite"


def attach_composite_facts(
    states: Iterable[RubricState], load: ArtifactLoader | None
) -> list[RubricState]:
    """Return rubrics whose composites know the rubric behind every exact pin of both sides, moved or not."""
    states = list(states)
    refs = {
        check.params["rubric_ref"]
        for state in states
        for check in state.checks
        if check.kind == _KIND
    }
    known = {ref: facts for ref in sorted(refs) if (facts := _find_facts(ref, load))}
    if not known:
        return states
    return [
        replace(
            state,
            checks=tuple(
                replace(check, rubrics=known) if check.kind == _KIND else check
                for check in state.checks
            ),
        )
        for state in states
    ]


def _find_facts(ref: str, load: ArtifactLoader | None) -> CompositeFacts | None:
    inner = load_inner_rubric(ref, load)
    if inner is None or any(check.kind == _KIND for check in inner.checks):
        return None
    is_sure = is_always_scored(inner)
    # An engine that only comes close answers for no check in strict mode, and so for none that
    # holds it.
    is_portable = all(KINDS[check.kind].is_portable for check in inner.checks)
    scores = find_attainable_scores(inner) or frozenset()
    return CompositeFacts(
        scores=tuple(sorted(scores)) if len(scores) <= PROOFS.scores else (),
        threshold=inner.threshold,
        may_miss=not is_sure and any(map(inner.may_skip, inner.checks)),
        may_err=not is_portable or (not is_sure and any(check.may_err for check in inner.checks)),
    )


DatasetRows = tuple[Iterable[Mapping[str, Any]], Iterable[Mapping[str, Any]]]

_RUBRIC_KEYS = frozenset({"id", "version", RENAMED_FROM, "checks", "scoring", EXAMPLES})
_DATASET_KEYS = frozenset({"id", "version", RENAMED_FROM, "questions", "rows", "defaults"})
_RENAMED = Proof(
    f"`{RENAMED_FROM}` says so: it goes on from the releases of the old id, which stay",
    certainty=Certainty.BY_DEFINITION,
)
_SAME_PARAM = Proof("it is the default, or another spelling of the same value")


def find_changes(
    sides: Sides,
    rows: DatasetRows | None,
    *,
    renames: Mapping[str, str],
    load: ArtifactLoader | None,
    rule_set: int,
) -> Iterator[Change]:
    """Yield the edits between two sides; `rows` are those of datasets that keep them in a file beside them.

    `renames` are the declared names of questions, by the old one.
    """
    old, new = (side.value for side in sides)
    kinds = {side.kind for side in sides}
    changes = _find_plain_edits(old, new)
    if kinds == {Kind.RUBRIC}:
        changes = _find_rubric_edits(old, new, load)
    elif kinds == {Kind.JUDGE}:
        changes = find_judge_changes(old, new, rule_set)
    elif kinds == {Kind.DATASET}:
        changes = _find_dataset_edits(sides, rows, renames)
    kind = sides[1].kind
    is_renamed = kind is not None and find_former_name(kind, new) == sides[0].name
    for change in changes:
        yield _rename(change) if is_renamed and change.new_pointer == ("id",) else change
    # Beside another id the line that says so is no edit of its own.
    if is_same(old.get("id"), new.get("id")) and not is_same(
        old.get(RENAMED_FROM), new.get(RENAMED_FROM)
    ):
        before_at, after_at = (
            (RENAMED_FROM,) if RENAMED_FROM in side else None for side in (old, new)
        )
        before, after = old.get(RENAMED_FROM), new.get(RENAMED_FROM)
        yield Change("metadata-changed", before, after, before_at, after_at, name=RENAMED_FROM)


def _rename(change: Change) -> Change:
    """Return the change of an id that is declared; that of a dataset has no rule of its own."""
    rule = "metadata-changed" if change.rule == "unclassified-change" else None
    return replace(change, proof=_RENAMED._replace(rule=rule))


def _find_rubric_edits(
    old: dict[str, Any], new: dict[str, Any], load: ArtifactLoader | None
) -> Iterator[Change]:
    before = read_rubric(old)
    # Most edits touch no check: what both sides have is read once.
    is_scored_alike = all(is_same(old.get(key), new.get(key)) for key in ("checks", "scoring"))
    after = before if is_scored_alike else read_rubric(new)
    # A side that its schema refuses has no meaning to compare: every key that differs is then
    # unclassified, so major.
    if before is None or after is None:
        yield from _find_plain_edits(old, new)
        return
    if not is_same(old.get("id"), new.get("id")):
        yield Change("rubric-id-changed", old.get("id"), new.get("id"), ("id",), ("id",))
    yield from _find_example_changes(old, new)
    yield from find_extra_key_changes(old, new, known=_RUBRIC_KEYS)
    if is_scored_alike:
        return
    before, after = attach_composite_facts((before, after), load)
    # Two spellings of one rubric are equal there; what is written otherwise is found in the
    # mappings.
    yield from find_rubric_changes(before, after, load)
    yield from _find_spelling_changes(old, new, (before, after))


def _find_dataset_edits(
    sides: Sides, rows: DatasetRows | None, renames: Mapping[str, str]
) -> Iterator[Change]:
    old, new = _insert_rows((sides[0].value, sides[1].value), rows)
    before, after = read_question_set(old), read_question_set(new)
    if before is None or after is None:
        yield from _find_plain_edits(old, new)
        return
    undivided = {"id"} if rows else {"id", "rows"}
    for key, values in find_key_changes(old, new).items():
        if key in undivided:
            yield Change("unclassified-change", *values, (key,), (key,), name=key)
    yield from find_extra_key_changes(old, new, known=_DATASET_KEYS)
    yield from find_question_changes(before, after, renames)


def _insert_rows(
    values: tuple[dict[str, Any], dict[str, Any]], rows: DatasetRows | None
) -> Iterator[dict[str, Any]]:
    """Yield each dataset with its rows where it names their file; a row of both sides stays the one object it is."""
    both = [] if rows is None else [[*side] for side in rows]
    common = (
        frozenset.intersection(*(frozenset(map(id, side)) for side in both))
        if both
        else frozenset()
    )
    for index, value in enumerate(values):
        if not both or "rows" not in value:
            yield value
        else:
            yield value | {
                "rows": [row if id(row) in common else make_plain(row) for row in both[index]]
            }


def _find_plain_edits(old: dict[str, Any], new: dict[str, Any]) -> Iterator[Change]:
    for key, values in find_key_changes(old, new).items():
        if key not in {"version", RENAMED_FROM}:
            rule = "metadata-changed" if is_cosmetic(key) else "unclassified-change"
            yield Change(rule, *values, (key,), (key,), name=key)


def find_spelling_change(sides: Sides) -> Iterator[Change]:
    """Yield the edit of a document whose spelling alone differs: its digest does, too, so it needs a version."""
    old, new = (side.content for side in sides)
    if not is_same(old, new):
        yield Change("spelling-changed", old, new, (), ())


def _find_spelling_changes(
    old: Mapping[str, Any], new: Mapping[str, Any], states: tuple[RubricState, RubricState]
) -> Iterator[Change]:
    """Yield the edits of parameters that are written otherwise and mean the same: a patch, as the digest differs."""
    before = {check.token: check for check in states[0].checks}
    for goal in pair_checks(*states).checks:
        check = before.get(goal.token)
        if check is not None and check.kind == goal.kind:
            yield from _find_check_spelling(
                check, goal, old["checks"][check.index], new["checks"][goal.index]
            )


def _find_check_spelling(
    check: CheckState, goal: CheckState, old: Row, new: Row
) -> Iterator[Change]:
    differ = find_key_changes(old, new)
    words = {"check": goal.id, "came": "has another spelling of"}
    for name, value in check.params.items():
        rule = KINDS[goal.kind].params[name].rule
        if rule and name in differ and is_same(value, goal.params[name]):
            at = ("checks", check.index, name), ("checks", goal.index, name)
            yield Change(rule, *differ[name], *at, name=name, words=words, proof=_SAME_PARAM)
