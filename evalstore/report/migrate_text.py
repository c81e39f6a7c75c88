"""A migration as text: totals, each source with what there is to say of it, and in a dry run the plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from evalstore.report.migrate_summary import (
    HEAD,
    LOUD,
    SUMS,
    ReasonTotal,
    SourceGroup,
    collect_remarks,
    count_by_format,
    count_changed_lines,
    count_reasons,
    describe_detection,
    describe_result,
    group_by_source,
)
from evalstore.report.screen import PAPER, Part, Screen
from evalstore.report.text_layout import count_noun, format_columns, wrap_lines
from evalstore.text import make_printable

if TYPE_CHECKING:
    from evalstore.migration import MigrationEntry, MigrationReport, PlannedFile

_REMARKS = 20  # sentences about one source
_QUIET = 10  # sources that there is nothing to say of
_PLAN = 40  # files of a plan
_DIFF = 400  # lines of a plan that are shown whole
_EACH = "--verbose has a line for every entry, --report FILE keeps them all"
_MORE = "--verbose shows all of it, and so does --format json"


def summary(report: MigrationReport, screen: Screen = PAPER) -> str:
    """Return the report that fits on a few screens, however much there is; what is left out is counted."""
    parts = group_by_source(report)
    end = describe_result(report, "; --verbose names them")
    return _join_lines(
        [*_total_lines(parts), *_remark_lines(parts, screen), *_plan_lines(report), *_blank_line(report), *end]
    )


def everything(report: MigrationReport) -> str:
    """Return every entry in a line, every file that was passed by, and in a dry run the plan as a whole."""
    parts = group_by_source(report)
    told = [line for part in parts for line in [*_source_heading(part, PAPER), *_entry_lines(part)]]
    passed = [f"passed by: {make_printable(source.file)}, {make_printable(source.reason)}" for source in report.skipped]
    diffs = [line for file in report.files for line in map(make_printable, file.diff.splitlines())]
    return _join_lines([*_total_lines(parts), *told, *diffs, *passed, *_blank_line(report), *describe_result(report)])


def _total_lines(parts: Sequence[SourceGroup]) -> list[str]:
    rows = [tuple(map(str.upper, HEAD)), *count_by_format(parts)] if parts else []
    return format_columns(rows, right=range(1, len(HEAD))).splitlines() if rows else []


def _blank_line(report: MigrationReport) -> list[str]:
    return [""] if report.sources else []


def _source_heading(part: SourceGroup, screen: Screen) -> Iterator[str]:
    arrow = f" -> {part.source.target}" if part.source.target else ""
    number = len(part.entries)
    yield ""
    yield f"{make_printable(part.source.file)}{arrow}  {number:,} {'entry' if number == 1 else 'entries'}"
    yield from (told for line in describe_detection(part.source) for told in _hang_sentence("  ", line, screen))


def _remark_lines(parts: Sequence[SourceGroup], screen: Screen) -> Iterator[str]:
    """Yield what there is to say: source by source, or where many have something to say each sentence once."""
    loud = [part for part in parts if not part.quiet]
    if len(loud) > LOUD:
        yield from _reason_totals(count_reasons(parts), screen)
        note = f"this is said of {len(loud):,} of {count_noun(len(parts), 'source')}; {_EACH}"
        yield from ("", *wrap_lines(note, width=screen.width, inner="  "))
        loud, parts = [part for part in loud if part.source.also][:LOUD], []
    quiet = len(parts) - len(loud)
    for part in parts if 0 < quiet <= _QUIET else loud:
        yield from _source_remarks(part, screen)
    if quiet > _QUIET:
        yield from ("", f"{count_noun(quiet, 'source')} more with nothing to say of")


def _reason_totals(said: Iterator[ReasonTotal], screen: Screen) -> Iterator[str]:
    rows = [(one, (one.outcome, f"{one.entries:,}", f"{one.files:,}")) for one in said]
    head, *lines = format_columns(
        [tuple(map(str.upper, SUMS[:-1])), *(row for _, row in rows)], right={1, 2}
    ).splitlines()
    yield from ("", f"{head}  {SUMS[-1].upper()}, AND WHERE FIRST")
    for line, (one, _) in zip(lines, rows, strict=True):
        yield from _hang_sentence(f"{line}  ", one.reason, screen)
        if one.first:
            yield " " * (len(line) + 2) + screen.paint(Part.QUIET, make_printable(one.first))


def _source_remarks(part: SourceGroup, screen: Screen) -> Iterator[str]:
    yield from _source_heading(part, screen)
    found = collect_remarks(part.entries)
    cells = [(f"  {remark.outcome}", remark.describe_lines(part.source.file)) for remark in found[:_REMARKS]]
    leads = format_columns([*cells, ("", "")]).splitlines()
    width = max(map(len, leads), default=0)
    for lead, remark in zip(leads, found[:_REMARKS], strict=False):
        yield from _hang_sentence(f"{lead:<{width}}  ", remark.reason, screen)
    if len(found) > _REMARKS:
        yield f"  and {len(found) - _REMARKS:,} more remarks; {_MORE}"


def _hang_sentence(lead: str, sentence: str, screen: Screen) -> list[str]:
    """Return a sentence beside its lead, as wide as the screen; below each other where the lead leaves no room."""
    margin = len(lead) if len(lead) <= screen.width // 2 else 6
    first = "" if margin == len(lead) else " " * margin
    lines = wrap_lines(sentence, width=screen.width, lead=first or lead, inner=" " * margin)
    return [*([lead.rstrip()] if first else []), *lines]


def _entry_lines(part: SourceGroup) -> Iterator[str]:
    rows = [_entry_row(entry) for entry in part.entries]
    yield from format_columns(rows).splitlines() if rows else ()


def _entry_row(entry: MigrationEntry) -> list[str]:
    place = f"  {entry.file}:{entry.line}" if entry.line else f"  {entry.file}"
    return [place, entry.pointer, str(entry.outcome), entry.target or "", entry.reason]


def _plan_lines(report: MigrationReport) -> Iterator[str]:
    """Yield the files that would be written, then how they differ: all of it, if it is not too much to read."""
    planned = sorted((file for file in report.files if file.diff), key=lambda file: (str(file.state), file.path))
    if not planned:
        return
    yield ""
    named = planned if len(planned) <= _PLAN else [file for file in planned if file.state == "changed"][:_PLAN]
    rows = [[f"  {file.state}", file.path, *_format_counts(*count_changed_lines(file))] for file in named]
    yield from format_columns(rows, right={2, 3}).splitlines() if rows else ()
    yield from _folder_counts(planned[len(named) :])
    short = sum(file.diff.count("\n") for file in planned) <= _DIFF
    shown = [file for file in planned if short or file.state == "changed"]
    yield from (line for file in shown for line in ["", *map(make_printable, file.diff.splitlines())])
    if len(shown) < len(planned):
        yield ""
        yield f"{count_noun(len(planned) - len(shown), 'new file')} not shown line by line; {_MORE}"


def _folder_counts(planned: Sequence[PlannedFile]) -> Iterator[str]:
    """Yield how many more files there are in each folder of the store."""
    counts = Counter((str(file.state), file.path.partition("/")[0]) for file in planned)
    rows = [(f"  {state}", f"{count_noun(number, 'file')} in {folder}/") for (state, folder), number in counts.items()]
    yield from format_columns(rows).splitlines() if rows else ()


def _format_counts(added: int, removed: int) -> tuple[str, str]:
    return f"+{added:,}" if added else "", f"-{removed:,}" if removed else ""


def _join_lines(lines: Sequence[str]) -> str:
    return "\n".join(lines).strip("\n")
