"""Renders a migration as Markdown, shortened to fit a comment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from evalstore.report.formats.markdown import escape_prose, format_code, format_table
from evalstore.report.migrate_summary import (
    HEAD,
    REASON_HEAD,
    REMARKS_LIMIT,
    SOURCES_LIMIT,
    SourceGroup,
    collect_remarks,
    count_by_format,
    count_reasons,
    describe_detection,
    describe_result,
    group_by_source,
    is_repeated,
    sort_files,
    summarize,
)

if TYPE_CHECKING:
    from evalstore.migration import MigrationReport

_LIMIT = 50_000  # characters of the sections about sources, so that the whole fits a comment
_PLAN = 100


def markdown(report: MigrationReport) -> str:
    """Return the report; beyond the limits, remarks and sources are counted, not listed."""
    groups = group_by_source(report)
    noted_groups = [group for group in groups if not group.is_clean]
    plan = list(_plan_section(report))
    lines = [
        "### evalstore migrate",
        "",
        f"**{summarize(report)}**",
        *(plan if is_repeated(report) else []),
        "",
        *format_table(HEAD, count_by_format(groups) if groups else []),
    ]
    lines += _sum_table(groups) if len(noted_groups) > SOURCES_LIMIT else []
    size = 0
    for number, group in enumerate(noted_groups):
        section = list(_source_section(group))
        size += sum(map(len, section))
        if size > _LIMIT:
            lines += [
                "",
                f"\u2026 and {len(noted_groups) - number:,} more sources with remarks.",
            ]
            break
        lines += section
    if clean_count := len(groups) - len(noted_groups):
        lines += [
            "",
            f"{clean_count:,} {'source' if clean_count == 1 else 'sources'} without remarks.",
        ]
    lines += [*([] if is_repeated(report) else plan), ""]
    lines += [f"- {escape_prose(line)}" for line in describe_result(report)]
    return "\n".join(lines)


def _source_section(group: SourceGroup) -> Iterator[str]:
    arrow = f" \u2192 {format_code(group.source.target)}" if group.source.target else ""
    yield from ("", f"#### {format_code(group.source.file)}{arrow}", "")
    yield from (f"- {escape_prose(line)}" for line in describe_detection(group.source))
    remarks = collect_remarks(group.entries)
    shown, file = remarks[:REMARKS_LIMIT], group.source.file
    rows = [(one.outcome, one.describe_lines(file), one.reason) for one in shown]
    if rows:
        yield ""
        yield from format_table(("outcome", "where", "why"), rows)
    if len(remarks) > REMARKS_LIMIT:
        yield from ("", f"\u2026 and {len(remarks) - REMARKS_LIMIT:,} more remarks.")


def _sum_table(groups: Sequence[SourceGroup]) -> Iterator[str]:
    yield ""
    rows: list[tuple[str, ...]] = []
    for total in count_reasons(groups):
        counts = (f"{total.entries:,}", f"{total.files:,}")
        rows.append((total.outcome, *counts, total.reason, total.first))
    yield from format_table((*REASON_HEAD, "where first"), rows)


def _plan_section(report: MigrationReport) -> Iterator[str]:
    plan = sort_files(file for file in report.files if file.reason or file.diff)
    if not plan:
        return
    yield ""
    for file in plan[:_PLAN]:
        yield (
            f"- {file.state} "
            f"{format_code(file.path)}{': ' if file.reason else ''}{escape_prose(file.reason)}"
        )
    if len(plan) > _PLAN:
        yield f"- \u2026 and {len(plan) - _PLAN:,} more files"
