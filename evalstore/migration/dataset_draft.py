"""Builds the dataset of one source.

It has the questions with their rubrics, and whatever else the source contains.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from evalstore.documents import Document, format_json_pointer
from evalstore.migration.extraction import ArtifactDraft, Extraction, LegacyCase, LegacySource
from evalstore.migration.folded_values import fold_value
from evalstore.migration.merging.artifact_merge import is_same_artifact
from evalstore.migration.remainder import (
    BESIDE,
    encode_value,
    find_case_remainder,
    find_root_remainder,
)
from evalstore.migration.row_origins import fold_rows
from evalstore.migration.shared_rubrics import SharedCase, fill_rubric
from evalstore.migration.table import FormatTable


@dataclass(frozen=True, slots=True)
class SourceContext:
    """One source with its table, its extraction, and the companion files read with it.

    `refs` are the store's rubrics that questions refer to, by the reference in the source.
    """

    extraction: Extraction
    legacy: LegacySource
    table: FormatTable
    companions: Mapping[str, Document]
    refs: Mapping[str, str] = field(default_factory=dict)


def read_stated_ref(case: LegacyCase) -> str:
    """Return the reference that a question itself states; empty if none."""
    ref = case.question.get("rubric_ref")
    return ref if isinstance(ref, str) else ""


def build_dataset(
    context: SourceContext,
    head: ArtifactDraft,
    rubrics: Sequence[ArtifactDraft | None],
    shares: Sequence[SharedCase],
    former: Mapping[str, str],
) -> ArtifactDraft:
    """Return the dataset: its head, and its questions with their rubrics.

    It also has the remainder of the file. `former` are the ids that questions had before, by their
    present ones.
    """
    rows: list[dict[str, Any]] = []
    for case, rubric, share in zip(context.extraction.usable_cases, rubrics, shares, strict=True):
        if case.question:
            before = former.get(case.question["id"])
            rows.append(_build_row(case, rubric, share.values, context, before))
    unmapped = list(_list_unmapped(context))
    value = {
        **{key: item for key, item in head.value.items() if key != "x_source"},
        "questions": rows,
        "x_source": _find_remainder(context, head),
        **({"x_unmapped": unmapped} if unmapped else {}),
    }
    return replace(head, value=fold_rows(value))


def _find_remainder(context: SourceContext, head: ArtifactDraft) -> dict[str, Any]:
    """Return the `x_source` of a dataset; the cases are in its questions and `x_unmapped`."""
    if context.extraction.is_run:
        return {}
    if source := head.value.get("x_source"):
        return dict(source)
    own_pointers = [case.pointer for case in context.extraction.cases if not case.document]
    kept = find_root_remainder(context.legacy.document.value, own_pointers)
    return {"kept": kept, **fold_companions(context)}


def _list_unmapped(context: SourceContext) -> Iterator[dict[str, Any]]:
    """Yield what no question contains: cases that are set aside, and broken lines."""
    for case in context.extraction.cases:
        if case.is_set_aside:
            reason, value = "; ".join(case.reasons), encode_value(case.raw)
            yield {**_locate_case(case, context), "reason": reason, "value": value}
    for broken in context.legacy.broken_lines:
        yield {"line": broken.line, "reason": broken.problem.message, "value": broken.text}


def build_restorable(main: ArtifactDraft, context: SourceContext) -> dict[str, Any]:
    """Return the artifact of a source as a restorer of its format reads it."""
    origin = {"format": context.table.format, "dialect": context.extraction.dialect}
    return {**main.value, "x_source": origin | main.value.get("x_source", {})}


def fold_companions(context: SourceContext) -> dict[str, Any]:
    """Return what the `x_source` of a suite keeps of companion files: what no question contains."""
    remainders: dict[str, Any] = {}
    for path, document in context.companions.items():
        own = [case for case in context.extraction.cases if case.document is document]
        remainders[path] = find_root_remainder(document.value, [case.pointer for case in own])
    return {BESIDE: remainders} if remainders else {}


def _build_row(
    case: LegacyCase,
    rubric: ArtifactDraft | None,
    values: Mapping[str, Any],
    context: SourceContext,
    former: str | None,
) -> dict[str, Any]:
    fields = {key: item for key, item in case.question.items() if key != "x_source"}
    head = {
        "id": fields["id"],
        "input": fields["input"],
        **({"rubric_ref": rubric.ref} if rubric else {}),
    }
    source = case.question.get("x_source")
    if source is None:
        source = _locate_case(case, context) | find_case_remainder(
            case.raw, fields, context.table.mirrors
        )
        if "kept" in source:
            parts = fill_rubric(rubric.value, values) if rubric else {}
            source |= {"kept": fold_value(source["kept"], {**parts, "question": fields})}
    if stated := read_stated_ref(case):
        # The source itself pins a version: what it pinned is noted, because a release may move the
        # pin here, and its rubric may have another id here.
        ref = context.refs.get(stated, stated)
        source |= {
            "pin": stated,
            **({} if is_same_artifact(ref, stated) else {"pinned": ref.partition("@")[0]}),
        }
        fields["rubric_ref"] = ref
    renamed = {"renamed_from": former} if former else {}
    return head | dict(values) | fields | {"x_source": source | renamed}


def _locate_case(case: LegacyCase, context: SourceContext) -> dict[str, Any]:
    paths = [path for path, document in context.companions.items() if document is case.document]
    return {**({BESIDE: paths[0]} if paths else {}), "pointer": format_json_pointer(case.pointer)}
