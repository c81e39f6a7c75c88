"""Renders what changed between two documents, as text and JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from evalstore.diff.findings import ReplyWitness
from evalstore.documents import write_canonical
from evalstore.report.diff_words import (
    can_accept_changes,
    describe_example,
    describe_finding,
    describe_other_causes,
    describe_places,
    describe_suggestion,
    describe_total,
    format_exchange,
    sort_by_level,
    summarize_measurement,
    summary,
)
from evalstore.report.screen import PAPER, Part, Screen
from evalstore.report.text_layout import document_number, format_columns, wrap_lines
from evalstore.report.value_diff import Mark
from evalstore.text import make_printable
from evalstore.versions import Bump

if TYPE_CHECKING:
    from evalstore.diff import (
        AcceptedLevel,
        Diff,
        DiffFinding,
        MovedOutput,
        RunMeasurement,
        Suggestion,
        TotalEffect,
        Witness,
    )

_MARGIN = " " * 7
_LABEL = 8
_INDENT = len(_MARGIN) + _LABEL + 2
_CHILDREN = 8
_MANY = 12  # findings that no screen shows at once
_LEVELS = {Bump.MAJOR: Part.MAJOR, Bump.MINOR: Part.MINOR, Bump.PATCH: Part.PATCH}
_MARKS = {Mark.OLD: Part.OLD, Mark.NEW: Part.NEW, Mark.MORE: Part.QUIET}


def text(diff: Diff, screen: Screen = PAPER) -> str:
    """Return the findings, major first, and the bump that they need; of many findings a summary stands first too."""
    head = screen.paint(Part.HEAD, f"{_name_side(diff.old.ref, 'old')} → {_name_side(diff.new.ref, 'new')}")
    overview = [_format_overview(diff, screen)] if len(diff.findings) > _MANY else []
    can_accept = can_accept_changes(diff)
    blocks = (
        "\n".join(format_finding(finding, screen, can_accept=can_accept)) for finding in sort_by_level(diff.findings)
    )
    measurements = (format_measurement(measurement, screen.width) for measurement in diff.measured)
    notes = ("\n".join(wrap_lines(note, width=screen.width, inner="  ")) for note in describe_other_causes(diff))
    total = "\n".join(wrap_lines(describe_total(diff), width=screen.width, inner="  "))
    instead = describe_suggestion(diff.suggestion) if diff.suggestion else ""
    more = "\n".join(wrap_lines(instead, width=screen.width, inner="  "))
    end = filter(None, (total, screen.paint(Part.HEAD, summary(diff)), more))
    return "\n\n".join([head, *overview, *blocks, *end, *notes, *measurements])


def html(diff: Diff) -> str:
    """Return the same as a page of its own, with every change in full."""
    from evalstore.report.pages.diff import write_page

    return write_page(diff)


def document(diff: Diff) -> Any:
    """Return the JSON document."""
    return {
        "old": {"ref": diff.old.ref, "digest": diff.old.digest},
        "new": {"ref": diff.new.ref, "digest": diff.new.digest},
        "rule_set": diff.rule_set,
        "profile": str(diff.profile),
        "required_bump": str(diff.required_bump),
        "next_version": diff.next_version,
        "findings": [document_finding(finding) for finding in diff.findings],
        "total": _document_effect(diff.total),
        "measured": [document_measurement(measurement) for measurement in diff.measured],
        "notes": list(diff.notes),
        "settings": [
            {
                "setting": change.setting,
                "old": change.old,
                "new": change.new,
                "level": str(change.level),
                "direction": str(change.direction),
                "message": change.message,
            }
            for change in diff.settings
        ],
        **(_document_suggestion(diff.suggestion) if diff.suggestion else {}),
    }


def _document_suggestion(suggestion: Suggestion) -> dict[str, Any]:
    value = {"level": str(suggestion.level), "steps": list(suggestion.steps), "document": suggestion.document}
    return {"suggestion": value}


def document_acceptance(acceptance: AcceptedLevel) -> dict[str, Any]:
    """Return the JSON of an acceptance, for diff and status."""
    return {
        "reason": acceptance.reason,
        "by": acceptance.by,
        "day": str(acceptance.day),
        "until": str(acceptance.until) if acceptance.until else None,
    }


def format_measurement(measurement: RunMeasurement, width: int) -> str:
    """Return one sentence, wrapped, and a line for each example."""
    files = dict.fromkeys(make_printable(example.place.file) for example in measurement.examples)
    lines = wrap_lines(summarize_measurement(measurement), width=width, inner="  ")
    lines += [f"  as in {file}:" for file in files]
    rows = [describe_example(example) for example in measurement.examples]
    more = measurement.moved - len(rows)
    below = [f"  {line}" for line in format_columns(rows).split("\n")] if rows else []
    return "\n".join([*lines, *below, *([f"  and {more:,} more"] if more else [])])


def document_measurement(measurement: RunMeasurement) -> dict[str, Any]:
    """Return the JSON of one run."""
    return {
        "run": measurement.run,
        "outputs": measurement.outputs,
        "moved": measurement.moved,
        "verdict_moved": measurement.verdict_moved,
        "unscored": measurement.unscored,
        **document_number("mean_shift", measurement.mean_shift),
        **document_number("bound", measurement.bound),
        "examples": [_example_document(example) for example in measurement.examples],
    }


def _format_overview(diff: Diff, screen: Screen) -> str:
    rules = Counter((finding.level, finding.rule) for finding in sort_by_level(diff.findings))
    rule_counts = (f"{number} {rule}" for (_, rule), number in rules.items())
    return "\n".join(wrap_lines(summary(diff), ", ".join(rule_counts), width=screen.width, inner="  "))


def document_finding(finding: DiffFinding) -> dict[str, Any]:
    """Return the JSON of one finding and of its parts."""
    return {
        "rule": finding.rule,
        "level": str(finding.level),
        "level_before": str(finding.level_before),
        "overridden": finding.overridden,
        "accepted": document_acceptance(finding.accepted) if finding.accepted else None,
        "direction": str(finding.direction),
        "verdict_direction": str(finding.verdict_direction),
        "certainty": str(finding.certainty),
        "pointer": finding.pointer,
        "file": finding.new.file if finding.new else None,
        "line": finding.new.line if finding.new else None,
        "old_file": finding.old.file if finding.old else None,
        "old_line": finding.old.line if finding.old else None,
        "message": finding.message,
        "reason": finding.reason,
        "witness": _document_witness(finding.witness) if finding.witness else None,
        **document_number("max_shift", finding.max_shift),
        **document_number("max_shift_scored", finding.max_shift_scored),
        "fingerprint": finding.fingerprint,
        "children": [document_finding(child) for child in finding.children],
    }


def _document_effect(effect: TotalEffect) -> dict[str, Any]:
    return {
        "direction": str(effect.direction),
        "verdict_direction": str(effect.verdict_direction),
        "witness": _document_witness(effect.witness) if effect.witness else None,
        **document_number("max_shift", effect.max_shift),
        **document_number("max_shift_scored", effect.max_shift_scored),
    }


def _document_witness(witness: Witness | ReplyWitness) -> dict[str, Any]:
    scores = {**document_number("old_score", witness.old_score), **document_number("new_score", witness.new_score)}
    if isinstance(witness, ReplyWitness):
        return {"reply": witness.reply, **scores}
    return {
        "output": witness.output,
        **({} if witness.tool_calls is None else {"tool_calls": json.loads(write_canonical(list(witness.tool_calls)))}),
        **scores,
        "old_verdict": str(witness.old_verdict),
        "new_verdict": str(witness.new_verdict),
        **({"judged": [_document_judgement(*judged) for judged in witness.judged]} if witness.judged else {}),
        **({} if witness.least_shift is None else document_number("least_shift", witness.least_shift)),
    }


def _document_judgement(check: str, score: Fraction) -> dict[str, Any]:
    return {"check": check, **document_number("score", score)}


def format_finding(finding: DiffFinding, screen: Screen, *, can_accept: bool) -> Iterator[str]:
    """Yield the lines of one finding: its headline, its place, what changed, and what may be done."""
    yield from _format_headline(finding, "", screen)
    about = _wrap_line(f"{finding.rule}, {describe_places(finding)}, {finding.fingerprint}", screen, _MARGIN)
    yield from (screen.paint(Part.QUIET, line) for line in about)
    yield from _format_exchange_lines(finding, screen)
    for label, sentence in describe_finding(finding, can_accept=can_accept):
        lead = f"{label.ljust(_LABEL)}  "
        yield from _wrap_line(lead + sentence, screen, _MARGIN, inner=len(lead))
    children = sort_by_level(finding.children)[: None if screen.whole else _CHILDREN]
    for child in children:
        yield from _format_headline(child, f"{_MARGIN}  ", screen)
    if more := len(finding.children) - len(children):
        yield f"{_MARGIN}  and {more:,} more"


def _format_headline(finding: DiffFinding, margin: str, screen: Screen) -> Iterator[str]:
    first, *rest = _wrap_line(f"{_format_level(finding.level)}  {finding.message}", screen, margin)
    word = _format_level(finding.level)
    yield margin + screen.paint(_LEVELS.get(finding.level), word) + first[len(margin + word) :]
    yield from rest


def _format_exchange_lines(finding: DiffFinding, screen: Screen) -> Iterator[str]:
    lead = f"{_MARGIN}{'changed'.ljust(_LABEL)}  "
    exchange = format_exchange(finding, screen.width - _INDENT - len("- "))
    if isinstance(exchange, str):
        yield from [lead + exchange] if exchange else []
        return
    for line in exchange:
        yield (lead + screen.paint(_MARKS.get(line.mark), f"{line.mark} {line.text}".rstrip())).rstrip()
        lead = " " * len(lead)


def _format_level(level: Bump) -> str:
    return (str(level).upper() if level is Bump.MAJOR else str(level)).ljust(5)


def _name_side(ref: str | None, word: str) -> str:
    return make_printable(ref) if ref else word


def _wrap_line(line: str, screen: Screen, margin: str, inner: int = len(_MARGIN)) -> Sequence[str]:
    return wrap_lines(line, width=screen.width, lead=margin, inner=margin + " " * inner)


def _example_document(example: MovedOutput) -> dict[str, Any]:
    return {
        "id": example.id,
        "file": example.place.file,
        "line": example.place.line,
        **document_number("old_score", example.old_score),
        **document_number("new_score", example.new_score),
        "old_verdict": str(example.old_verdict),
        "new_verdict": str(example.new_verdict),
    }
