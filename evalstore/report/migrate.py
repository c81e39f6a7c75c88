"""A migration as text and JSON: each source, every entry that there is something to say about, and the totals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

from evalstore.report.columns import columns
from evalstore.text import printable

if TYPE_CHECKING:
    from evalstore.migration import Entry, MigrationReport, Source

_OUTCOMES = ("migrated", "lossy", "unmapped", "refused")
_LINES = 3


def text(report: MigrationReport) -> str:
    """Say what became of each source, with a remark for every entry that has one."""
    by_file = {file: list(entries) for file, entries in groupby(report.entries, key=lambda entry: entry.file)}
    blocks = [_source(source, by_file.get(source.file, [])) for source in report.sources]
    diffs = ["\n".join(map(printable, file.diff.splitlines())) for file in report.files if file.diff]
    return "\n".join([*blocks, *diffs, *([""] if blocks or diffs else []), *_totals(report)])


def document(report: MigrationReport) -> Any:
    """Return the JSON document."""
    return {
        "format": report.format,
        "dry_run": report.dry_run,
        "sources": [_source_json(source) for source in report.sources],
        "skipped": [{"file": source.file, "reason": source.reason} for source in report.skipped],
        "entries": [_entry_json(entry) for entry in report.entries],
        "totals": {outcome: _count(report, outcome) for outcome in _OUTCOMES},
        "files": [
            {"path": file.path, "state": str(file.state), **({"diff": file.diff} if report.dry_run else {})}
            for file in report.files
        ],
        "written": list(report.written),
        "recovered": report.recovered,
    }


def _source(source: Source, entries: list[Entry]) -> str:
    arrow = f" -> {source.target}" if source.target else ""
    head = f"{printable(source.file)}{arrow}  {_number(len(entries), 'entry', 'entries')}"
    remarks = [[f"  {outcome}", lines, reason] for outcome, lines, reason in _remarks(entries)]
    return "\n".join([head, *([columns(remarks)] if remarks else [])])


def _remarks(entries: Iterable[Entry]) -> Iterator[tuple[str, str, str]]:
    """Yield what is said, once, with the lines that it is said of."""
    said: dict[tuple[str, str], list[int | None]] = {}
    for entry in entries:
        if entry.reason:
            said.setdefault((str(entry.outcome), entry.reason), []).append(entry.line)
    for (outcome, reason), lines in said.items():
        shown = ", ".join(str(line) for line in lines[:_LINES] if line)
        more = f" and {len(lines) - _LINES} more" if len(lines) > _LINES else ""
        yield outcome, f"line{'s' if len(lines) > 1 else ''} {shown}{more}" if shown else "", reason


def _totals(report: MigrationReport) -> Iterator[str]:
    counts = ", ".join(f"{_count(report, outcome)} {outcome}" for outcome in _OUTCOMES)
    yield f"{_number(len(report.entries), 'entry', 'entries')}: {counts}"
    states = [str(file.state) for file in report.files]
    if report.dry_run:
        planned = ", ".join(f"{states.count(state)} {state}" for state in ("new", "changed", "unchanged"))
        yield f"dry run, nothing written: {_number(len(states), 'file', 'files')}, {planned}"
        if "changed" in states:
            yield "changed files are only overwritten with --force"
    else:
        yield f"{_number(len(report.written), 'file', 'files')} written, {states.count('unchanged')} unchanged"
    if report.skipped:
        yield f"{_number(len(report.skipped), 'file', 'files')} of no known format passed by"
    if report.recovered:
        yield "an earlier migration was interrupted; what it left was undone first"


def _count(report: MigrationReport, outcome: str) -> int:
    return sum(entry.outcome == outcome for entry in report.entries)


def _number(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"


def _source_json(source: Source) -> Any:
    return {
        "file": source.file,
        "sha256": source.sha256,
        "format": source.format,
        "dialect": source.dialect,
        "confidence": source.confidence,
        "reason": source.reason,
        "target": source.target,
    }


def _entry_json(entry: Entry) -> Any:
    return {
        "file": entry.file,
        "pointer": entry.pointer,
        "line": entry.line,
        "outcome": str(entry.outcome),
        "target": entry.target,
        "rubric": entry.rubric,
        "reason": entry.reason,
    }
