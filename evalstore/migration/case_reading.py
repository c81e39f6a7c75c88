"""What several readers share: walking rows, collecting a case's checks, drafting its rubric."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from evalstore.documents import Pointer, compute_digest
from evalstore.errors import LoadError
from evalstore.migration.artifact_names import UniqueLabels
from evalstore.migration.detect import find_list, select_variant
from evalstore.migration.extraction import (
    ArtifactDraft,
    Extraction,
    LegacyCase,
    LegacySource,
    MigrationNote,
    make_judge_draft,
)
from evalstore.migration.outcome import MigrationOutcome
from evalstore.migration.remainder import encode_value
from evalstore.migration.table import FormatTable, get_path, split_path
from evalstore.migration.value_readings import describe_type
from evalstore.model import Kind

APART = "some of its parts are set aside, each reported by itself"
_UNSCORED = (
    "nothing that grades its cases can be said here ({}): a dataset of them would score nothing, "
    "so none is written"
)


class CaseList(NamedTuple):
    """A file's list of cases, with its key and its pointer, and the table of its dialect."""

    table: FormatTable
    key: str
    at: Pointer
    rows: list[Any]

    @property
    def dialect(self) -> str:
        """The dialect of a file with this list."""
        return self.table.lists[self.key]


def find_cases(legacy: LegacySource, table: FormatTable) -> CaseList | Extraction:
    """Return a file's list of cases; if there is none, or a tie, the extraction that refuses it."""
    root = legacy.document.value
    key = find_list(root, table) or ""
    at, rows = (split_path(root, key), get_path(root, key)) if key else ((), root)
    variant = (
        table.select_dialect(legacy.dialect) if legacy.dialect else select_variant(root, table)
    )
    if isinstance(variant, str):
        return refuse_source(
            table.lists[key], at, variant, len(rows) or None if isinstance(rows, list) else None
        )
    table = variant if key in variant.lists else table
    if not isinstance(rows, list):
        return refuse_source(
            table.lists[key], at, f"{key} is {describe_type(rows)} where the list of cases belongs"
        )
    return CaseList(table, key, at, rows)


class RowLabel(NamedTuple):
    """The name of a row, why it is refused (empty: it is not), and remarks on its label."""

    text: str = ""
    problem: str = ""
    remarks: tuple[str, ...] = ()


class CaseRow(NamedTuple):
    """A row with its pointer, its label, which is unique in the file, and remarks on that."""

    raw: Any
    pointer: Pointer
    label: str
    remarks: tuple[str, ...] = ()


def read_rows(
    rows: Sequence[Any],
    at: Pointer,
    label_row: Callable[[Any, int], RowLabel],
    read_row: Callable[[CaseRow], LegacyCase],
) -> tuple[LegacyCase, ...]:
    """Return the case of each row in the list at a pointer.

    `label_row` takes a row and its place, from 1; `read_row` raises `LoadError` for a row that is
    refused.
    """
    labels = [label_row(row, place) for place, row in enumerate(rows, start=1)]
    names = UniqueLabels({label.text for label in labels if label.text})
    cases: list[LegacyCase] = []
    for index, (raw, label) in enumerate(zip(rows, labels, strict=True)):
        pointer, problem = (*at, index), label.problem
        if not problem:
            name, twin_remarks = names.claim_for_case(label.text, pointer)
            try:
                cases.append(read_row(CaseRow(raw, pointer, name, (*label.remarks, *twin_remarks))))
            except LoadError as error:
                problem = error.message
        if problem:
            cases.append(LegacyCase(pointer, raw, MigrationOutcome.REFUSED, (problem,)))
    return tuple(cases)


def refuse_unscored(extraction: Extraction) -> Extraction:
    """Return an extraction, refusing the whole suite if nothing in it is graded."""
    why = next((case.why_unscored for case in extraction.cases if case.why_unscored), "")
    is_graded = any(not case.why_unscored for case in extraction.usable_cases)
    if is_graded or not why:
        return extraction
    reason = _UNSCORED.format(why)
    return refuse_source(extraction.dialect, (), reason, len(extraction.cases))


def refuse_source(dialect: str, at: Pointer, reason: str, cases: int | None = None) -> Extraction:
    """Return the extraction of a file that is refused as a whole; `cases` is how many it has."""
    note = MigrationNote(at, MigrationOutcome.REFUSED, reason, cases=cases)
    return Extraction(dialect, notes=(note,))


@dataclass(slots=True)
class CaseChecks:
    """The checks of one case by id, and their weights.

    Parts that no check can express are included with their notes. `losses` are reasons why its
    score can differ from the legacy grader's; `remarks` move no score.
    """

    by_id: dict[str, dict[str, Any]] = field(default_factory=dict)
    weights: dict[str, Any] = field(default_factory=dict)
    leftovers: list[dict[str, Any]] = field(default_factory=list)
    notes: list[MigrationNote] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    names: UniqueLabels = field(default_factory=UniqueLabels)

    def set_aside(self, value: Any, at: Pointer, reason: str) -> None:
        """Keep a part as a leftover, with a note."""
        self.leftovers.append({"value": encode_value(value), "reason": reason})
        self.notes.append(MigrationNote(at, MigrationOutcome.UNMAPPED, reason))

    def draft_rubric(
        self, scoring: Mapping[str, Any], table: FormatTable, name: str
    ) -> ArtifactDraft:
        """Return the rubric of the checks, with their weights."""
        checks = [{"id": id_, **check} for id_, check in self.by_id.items()]
        weights = {"weights": self.weights} if self.weights else {}
        return draft_case_rubric(checks, {**scoring, **weights}, table, name, self.leftovers)


def draft_case_rubric(
    checks: Sequence[Mapping[str, Any]],
    scoring: Mapping[str, Any],
    table: FormatTable,
    name: str,
    leftovers: Sequence[Any] = (),
) -> ArtifactDraft:
    """Return the rubric of a case: of its checks, else the table's for cases that ask nothing."""
    aside = {"x_unmapped": leftovers} if leftovers else {}
    if checks:
        return draft_rubric({"checks": list(checks), "scoring": dict(scoring), **aside}, name)
    head = {key: item for key, item in table.no_check.items() if key != "id"}
    return draft_rubric(
        {**head, "scoring": dict(scoring), **aside},
        "set_aside" if leftovers else table.no_check["id"],
    )


def draft_rubric(value: dict[str, Any], name: str, pointer: Pointer = ()) -> ArtifactDraft:
    """Return the draft of a rubric whose id comes from its content."""
    return ArtifactDraft(
        Kind.RUBRIC, f"rubric_{compute_digest(value)[:32]}", value, pointer, name=name
    )


def make_judge_ref(id_: str) -> str:
    """Return the reference to a judge of the table."""
    return make_judge_draft({"id": id_}).ref
