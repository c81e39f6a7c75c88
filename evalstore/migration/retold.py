"""Whether a source, read again, still means what the store says: only then may it be given back as it was."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evalstore.errors import RefusedError
from evalstore.migration.fold import same
from evalstore.migration.shelving import REFS
from evalstore.migration.taken import ArtifactDraft, Extraction, LegacyCase
from evalstore.model import Artifact, Kind, Question, Ref, parse_ref, scoring_part

_HINT = "export an earlier version, or take the edit back"
Load = Callable[[Ref], Artifact]
Content = Callable[[str], Any]


def check_unchanged(taken: Extraction, main: Artifact, questions: Sequence[Question], load: Load) -> None:
    """Raise `RefusedError`, naming the first difference, unless the artifacts still say what the source says."""
    drafts = {draft.ref: draft for draft in taken.drafts}
    mine, theirs = _of_store(load), _of_source(drafts)
    cases = [case for case in taken.cases if not case.refused]
    if main.kind is not Kind.DATASET:
        rulers = [(main.id, main.value, cases[0].rubric)]
    else:
        rulers = [
            (question.id, load(parse_ref(question.rubric_ref or "")).value, case.rubric)
            for question, case in zip(_paired(questions, cases), cases, strict=True)
            if case.rubric
        ]
    for name, value, draft in rulers:
        if draft and not same(_meant(Kind.RUBRIC, value, mine), _meant(Kind.RUBRIC, draft.value, theirs)):
            raise RefusedError(f"{name}: its rubric was edited since it was migrated", hint=_HINT)


def _paired(questions: Sequence[Question], cases: Sequence[LegacyCase]) -> Sequence[Question]:
    if len(questions) != len(cases):
        raise RefusedError(f"the source has {len(cases)} questions, the dataset {len(questions)}", hint=_HINT)
    for question, case in zip(questions, cases, strict=True):
        if not same(_said(question.row, case), _said(case.question, case)):
            raise RefusedError(f"{question.id}: it was edited since it was migrated", hint=_HINT)
    return questions


def _said(row: Mapping[str, Any], case: LegacyCase) -> dict[str, Any]:
    apart = {"x_source", "rubric_ref"} if case.rubric else {"x_source"}  # a rubric is compared by what it says
    return {key: value for key, value in row.items() if key not in apart}


def _meant(kind: Kind, value: Mapping[str, Any], content: Content) -> Any:
    """Return what of an artifact moves scores, with the content of what it refers to in the place of its name."""
    return _followed(scoring_part(kind, dict(value)), content)


def _followed(value: Any, content: Content) -> Any:
    if isinstance(value, list):
        return [_followed(item, content) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: content(item) if key in REFS else _followed(item, content) for key, item in value.items()}


def _of_store(load: Load) -> Content:
    def content(ref: str) -> Any:
        artifact = load(parse_ref(ref))
        return _meant(artifact.kind, artifact.value, content)

    return content


def _of_source(drafts: Mapping[str, ArtifactDraft]) -> Content:
    def content(ref: str) -> Any:
        draft = drafts.get(ref)
        return _meant(draft.kind, draft.value, content) if draft else ref

    return content
