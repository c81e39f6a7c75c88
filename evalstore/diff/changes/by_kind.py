"""Finds the changes between two documents by their kind; key by key where the kinds differ or a side is unreadable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from evalstore.diff.change import Change, Proof
from evalstore.diff.changes.dataset import find_question_changes, read_question_set
from evalstore.diff.changes.edit_script import find_extra_key_changes, find_key_changes
from evalstore.diff.changes.judge import find_judge_changes
from evalstore.diff.changes.rubric import find_rubric_changes
from evalstore.diff.composite_facts import attach_composite_facts
from evalstore.diff.document import ComparedDocument
from evalstore.diff.kinds import KINDS
from evalstore.diff.pairing import pair_checks
from evalstore.diff.plain_data import is_same, make_plain
from evalstore.diff.references import ArtifactLoader
from evalstore.diff.rubric_state import CheckState, RubricState, read_rubric
from evalstore.model import Kind, is_cosmetic

DatasetRows = tuple[Iterable[Mapping[str, Any]], Iterable[Mapping[str, Any]]]

_RUBRIC_KEYS = frozenset({"id", "version", "checks", "scoring"})
_DATASET_KEYS = frozenset({"id", "version", "questions", "rows", "defaults"})
_SAME_PARAM = Proof("it is the default, or another spelling of the same value")


def find_changes(
    sides: tuple[ComparedDocument, ComparedDocument],
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
    if kinds == {Kind.RUBRIC}:
        return _find_rubric_edits(old, new, load)
    if kinds == {Kind.JUDGE}:
        return find_judge_changes(old, new, rule_set)
    if kinds == {Kind.DATASET}:
        return _find_dataset_edits(sides, rows, renames)
    return _find_plain_edits(old, new)


def _find_rubric_edits(old: dict[str, Any], new: dict[str, Any], load: ArtifactLoader | None) -> Iterator[Change]:
    before, after = read_rubric(old), read_rubric(new)
    # A side that its schema refuses has no meaning to compare: every key that differs is then unclassified, so major.
    if before is None or after is None:
        yield from _find_plain_edits(old, new)
        return
    if not is_same(old.get("id"), new.get("id")):
        yield Change("rubric-id-changed", old.get("id"), new.get("id"), ("id",), ("id",))
    yield from find_extra_key_changes(old, new, known=_RUBRIC_KEYS)
    before, after = attach_composite_facts((before, after), load)
    # Two spellings of one rubric are equal there; what is written otherwise is found in the mappings.
    yield from find_rubric_changes(before, after, load)
    yield from _find_spelling_changes(old, new, (before, after))


def _find_dataset_edits(
    sides: tuple[ComparedDocument, ComparedDocument], rows: DatasetRows | None, renames: Mapping[str, str]
) -> Iterator[Change]:
    old, new = _insert_rows((sides[0].value, sides[1].value), rows)
    before, after = read_question_set(old), read_question_set(new)
    if before is None or after is None:
        yield from _find_plain_edits(old, new)
        return
    undivided = {"id"} if rows else {"id", "rows"}
    for key, old_value, new_value in find_key_changes(old, new):
        if key in undivided:
            yield Change("unclassified-change", old_value, new_value, (key,), (key,), name=key)
    yield from find_extra_key_changes(old, new, known=_DATASET_KEYS)
    yield from find_question_changes(before, after, renames)


def _insert_rows(values: tuple[dict[str, Any], dict[str, Any]], rows: DatasetRows | None) -> Iterator[dict[str, Any]]:
    """Yield each dataset with its rows where it names their file; a row of both sides stays the one object it is."""
    both = [] if rows is None else [[*side] for side in rows]
    common = frozenset.intersection(*(frozenset(map(id, side)) for side in both)) if both else frozenset()
    for index, value in enumerate(values):
        if not both or "rows" not in value:
            yield value
        else:
            yield value | {"rows": [row if id(row) in common else make_plain(row) for row in both[index]]}


def _find_plain_edits(old: dict[str, Any], new: dict[str, Any]) -> Iterator[Change]:
    for key, before, after in find_key_changes(old, new):
        if key != "version":
            rule = "metadata-changed" if is_cosmetic(key) else "unclassified-change"
            yield Change(rule, before, after, (key,), (key,), name=key)


def find_spelling_change(sides: tuple[ComparedDocument, ComparedDocument]) -> Iterator[Change]:
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
                check, goal, written=(old["checks"][check.index], new["checks"][goal.index])
            )


def _find_check_spelling(
    check: CheckState, goal: CheckState, *, written: tuple[Mapping[str, Any], Mapping[str, Any]]
) -> Iterator[Change]:
    old_written, new_written = written
    for name, value in check.params.items():
        rule = KINDS[goal.kind].params[name].rule
        is_written_alike = (name in old_written) is (name in new_written) and is_same(
            old_written.get(name), new_written.get(name)
        )
        if rule and not is_written_alike and is_same(value, goal.params[name]):
            yield Change(
                rule,
                old_written.get(name),
                new_written.get(name),
                ("checks", check.index, name),
                ("checks", goal.index, name),
                name=name,
                words={"check": goal.id, "came": "has another spelling of"},
                proof=_SAME_PARAM,
            )
