"""Finds the changes between two documents by their kind, or key by key if a side is not valid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from evalstore.diff.change import Change, Proof
from evalstore.diff.changes.edit_script import (
    find_extra_key_changes,
    find_key_changes,
)
from evalstore.diff.changes.examples import find_example_changes
from evalstore.diff.changes.spelling import find_param_spellings
from evalstore.diff.document import Sides
from evalstore.diff.findings import Certainty
from evalstore.diff.pairing import pair_checks
from evalstore.diff.plain_data import is_same, make_plain
from evalstore.diff.references import ArtifactLoader
from evalstore.diff.rubric_state import read_rubric_state
from evalstore.model import Kind, is_cosmetic
from evalstore.model.artifact import RENAMED_FROM, find_former_name
from evalstore.model.example import EXAMPLES

DatasetRows = tuple[Iterable[Mapping[str, Any]], Iterable[Mapping[str, Any]]]
_RUBRIC_KEYS = frozenset({"id", "version", RENAMED_FROM, "checks", "scoring", EXAMPLES})
_DATASET_KEYS = frozenset({"id", "version", RENAMED_FROM, "questions", "rows", "defaults"})
_RENAMED = Proof(
    f"`{RENAMED_FROM}` says so: it goes on from the releases of the old id, which stay",
    certainty=Certainty.BY_DEFINITION,
)


def find_changes(
    sides: Sides,
    rows: DatasetRows | None,
    *,
    renames: Mapping[str, str],
    load: ArtifactLoader | None,
    rule_set: int,
) -> Iterator[Change]:
    """Yield the edits between two sides; `rows` are those that datasets keep in a separate file.

    `renames` are declared renames of questions: from old id to new id.
    """
    old, new = (side.value for side in sides)
    kinds = {side.kind for side in sides}
    changes = _find_plain_edits(old, new)
    if kinds == {Kind.RUBRIC}:
        changes = _find_rubric_edits(old, new, load)
    elif kinds == {Kind.JUDGE}:
        from evalstore.diff.changes.judge import find_judge_changes

        changes = find_judge_changes(old, new, rule_set)
    elif kinds == {Kind.DATASET}:
        changes = _find_dataset_edits(sides, rows, renames)
    kind = sides[1].kind
    is_renamed = kind is not None and find_former_name(kind, new) == sides[0].name
    for change in changes:
        yield _rename(change) if is_renamed and change.new_pointer == ("id",) else change
    # If the id changes too, the line `renamed_from` is part of that edit, and not one by itself.
    if is_same(old.get("id"), new.get("id")) and not is_same(
        old.get(RENAMED_FROM), new.get(RENAMED_FROM)
    ):
        before_at, after_at = (
            (RENAMED_FROM,) if RENAMED_FROM in side else None for side in (old, new)
        )
        before, after = old.get(RENAMED_FROM), new.get(RENAMED_FROM)
        yield Change("metadata-changed", before, after, before_at, after_at, name=RENAMED_FROM)


def _rename(change: Change) -> Change:
    """Return the change of an id with the proof that it is declared, and a rule for a dataset."""
    rule = "metadata-changed" if change.rule == "unclassified-change" else None
    return replace(change, proof=_RENAMED._replace(rule=rule))


def _find_rubric_edits(
    old: dict[str, Any], new: dict[str, Any], load: ArtifactLoader | None
) -> Iterator[Change]:
    before = read_rubric_state(old)
    # Most edits touch no check: then the checks and the scoring are read only once.
    is_scored_alike = all(is_same(old.get(key), new.get(key)) for key in ("checks", "scoring"))
    after = before if is_scored_alike else read_rubric_state(new)
    # A side that its schema refuses has no meaning that could be compared. Every key that differs
    # is then unclassified, and so major.
    if before is None or after is None:
        yield from _find_plain_edits(old, new)
        return
    if not is_same(old.get("id"), new.get("id")):
        yield Change("rubric-id-changed", old.get("id"), new.get("id"), ("id",), ("id",))
    yield from find_example_changes(old, new)
    yield from find_extra_key_changes(old, new, known=_RUBRIC_KEYS)
    if is_scored_alike:
        return
    from evalstore.diff.changes.composite_facts import attach_composite_facts
    from evalstore.diff.changes.rubric import find_rubric_changes

    before, after = attach_composite_facts((before, after), load)
    after = pair_checks(before, after)
    # The states of two spellings of one rubric are equal; the spelling itself is compared in the
    # mappings.
    yield from find_rubric_changes(before, after, load)
    yield from find_param_spellings(old, new, (before, after))


def _find_dataset_edits(
    sides: Sides, rows: DatasetRows | None, renames: Mapping[str, str]
) -> Iterator[Change]:
    from evalstore.diff.changes.dataset import find_question_changes, read_question_set

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
    """Yield each dataset, with its rows if it names a file for them.

    A row that is on both sides stays one object.
    """
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
