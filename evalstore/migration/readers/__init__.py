"""Runs the reader of a format.

A new format is a module here, its table in `migrations/`, and its case folders.

A reader module has the pure function `read(legacy, table) -> Extraction`. A reader that does not
store a remainder also has `restore(main, rubrics, table)`: the source's value from the artifact
that stands for it and the rubrics it pins. `RUNS = True` says that its files are runs, which a
store keeps unchanged; `COMPANIONS = True` that its files may name other files with cases; `WHOLE =
True` that its datasets keep their files whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from types import ModuleType
from typing import Any

from evalstore.documents import Document, DoubledKey, Pointer
from evalstore.migration.artifact_names import REF_KEYS
from evalstore.migration.check_trials import try_checks
from evalstore.migration.exporting.export_result import EditedRubricError
from evalstore.migration.extraction import (
    ArtifactDraft,
    Extraction,
    LegacyCase,
    LegacySource,
    MigrationNote,
)
from evalstore.migration.folded_values import restore_parts
from evalstore.migration.merging.artifact_merge import list_refs
from evalstore.migration.opaque_values import set_opaque_aside
from evalstore.migration.outcome import (
    OUR_JUDGE,
    JudgeFacts,
    MigrationOutcome,
    find_judge_loss,
    find_worst_outcome,
)
from evalstore.migration.remainder import BESIDE, decode_value, restore_case, restore_root
from evalstore.migration.row_origins import fill_rows
from evalstore.migration.shared_rubrics import restore_values
from evalstore.migration.table import FormatTable
from evalstore.migration.value_readings import find_unknown_keys
from evalstore.model import Kind
from evalstore.text import make_excerpt

Rubrics = Mapping[str, Mapping[str, Any]]
# The key that only a rubric has, and the one that only a judge has.
_SELF_KEYS = {"checks": Kind.RUBRIC, "template": Kind.JUDGE}


def add_doubled_keys(extraction: Extraction, document: Document) -> Extraction:
    """Return an extraction with a remark on each case that has a duplicate key.

    Duplicate keys elsewhere have notes.
    """
    files = [document, *(case.document for case in extraction.cases if case.document)]
    if not any(file.doubled for file in files):
        return extraction
    # By identity: two companion files may have equal contents.
    places = {(id(case.document or document), case.pointer) for case in extraction.cases}
    remarks: dict[tuple[int, Pointer], list[str]] = {}
    notes: list[MigrationNote] = []
    for file in {id(file): file for file in files}.values():
        for key in file.doubled:
            steps = (key.pointer[:size] for size in range(len(key.pointer)))
            place = next(((id(file), at) for at in steps if (id(file), at) in places), None)
            if place:
                remarks.setdefault(place, []).append(_describe_key(key))
            else:
                outcome, other = MigrationOutcome.MIGRATED, None if file is document else file
                note = MigrationNote(key.pointer, outcome, _describe_key(key), document=other)
                notes.append(note)

    def remark(case: LegacyCase) -> LegacyCase:
        own = remarks.get((id(case.document or document), case.pointer), ())
        return replace(case, remarks=(*case.remarks, *own))

    cases = tuple(map(remark, extraction.cases))
    return replace(extraction, cases=cases, notes=(*extraction.notes, *notes))


def _describe_key(key: DoubledKey) -> str:
    name = make_excerpt(str(key.pointer[-1]))
    lines = f"lines {key.first} and {key.last}" if key.first != key.last else f"line {key.last}"
    return f"duplicate key {name!r}, on {lines}: the last counts"


def add_judge_losses(extraction: Extraction) -> Extraction:
    """Return an extraction in which cases with another judge are lossy.

    They ask another judge than the legacy grader's.
    """
    drafts = {draft.ref: draft for draft in extraction.drafts}
    return replace(
        extraction, cases=tuple(_add_judge_loss(case, drafts) for case in extraction.cases)
    )


def _add_judge_loss(case: LegacyCase, drafts: Mapping[str, ArtifactDraft]) -> LegacyCase:
    judges = dict.fromkeys(_find_judges(case.rubric.value, drafts)) if case.rubric else {}
    loss = find_judge_loss(judges, case.unseen)
    remarks = dict.fromkeys(remark for judge in judges for remark in judge.remarks)
    case = replace(case, remarks=(*case.remarks, *remarks)) if remarks else case
    if not loss:
        return case
    outcome = find_worst_outcome([case.outcome, MigrationOutcome.LOSSY])
    return replace(case, outcome=outcome, reasons=(loss, *case.reasons))


def _find_judges(value: Any, drafts: Mapping[str, ArtifactDraft]) -> Iterator[JudgeFacts]:
    """Yield the facts about each judge that a rubric asks; one without a draft counts as ours."""
    if isinstance(value, list):
        for item in value:
            yield from _find_judges(item, drafts)
    for key, item in value.items() if isinstance(value, dict) else ():
        draft = drafts.get(item) if key in REF_KEYS and isinstance(item, str) else None
        if draft and draft.kind is Kind.RUBRIC:
            yield from _find_judges(draft.value, drafts)
        elif key == "judge_prompt_ref":
            yield draft.facts if draft else OUR_JUDGE
        elif key in {"checks", "jury", "members"}:
            yield from _find_judges(item, drafts)


def run_reader(legacy: LegacySource, table: FormatTable) -> Extraction:
    """Return what a format's reader extracts from a file.

    Each key that no grader reads has a note, unless everything is refused and no key is kept.
    """
    extraction: Extraction = _load_reader(table).read(legacy, table)
    drafts = tuple(map(legacy.prompts.put_words, _select_used(extraction)))
    extraction = replace(extraction, drafts=drafts)
    extraction = set_opaque_aside(extraction, legacy.document, table)
    extraction = add_judge_losses(extraction)
    extraction = replace(extraction, cases=tuple(map(try_checks, extraction.cases)))
    if extraction.is_refused:
        return extraction
    extraction = add_doubled_keys(extraction, legacy.document)
    # A reader's own note on a key is more specific than the general one.
    noted = {note.pointer for note in extraction.notes}
    notes = find_unknown_keys(legacy.document.value, table.select_dialect(extraction.dialect))
    return replace(
        extraction,
        notes=(*extraction.notes, *(note for note in notes if note.pointer not in noted)),
    )


def _select_used(extraction: Extraction) -> Iterator[ArtifactDraft]:
    """Yield the drafts without those judges of the table that no rubric asks."""
    users = [*(case.rubric for case in extraction.cases if case.rubric), *extraction.drafts]
    used = {ref for user in users for ref in list_refs(user.value)}
    return (draft for draft in extraction.drafts if not draft.is_common or draft.ref in used)


def restore_files(main: Mapping[str, Any], rubrics: Rubrics, table: FormatTable) -> dict[str, Any]:
    """Return the value of the source that `main` represents, and its companion files.

    The source is under "", and companion files are by path. `rubrics` are those that its questions
    pin, by reference.
    """
    if getattr(_load_reader(table), "WHOLE", False):
        source = main["x_source"]
        kept = {"": source["kept"], **source.get(BESIDE, {})}
        return {path: decode_value(value) for path, value in kept.items()}
    main, rubrics = restore_values(fill_rows(main), rubrics)
    if restore := getattr(_load_reader(table), "restore", None):
        return {"": restore(main, rubrics, table)}
    source = main["x_source"]
    # A rubric or judge that represents its source refers to itself.
    kind = next((kind for key, kind in _SELF_KEYS.items() if key in main), None)
    kept = _unfold(source["kept"], main, f"{kind}/{main.get('id')}") if kind else source["kept"]
    rows = [_unfold_row(row, rubrics) for row in main.get("questions", ())]
    cases = [(row["x_source"], restore_case(row, table.mirrors)) for row in rows]
    # Without a pointer, it is a line that is in no document.
    unmapped = [item for item in main.get("x_unmapped", ()) if "pointer" in item]
    cases += [(item, decode_value(item["value"])) for item in unmapped]
    files: dict[str, Any] = {}
    for path, remainder in {"": kept, **source.get(BESIDE, {})}.items():
        own = [(place, case) for place, case in cases if place.get(BESIDE, "") == path]
        placed = [(place["pointer"], case) for place, case in own]
        files[path] = restore_root(remainder, placed)
    return files


def has_remainder(table: FormatTable) -> bool:
    """Whether a format's artifacts store the remainder of their source.

    They do if its reader has no `restore`.
    """
    return not hasattr(_load_reader(table), "restore")


def has_run_files(table: FormatTable) -> bool:
    """Whether the files of a format are runs, which a store keeps unchanged."""
    return bool(getattr(_load_reader(table), "RUNS", False))


def may_have_companions(table: FormatTable) -> bool:
    """Whether a file of a format may name other files with cases."""
    return bool(getattr(_load_reader(table), "COMPANIONS", False))


def _unfold_row(row: Mapping[str, Any], rubrics: Rubrics) -> Mapping[str, Any]:
    """Return a question whose remainder has all that question and rubric say for it."""
    source = row["x_source"]
    if "kept" not in source:
        return row
    ref = row.get("rubric_ref", "")
    parts = {**rubrics.get(ref, {}), "question": row}
    return {**row, "x_source": {**source, "kept": _unfold(source["kept"], parts, ref)}}


def _unfold(kept: Any, parts: Mapping[str, Any], ref: str) -> Any:
    try:
        return restore_parts(kept, parts)
    except (LookupError, TypeError, ValueError):
        raise EditedRubricError(str(parts.get("question", parts).get("id")), ref) from None


def _load_reader(table: FormatTable) -> ModuleType:
    # Imported on demand: a run with one format loads one reader.
    return import_module(f"evalstore.migration.readers.{table.format}")
