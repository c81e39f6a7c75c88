"""Plans one source: its artifacts under their final ids, their files in the store, and an entry for each case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from evalstore.documents import Document, Pointer, format_json_pointer
from evalstore.errors import EvalstoreError
from evalstore.migration.artifact_names import ArtifactBatch, ArtifactNames
from evalstore.migration.extraction import ArtifactDraft, Extraction, LegacyCase, LegacySource, MigrationNote
from evalstore.migration.folded_values import fold_value
from evalstore.migration.legacy_files import BrokenLine
from evalstore.migration.outcome import MigrationEntry, MigrationOutcome
from evalstore.migration.planned_writes import (
    PlannedText,
    ReadCurrent,
    build_path,
    keep_source_text,
    render_text,
    split_artifact,
)
from evalstore.migration.remainder import encode_value, find_case_remainder, find_root_remainder
from evalstore.migration.round_trip import check_restorable
from evalstore.migration.table import FormatTable
from evalstore.runs.stored_names import decode_path


@dataclass(frozen=True, slots=True)
class SourcePlan:
    """The plan of one source: texts by path, an entry for each case, and the path of what stands for the source."""

    files: dict[str, PlannedText]
    entries: tuple[MigrationEntry, ...]
    target: str | None = None


@dataclass(frozen=True, slots=True)
class SourceContext:
    """One source with its table, what its reader extracted, and the companion files that were read with it."""

    extraction: Extraction
    legacy: LegacySource
    table: FormatTable
    companions: Mapping[str, Document]


def plan_source(  # noqa: PLR0913  # what a source is, and what it meets
    extraction: Extraction,
    legacy: LegacySource,
    table: FormatTable,
    names: ArtifactNames,
    *,
    companions: Mapping[str, Document],
    read_current: ReadCurrent,
) -> SourcePlan:
    """Return the files of a source's artifacts that no earlier source made; no file where all cases are refused.

    `companions` are the documents that were read with it, by the path by which it names them. `read_current` returns
    the text that the store has at a path: a file with the same meaning stays byte for byte.
    """
    # A source without a usable case is written only as a dataset that keeps what was set aside, and never if refused.
    if not extraction.is_run and not extraction.usable_cases:
        entries = tuple(_list_set_aside(extraction, legacy))
        if extraction.dataset is None or any(entry.outcome is MigrationOutcome.REFUSED for entry in entries):
            return SourcePlan({}, entries)
    context = SourceContext(extraction, legacy, table, companions)
    batch = ArtifactBatch(legacy.file, names.start_trial())
    # Names go to a trial first: a source that is refused below must not use up any id.
    try:
        rubrics = _name_drafts(context, batch)
        head = extraction.dataset and _build_dataset(context, extraction.dataset, rubrics)
        main = batch.add(head, unshared=True) if head else next(filter(None, rubrics), None)
        run = batch.names.claim_run_path(legacy.file, legacy.sha256) if extraction.is_run else None
        values = {draft.ref: _build_value(draft, context, run) for draft in batch.new_drafts}
        if main and not run:
            pinned = {draft.ref: draft.value for draft in filter(None, rubrics)}
            check_restorable(values[main.ref], pinned, table, {"": legacy.document, **companions})
        # The size of the source decides whether rows get a separate file: it is stable when artifacts are edited.
        size = sum(len(document.text) for document in (legacy.document, *companions.values()))
        parts = {
            path: part for draft in batch.new_drafts for path, part in split_artifact(draft, values[draft.ref], size)
        }
        files = {path: render_text(path, part, read_current(path)) for path, part in parts.items()}
        files |= {run: keep_source_text(legacy, read_current(run))} if run else {}
    except EvalstoreError as error:
        return SourcePlan({}, tuple(_refuse_source(extraction, legacy, f"cannot be kept: {error.message}")))
    # From here on the source is planned for good, and its ids are used.
    names.merge_trial(batch.names)
    target = build_path(main) if main and (extraction.dataset or not run) else run
    pairs = zip(extraction.usable_cases, rubrics, strict=True)
    case_entries = (_make_case_entry(case, rubric, target, context, batch.notes) for case, rubric in pairs)
    return SourcePlan(
        files,
        tuple(sorted([*_list_set_aside(extraction, legacy, target, run), *case_entries], key=_entry_order)),
        target,
    )


def _refuse_source(extraction: Extraction, legacy: LegacySource, reason: str) -> Iterator[MigrationEntry]:
    """Yield an entry for every case of a source that is refused as a whole, or one for the source without a case."""
    yield from _list_set_aside(extraction, legacy)
    for case in extraction.usable_cases:
        yield make_entry(case.document or legacy.document, case.pointer, MigrationOutcome.REFUSED, reason)
    if not extraction.usable_cases:
        yield make_entry(legacy.document, (), MigrationOutcome.REFUSED, reason)


def make_entry(document: Document, pointer: Pointer, outcome: MigrationOutcome, *reasons: str) -> MigrationEntry:
    """Return an entry about a place of a document that became no artifact."""
    return MigrationEntry(
        document.file, format_json_pointer(pointer), document.locate(pointer).line, outcome, reasons=reasons
    )


def _list_set_aside(
    extraction: Extraction, legacy: LegacySource, target: str | None = None, run: str | None = None
) -> Iterator[MigrationEntry]:
    for broken in legacy.broken_lines:
        line = broken.problem.place.line if broken.problem.place else None
        yield MigrationEntry(legacy.file, "", line, MigrationOutcome.REFUSED, reasons=(broken.problem.message,))
    for note in extraction.notes:
        entry = make_entry(note.document or legacy.document, note.pointer, note.outcome, note.reason)
        yield replace(entry, target=_find_note_target(note, entry.pointer, target, run))
    for case in extraction.cases:
        document = case.document or legacy.document
        yield from (make_entry(document, note.pointer, note.outcome, note.reason) for note in case.notes)
        if case.is_set_aside:
            yield make_entry(document, case.pointer, case.outcome, *case.reasons)


def _find_note_target(note: MigrationNote, pointer: str, target: str | None, run: str | None) -> str | None:
    if note.question or note.in_run:
        return f"{target}#{note.question}" if note.question else f"{run}#{pointer}"
    return target if note.outcome is MigrationOutcome.MIGRATED else None


def _make_case_entry(
    case: LegacyCase, rubric: ArtifactDraft | None, target: str | None, context: SourceContext, notes: list[str]
) -> MigrationEntry:
    document = case.document or context.legacy.document
    return MigrationEntry(
        file=document.file,
        pointer=format_json_pointer(case.pointer),
        line=document.locate(case.pointer).line,
        outcome=case.outcome,
        target=f"{target}#{case.question['id']}" if case.question else build_path(rubric) if rubric else target,
        rubric=rubric.ref if rubric else case.question.get("rubric_ref"),
        reasons=(*case.sentences, *(() if case.reasons else notes)),
    )


def _entry_order(entry: MigrationEntry) -> tuple[str, int]:
    return entry.file, entry.line or 0


def _name_drafts(context: SourceContext, batch: ArtifactBatch) -> list[ArtifactDraft | None]:
    """Name the judges and inner rubrics, then the rubric of each case; return the latter, one a usable case.

    Without a dataset or run, the first rubric stores the remainder of the file.
    """
    # Drafts come in dependency order, so every reference is final before it is copied into a rubric.
    for draft in context.extraction.drafts:
        batch.add(draft)
    rubrics = [_place_rubric(case) for case in context.extraction.usable_cases]
    if context.extraction.dataset or context.extraction.is_run:
        return [draft and batch.add(draft) for draft in rubrics]
    if context.legacy.broken_lines:
        raise context.legacy.broken_lines[0].problem
    first = [
        draft and batch.add(replace(draft, value=draft.value | _build_remainder(draft, context)), unshared=True)
        for draft in rubrics[:1]
    ]
    return first + [draft and batch.add(draft) for draft in rubrics[1:]]


def _build_remainder(rubric: ArtifactDraft, context: SourceContext) -> dict[str, Any]:
    """Return the `x_source` of a rubric that stands for its source: what it does not say of it already."""
    kept = fold_value(encode_value(context.legacy.document.value), rubric.value)
    return {"x_source": {"kept": kept, **_fold_companions(context)}}


def _build_dataset(context: SourceContext, head: ArtifactDraft, rubrics: list[ArtifactDraft | None]) -> ArtifactDraft:
    """Return the dataset: its head, its questions with their rubrics, and the remainder of the file."""
    cases, document = context.extraction.cases, context.legacy.document
    # Cases leave the remainder: their questions and `x_unmapped` hold them.
    own_pointers = [case.pointer for case in cases if not case.document]
    remainder = (
        {}
        if context.extraction.is_run
        else head.value.get("x_source")
        or {"kept": find_root_remainder(document.value, own_pointers), **_fold_companions(context)}
    )
    questions = (
        (case, rubric) for case, rubric in zip(context.extraction.usable_cases, rubrics, strict=True) if case.question
    )
    unmapped = [_describe_set_aside(case, context) for case in cases if case.is_set_aside]
    unmapped += [_describe_broken_line(broken) for broken in context.legacy.broken_lines]
    value = {
        **{key: item for key, item in head.value.items() if key != "x_source"},
        "questions": [_build_row(case, rubric, context) for case, rubric in questions],
        "x_source": remainder,
        **({"x_unmapped": unmapped} if unmapped else {}),
    }
    return replace(head, value=value)


def _build_value(draft: ArtifactDraft, context: SourceContext, run: str | None) -> dict[str, Any]:
    """Return an artifact's whole mapping, with its `x_source`; `run` is the path of the run that stores the source."""
    legacy, dialect = context.legacy, context.extraction.dialect
    file = decode_path(run) if run == legacy.file else legacy.file  # the source is a stored run itself
    origin = {"file": file, "sha256": legacy.sha256, "pointer": format_json_pointer(draft.pointer)}
    origin |= {"run": run} if run else {}
    source = {"format": context.table.format, "dialect": dialect, **origin, **draft.value.get("x_source", {})}
    return {"id": draft.id, "version": draft.version} | draft.value | {"x_source": source}


