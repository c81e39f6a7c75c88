"""A migration as text: totals, each source with what there is to say of it, and in a dry run the plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from evalstore.report.columns import align_columns
from evalstore.report.migrate_said import (
    HEAD,
    LOUD,
    SUMS,
    SourceGroup,
    ReasonTotal,
    describe_result,
    group_by_source,
    describe_detection,
    collect_remarks,
    count_changed_lines,
    count_reasons,
    count_by_format,
)
from evalstore.report.screen import PAPER, Part, Screen
from evalstore.report.words import counted, wrapped
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
    return _joined([*_totals(parts), *_said(parts, screen), *_plan(report), *_gap(report), *end])


def everything(report: MigrationReport) -> str:
    """Return every entry in a line, every file that was passed by, and in a dry run the plan as a whole."""
    parts = group_by_source(report)
    told = [line for part in parts for line in [*_heads(part, PAPER), *_entries(part)]]
    passed = [f"passed by: {make_printable(source.file)}, {make_printable(source.reason)}" for source in report.skipped]
    diffs = [line for file in report.files for line in map(make_printable, file.diff.splitlines())]
    return _joined([*_totals(parts), *told, *diffs, *passed, *_gap(report), *describe_result(report)])


def _totals(parts: Sequence[SourceGroup]) -> list[str]:
    rows = [tuple(map(str.upper, HEAD)), *count_by_format(parts)] if parts else []
    return align_columns(rows, right=range(1, len(HEAD))).splitlines() if rows else []


def _gap(report: MigrationReport) -> list[str]:
    return [""] if report.sources else []


def _heads(part: SourceGroup, screen: Screen) -> Iterator[str]:
    arrow = f" -> {part.source.target}" if part.source.target else ""
    number = len(part.entries)
    yield ""
    yield f"{make_printable(part.source.file)}{arrow}  {number:,} {'entry' if number == 1 else 'entries'}"
    yield from (told for line in describe_detection(part.source) for told in _hung("  ", line, screen))


def _said(parts: Sequence[SourceGroup], screen: Screen) -> Iterator[str]:
    """Yield what there is to say: source by source, or where many have something to say each sentence once."""
    loud = [part for part in parts if not part.quiet]
    if len(loud) > LOUD:
        yield from _summed(count_reasons(parts), screen)
        told = f"this is said of {len(loud):,} of {counted(len(parts), 'source')}; {_EACH}"
        yield from ("", *wrapped(told, width=screen.width, inner="  "))
        loud, parts = [part for part in loud if part.source.also][:LOUD], []
    quiet = len(parts) - len(loud)
    for part in parts if 0 < quiet <= _QUIET else loud:
        yield from _told(part, screen)
    if quiet > _QUIET:
        yield from ("", f"{counted(quiet, 'source')} more with nothing to say of")


def _summed(said: Iterator[ReasonTotal], screen: Screen) -> Iterator[str]:
    rows = [(one, (one.outcome, f"{one.entries:,}", f"{one.files:,}")) for one in said]
    head, *lines = align_columns([tuple(map(str.upper, SUMS[:-1])), *(row for _, row in rows)], right={1, 2}).splitlines()
    yield from ("", f"{head}  {SUMS[-1].upper()}, AND WHERE FIRST")
    for line, (one, _) in zip(lines, rows, strict=True):
        yield from _hung(f"{line}  ", one.reason, screen)
        if one.first:
            yield " " * (len(line) + 2) + screen.paint(Part.QUIET, make_printable(one.first))


def _told(part: SourceGroup, screen: Screen) -> Iterator[str]:
    yield from _heads(part, screen)
    said = collect_remarks(part.entries)
    cells = [(f"  {remark.outcome}", remark.describe_lines(part.source.file)) for remark in said[:_REMARKS]]
    leads = align_columns([*cells, ("", "")]).splitlines()
    width = max(map(len, leads), default=0)
    for lead, remark in zip(leads, said[:_REMARKS], strict=False):
        yield from _hung(f"{lead:<{width}}  ", remark.reason, screen)
    if len(said) > _REMARKS:
        yield f"  and {len(said) - _REMARKS:,} more remarks; {_MORE}"


def _hung(lead: str, sentence: str, screen: Screen) -> list[str]:
    """Return a sentence beside its lead, as wide as the screen; below each other where the lead leaves no room."""
    margin = len(lead) if len(lead) <= screen.width // 2 else 6
    first = "" if margin == len(lead) else " " * margin
    lines = wrapped(sentence, width=screen.width, lead=first or lead, inner=" " * margin)
    return [*([lead.rstrip()] if first else []), *lines]


def _entries(part: SourceGroup) -> Iterator[str]:
    rows = [_entry(entry) for entry in part.entries]
    yield from align_columns(rows).splitlines() if rows else ()


def _entry(entry: MigrationEntry) -> list[str]:
    place = f"  {entry.file}:{entry.line}" if entry.line else f"  {entry.file}"
    return [place, entry.pointer, str(entry.outcome), entry.target or "", entry.reason]


def _plan(report: MigrationReport) -> Iterator[str]:
    """Yield the files that would be written, then how they differ: all of it, if it is not too much to read."""
    planned = sorted((file for file in report.files if file.diff), key=lambda file: (str(file.state), file.path))
    if not planned:
        return
    yield ""
    named = planned if len(planned) <= _PLAN else [file for file in planned if file.state == "changed"][:_PLAN]
    rows = [[f"  {file.state}", file.path, *_signed(*count_changed_lines(file))] for file in named]
    yield from align_columns(rows, right={2, 3}).splitlines() if rows else ()
    yield from _folders(planned[len(named) :])
    short = sum(file.diff.count("\n") for file in planned) <= _DIFF
    shown = [file for file in planned if short or file.state == "changed"]
    yield from (line for file in shown for line in ["", *map(make_printable, file.diff.splitlines())])
    if len(shown) < len(planned):
        yield ""
        yield f"{counted(len(planned) - len(shown), 'new file')} not shown line by line; {_MORE}"


def _folders(planned: Sequence[PlannedFile]) -> Iterator[str]:
    """Yield how many more files there are in each folder of the store."""
    counts = Counter((str(file.state), file.path.partition("/")[0]) for file in planned)
    rows = [(f"  {state}", f"{counted(number, 'file')} in {folder}/") for (state, folder), number in counts.items()]
    yield from align_columns(rows).splitlines() if rows else ()


def _signed(added: int, removed: int) -> tuple[str, str]:
    return f"+{added:,}" if added else "", f"-{removed:,}" if removed else ""


def _joined(lines: Sequence[str]) -> str:
    return "\n".join(lines).strip("\n")
