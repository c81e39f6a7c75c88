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

_NAMES_LIMIT = 3
_MARGIN = " " * 4
_MOVED = "moved"
_HEAD = ("", "ARTIFACT", "RELEASED", "FILE", "NEEDS", "")


def text(status: Status, screen: Screen = PAPER) -> str:
    """Return a line an artifact, what is not ok first, with what refers to it below, and a summary with what next."""
    if not status.artifacts:
        return "\n".join([*_summary_sentences(status), *_lines_of_finding(status, screen)])
    ordered = sorted(status.artifacts, key=lambda artifact: artifact.ok)
    head, *lines = format_columns([_HEAD, *map(_status_row, ordered)]).split("\n")
    below = _detail_lines if screen.can_hold(len(lines)) else _key_lines
    rows = [
        "\n".join(
            [
                screen.paint(None if artifact.ok else Part.MAJOR, line),
                *wrap_lines(*below(artifact), width=screen.width, lead=_MARGIN, inner=_MARGIN + "  "),
            ]
        )
        for line, artifact in zip(lines, ordered, strict=True)
    ]
    end = wrap_lines(*_summary_sentences(status), width=screen.width, inner="  ")
    return "\n".join(
        [screen.paint(Part.QUIET, head), *screen.shorten_list(rows), *_lines_of_finding(status, screen), "", *end]
    )


def document(status: Status) -> Any:
    """Return the JSON document."""
    return {
        "ok": status.ok,
        "total": status.total,
        "profile": status.profile,
        "interrupted": status.interrupted,
        "artifacts": [
            {
                "ref": artifact.ref,
                "state": str(artifact.state),
                "released": artifact.released,
                "working": artifact.working,
                "required_bump": str(artifact.required_bump),
                "next_version": artifact.next_version,
                "ok": artifact.ok,
                "rule": str(artifact.rule) if artifact.rule else None,
                "message": artifact.message,
                "dependents": list(artifact.dependents),
                "reaches": {
                    "rubrics": artifact.reached.rubrics,
                    "datasets": artifact.reached.datasets,
                    "questions": artifact.reached.questions,
                },
                "pins": [
                    {"from": pin.user, "ref": pin.ref, "file": pin.place.file, "line": pin.place.line}
                    for pin in artifact.pins
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
                    for moved in artifact.moved
                ],
                "adjusted": [_adjustment_document(finding) for finding in artifact.adjusted],
            }
            for artifact in status.artifacts
        ],
        "findings": [document_finding(finding) for finding in status.findings],
    }


def _status_row(artifact: ArtifactStatus) -> tuple[str, ...]:
    return (
        "ok" if artifact.ok else "NO",
        artifact.ref,
        artifact.released or "-",
        artifact.working or "-",
        str(artifact.required_bump) if artifact.required_bump else "-",
        "unchanged" if artifact.state == _MOVED else artifact.message,
    )


def _adjustment_document(finding: DiffFinding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "fingerprint": finding.fingerprint,
        "message": finding.message,
        "level": str(finding.level),
        "level_before": str(finding.level_before),
        "overridden": finding.overridden,
        "accepted": document_acceptance(finding.accepted) if finding.accepted else None,
    }


def _detail_lines(artifact: ArtifactStatus) -> Iterator[str]:
    yield from _key_lines(artifact)
    if artifact.dependents:
        yield f"referred to by {join_names(artifact.dependents, _NAMES_LIMIT)}"
    reached = artifact.reached
    counts = ((reached.rubrics, "rubric"), (reached.datasets, "dataset"), (reached.questions, "question"))
    if reach := join_names(count_noun(number, word) for number, word in counts if number):
        stay = f"; {count_noun(len(artifact.pins), 'reference')} will stay behind" if artifact.pins else ""
        yield f"reaches {reach}{stay}"


def _key_lines(artifact: ArtifactStatus) -> Iterator[str]:
    """Yield what nobody could know from the line of an artifact."""
    if artifact.state == _MOVED:
        yield from (moved.sentence for moved in artifact.moved[:_NAMES_LIMIT]) if artifact.moved else [artifact.message]
        if more := artifact.moved[_NAMES_LIMIT:]:
            yield f"{count_noun(len(more), 'more reference')} moved; --format json has all"
    for finding in artifact.adjusted:
        for label, sentence in describe_adjustments(finding):
            yield f"{finding.message}: {label} {sentence}"


def _lines_of_finding(status: Status, screen: Screen) -> list[str]:
    return ["", format_groups(status.findings, screen)] if status.findings else []


def summary(status: Status) -> str:
    """Return how many differ and lack their version, and the next command, on one line."""
    return ". ".join(_summary_sentences(status))


def _summary_sentences(status: Status) -> Iterator[str]:
    if status.interrupted:
        yield make_printable(status.interrupted)
    moved = sum(artifact.state == _MOVED for artifact in status.artifacts)
    changed = len(status.artifacts) - moved
    yield _describe_change(status, changed) if changed else f"{_count_artifacts(status.total)}, all as released"
    if moved:
        verb = "has" if moved == 1 else "have"
        yield f"{moved:,} unchanged {verb} references that moved: pin them, or hold them with evalstore lock"


def _describe_change(status: Status, changed: int) -> str:
    wrong = Counter(artifact.required_bump for artifact in status.artifacts if not artifact.ok)
    levels = ", ".join(f"{wrong[level]:,} {level}" for level in sorted(wrong, reverse=True))
    needs = "it needs" if wrong.total() == 1 else f"they need ({levels})"
    fault = f", {wrong.total():,} without the version {needs}" if wrong else ""
    # A file that is gone, or that did not change, cannot be bumped.
    bumps = any(artifact.working and artifact.state != _MOVED for artifact in status.artifacts)
    command = ": evalstore bump --all" if bumps else ""
    return f"{changed:,} of {_count_artifacts(status.total)} differ from the last release{fault}{command}"


def _count_artifacts(number: int) -> str:
    return count_noun(number, "artifact")
