"""Writes an audit as one HTML page without scripts: the sentence, what moved, who, and where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

from evalstore.audits import Audit, Cause, Origin
from evalstore.audits.conditions import AuditReport
from evalstore.audits.edits.edit_files import NO_FILES, EditFiles
from evalstore.audits.values import EmptyCheck, FailedCheck
from evalstore.audits.wording.answer import write_answer
from evalstore.report.blame import describe_origin
from evalstore.report.pages.diff import prepare_edit
from evalstore.report.pages.history import CAPTION, prepare_timeline
from evalstore.report.pages.html import read_own, render_page
from evalstore.report.pages.moved import filter_moved
from evalstore.report.pages.waterfall import is_resolved, prepare_waterfall
from evalstore.text import count_noun, make_excerpt

_MOST_EDITS = 100
# Bytes for everything that can grow, except outputs and what was asked: without these a page stays
# below 300 kB.
_BUDGET, _LEAST_BUDGET = 250_000, 50_000
_NAME = 24


def write_page(  # noqa: PLR0913  # what a page has beside the report
    report: AuditReport,
    *,
    conditions: Sequence[str],
    slices: Sequence[Sequence[str]],
    facts: Sequence[str],
    links: Mapping[str, str] | None = None,
    trail: str = "",
) -> str:
    """Return the page.

    `conditions` are the answers to conditions in words, `slices` the rows of the table of slices,
    headings first, and `facts` what else to say. `links` lead to the pages of the steps between two
    releases, by `write_step`; in a site, `trail` leads to where the page belongs.
    """
    audit = report.audit
    edits = _list_moving_edits(audit)
    timelines = report.timelines
    names = [
        make_excerpt(f"{side} {run.model}", _NAME) for side, run in (("A", audit.a), ("B", audit.b))
    ]
    render = partial(
        render_page,
        "audit",
        trail=trail,
        title=f"Audit: {audit.a.model} to {audit.b.model}",
        audit=audit,
        answer=write_answer(audit),
        conditions=conditions,
        waterfall=prepare_waterfall(audit),
        edits=_prepare_edits(audit, edits[:_MOST_EDITS], links or {}, report.files or NO_FILES),
        edit_notes=[*_note_edits(audit, edits)],
        timelines=[(one.name, prepare_timeline(one, names)) for one in timelines.histories]
        if timelines
        else [],
        timeline_notes=timelines.notes if timelines else [],
        caption=CAPTION,
        slice_head=slices[0],
        slices=slices[1:],
        lines=[*_list_lines(audit)],
        facts=facts,
    )
    rest = len(render(moved=None).encode()) - len(read_own("style.css"))
    sources = [cause.source for cause in edits[:_MOST_EDITS]]
    moved = filter_moved(audit, sources, max(_BUDGET - rest, _LEAST_BUDGET))
    return render(moved=moved, rules=moved.rules if moved else "")


def _list_moving_edits(audit: Audit) -> list[Cause]:
    """Return the edits that moved a score or a verdict, most first."""
    causes = chain.from_iterable(factor.causes for factor in audit.factors)
    moving = (cause for cause in causes if cause.share or cause.passes or cause.moved)
    return sorted(moving, key=lambda cause: -abs(cause.share))


def _prepare_edits(
    audit: Audit, edits: Sequence[Cause], links: Mapping[str, str], files: EditFiles
) -> list[dict[str, Any]]:
    factors = filter(is_resolved, audit.factors)
    resolved = {cause.source for factor in factors for cause in factor.causes}

    def prepare(number: int, cause: Cause) -> dict[str, Any]:
        source = cause.source
        return {
            "cause": cause,
            "is_open": source not in resolved,
            "step": _describe_step(source.origin),
            "people": describe_origin(source.origin),
            "diff": {**prepare_edit(source, links, files), "key": f"d{number}"},
        }

    return [prepare(number, cause) for number, cause in enumerate(edits)]


def _note_edits(audit: Audit, edits: Sequence[Cause]) -> Iterator[str]:
    silent = sum(len(factor.causes) for factor in audit.factors) - len(edits)
    if len(edits) > _MOST_EDITS:
        yield f"{count_noun(len(edits) - _MOST_EDITS, 'more edit')} moved less."
    if silent:
        yield f"{count_noun(silent, 'other edit' if edits else 'edit')} moved nothing."


def _describe_step(origin: Origin) -> str:
    return f"{origin.ref + ' ' if origin.ref else ''}{origin.old} \u2192 {origin.new}"


def _describe_empty(empty: EmptyCheck) -> str:
    questions = count_noun(empty.questions, "question")
    return f"{empty.check} had nothing to grade in {empty.run} on {questions}: {empty.reason}"


def _describe_failed(failed: FailedCheck) -> str:
    questions = count_noun(failed.questions, "question")
    return f"{failed.check} failed in {failed.run} on {questions}: {failed.error}"


def _list_lines(audit: Audit) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the questions behind the lines that no factor moved, and what was not reproduced."""
    lines = audit.lines
    lists = (
        ("added to the dataset", lines.questions.added),
        ("removed from the dataset", lines.questions.removed),
        ("without an answer in A", lines.silent_a),
        ("without an answer in B", lines.silent_b),
        ("in which a check had nothing to grade in one run", lines.emptied),
        ("that one run could not grade", lines.errors),
    )
    yield from ((f"Questions {title}", ids) for title, ids in lists if ids)
    if lines.empty_checks:
        yield "Checks with nothing to grade", list(map(_describe_empty, lines.empty_checks))
    if lines.failed_checks:
        yield "Checks that failed", list(map(_describe_failed, lines.failed_checks))
    if audit.drift:
        lost = [f"{drift.run} {drift.id}: {drift.what}" for drift in audit.drift]
        yield "Recorded results that were not reproduced", lost
