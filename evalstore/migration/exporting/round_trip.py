"""Proves round trips: artifacts restore their source, which still means what the store says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from evalstore.documents import Document
from evalstore.errors import RefusedError
from evalstore.migration.artifact_names import (
    make_slug,
    rename_checks,
    replace_refs,
    take_first_words,
)
from evalstore.migration.exporting.export_result import EDIT_HINT, EditedRubricError
from evalstore.migration.extraction import ArtifactDraft, Extraction, LegacyCase
from evalstore.migration.merging.artifact_merge import is_same_artifact
from evalstore.migration.readers import restore_files
from evalstore.migration.remainder import is_same_data
from evalstore.migration.shared_rubrics import fill_rubric, restore_judge
from evalstore.migration.table import FormatTable
from evalstore.model import Artifact, Kind, Question, Ref, parse_ref, select_scoring_part
from evalstore.model.question_params import list_value_keys

_PLACES = ("here", "in the source")
LoadArtifact = Callable[[Ref], Artifact]
ExpandRef = Callable[[str], Any]


def check_unchanged(
    extraction: Extraction, main: Artifact, questions: Sequence[Question], load: LoadArtifact
) -> None:
    """Raise `RefusedError` unless artifacts and source mean the same.

    The error names the first difference.
    """
    drafts = {draft.ref: draft for draft in extraction.drafts}

    def expand_stored(ref: str) -> Any:
        artifact = load(parse_ref(ref))
        value = restore_judge(artifact.value) if artifact.kind is Kind.JUDGE else artifact.value
        return _expand_scoring(artifact.kind, value, expand_stored)

    def expand_draft(ref: str) -> Any:
        draft = drafts.get(ref)
        return _expand_scoring(draft.kind, draft.value, expand_draft) if draft else ref

    cases = extraction.usable_cases
    rubrics: list[tuple[str, str, Mapping[str, Any], ArtifactDraft | None]]
    if main.kind is not Kind.DATASET:
        rubrics = [(main.id, main.versioned, main.value, cases[0].rubric)]
    else:
        if len(questions) != len(cases):
            raise RefusedError(
                f"the source has {len(cases)} questions, the dataset {len(questions)}",
                hint=EDIT_HINT,
            )
        every = zip(questions, cases, strict=True)
        pairs = [(question, case.rubric) for question, case in every if case.rubric]
        refs = {question.rubric_ref or "" for question, _ in pairs}
        used = {ref: load(parse_ref(ref)).value for ref in refs}
        _check_questions(questions, cases, list_value_keys(used.values()))
        rubrics = []
        for question, rubric in pairs:
            ref = question.rubric_ref or ""
            rubrics.append((question.id, ref, fill_rubric(used[ref], question.row), rubric))
    # References are expanded on both sides: the plan may have renamed artifacts.
    for name, ref, value, draft in rubrics:
        if draft is None:
            continue
        ours = _take_implied_names(value, draft) if draft.kind is Kind.RUBRIC else value
        if not is_same_data(
            _expand_scoring(draft.kind, ours, expand_stored),
            _expand_scoring(draft.kind, draft.value, expand_draft),
        ):
            raise EditedRubricError(name, ref)


def _take_implied_names(rubric: Mapping[str, Any], draft: ArtifactDraft) -> Mapping[str, Any]:
    """Return a rubric whose statements have the names that their words imply, as in the source.

    A statement that was reworded here keeps the name that its former words gave it.
    """
    names: dict[str, str] = {}
    for check, other in zip(rubric["checks"], draft.value["checks"], strict=False):
        variables = other.get("variables")
        values = variables.values() if isinstance(variables, dict) else ()
        texts = [text for text in values if isinstance(text, str) and text.strip()]
        words = list(map(take_first_words, texts))
        if check.get("id") != other.get("id") and other.get("id") in map(make_slug, words):
            names[str(check.get("id"))] = other["id"]
    return rename_checks(rubric, names) if names else rubric


def check_restorable(
    main: Mapping[str, Any],
    rubrics: Mapping[str, Any],
    table: FormatTable,
    documents: Mapping[str, Document],
) -> None:
    """Raise `RefusedError` unless artifacts restore their source (`""`) and its companions as data.

    It runs before anything is written: the proof that nothing is lost.
    """
    restored = restore_files(main, rubrics, table)
    if not all(
        is_same_data(restored[path], document.value) for path, document in documents.items()
    ):
        raise RefusedError(
            "evalstore could not give it back as it is; that is a fault of evalstore, please "
            "report it"
        )


def _check_questions(
    questions: Sequence[Question], cases: Sequence[LegacyCase], values: AbstractSet[str]
) -> None:
    """Raise `RefusedError` for the first question that differs.

    `values` are keys that rubrics read.
    """
    for question, case in zip(questions, cases, strict=True):
        row = {key: value for key, value in question.row.items() if key not in values}
        ours, theirs = _strip_row(row, case), _strip_row(case.question, case)
        pins = [row.pop("rubric_ref", None) for row in (ours, theirs)]
        if not is_same_data(ours, theirs):
            raise RefusedError(
                f"{question.id}: it was edited since it was migrated", hint=EDIT_HINT
            )
        if pins[0] != pins[1]:
            said = " and ".join(
                f"{pin or 'nothing'} {place}" for pin, place in zip(pins, _PLACES, strict=True)
            )
            raise RefusedError(f"{question.id}: its rubric is {said}", hint=EDIT_HINT)


def _strip_row(row: Mapping[str, Any], case: LegacyCase) -> dict[str, Any]:
    ref, source = row.get("rubric_ref"), row.get("x_source")
    pin, pinned = (
        (source.get("pin"), source.get("pinned")) if isinstance(source, Mapping) else (None, None)
    )
    if (
        isinstance(ref, str)
        and isinstance(pin, str)
        and isinstance(pinned, str)
        and is_same_artifact(ref, pinned)
    ):
        # The source uses another name for the rubric than the store.
        row = {**row, "rubric_ref": f"{pin.partition('@')[0]}@{ref.partition('@')[2]}"}
    # A rubric is compared by its content.
    ignored = {"x_source", "rubric_ref"} if case.rubric else {"x_source"}
    return {key: value for key, value in row.items() if key not in ignored}


def _expand_scoring(kind: Kind, value: Mapping[str, Any], expand: ExpandRef) -> Any:
    """Return the part of an artifact that moves scores, with the content that it refers to."""
    return replace_refs(select_scoring_part(kind, dict(value)), expand)
