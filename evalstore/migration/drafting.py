"""What a source comes to: its artifacts under their final ids, and beside each what it does not say of the source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from evalstore.documents import Document, json_pointer
from evalstore.migration.fold import bare, folded_case, folded_root
from evalstore.migration.opened import BrokenLine
from evalstore.migration.shelving import ArtifactBatch
from evalstore.migration.table import FormatTable
from evalstore.migration.taken import ArtifactDraft, Extraction, LegacyCase, LegacySource
from evalstore.runs.kept import came_from


@dataclass(frozen=True, slots=True)
class SourceContext:
    """Everything that is known of one source."""

    taken: Extraction
    legacy: LegacySource
    table: FormatTable
    beside: Mapping[str, Document]


def list_usable_cases(taken: Extraction) -> list[LegacyCase]:
    """Return the cases that something is made of."""
    return [case for case in taken.cases if not case.refused]


def name_drafts(known: SourceContext, batch: ArtifactBatch) -> list[ArtifactDraft | None]:
    """Shelve judges and inner rubrics, then the rubric of each case; without a dataset the first keeps the file."""
    for draft in known.taken.drafts:
        batch.add(draft)
    rubrics = [_placed(case) for case in list_usable_cases(known.taken)]
    if known.taken.dataset or known.taken.run:
        return [draft and batch.add(draft) for draft in rubrics]
    if known.legacy.broken:
        raise known.legacy.broken[0].problem
    kept = {"x_source": {"kept": bare(known.legacy.document.value), **_kept_beside(known)}}
    keeper = [draft and batch.add(replace(draft, value=draft.value | kept), own=True) for draft in rubrics[:1]]
    return keeper + [draft and batch.add(draft) for draft in rubrics[1:]]


def build_dataset(known: SourceContext, head: ArtifactDraft, rubrics: list[ArtifactDraft | None]) -> ArtifactDraft:
    """Return the dataset: its head, its questions with their rubrics, and what they do not say of the file."""
    cases, document = known.taken.cases, known.legacy.document
    own = [case.pointer for case in cases if not case.document]
    kept = (
        {}
        if known.taken.run
        else head.value.get("x_source") or {"kept": folded_root(document.value, own), **_kept_beside(known)}
    )
    questions = ((case, rubric) for case, rubric in zip(list_usable_cases(known.taken), rubrics, strict=True) if case.question)
    unmapped = [_unmapped(case, known) for case in cases if case.refused]
    unmapped += [_unread(broken) for broken in known.legacy.broken]
    value = {
        **{key: item for key, item in head.value.items() if key != "x_source"},
        "questions": [_question(case, rubric, known) for case, rubric in questions],
        "x_source": kept,
        **({"x_unmapped": unmapped} if unmapped else {}),
    }
    return replace(head, value=value)


def value_of(draft: ArtifactDraft, known: SourceContext, run: str | None) -> dict[str, Any]:
    """Return an artifact's whole mapping, with the place that it comes from, and the run that keeps that."""
    legacy = known.legacy
    file = came_from(run) if run == legacy.file else legacy.file  # one that is kept already
    where = {"file": file, "sha256": legacy.sha256, "pointer": json_pointer(draft.pointer)}
    where |= {"run": run} if run else {}
    own = {"format": known.table.format, "dialect": known.taken.dialect, **where, **draft.value.get("x_source", {})}
    return {"id": draft.id, "version": draft.version} | draft.value | {"x_source": own}


def _placed(case: LegacyCase) -> ArtifactDraft | None:
    rubric = case.rubric
    return rubric if rubric is None or rubric.pointer else replace(rubric, pointer=case.pointer)


def _kept_beside(known: SourceContext) -> dict[str, Any]:
    kept = {
        path: folded_root(document.value, [case.pointer for case in known.taken.cases if case.document is document])
        for path, document in known.beside.items()
    }
    return {"beside": kept} if kept else {}


def _question(case: LegacyCase, rubric: ArtifactDraft | None, known: SourceContext) -> dict[str, Any]:
    said = {key: item for key, item in case.question.items() if key != "x_source"}
    first = {"id": said["id"], "input": said["input"], **({"rubric_ref": rubric.ref} if rubric else {})}
    own = case.question.get("x_source")
    if own is None:
        own = _where(case, known) | folded_case(case.raw, said, known.table.mirrors)
    return first | said | {"x_source": own}


def _unmapped(case: LegacyCase, known: SourceContext) -> dict[str, Any]:
    return _where(case, known) | {"reason": "; ".join(case.reasons), "value": bare(case.raw)}


def _where(case: LegacyCase, known: SourceContext) -> dict[str, Any]:
    beside = [path for path, document in known.beside.items() if document is case.document]
    return {**({"beside": beside[0]} if beside else {}), "pointer": json_pointer(case.pointer)}


def _unread(broken: BrokenLine) -> dict[str, Any]:
    line = broken.problem.place.line if broken.problem.place else None
    return {"line": line, "reason": broken.problem.message, "value": broken.text}
