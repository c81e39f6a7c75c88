"""A migration as text: totals, each source with what there is to say of it, and in a dry run the plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from evalstore.report.columns import columns
from evalstore.report.migrate_said import HEAD, Group, closing, groups, guesses, remarks, sizes, totals
from evalstore.report.words import counted
from evalstore.text import printable

if TYPE_CHECKING:
    from evalstore.migration import Entry, MigrationReport

_REMARKS = 20  # sentences about one source
_QUIET = 10  # sources that there is nothing to say of
_PLAN = 40  # files of a plan
_DIFF = 400  # lines of a plan that are shown whole
_MORE = "--verbose shows all of it, and so does --format json"


def summary(report: MigrationReport) -> str:
    """Return the report that fits on a few screens, however much there is; what is left out is counted."""
    parts = groups(report)
    quiet = sum(part.quiet for part in parts)
    told = [line for part in parts if quiet <= _QUIET or not part.quiet for line in _told(part)]
    more = ["", f"{counted(quiet, 'source')} more with nothing to say of"] if quiet > _QUIET else []
    end = closing(report, "; --verbose names them")
    return _joined([*_totals(parts), *told, *more, *_plan(report), *_gap(report), *end])


def everything(report: MigrationReport) -> str:
    """Return every entry in a line, every file that was passed by, and in a dry run the plan as a whole."""
    parts = groups(report)
    told = [line for part in parts for line in [*_heads(part), *_entries(part)]]
    passed = [f"passed by: {printable(source.file)}, {printable(source.reason)}" for source in report.skipped]
    diffs = [line for file in report.files for line in map(printable, file.diff.splitlines())]
    return _joined([*_totals(parts), *told, *diffs, *passed, *_gap(report), *closing(report)])


def _totals(parts: Sequence[Group]) -> list[str]:
    rows = [tuple(map(str.upper, HEAD)), *totals(parts)] if parts else []
    return columns(rows, right=range(1, len(HEAD))).splitlines() if rows else []


def _gap(report: MigrationReport) -> list[str]:
    return [""] if report.sources else []


def _heads(part: Group) -> Iterator[str]:
    arrow = f" -> {part.source.target}" if part.source.target else ""
    number = len(part.entries)
    yield ""
    yield f"{printable(part.source.file)}{arrow}  {number:,} {'entry' if number == 1 else 'entries'}"
    yield from (f"  {printable(line)}" for line in guesses(part.source))


def _told(part: Group) -> Iterator[str]:
    yield from _heads(part)
    said = remarks(part.entries)
    rows = [[f"  {remark.outcome}", remark.where(part.source.file), remark.reason] for remark in said[:_REMARKS]]
    yield from columns(rows).splitlines() if rows else ()
    if rest := sum(len(remark.entries) for remark in said[_REMARKS:]):
        yield f"  and {rest:,} more entries with something to say of; {_MORE}"


def _entries(part: Group) -> Iterator[str]:
    rows = [_entry(entry) for entry in part.entries]
    yield from columns(rows).splitlines() if rows else ()


def _entry(entry: Entry) -> list[str]:
    place = f"  {entry.file}:{entry.line}" if entry.line else f"  {entry.file}"
    return [place, entry.pointer, str(entry.outcome), entry.target or "", entry.reason]


def _plan(report: MigrationReport) -> Iterator[str]:
    """Yield the files that would be written, then how they differ: all of it, if it is not too much to read."""
    planned = sorted((file for file in report.files if file.diff), key=lambda file: (str(file.state), file.path))
    if not planned:
        return
    yield ""
    rows = [[f"  {file.state}", file.path, *_signed(*sizes(file))] for file in planned[:_PLAN]]
    yield from columns(rows, right={2, 3}).splitlines()
    if len(planned) > _PLAN:
        yield f"  and {len(planned) - _PLAN:,} more files"
    short = sum(file.diff.count("\n") for file in planned) <= _DIFF
    shown = [file for file in planned if short or file.state == "changed"]
    yield from (line for file in shown for line in ["", *map(printable, file.diff.splitlines())])
    if len(shown) < len(planned):
        yield ""
        yield f"{counted(len(planned) - len(shown), 'new file')} not shown line by line; {_MORE}"


def _signed(added: int, removed: int) -> tuple[str, str]:
    return f"+{added:,}" if added else "", f"-{removed:,}" if removed else ""


def _joined(lines: Sequence[str]) -> str:
    return "\n".join(lines).strip("\n")
