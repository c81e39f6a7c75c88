"""A migration as Markdown, for a comment or a page: the same as the text; words from outside do nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from evalstore.report.formats.markdown import escape_prose, format_code
from evalstore.report.migrate_summary import (
    HEAD,
    LOUD,
    SUMS,
    SourceGroup,
    collect_remarks,
    count_by_format,
    count_reasons,
    describe_detection,
    describe_result,
    group_by_source,
    summarize,
)

if TYPE_CHECKING:
    from evalstore.migration import MigrationReport

_REMARKS = 20
_LIMIT = 50_000  # characters of what is said source by source: the whole stays a page, and a comment
_PLAN = 100


def markdown(report: MigrationReport) -> str:
    """Return the report; what would make it too long to read is counted."""
    parts = group_by_source(report)
    loud = [part for part in parts if not part.quiet]
    lines = [
        "### evalstore migrate",
        "",
        f"**{summarize(report)}**",
        "",
        *_markdown_table(HEAD, count_by_format(parts) if parts else []),
    ]
    lines += _sum_table(parts) if len(loud) > LOUD else []
    size = 0
    for number, part in enumerate(loud):
        told = list(_source_section(part))
        size += sum(map(len, told))
        if size > _LIMIT:
            lines += ["", f"\u2026 and {len(loud) - number:,} more sources with something to say of."]
            break
        lines += told
    if quiet := len(parts) - len(loud):
        lines += ["", f"{quiet:,} {'source' if quiet == 1 else 'sources'} with nothing to say of."]
    lines += [*_plan_section(report), ""]
    lines += [f"- {escape_prose(line)}" for line in describe_result(report)]
    return "\n".join(lines)


def _source_section(part: SourceGroup) -> Iterator[str]:
    arrow = f" \u2192 {format_code(part.source.target)}" if part.source.target else ""
    yield from ("", f"#### {format_code(part.source.file)}{arrow}", "")
    yield from (f"- {escape_prose(line)}" for line in describe_detection(part.source))
    noted = collect_remarks(part.entries)
    rows = [(remark.outcome, remark.describe_lines(part.source.file), remark.reason) for remark in noted[:_REMARKS]]
    if rows:
        yield ""
        yield from _markdown_table(("outcome", "where", "why"), rows)
    if len(noted) > _REMARKS:
        yield from ("", f"\u2026 and {len(noted) - _REMARKS:,} more remarks.")


def _sum_table(parts: Sequence[SourceGroup]) -> Iterator[str]:
    yield ""
    rows = ((one.outcome, f"{one.entries:,}", f"{one.files:,}", one.reason, one.first) for one in count_reasons(parts))
    yield from _markdown_table((*SUMS, "where first"), rows)


def _plan_section(report: MigrationReport) -> Iterator[str]:
    planned = [file for file in report.files if file.diff]
    if not planned:
        return
    yield ""
    yield from (f"- {file.state} {format_code(file.path)}" for file in planned[:_PLAN])
    if len(planned) > _PLAN:
        yield f"- \u2026 and {len(planned) - _PLAN:,} more files"


def _markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    yield from (f"| {' | '.join(map(escape_prose, row))} |" for row in rows)
