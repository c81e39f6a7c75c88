"""Plans one source: its artifacts under their final ids, their files in the store, and an entry for each case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from evalstore.documents import Document, Pointer, json_pointer
from evalstore.errors import EvalstoreError, RefusedError
from evalstore.migration.artifact_names import ArtifactBatch, ArtifactNames
from evalstore.migration.drafting import SourceContext, build_dataset, list_usable_cases, name_drafts, value_of
from evalstore.migration.extraction import ArtifactDraft, Extraction, LegacyCase, LegacySource
from evalstore.migration.fold import is_same_data
from evalstore.migration.outcome import MigrationEntry, MigrationOutcome
from evalstore.migration.planned_writes import (
    PlannedText,
    ReadCurrent,
    build_path,
    keep_source_text,
    render_text,
    split_artifact,
)
from evalstore.migration.readers import restore_companions, restore_source
from evalstore.migration.table import FormatTable


@dataclass(frozen=True, slots=True)
class SourcePlan:
    """The plan of one source: texts by path, an entry for each case, and the path of what stands for the source."""

    files: dict[str, PlannedText]
    entries: tuple[MigrationEntry, ...]
    target: str | None = None


def plan_source(  # noqa: PLR0913  # what a source is, and what it meets
    extraction: Extraction,
    legacy: LegacySource,
    table: FormatTable,
    names: ArtifactNames,
    *,
    beside: Mapping[str, Document],
    read_current: ReadCurrent,
) -> SourcePlan:
    """Return the files of a source's artifacts that no earlier source made; no file where all cases are refused.

    `companions` are the documents that were read with it, by the path by which it names them. `read_current` returns
    the text that the store has at a path: a file with the same meaning stays byte for byte.
    """
    if not extraction.is_run and not list_usable_cases(extraction):
        entries = tuple(_list_set_aside(extraction, legacy))
        if extraction.dataset is None or any(entry.outcome is MigrationOutcome.REFUSED for entry in entries):
            return SourcePlan({}, entries)
    context = SourceContext(extraction, legacy, table, beside)
    batch = ArtifactBatch(legacy.file, names.start_trial())
    try:
        rubrics = name_drafts(context, batch)
        head = extraction.dataset and build_dataset(context, extraction.dataset, rubrics)
        main = batch.add(head, own=True) if head else next(filter(None, rubrics), None)
        run = batch.names.claim_run_path(legacy.file, legacy.sha256) if extraction.is_run else None
        values = {draft.ref: value_of(draft, context, run) for draft in batch.fresh}
        if main and not run:
            _prove(values[main.ref], {draft.ref: draft.value for draft in filter(None, rubrics)}, context)
        size = sum(len(document.text) for document in (legacy.document, *beside.values()))
        parts = {path: part for draft in batch.fresh for path, part in split_artifact(draft, values[draft.ref], size)}
        files = {path: render_text(path, part, read_current(path)) for path, part in parts.items()}
        files |= {run: keep_source_text(legacy, read_current(run))} if run else {}
    except EvalstoreError as error:
        return SourcePlan(
            {}, (make_entry(legacy.document, (), MigrationOutcome.REFUSED, f"cannot be kept: {error.message}"),)
        )
    names.merge_trial(batch.names)
    target = build_path(main) if main and (extraction.dataset or not run) else run
    pairs = zip(list_usable_cases(extraction), rubrics, strict=True)
    case_entries = (_make_case_entry(case, rubric, target, context, batch.notes) for case, rubric in pairs)
    return SourcePlan(
        files,
        tuple(sorted([*_list_set_aside(extraction, legacy, target, run), *case_entries], key=_entry_order)),
        target,
    )


def make_entry(document: Document, pointer: Pointer, outcome: MigrationOutcome, *reasons: str) -> MigrationEntry:
    """Return an entry about a place of a document that became no artifact."""
    return MigrationEntry(document.file, json_pointer(pointer), document.place(pointer).line, outcome, reasons=reasons)


def _list_set_aside(
    extraction: Extraction, legacy: LegacySource, target: str | None = None, run: str | None = None
) -> Iterator[MigrationEntry]:
    for broken in legacy.broken_lines:
        line = broken.problem.place.line if broken.problem.place else None
        yield MigrationEntry(legacy.file, "", line, MigrationOutcome.REFUSED, reasons=(broken.problem.message,))
    for note in extraction.notes:
        entry = make_entry(note.document or legacy.document, note.pointer, note.outcome, note.reason)
        entry_target = (
            f"{target}#{note.question}" if note.question else f"{run}#{entry.pointer}" if note.in_run else None
        )
        yield replace(entry, target=entry_target)
    for case in extraction.cases:
        document = case.document or legacy.document
        yield from (make_entry(document, note.pointer, note.outcome, note.reason) for note in case.notes)
        if case.is_set_aside:
            yield make_entry(document, case.pointer, case.outcome, *case.reasons)


def _make_case_entry(
    case: LegacyCase, rubric: ArtifactDraft | None, target: str | None, context: SourceContext, notes: list[str]
) -> MigrationEntry:
    document = case.document or context.legacy.document
    return MigrationEntry(
        file=document.file,
        pointer=json_pointer(case.pointer),
        line=document.place(case.pointer).line,
        outcome=case.outcome,
        target=f"{target}#{case.question['id']}" if case.question else build_path(rubric) if rubric else target,
        rubric=rubric.ref if rubric else case.question.get("rubric_ref"),
        reasons=(*notes, *case.reasons),
    )


def _entry_order(entry: MigrationEntry) -> tuple[str, int]:
    return entry.file, entry.line or 0


def _prove(main: dict[str, Any], rubrics: Mapping[str, Any], context: SourceContext) -> None:
    """Raise `RefusedError` unless the artifacts restore the source and its companions, equal as data.

    Runs before anything is written: the proof that nothing is lost.
    """
    restored = {"": restore_source(main, rubrics, context.table), **restore_companions(main, context.table)}
    files = {"": context.legacy.document, **context.beside}
    if not all(is_same_data(restored[path], document.value) for path, document in files.items()):
        raise RefusedError("evalstore could not give it back as it is; that is a fault of evalstore, please report it")
