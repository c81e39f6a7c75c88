"""What a source comes to: its artifacts under their final ids, and beside each what it does not say of the source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from evalstore.documents import Document, json_pointer
from evalstore.migration.artifact_names import ArtifactBatch
from evalstore.migration.extraction import ArtifactDraft, Extraction, LegacyCase, LegacySource
from evalstore.migration.fold import encode_keys, find_case_remainder, find_root_remainder
from evalstore.migration.opened import BrokenLine
from evalstore.migration.table import FormatTable
from evalstore.runs.kept import came_from


@dataclass(frozen=True, slots=True)
class SourceContext:
    """One source with its table, what its reader extracted, and the companion files that were read with it."""

    taken: Extraction
    legacy: LegacySource
    table: FormatTable
    beside: Mapping[str, Document]


def list_usable_cases(extraction: Extraction) -> list[LegacyCase]:
    """Return the cases that become a question or a rubric."""
    return [case for case in extraction.cases if not case.is_set_aside]


def name_drafts(context: SourceContext, batch: ArtifactBatch) -> list[ArtifactDraft | None]:
    """Name the judges and inner rubrics, then the rubric of each case; return the latter, one a usable case.

    Without a dataset or run, the first rubric stores the remainder of the file.
    """
    for draft in context.taken.drafts:
        batch.add(draft)
    rubrics = [_place_rubric(case) for case in list_usable_cases(context.taken)]
    if context.taken.dataset or context.taken.is_run:
        return [draft and batch.add(draft) for draft in rubrics]
    if context.legacy.broken_lines:
        raise context.legacy.broken_lines[0].problem
    remainder = {"x_source": {"kept": encode_keys(context.legacy.document.value), **_fold_companions(context)}}
    first = [draft and batch.add(replace(draft, value=draft.value | remainder), own=True) for draft in rubrics[:1]]
    return first + [draft and batch.add(draft) for draft in rubrics[1:]]


def build_dataset(context: SourceContext, head: ArtifactDraft, rubrics: list[ArtifactDraft | None]) -> ArtifactDraft:
    """Return the dataset: its head, its questions with their rubrics, and the remainder of the file."""
    cases, document = context.taken.cases, context.legacy.document
    own_pointers = [case.pointer for case in cases if not case.document]
    remainder = (
        {}
        if context.taken.is_run
        else head.value.get("x_source")
        or {"kept": find_root_remainder(document.value, own_pointers), **_fold_companions(context)}
    )
    questions = (
        (case, rubric) for case, rubric in zip(list_usable_cases(context.taken), rubrics, strict=True) if case.question
    )
    unmapped = [_describe_set_aside(case, context) for case in cases if case.is_set_aside]
    unmapped += [_describe_broken_line(broken) for broken in context.legacy.broken_lines]
    value = {
        **{key: item for key, item in head.value.items() if key != "x_source"},
        "questions": [_build_question(case, rubric, context) for case, rubric in questions],
        "x_source": remainder,
        **({"x_unmapped": unmapped} if unmapped else {}),
    }
    return replace(head, value=value)


def value_of(draft: ArtifactDraft, known: SourceContext, run: str | None) -> dict[str, Any]:
    """Return an artifact's whole mapping, with its `x_source`; `run` is the path of the run that stores the source."""
    legacy = known.legacy
    file = came_from(run) if run == legacy.file else legacy.file  # the source is a stored run itself
    where = {"file": file, "sha256": legacy.sha256, "pointer": json_pointer(draft.pointer)}
    where |= {"run": run} if run else {}
    own = {"format": known.table.format, "dialect": known.taken.dialect, **where, **draft.value.get("x_source", {})}
    return {"id": draft.id, "version": draft.version} | draft.value | {"x_source": own}


def _place_rubric(case: LegacyCase) -> ArtifactDraft | None:
    rubric = case.rubric
    return rubric if rubric is None or rubric.pointer else replace(rubric, pointer=case.pointer)


def _fold_companions(context: SourceContext) -> dict[str, Any]:
    remainders = {
        path: find_root_remainder(
            document.value, [case.pointer for case in context.taken.cases if case.document is document]
        )
        for path, document in context.beside.items()
    }
    return {"beside": remainders} if remainders else {}


def _build_question(case: LegacyCase, rubric: ArtifactDraft | None, context: SourceContext) -> dict[str, Any]:
    fields = {key: item for key, item in case.question.items() if key != "x_source"}
    head = {"id": fields["id"], "input": fields["input"], **({"rubric_ref": rubric.ref} if rubric else {})}
    source = case.question.get("x_source")
    if source is None:
        source = _locate_case(case, context) | find_case_remainder(case.raw, fields, context.table.mirrors)
    return head | fields | {"x_source": source}


def _describe_set_aside(case: LegacyCase, context: SourceContext) -> dict[str, Any]:
    return _locate_case(case, context) | {"reason": "; ".join(case.reasons), "value": encode_keys(case.raw)}


def _locate_case(case: LegacyCase, context: SourceContext) -> dict[str, Any]:
    paths = [path for path, document in context.beside.items() if document is case.document]
    return {**({"beside": paths[0]} if paths else {}), "pointer": json_pointer(case.pointer)}


def _describe_broken_line(broken: BrokenLine) -> dict[str, Any]:
    line = broken.problem.place.line if broken.problem.place else None
    return {"line": line, "reason": broken.problem.message, "value": broken.text}
