"""A migration as Markdown, for a comment or a page: the same as the text; words from outside do nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from evalstore.report.formats.markdown import code, prose
from evalstore.report.migrate_said import (
    HEAD,
    LOUD,
    SUMS,
    Group,
    closing,
    groups,
    guesses,
    remarks,
    sentence,
    sums,
    totals,
)

if TYPE_CHECKING:
    from evalstore.migration import MigrationReport

_REMARKS = 20
_LIMIT = 50_000  # characters of what is said source by source: the whole stays a page, and a comment
_PLAN = 100


def markdown(report: MigrationReport) -> str:
    """Return the report; what would make it too long to read is counted."""
    parts = groups(report)
    loud = [part for part in parts if not part.quiet]
    lines = ["### evalstore migrate", "", f"**{sentence(report)}**", "", *_table(HEAD, totals(parts) if parts else [])]
    lines += _sums(parts) if len(loud) > LOUD else []
    size = 0
    for number, part in enumerate(loud):
        told = list(_source(part))
        size += sum(map(len, told))
        if size > _LIMIT:
            lines += ["", f"\u2026 and {len(loud) - number:,} more sources with something to say of."]
            break
        lines += told
    if quiet := len(parts) - len(loud):
        lines += ["", f"{quiet:,} {'source' if quiet == 1 else 'sources'} with nothing to say of."]
    lines += [*_plan(report), ""]
    lines += [f"- {prose(line)}" for line in closing(report)]
    return "\n".join(lines)


def _source(part: Group) -> Iterator[str]:
    arrow = f" \u2192 {code(part.source.target)}" if part.source.target else ""
    yield from ("", f"#### {code(part.source.file)}{arrow}", "")
    yield from (f"- {prose(line)}" for line in guesses(part.source))
    said = remarks(part.entries)
    rows = [(remark.outcome, remark.where(part.source.file), remark.reason) for remark in said[:_REMARKS]]
    if rows:
        yield ""
        yield from _table(("outcome", "where", "why"), rows)
    if len(said) > _REMARKS:
        yield from ("", f"\u2026 and {len(said) - _REMARKS:,} more remarks.")


def _sums(parts: Sequence[Group]) -> Iterator[str]:
    yield ""
    rows = ((one.outcome, f"{one.entries:,}", f"{one.files:,}", one.reason, one.first) for one in sums(parts))
    yield from _table((*SUMS, "where first"), rows)


def _plan(report: MigrationReport) -> Iterator[str]:
    planned = [file for file in report.files if file.diff]
    if not planned:
        return
    yield ""
    yield from (f"- {file.state} {code(file.path)}" for file in planned[:_PLAN])
    if len(planned) > _PLAN:
        yield f"- \u2026 and {len(planned) - _PLAN:,} more files"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    yield from (f"| {' | '.join(map(prose, row))} |" for row in rows)