def _place_rubric(case: LegacyCase) -> ArtifactDraft | None:
    rubric = case.rubric
    return rubric if rubric is None or rubric.pointer else replace(rubric, pointer=case.pointer)


def _fold_companions(context: SourceContext) -> dict[str, Any]:
    remainders = {
        path: find_root_remainder(
            document.value, [case.pointer for case in context.extraction.cases if case.document is document]
        )
        for path, document in context.companions.items()
    }
    return {"beside": remainders} if remainders else {}


def _build_row(case: LegacyCase, rubric: ArtifactDraft | None, context: SourceContext) -> dict[str, Any]:
    fields = {key: item for key, item in case.question.items() if key != "x_source"}
    head = {"id": fields["id"], "input": fields["input"], **({"rubric_ref": rubric.ref} if rubric else {})}
    source = case.question.get("x_source")
    if source is None:
        source = _locate_case(case, context) | find_case_remainder(case.raw, fields, context.table.mirrors)
        if "kept" in source:
            source |= {"kept": fold_value(source["kept"], {**(rubric.value if rubric else {}), "question": fields})}
    return head | fields | {"x_source": source}


def _describe_set_aside(case: LegacyCase, context: SourceContext) -> dict[str, Any]:
    return _locate_case(case, context) | {"reason": "; ".join(case.reasons), "value": encode_value(case.raw)}


def _locate_case(case: LegacyCase, context: SourceContext) -> dict[str, Any]:
    paths = [path for path, document in context.companions.items() if document is case.document]
    return {**({"beside": paths[0]} if paths else {}), "pointer": format_json_pointer(case.pointer)}


def _describe_broken_line(broken: BrokenLine) -> dict[str, Any]:
    line = broken.problem.place.line if broken.problem.place else None
    return {"line": line, "reason": broken.problem.message, "value": broken.text}
