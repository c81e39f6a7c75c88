"""Proves round trips: that artifacts restore their source, and that a restored source still means what the store says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evalstore.errors import RefusedError
from evalstore.migration.artifact_names import REF_KEYS
from evalstore.migration.extraction import ArtifactDraft, Extraction, LegacyCase
from evalstore.migration.fold import is_same_data
from evalstore.model import Artifact, Kind, Question, Ref, parse_ref, select_scoring_part

_HINT = "export an earlier version, or take the edit back"
Load = Callable[[Ref], Artifact]
Content = Callable[[str], Any]


def check_unchanged(extraction: Extraction, main: Artifact, questions: Sequence[Question], load: Load) -> None:
    """Raise `RefusedError`, naming the first difference, unless the artifacts still mean what the source means."""
    drafts = {draft.ref: draft for draft in extraction.drafts}
    look_up_stored, look_up_draft = _make_store_lookup(load), _make_draft_lookup(drafts)
    cases = [case for case in extraction.cases if not case.is_set_aside]
    if main.kind is not Kind.DATASET:
        rubrics = [(main.id, main.value, cases[0].rubric)]
    else:
        rubrics = [
            (question.id, load(parse_ref(question.rubric_ref or "")).value, case.rubric)
            for question, case in zip(_pair_questions(questions, cases), cases, strict=True)
            if case.rubric
        ]
    for name, value, draft in rubrics:
        if draft and not is_same_data(
            _expand_scoring(Kind.RUBRIC, value, look_up_stored),
            _expand_scoring(Kind.RUBRIC, draft.value, look_up_draft),
        ):
            raise RefusedError(f"{name}: its rubric was edited since it was migrated", hint=_HINT)


def _pair_questions(questions: Sequence[Question], cases: Sequence[LegacyCase]) -> Sequence[Question]:
    if len(questions) != len(cases):
        raise RefusedError(f"the source has {len(cases)} questions, the dataset {len(questions)}", hint=_HINT)
    for question, case in zip(questions, cases, strict=True):
        if not is_same_data(_strip_row(question.row, case), _strip_row(case.question, case)):
            raise RefusedError(f"{question.id}: it was edited since it was migrated", hint=_HINT)
    return questions


def _strip_row(row: Mapping[str, Any], case: LegacyCase) -> dict[str, Any]:
    apart = {"x_source", "rubric_ref"} if case.rubric else {"x_source"}  # a rubric is compared by its content
    return {key: value for key, value in row.items() if key not in apart}


def _expand_scoring(kind: Kind, value: Mapping[str, Any], content: Content) -> Any:
    """Return the part of an artifact that moves scores; references are replaced by the content they point to."""
    return _expand_refs(select_scoring_part(kind, dict(value)), content)


def _expand_refs(value: Any, content: Content) -> Any:
    if isinstance(value, list):
        return [_expand_refs(item, content) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: content(item) if key in REF_KEYS else _expand_refs(item, content) for key, item in value.items()}


def _make_store_lookup(load: Load) -> Content:
    def look_up(ref: str) -> Any:
        artifact = load(parse_ref(ref))
        return _expand_scoring(artifact.kind, artifact.value, look_up)

    return look_up


def _make_draft_lookup(drafts: Mapping[str, ArtifactDraft]) -> Content:
    def look_up(ref: str) -> Any:
        draft = drafts.get(ref)
        return _expand_scoring(draft.kind, draft.value, look_up) if draft else ref

    return look_up
