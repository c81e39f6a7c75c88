"""Finds the judges that each case asks, through juries and inner rubrics, and applies the rule on judges to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from evalstore.migration.artifact_names import REF_KEYS
from evalstore.migration.extraction import ArtifactDraft, Extraction, LegacyCase
from evalstore.migration.outcome import OUR_JUDGE, JudgeFacts, MigrationOutcome, find_judge_loss, find_worst_outcome
from evalstore.model import Kind


def add_judge_losses(extraction: Extraction) -> Extraction:
    """Return an extraction whose cases are lossy where they ask another judge than the legacy grader's."""
    drafts = {draft.ref: draft for draft in extraction.drafts}
    return replace(extraction, cases=tuple(_add_judge_loss(case, drafts) for case in extraction.cases))


def _add_judge_loss(case: LegacyCase, drafts: Mapping[str, ArtifactDraft]) -> LegacyCase:
    judges = dict.fromkeys(_find_judges(case.rubric.value, drafts)) if case.rubric else {}
    loss = find_judge_loss(judges, case.unseen)
    remarks = dict.fromkeys(remark for judge in judges for remark in judge.remarks)
    case = replace(case, remarks=(*case.remarks, *remarks)) if remarks else case
    if not loss:
        return case
    outcome = find_worst_outcome([case.outcome, MigrationOutcome.LOSSY])
    return replace(case, outcome=outcome, reasons=(loss, *case.reasons))


def _find_judges(value: Any, drafts: Mapping[str, ArtifactDraft]) -> Iterator[JudgeFacts]:
    """Yield the facts on each judge that a rubric asks; a judge of no draft is not known to be the grader's."""
    if isinstance(value, list):
        for item in value:
            yield from _find_judges(item, drafts)
    for key, item in value.items() if isinstance(value, dict) else ():
        draft = drafts.get(item) if key in REF_KEYS and isinstance(item, str) else None
        if draft and draft.kind is Kind.RUBRIC:
            yield from _find_judges(draft.value, drafts)
        elif key == "judge_prompt_ref":
            yield draft.facts if draft else OUR_JUDGE
        elif key in {"checks", "jury", "members"}:
            yield from _find_judges(item, drafts)
