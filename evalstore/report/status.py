"""What changed since the last releases, as text and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from evalstore.report.diff import describe_adjustments, document_acceptance
from evalstore.report.findings import document_finding, format_groups
from evalstore.report.screen import PAPER, Part, Screen
from evalstore.report.text_layout import count_noun, format_columns, join_names, wrap_lines
from evalstore.text import make_printable

if TYPE_CHECKING:
    from evalstore.diff import DiffFinding
    from evalstore.status import ArtifactStatus, Status

_NAMED = 3
_MARGIN = " " * 4
_MOVED = "moved"
_HEAD = ("", "ARTIFACT", "RELEASED", "FILE", "NEEDS", "")


def text(status: Status, screen: Screen = PAPER) -> str:
    """Return a line an artifact, what is not ok first, with what refers to it below, and a summary with what next."""
    if not status.artifacts:
        return "\n".join([*_sentences(status), *_findings(status, screen)])
    ordered = sorted(status.artifacts, key=lambda one: one.ok)
    head, *lines = format_columns([_HEAD, *map(_row, ordered)]).split("\n")
    below = _below if screen.can_hold(len(lines)) else _essence
    rows = [
        "\n".join(
            [
                screen.paint(None if one.ok else Part.MAJOR, line),
                *wrap_lines(*below(one), width=screen.width, lead=_MARGIN, inner=_MARGIN + "  "),
            ]
        )
        for line, one in zip(lines, ordered, strict=True)
    ]
    end = wrap_lines(*_sentences(status), width=screen.width, inner="  ")
    return "\n".join([screen.paint(Part.QUIET, head), *screen.shorten_list(rows), *_findings(status, screen), "", *end])


def document(status: Status) -> Any:
    """Return the JSON document."""
    return {
        "ok": status.ok,
        "total": status.total,
        "profile": status.profile,
        "interrupted": status.interrupted,
        "artifacts": [
            {
                "ref": standing.ref,
                "state": str(standing.state),
                "released": standing.released,
                "working": standing.working,
                "required_bump": str(standing.required_bump),
                "next_version": standing.next_version,
                "ok": standing.ok,
                "rule": str(standing.rule) if standing.rule else None,
                "message": standing.message,
                "dependents": list(standing.dependents),
                "reaches": {
                    "rubrics": standing.reached.rubrics,
                    "datasets": standing.reached.datasets,
                    "questions": standing.reached.questions,
                },
                "pins": [
                    {"from": pin.user, "ref": pin.ref, "file": pin.place.file, "line": pin.place.line}
                    for pin in standing.pins
                ],
                "moved": [
                    {
                        "ref": moved.ref,
                        "was": str(moved.was),
                        "now": str(moved.now),
                        "level": str(moved.level),
                        "file": moved.place.file,
                        "line": moved.place.line,
                    }
                    for moved in standing.moved
                ],
                "adjusted": [_describe_sentences(finding) for finding in standing.adjusted],
            }
            for standing in status.artifacts
        ],
        "findings": [document_finding(finding) for finding in status.findings],
    }


def _row(standing: ArtifactStatus) -> tuple[str, ...]:
    return (
        "ok" if standing.ok else "NO",
        standing.ref,
        standing.released or "-",
        standing.working or "-",
        str(standing.required_bump) if standing.required_bump else "-",
        "unchanged" if standing.state == _MOVED else standing.message,
    )


def _describe_sentences(finding: DiffFinding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "fingerprint": finding.fingerprint,
        "message": finding.message,
        "level": str(finding.level),
        "level_before": str(finding.level_before),
        "overridden": finding.overridden,
        "accepted": document_acceptance(finding.accepted) if finding.accepted else None,
    }


def _below(standing: ArtifactStatus) -> Iterator[str]:
    yield from _essence(standing)
    if standing.dependents:
        yield f"referred to by {join_names(standing.dependents, _NAMED)}"
    reached = standing.reached
    counts = ((reached.rubrics, "rubric"), (reached.datasets, "dataset"), (reached.questions, "question"))
    if told := join_names(count_noun(number, word) for number, word in counts if number):
        stay = f"; {count_noun(len(standing.pins), 'reference')} will stay behind" if standing.pins else ""
        yield f"reaches {told}{stay}"


def _essence(standing: ArtifactStatus) -> Iterator[str]:
    """Yield what nobody could know from the line of an artifact."""
    if standing.state == _MOVED:
        yield from (moved.sentence for moved in standing.moved[:_NAMED]) if standing.moved else [standing.message]
        if more := standing.moved[_NAMED:]:
            yield f"{count_noun(len(more), 'more reference')} moved; --format json has all"
    for finding in standing.adjusted:
        for label, sentence in describe_adjustments(finding):
            yield f"{finding.message}: {label} {sentence}"


def _findings(status: Status, screen: Screen) -> list[str]:
    return ["", format_groups(status.findings, screen)] if status.findings else []


def summary(status: Status) -> str:
    """Return how many differ and lack their version, and the next command, on one line."""
    return ". ".join(_sentences(status))


def _sentences(status: Status) -> Iterator[str]:
    if status.interrupted:
        yield make_printable(status.interrupted)
    moved = sum(standing.state == _MOVED for standing in status.artifacts)
    changed = len(status.artifacts) - moved
    yield _describe_change(status, changed) if changed else f"{_count(status.total)}, all as released"
    if moved:
        verb = "has" if moved == 1 else "have"
        yield f"{moved:,} unchanged {verb} references that moved: pin them, or hold them with evalstore lock"


def _describe_change(status: Status, changed: int) -> str:
    wrong = Counter(standing.required_bump for standing in status.artifacts if not standing.ok)
    levels = ", ".join(f"{wrong[level]:,} {level}" for level in sorted(wrong, reverse=True))
    needs = "it needs" if wrong.total() == 1 else f"they need ({levels})"
    fault = f", {wrong.total():,} without the version {needs}" if wrong else ""
    # A file that is gone, or that did not change, cannot be bumped.
    bumps = any(standing.working and standing.state != _MOVED for standing in status.artifacts)
    command = ": evalstore bump --all" if bumps else ""
    return f"{changed:,} of {_count(status.total)} differ from the last release{fault}{command}"


def _count(number: int) -> str:
    return count_noun(number, "artifact")
