"""Renders a migration: the JSON document is complete, the text and Markdown are shortened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from evalstore.report.json_values import select_json_keys
from evalstore.report.migrate_markdown import markdown
from evalstore.report.migrate_summary import (
    HEAD,
    REASON_HEAD,
    REMARKS_LIMIT,
    SOURCES_LIMIT,
    ReasonTotal,
    SourceGroup,
    collect_remarks,
    count_by_format,
    count_changed_lines,
    count_outcomes,
    count_reasons,
    describe_detection,
    describe_result,
    group_by_source,
    is_repeated,
    sort_files,
)
from evalstore.report.text_layout import PAPER, Part, Screen, format_columns, wrap_beside
from evalstore.text import count_noun, make_printable

if TYPE_CHECKING:
    from evalstore.migration import MigrationEntry, MigrationReport, PlannedFile

__all__ = ["document", "everything", "markdown", "text"]

_OUTCOMES = {
    "migrated": Part.PATCH,
    "lossy": Part.MINOR,
    "unmapped": Part.MINOR,
    "refused": Part.MAJOR,
}
_STATES = {
    "new": Part.NEW,
    "updated": Part.NEW,
    "renamed": Part.MINOR,
    "orphan": Part.MINOR,
    "conflict": Part.MAJOR,
}
_CLEAN_LIMIT = 10  # sources without remarks that are listed; more are counted
_PLAN_OF_TEXT = 40  # files in a plan
_REASON = " " * 12
_DIFF = 400  # lines of a plan that are shown whole
_HOW_TO_SEE_ENTRIES = "--verbose has a line for every entry, --report FILE keeps them all"
_HOW_TO_SEE_ALL = "--verbose shows all of it, and so does --format json"


def text(report: MigrationReport, screen: Screen = PAPER) -> str:
    """Return a report of a few screens at most; whatever it omits is counted."""
    groups = group_by_source(report)
    sources = [*_total_lines(groups, screen), *_remark_lines(report, groups, screen)]
    plan = list(_plan_lines(report, screen))
    parts = [*sources, *plan]
    if is_repeated(report):  # who migrates again knows the sources, so changes come first
        parts = [*plan, *([""] if plan else []), *sources]
    end = screen.wrap(*describe_result(report, "; --verbose names them"))
    lines = (screen.paint_words(line, _STATES) for line in end)
    return _join_lines([*parts, *_blank_line(report), *lines])


def everything(report: MigrationReport, screen: Screen = PAPER) -> str:
    """Return a line for each entry and skipped file, and in a dry run the whole plan."""
    groups = group_by_source(report)
    lines = list(_total_lines(groups, screen))
    for group in groups:
        lines += _source_heading(group)
        lines += _detection_lines(group, screen)
        lines += _entry_lines(group)
    for file in report.files:
        lines += ["", *screen.paint_diff(file.diff)] if file.diff else []
    noted = [(str(file.state), file.path, file.reason) for file in report.files if file.reason]
    noted += [("skipped", source.file, source.reason) for source in report.skipped]
    notes = [make_printable(f"{state}: {file}, {reason}") for state, file, reason in noted]
    lines += [*_blank_line(report), *notes] if notes else []
    return _join_lines([*lines, *_blank_line(report), *describe_result(report)])


def _total_lines(groups: Sequence[SourceGroup], screen: Screen) -> list[str]:
    rows = [tuple(map(str.upper, HEAD)), *count_by_format(groups)] if groups else []
    head, *lines = format_columns(rows, right=range(1, len(HEAD))).splitlines() if rows else [""]
    return [screen.paint(Part.QUIET, head), *lines]


def _blank_line(report: MigrationReport) -> list[str]:
    return [""] if report.sources else []


def _source_heading(group: SourceGroup) -> Iterator[str]:
    arrow = f" -> {group.source.target}" if group.source.target else ""
    number = sum(entry.number for entry in group.entries)
    yield ""
    yield (
        f"{make_printable(group.source.file)}{arrow}  {number:,} "
        f"{'entry' if number == 1 else 'entries'}"
    )


def _detection_lines(group: SourceGroup, screen: Screen) -> Iterator[str]:
    for sentence in describe_detection(group.source):
        yield from wrap_beside("  ", sentence, screen)


def _remark_lines(
    report: MigrationReport, groups: Sequence[SourceGroup], screen: Screen
) -> Iterator[str]:
    """Yield the remarks of each source.

    If many sources have remarks, each reason appears once, summed over them. What the sources were
    recognised as comes first, once for all that are alike; if it is doubtful, it is at each source.
    """
    if not is_repeated(report):
        sure = [group.source for group in groups if group.source.format and not group.source.also]
        for sentence in dict.fromkeys(one for source in sure for one in describe_detection(source)):
            yield from screen.wrap(sentence)
    noted_groups = [group for group in groups if not group.is_clean]
    if len(noted_groups) > SOURCES_LIMIT:
        yield from _reason_totals(count_reasons(groups), screen)
        note = (
            f"this concerns {len(noted_groups):,} of {count_noun(len(groups), 'source')}; "
            f"{_HOW_TO_SEE_ENTRIES}"
        )
        yield from ("", *screen.wrap(note))
        noted_groups, groups = (
            [group for group in noted_groups if group.source.also][:SOURCES_LIMIT],
            [],
        )
    clean_count = len(groups) - len(noted_groups)
    for group in groups if 0 < clean_count <= _CLEAN_LIMIT else noted_groups:
        yield from _source_heading(group)
        if group.source.also or not group.source.format:
            yield from _detection_lines(group, screen)
        yield from _source_remarks(group, screen)
    if clean_count > _CLEAN_LIMIT:
        yield from ("", f"{count_noun(clean_count, 'source')} more without remarks")


def _reason_totals(totals: Iterator[ReasonTotal], screen: Screen) -> Iterator[str]:
    rows = [(total, (total.outcome, f"{total.entries:,}", f"{total.files:,}")) for total in totals]
    head, *lines = format_columns(
        [tuple(map(str.upper, REASON_HEAD[:-1])), *(row for _, row in rows)], right={1, 2}
    ).splitlines()
    yield from ("", screen.paint(Part.QUIET, f"{head}  {REASON_HEAD[-1].upper()}, AND WHERE FIRST"))
    for line, (total, _) in zip(lines, rows, strict=True):
        yield from _paint_outcome(wrap_beside(f"{line}  ", total.reason, screen), screen)
        if total.first:
            yield " " * (len(line) + 2) + screen.paint(Part.QUIET, make_printable(total.first))


def _paint_outcome(lines: Sequence[str], screen: Screen) -> list[str]:
    """Return the lines of a remark, with the outcome painted that begins the first.

    An empty remark has no lines.
    """
    return [*(screen.paint_words(line, _OUTCOMES) for line in lines[:1]), *lines[1:]]


def _source_remarks(group: SourceGroup, screen: Screen) -> Iterator[str]:
    remarks = collect_remarks(group.entries)
    shown, file = remarks[:REMARKS_LIMIT], group.source.file
    cells = [(f"  {remark.outcome}", remark.describe_lines(file)) for remark in shown]
    leads = format_columns([*cells, ("", "")]).splitlines()
    width = max(map(len, leads), default=0)
    for lead, remark in zip(leads, shown, strict=False):
        yield from _paint_outcome(wrap_beside(f"{lead:<{width}}  ", remark.reason, screen), screen)
    if len(remarks) > REMARKS_LIMIT:
        yield f"  and {len(remarks) - REMARKS_LIMIT:,} more remarks; {_HOW_TO_SEE_ALL}"


def _entry_lines(group: SourceGroup) -> Iterator[str]:
    rows = [_entry_row(entry) for entry in group.entries]
    yield from format_columns(rows).splitlines() if rows else ()


def _entry_row(entry: MigrationEntry) -> list[str]:
    place = f"  {entry.file}:{entry.line}" if entry.line else f"  {entry.file}"
    return [place, entry.pointer, str(entry.outcome), entry.target or "", entry.reason]


def _plan_lines(report: MigrationReport, screen: Screen) -> Iterator[str]:
    """Yield the files that need a word, then diffs; a long plan omits those of new files."""
    noted = sort_files(file for file in report.files if file.reason)
    plan = sort_files(file for file in report.files if file.diff)
    listing = sort_files({file.path: file for file in (*noted, *plan)}.values())
    if not listing:
        return
    yield ""
    shown = listing if len(listing) <= _PLAN_OF_TEXT else noted[:_PLAN_OF_TEXT]
    rows = list(map(_list_file_cells, shown))
    lines = format_columns(rows, right={2, 3}).splitlines() if rows else []
    for line, file in zip(lines, shown, strict=True):
        yield screen.paint_words(line, _STATES)
        yield from screen.wrap(file.reason, lead=_REASON, inner=_REASON) if file.reason else ()
    yield from _folder_counts([file for file in listing if file not in shown])
    short = sum(file.diff.count("\n") for file in plan) <= _DIFF
    diffs = [file for file in plan if short or file.state != "new"][:_PLAN_OF_TEXT]
    yield from (line for file in diffs for line in ["", *screen.paint_diff(file.diff)])
    if len(diffs) < len(plan):
        yield ""
        yield (
            f"{count_noun(len(plan) - len(diffs), 'file')} not shown line by line; "
            f"{_HOW_TO_SEE_ALL}"
        )


def _list_file_cells(file: PlannedFile) -> list[str]:
    return [f"  {file.state}", file.path, *_format_counts(*count_changed_lines(file))]


def _folder_counts(files: Sequence[PlannedFile]) -> Iterator[str]:
    """Yield how many more files there are in each folder of the store."""
    counts = Counter((str(file.state), file.path.partition("/")[0]) for file in files)
    folders = [f"{count_noun(number, 'file')} in {name}/" for (_, name), number in counts.items()]
    rows = [(f"  {state}", folder) for (state, _), folder in zip(counts, folders, strict=True)]
    yield from format_columns(rows).splitlines() if rows else ()


def _format_counts(added: int, removed: int) -> tuple[str, str]:
    return f"+{added:,}" if added else "", f"-{removed:,}" if removed else ""


def _join_lines(lines: Sequence[str]) -> str:
    return "\n".join(lines).strip("\n")


def document(report: MigrationReport) -> Any:
    """Return the JSON document."""
    return {
        **select_json_keys(report, "format dry_run sources"),
        "skipped": [select_json_keys(source, "file reason") for source in report.skipped],
        **select_json_keys(report, "entries"),
        "totals": count_outcomes(report.entries),
        "files": [_write_file(file, dry_run=report.dry_run) for file in report.files],
        **select_json_keys(report, "written recovered behind"),
    }


def _write_file(file: PlannedFile, *, dry_run: bool) -> dict[str, Any]:
    shows_diff = dry_run or file.state == "conflict"
    return select_json_keys(file, "path state reason diff" if shows_diff else "path state reason")
