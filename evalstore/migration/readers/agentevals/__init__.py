"""Reads AgentEvals suites: dialects of EVAL.yaml and raw case files.

They are graded like AgentV's runner grades them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

from evalstore.documents import Document, Pointer, format_json_pointer
from evalstore.lint.notes import suggest_name
from evalstore.migration.artifact_names import UniqueLabels
from evalstore.migration.case_reading import refuse_source
from evalstore.migration.extraction import (
    ArtifactDraft,
    Extraction,
    LegacyCase,
    LegacySource,
    MigrationNote,
)
from evalstore.migration.outcome import MigrationOutcome, classify_losses
from evalstore.migration.readers.agentevals.case_questions import build_question, find_input
from evalstore.migration.readers.agentevals.dialects import (
    ORDER,
    DialectEvidence,
    describe_tie,
    find_dialects,
    load_dialect,
)
from evalstore.migration.readers.agentevals.grading import (
    CrashError,
    GradingTerms,
    SuiteContext,
    SuitePart,
)
from evalstore.migration.readers.agentevals.inheritance import build_scope, grade_case
from evalstore.migration.readers.agentevals.rubrics import compile_rubric
from evalstore.migration.suites.suite_names import find_suite_name
from evalstore.migration.table import FormatTable
from evalstore.model import Kind
from evalstore.text import make_excerpt

__all__ = ["COMPANIONS", "read"]

COMPANIONS = True  # suites name files of raw cases
_SCENARIOS = "scenarios"
_MULTIPLIED = "scenarios multiply tests by variables, and are not read; write their tests out"
_NO_CASES = "is not a list of cases that can be read from here"
_PARTIAL = "some of its checks cannot be said here, so its rubric is partial"
_TURNS = "the runner grades turn by turn; here one output is graded"
_NO_INPUT = "nothing here says what is asked, so the input is empty"
_PROMPTS = "the runner asks every prompt of the suite; the question holds the first"
_UNSCORED = "none of its checks can be said here, so nothing of it is scored"
_BORDERLINE = "a score from 0.6 up to 0.8, which the runner called borderline, does not pass"
_NOTHING = "no check: any answer that is not empty passes"
_SPECIFIED = frozenset({"D1", "D2s"})  # the dialects that have a specification
# The specification's; the runner accepts any name.
_NAME = re.compile(r"(?=.{2,64}\Z)[a-z](?:-?[a-z0-9])+")
_ODD_NAME = (
    "the name {!r} is not 2 to 64 small letters, digits and single hyphens, as the specification "
    "has it"
)


@dataclass(frozen=True, slots=True)
class _CasePlace:
    """A raw case with its pointer in the suite, or in a companion `document`."""

    raw: Any
    pointer: Pointer
    document: Document | None = None


@dataclass(frozen=True, slots=True)
class _CaseResult:
    """One extracted case, and the drafts that it needs.

    `notes` are about keys that it shares with other cases.
    """

    case: LegacyCase
    drafts: tuple[ArtifactDraft, ...] = ()
    notes: tuple[MigrationNote, ...] = ()


def read(legacy: LegacySource, table: FormatTable) -> Extraction:
    """Return the questions and rubrics of a suite.

    The file may also be a list of raw cases with its sidecar suite.
    """
    value = legacy.document.value
    key = next((key for key in table.lists if isinstance(value, dict) and key in value), "")
    at: Pointer = (key,) if key else ()
    sidecar = None if isinstance(value, dict) else _find_sidecar(legacy)
    if isinstance(value, dict):
        root, items = value, None if key == _SCENARIOS else value.get(key)
    else:  # rows inherit from their sidecar what cases inherit from their suite
        root, items = sidecar.value if sidecar else {}, value
    places, place_notes = _find_places(items, at, legacy)
    evidence = find_dialects(root, [place.raw for place in places], table)
    chosen = legacy.dialect
    if not chosen and (tie := describe_tie(evidence, len(places))):
        if legacy.last_dialect not in {found.dialect for found in evidence}:
            return refuse_source("", at, tie, len(places))
        chosen = legacy.last_dialect  # what contradicts it is noted below
    name = chosen or (evidence[0].dialect if evidence else table.lists.get(key, ORDER[-1]))
    if name not in ORDER:
        hint = suggest_name(name, ORDER, f"they are {', '.join(ORDER)}")
        return refuse_source(name, (), f"there is no dialect {make_excerpt(name)}: {hint}")
    suite = SuiteContext(root, load_dialect(name, table), legacy, table)
    results = list(_read_cases(places, suite))
    shared = [replace(note, document=sidecar) for result in results for note in result.notes]
    own = (
        *_note_conflicts(evidence, name),
        *_note_root_keys(value, key, table),
        *_note_name(value, name),
    )
    notes = dict.fromkeys([*own, *place_notes, *shared])
    drafts = {draft.ref: draft for result in results for draft in result.drafts}
    cases = tuple(result.case for result in results)
    return Extraction(name, _draft_head(suite, at), cases, tuple(drafts.values()), tuple(notes))


def _note_name(root: Any, dialect: str) -> Iterator[MigrationNote]:
    """Yield a note on a name that the specification does not allow.

    The runner allows it.
    """
    name = root.get("name") if isinstance(root, dict) and dialect in _SPECIFIED else None
    if isinstance(name, str) and not _NAME.fullmatch(name):
        yield MigrationNote(
            ("name",), MigrationOutcome.MIGRATED, _ODD_NAME.format(make_excerpt(name))
        )


def _find_places(
    items_or_path: Any, at: Pointer, legacy: LegacySource
) -> tuple[list[_CasePlace], list[MigrationNote]]:
    """Return the cases in order, with included files in place.

    Files that cannot be included have notes.
    """
    places: list[_CasePlace] = []
    notes: list[MigrationNote] = []
    documents: list[Document] = []
    items = [((*at, index), raw) for index, raw in enumerate(_list_or_empty(items_or_path))]
    for pointer, raw in [(at, items_or_path)] if isinstance(items_or_path, str) else items:
        path = _find_included_path(raw)
        if path is None:
            places.append(_CasePlace(raw, pointer))
            continue
        document = legacy.read_companion(path)
        # Each file is included once, so that no two questions come from one case.
        if document is None or not isinstance(document.value, list) or document in documents:
            problem = "is named before" if document in documents else _NO_CASES
            notes.append(
                MigrationNote(pointer, MigrationOutcome.UNMAPPED, f"{make_excerpt(path)} {problem}")
            )
            continue
        documents.append(document)
        places += [
            _CasePlace(item, (index,), document) for index, item in enumerate(document.value)
        ]
    return places, notes


def _find_included_path(raw: Any) -> str | None:
    """Return the path of a file that an item includes whole.

    Returns None if the item is a case itself.
    """
    includes = isinstance(raw, dict) and raw.get("type") == "tests" and not raw.get("select")
    path = raw.get("include") if includes else raw
    return path if isinstance(path, str) else None


def _list_or_empty(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _find_sidecar(legacy: LegacySource) -> Document | None:
    """Return the sidecar of a file of rows: the suite with the same name in the same folder."""
    path = PurePosixPath(legacy.file)
    document = legacy.read_companion(f"{path.stem}.yaml") if path.suffix == ".jsonl" else None
    return document if document and isinstance(document.value, dict) else None


def _draft_head(suite: SuiteContext, at: Pointer) -> ArtifactDraft:
    root = suite.root
    name = root.get("name", root.get("dataset"))
    value = {
        **({"title": name} if isinstance(name, str) else {}),
        **(
            {"description": root["description"]} if isinstance(root.get("description"), str) else {}
        ),
        **({} if suite.dialect.limits else {"x_migration": {"notes": [_BORDERLINE]}}),
    }
    return ArtifactDraft(Kind.DATASET, "suite", value, at, name=find_suite_name(root, suite.table))


def _note_conflicts(evidence: list[DialectEvidence], name: str) -> Iterator[MigrationNote]:
    for other in evidence:
        if name not in {other.dialect, *other.also}:
            reason = (
                f"it is read as {name}, but {other.because} speaks for {other.dialect}; --dialect "
                "decides"
            )
            yield MigrationNote((), MigrationOutcome.UNMAPPED, reason)


def _note_root_keys(value: Any, key: str, table: FormatTable) -> Iterator[MigrationNote]:
    for other in table.lists if isinstance(value, dict) else ():
        if other and other in value and other not in {key, _SCENARIOS}:
            yield MigrationNote(
                (other,), MigrationOutcome.UNMAPPED, f"the runner never reads it: {key} comes first"
            )
    if isinstance(value, dict) and _SCENARIOS in value:
        yield MigrationNote((_SCENARIOS,), MigrationOutcome.UNMAPPED, _MULTIPLIED)
    if key and not isinstance(value[key], str | list):
        yield MigrationNote((key,), MigrationOutcome.UNMAPPED, "it is not a list of cases")


def _read_cases(places: list[_CasePlace], suite: SuiteContext) -> Iterator[_CaseResult]:
    ids = [place.raw.get("id") for place in places if isinstance(place.raw, dict)]
    names = UniqueLabels({id_ for id_ in ids if isinstance(id_, str)})
    first: dict[str, Pointer] = {}
    for place in places:
        raw, pointer = place.raw, place.pointer
        if reason := _find_skip_reason(raw, suite):
            yield _CaseResult(
                LegacyCase(
                    pointer, raw, MigrationOutcome.UNMAPPED, (reason,), document=place.document
                )
            )
            continue
        label = name = (
            raw["id"] if isinstance(raw.get("id"), str) and raw["id"] else f"test_{len(first) + 1}"
        )
        notes: tuple[str, ...] = ()
        if label in first:
            name = names.claim(label)
            notes = (
                (
                    f"{label} is also the case at {format_json_pointer(first[label])}; here it "
                    f"is {name}"
                ),
            )
        # Every label is used once, so that a numbered one never repeats it.
        names.used.add(name)
        first.setdefault(name, pointer)
        try:
            yield _read_case(place, suite, label=name, notes_before=notes)
        except CrashError as crash:
            reasons = (f"the runner stops here: {crash}",)
            yield _CaseResult(
                LegacyCase(pointer, raw, MigrationOutcome.REFUSED, reasons, document=place.document)
            )


def _find_skip_reason(raw: Any, suite: SuiteContext) -> str:
    """Return why the runner never asks a case; empty if it does."""
    if not isinstance(raw, dict):
        return "the runner skips it: it is not a mapping"
    if suite.dialect.name == "D4":
        return "it includes another file, which is not read" if "include" in raw else ""
    if not isinstance(raw.get("id"), str) or not raw["id"]:
        return "the runner skips it: its id is not text"
    return (
        ""
        if find_input(raw, suite.root) is not None or "turns" in raw
        else "the runner skips it: it has no input"
    )


def _list_unscored_reasons(grading: GradingTerms) -> list[str]:
    """Return why nothing in a case is scored; empty if something is."""
    if grading.terms:
        return []
    return [_UNSCORED if grading.unmapped else _NOTHING]


def _read_case(
    place: _CasePlace, suite: SuiteContext, *, label: str, notes_before: tuple[str, ...]
) -> _CaseResult:
    raw, pointer = place.raw, place.pointer
    scope = build_scope(raw, suite)
    grading = grade_case(SuitePart(raw, pointer, scope))
    result = compile_rubric(grading.terms, grading.unmapped, scope.passes, pointer)
    judges = {judge.ref: judge for judge in grading.judges}
    input_ = find_input(raw, suite.root)
    question, losses = build_question(
        raw, scope, input_, reads=_find_template_names(judges.values())
    )
    partial = any("x_unmapped" in draft.value for draft in (result.rubric, *result.inner))
    several = len(_list_or_empty(suite.root.get("prompts"))) > 1
    lossy = [
        *grading.lossy,
        *losses,
        *([_PARTIAL] if partial and grading.terms else []),
        *([_NO_INPUT] if input_ is None else []),
        *([_TURNS] if "turns" in raw else []),
        *([_PROMPTS] if several else []),
        *_list_unscored_reasons(grading),
    ]
    notes = [*grading.notes, *result.notes]
    # Notes on keys of the suite are the same for all of its cases, and are reported once.
    own = tuple(note for note in notes if note.pointer[: len(pointer)] == pointer)
    shared = tuple(note for note in notes if note.pointer[: len(pointer)] != pointer)
    case = LegacyCase(
        pointer,
        raw,
        classify_losses(lossy),
        tuple(dict.fromkeys(lossy)),
        {"id": label} | question,
        result.rubric,
        own,
        place.document,
        remarks=notes_before,
        why_unscored="" if grading.terms else next((note.reason for note in own), ""),
    )
    return _CaseResult(case, (*judges.values(), *result.inner), shared)


def _find_template_names(judges: Iterable[ArtifactDraft]) -> set[str]:
    """Return the fields of a question that the templates of these judges use."""
    templates = "".join(str(judge.value["template"]) for judge in judges)
    return {name for name in ("input", "expected", "context") if f"{{{{ {name} }}}}" in templates}
