"""What there is to say of a migration, as values for every format of the report: totals, groups of entries, files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from evalstore.report.text_layout import count_noun, join_names

if TYPE_CHECKING:
    from evalstore.migration import MigrationEntry, MigrationReport, MigrationSource, PlannedFile

OUTCOMES = ("migrated", "lossy", "unmapped", "refused")
HEAD = ("format", "files", "entries", *OUTCOMES)
SUMS = ("outcome", "entries", "files", "why")
LOUD = 20  # sources with something to say: of more, what is said is told over all of them
_LINES = 3
_SENTENCES = 6  # over all sources, of an outcome
_ALONE = (2, 0)  # what is said of one file, and that all is well there, stands with that file


@dataclass(frozen=True, slots=True)
class MigrationRemark:
    """One sentence, and the entries of a source that it is said of."""

    outcome: str
    reason: str
    entries: tuple[MigrationEntry, ...]

    def describe_lines(self, file: str) -> str:
        """Return the first lines that it is said of; those of another file by its name."""
        own = [str(entry.line) for entry in self.entries if entry.line and entry.file == file]
        far = [f"{entry.file}:{entry.line}" for entry in self.entries if entry.file != file]
        line = f"line{'s' if len(own) > 1 else ''} {join_names(own, _LINES)}" if own else ""
        return "; ".join(filter(None, [line, join_names(far, _LINES)]))


class SourceGroup(NamedTuple):
    """A source and its entries."""

    source: MigrationSource
    entries: tuple[MigrationEntry, ...]

    @property
    def quiet(self) -> bool:
        """Whether there is nothing to say of it."""
        return not self.source.also and not any(entry.reasons for entry in self.entries)


class ReasonTotal(NamedTuple):
    """A sentence that is said in several sources, or how many more there are: of how many entries, and where first."""

    outcome: str
    entries: int
    files: int
    reason: str
    first: str = ""


def group_by_source(report: MigrationReport) -> list[SourceGroup]:
    """Return the sources in their order, each with its entries."""
    left = iter(report.entries)
    return [SourceGroup(source, tuple(islice(left, source.entries))) for source in report.sources]


def collect_remarks(entries: Iterable[MigrationEntry]) -> list[MigrationRemark]:
    """Return what is said of entries, each sentence once."""
    by_reason: dict[tuple[str, str], list[MigrationEntry]] = {}
    for entry in entries:
        for reason in dict.fromkeys(entry.reasons):
            by_reason.setdefault((str(entry.outcome), reason), []).append(entry)
    return [MigrationRemark(outcome, reason, tuple(found)) for (outcome, reason), found in by_reason.items()]


def count_reasons(parts: Iterable[SourceGroup]) -> Iterator[ReasonTotal]:
    """Yield what is said over all sources: the worst outcome first, of each the sentences about the most files."""
    remarks = collect_remarks(entry for part in parts for entry in part.entries)
    for outcome in reversed(OUTCOMES):
        own = sorted((one for one in remarks if one.outcome == outcome), key=_count_files_and_entries, reverse=True)
        shown = [one for one in own if outcome != "migrated" or _count_files_and_entries(one) > _ALONE][:_SENTENCES]
        yield from (
            ReasonTotal(outcome, *_count_entries_and_files([one]), one.reason, _first_place(one)) for one in shown
        )
        if more := own[len(shown) :]:
            yield ReasonTotal(outcome, *_count_entries_and_files(more), f"{count_noun(len(more), 'more sentence')}")


def count_by_format(parts: Sequence[SourceGroup]) -> list[tuple[str, ...]]:
    """Return a row for each format, as `HEAD` names its cells; a last row for all where there are several."""
    by_format: dict[str, list[SourceGroup]] = {}
    for part in parts:
        by_format.setdefault(part.source.format or "no format", []).append(part)
    rows = [_format_row(name, found) for name, found in sorted(by_format.items())]
    return rows if len(rows) == 1 else [*rows, _format_row("all", parts)]


def summarize(report: MigrationReport) -> str:
    """Return the sum in a line."""
    counts = Counter(str(entry.outcome) for entry in report.entries)
    number = len(report.entries)
    entries = f"{number:,} {'entry' if number == 1 else 'entries'}"
    return f"{entries}: {', '.join(f'{counts[outcome]:,} {outcome}' for outcome in OUTCOMES)}"


def describe_detection(source: MigrationSource) -> Iterator[str]:
    """Yield why a source was taken for its format, and what else it looks like."""
    if source.format:
        dialect = f" ({source.dialect})" if source.dialect else ""
        yield f"{source.format}{dialect}, {source.confidence:.0%} sure: {source.reason}"
    for guess in source.also:
        why = f"{guess.confidence:.0%} sure: {guess.reason}"
        yield f"also looks like {guess.format}, {why}; --from {guess.format} takes it for that"


def describe_result(report: MigrationReport, names: str = "") -> Iterator[str]:
    """Yield what became of the files of the store, and what was passed by; `names` says where those are named."""
    states = Counter(str(file.state) for file in report.files)
    if not report.sources:
        yield "no file of a format that evalstore migrates is there: nothing to do"
    elif report.dry_run:
        planned = [f"{states[state]:,} {state}" for state in ("new", "changed", "unchanged") if states[state]]
        yield f"dry run, nothing written: {', '.join([count_noun(len(report.files), 'file'), *planned])}"
        if states["changed"]:
            yield "changed files are only overwritten with --force"
    else:
        yield f"{count_noun(len(report.written), 'file')} written, {states['unchanged']:,} unchanged"
        if report.written:
            yield "next: evalstore validate, then evalstore bump --all"
    if report.skipped:
        yield f"{count_noun(len(report.skipped), 'other file')} passed by{names}"
    if report.recovered:
        yield "an earlier migration was interrupted; what it left was undone first"


def count_changed_lines(file: PlannedFile) -> tuple[int, int]:
    """Return how many lines a planned file adds, and how many it takes away."""
    lines = file.diff.splitlines()[2:]
    return sum(line.startswith("+") for line in lines), sum(line.startswith("-") for line in lines)


def _count_entries_and_files(said: Sequence[MigrationRemark]) -> tuple[int, int]:
    entries = {entry for one in said for entry in one.entries}
    return len(entries), len({entry.file for entry in entries})


def _count_files_and_entries(said: MigrationRemark) -> tuple[int, int]:
    return _count_entries_and_files([said])[::-1]


def _first_place(said: MigrationRemark) -> str:
    entry = said.entries[0]
    return f"{entry.file}:{entry.line}" if entry.line else entry.file


def _format_row(name: str, parts: Sequence[SourceGroup]) -> tuple[str, ...]:
    counts: Mapping[str, int] = Counter(str(entry.outcome) for part in parts for entry in part.entries)
    numbers = [len(parts), sum(counts.values()), *(counts[outcome] for outcome in OUTCOMES)]
    return name, *(f"{number:,}" for number in numbers)
