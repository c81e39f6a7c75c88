"""Runs every migrated check once, on its own question: a check that cannot run does not migrate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from evalstore.checks import prepare_check
from evalstore.migration.extraction import LegacyCase
from evalstore.migration.outcome import MigrationOutcome, find_worst_outcome
from evalstore.model import (
    MALFORMED_ERRORS,
    Check,
    Kind,
    Output,
    Question,
    Sample,
    UnscoredReason,
    find_check_pins,
    read_rubric,
)
from evalstore.text import make_excerpt

_TRIAL = Sample(Output("Some text."))


def try_checks(case: LegacyCase) -> LegacyCase:
    """Return a case, marked lossy if one of its checks cannot be run, whatever the output is."""
    if case.rubric is None or case.rubric.kind is not Kind.RUBRIC:
        return case
    if case.outcome is MigrationOutcome.REFUSED:
        return case
    reasons = tuple(_list_failures(case.rubric.value, case.question))
    if not reasons:
        return case
    outcome = find_worst_outcome([case.outcome, MigrationOutcome.LOSSY])
    return replace(case, outcome=outcome, reasons=(*case.reasons, *reasons))


def _list_failures(rubric: Mapping[str, Any], question: Mapping[str, Any]) -> Iterator[str]:
    try:
        checks = read_rubric(rubric).checks
    except MALFORMED_ERRORS as error:
        yield f"its rubric cannot be read: {make_excerpt(str(error))}"
        return
    row = (
        Question(str(question.get("id", "")), str(question.get("input", "")), question)
        if question
        else None
    )
    for check in checks:
        # Judges answer only if somebody asks them, and other rubrics are tried where they are
        # written.
        asks = any(find_check_pins((), dict(check.params)))
        if not asks and (problem := _try_check(check, replace(_TRIAL, question=row))):
            yield f"its check {check.id} cannot be run: {problem}"


def _try_check(check: Check, sample: Sample) -> str:
    result = prepare_check(check)(sample)
    return result.reason if result.unscored is UnscoredReason.ERROR else ""
