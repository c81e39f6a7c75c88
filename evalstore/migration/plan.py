"""From what a reader took to the files of a store, with the proof that the source can be given back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from evalstore.documents import Document, Pointer, json_pointer
from evalstore.errors import EvalstoreError, RefusedError
from evalstore.migration.drafting import SourceContext, build_dataset, list_usable_cases, name_drafts, value_of
from evalstore.migration.fold import same
from evalstore.migration.outcome import MigrationEntry, MigrationOutcome
from evalstore.migration.readers import give, give_beside
from evalstore.migration.shelving import ArtifactBatch, ArtifactNames
from evalstore.migration.table import FormatTable
from evalstore.migration.taken import ArtifactDraft, Extraction, LegacyCase, LegacySource
from evalstore.migration.texts import (
    PlannedText,
    ReadCurrent,
    build_path,
    keep_source_text,
    render_text,
    split_artifact,
)


@dataclass(frozen=True, slots=True)
class SourcePlan:
    """What one source becomes: texts by path, the path of what stands for the file, and an entry for each case."""

    files: dict[str, PlannedText]
    entries: tuple[MigrationEntry, ...]
    target: str | None = None


def plan_source(  # noqa: PLR0913  # what a source is, and what it meets
    taken: Extraction,
    legacy: LegacySource,
    table: FormatTable,
    names: ArtifactNames,
    *,
    beside: Mapping[str, Document],
    there: ReadCurrent,
) -> SourcePlan:
    """Return the artifacts of a source that no earlier one brought; no file if there is nothing but refusals.

    `beside` are the documents that were read with it, by the path that it names them by. `there` is the text that a
    file of the store has: one that says the same already stays as it is, and costs less than to write it again.
    """
    if not taken.run and not list_usable_cases(taken):
        aside = tuple(_aside(taken, legacy))
        if taken.dataset is None or any(said.outcome is MigrationOutcome.REFUSED for said in aside):
            return SourcePlan({}, aside)
    known = SourceContext(taken, legacy, table, beside)
    batch = ArtifactBatch(legacy.file, names.trial())
    try:
        rubrics = name_drafts(known, batch)
        head = taken.dataset and build_dataset(known, taken.dataset, rubrics)
        main = batch.add(head, own=True) if head else next(filter(None, rubrics), None)
        run = batch.names.run(legacy.file, legacy.sha256) if taken.run else None
        values = {draft.ref: value_of(draft, known, run) for draft in batch.fresh}
        if main and not run:
            _prove(values[main.ref], {draft.ref: draft.value for draft in filter(None, rubrics)}, known)
        size = sum(len(document.text) for document in (legacy.document, *beside.values()))
        parts = {path: part for draft in batch.fresh for path, part in split_artifact(draft, values[draft.ref], size)}
        files = {path: render_text(path, part, there(path)) for path, part in parts.items()}
        files |= {run: keep_source_text(legacy, there(run))} if run else {}
    except EvalstoreError as error:
        return SourcePlan({}, (make_entry(legacy.document, (), MigrationOutcome.REFUSED, f"cannot be kept: {error.message}"),))
    names.keep(batch.names)
    target = build_path(main) if main and (taken.dataset or not run) else run
    pairs = zip(list_usable_cases(taken), rubrics, strict=True)
    done = (_done(case, rubric, target, known, batch.notes) for case, rubric in pairs)
    return SourcePlan(files, tuple(sorted([*_aside(taken, legacy, target, run), *done], key=_place)), target)


def make_entry(document: Document, pointer: Pointer, outcome: MigrationOutcome, *reasons: str) -> MigrationEntry:
    """Return an entry about a place that nothing was made of."""
    return MigrationEntry(document.file, json_pointer(pointer), document.place(pointer).line, outcome, reasons=reasons)


def _aside(taken: Extraction, legacy: LegacySource, target: str | None = None, run: str | None = None) -> Iterator[MigrationEntry]:
    for broken in legacy.broken:
        line = broken.problem.place.line if broken.problem.place else None
        yield MigrationEntry(legacy.file, "", line, MigrationOutcome.REFUSED, reasons=(broken.problem.message,))
    for note in taken.notes:
        said = make_entry(note.document or legacy.document, note.pointer, note.outcome, note.reason)
        stands = f"{target}#{note.question}" if note.question else f"{run}#{said.pointer}" if note.kept else None
        yield replace(said, target=stands)
    for case in taken.cases:
        document = case.document or legacy.document
        yield from (make_entry(document, note.pointer, note.outcome, note.reason) for note in case.notes)
        if case.refused:
            yield make_entry(document, case.pointer, case.outcome, *case.reasons)


def _done(case: LegacyCase, rubric: ArtifactDraft | None, target: str | None, known: SourceContext, notes: list[str]) -> MigrationEntry:
    document = case.document or known.legacy.document
    return MigrationEntry(
        file=document.file,
        pointer=json_pointer(case.pointer),
        line=document.place(case.pointer).line,
        outcome=case.outcome,
        target=f"{target}#{case.question['id']}" if case.question else build_path(rubric) if rubric else target,
        rubric=rubric.ref if rubric else case.question.get("rubric_ref"),
        reasons=(*notes, *case.reasons),
    )


def _place(said: MigrationEntry) -> tuple[str, int]:
    return said.file, said.line or 0


def _prove(main: dict[str, Any], rubrics: Mapping[str, Any], known: SourceContext) -> None:
    """Give the source back before anything is written: the proof that nothing is lost."""
    given = {"": give(main, rubrics, known.table), **give_beside(main, known.table)}
    files = {"": known.legacy.document, **known.beside}
    if not all(same(given[path], document.value) for path, document in files.items()):
        raise RefusedError("evalstore could not give it back as it is; that is a fault of evalstore, please report it")
