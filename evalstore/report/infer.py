"""Renders which rulers reproduce the record of a run, as text, JSON and Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from evalstore.report.formats.markdown import escape_prose, format_code, format_table
from evalstore.report.screen import PAPER, Screen
from evalstore.report.text_layout import (
    count_noun,
    format_columns,
    format_percent,
    join_names,
    wrap_lines,
)
from evalstore.text import make_excerpt, make_printable

if TYPE_CHECKING:
    from evalstore.audits.inference import Inference, RulerCandidate

_LISTED = 12
_EXCERPT = 60


def text(inference: Inference, screen: Screen = PAPER) -> str:
    """Return the answer in a sentence, the best candidates, and what would tell them apart."""
    tables = [
        format_columns([(f"  {name}", agree) for name, agree in _rank_rows(candidates)])
        for candidates in (inference.rubrics, inference.datasets)
    ]
    notes = [line for note in _list_notes(inference) for line in wrap_lines(note, width=screen.width, inner="  ")]
    head = "\n".join(wrap_lines(_summarize(inference), width=screen.width))
    parts = [head, *(f"{title}:\n{table}" for title, table in zip(("rubrics", "datasets"), tables, strict=True))]
    return "\n\n".join([*parts, *(["\n".join(notes)] if notes else [])])


def markdown(inference: Inference) -> str:
    """Return the same for a pull request."""
    rows = [*_rank_rows(inference.rubrics), *_rank_rows(inference.datasets)]
    parts = ["### evalstore infer", format_code(inference.run), f"**{escape_prose(_summarize(inference))}**"]
    table = "\n".join(format_table(("ruler", "reproduces"), rows))
    return "\n\n".join([*parts, table, *(escape_prose(note) for note in _list_notes(inference))])


def _rank_rows(candidates: Sequence[RulerCandidate]) -> Iterator[tuple[str, str]]:
    for one in candidates[:_LISTED]:
        rest = f"; {one.not_graded:,} not graded" if one.not_graded else ""
        yield one.resolved.ref, "all" if one.is_exact else f"{one.agree:,} of {one.of:,}{rest}"
    if len(candidates) > _LISTED:
        yield f"and {len(candidates) - _LISTED:,} more", ""


def _summarize(inference: Inference) -> str:
    exact = [one.resolved.ref for one in reversed(inference.rubrics) if one.is_exact]
    scores = f"all {count_noun(inference.scored, 'recorded score')}"
    names = {one.resolved.name for one in inference.rubrics}
    if len(names) > 1:
        by_pins = [one.resolved.ref for one in inference.datasets if one.is_exact]
        if by_pins:
            verb = "reproduce" if by_pins[1:] else "reproduces"
            return f"{join_names(by_pins, _LISTED)} {verb} {scores}, by the rubrics pinned there."
        if unknown := [one.resolved.ref for one in reversed(inference.datasets) if one.may_be_exact]:
            names_ = join_names(unknown, _LISTED)
            return f"{names_} may reproduce {scores} by the rubrics pinned there, but replies of judges are missing."
        return f"The questions have {len(names)} rubrics, and no released dataset reproduces {scores} by its pins."
    unknown = [one.resolved.ref for one in reversed(inference.rubrics) if one.may_be_exact]
    open_ = f"{join_names(unknown, _LISTED)} may, but replies of judges are missing" if unknown else ""
    if not exact and unknown:
        return f"No released rubric is known to reproduce {scores}; {open_}."
    if not exact:
        best = inference.rubrics[0]
        return f"No released rubric reproduces {scores}; {best.resolved.ref} comes nearest, with {best.agree:,}."
    if len(exact) == 1:
        return f"{exact[0]} reproduces {scores}; {open_}." if unknown else f"Only {exact[0]} reproduces {scores}."
    return f"{join_names(exact, _LISTED)} reproduce {scores}; these outputs cannot tell them apart."


def _list_notes(inference: Inference) -> Iterator[str]:
    for one in inference.distinguish:
        pair = f"{one.old.ref} and {one.new.ref}"
        scores = f"{format_percent(one.old_score)} under the first, {format_percent(one.new_score)} under the second"
        if one.old_score == one.new_score:
            scores = f"{format_percent(one.old_score)} under both, with another verdict"
        if one.question is not None:
            yield f"{pair} differ on question {make_excerpt(one.question, _EXCERPT)}: {scores}"
        elif one.output is not None:
            yield f"{pair} would differ on the output {make_excerpt(one.output, _EXCERPT)!r}: {scores}"
        else:
            yield f"{pair}: no output is known whose score tells them apart"
    if inference.calls:
        yield f"{count_noun(inference.calls, 'judge call')} would settle more: name an endpoint with --judge-url"
    yield from (f"note: {make_printable(note)}" for note in inference.notes)
