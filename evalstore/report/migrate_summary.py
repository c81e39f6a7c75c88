"""Summarizes a migration for its text and Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from evalstore.report.text_layout import join_names
from evalstore.text import count_noun

if TYPE_CHECKING:
    from evalstore.migration import MigrationEntry, MigrationReport, MigrationSource, PlannedFile


OUTCOMES = ("migrated", "lossy", "unmapped", "refused")
STATES = ("conflict", "orphan", "renamed", "kept", "updated", "new", "unchanged")
# The states of files after a first migration or one without changes.
_PLAIN_STATES = frozenset({"new", "unchanged"})
HEAD = ("format", "files", "entries", *OUTCOMES)
REASON_HEAD = ("outcome", "entries", "files", "why")
SOURCES_LIMIT = 20  # sources with remarks; with more, the remarks are summed over all sources
REMARKS_LIMIT = 20  # of one source
_LINES = 3
_SENTENCES = 6  # summed over all sources, for each outcome
_NOTE = "note"  # instead of an outcome, for a sentence that bears on none
_QUIET = frozenset({"migrated", _NOTE})
_TWO_FILES = (2, 0)  # files (and entries) from which on remarks about migrated entries are summed


@dataclass(frozen=True, slots=True)
class MigrationRemark:
    """One reason, and the entries of a source that have it."""

    outcome: str
    reason: str
    entries: tuple[MigrationEntry, ...]

    def describe_lines(self, file: str) -> str:
        """Return the first lines of its entries.

        Those in a file other than `file` include its name.
        """
        by_file: dict[str, dict[str, None]] = {}
        for entry in sorted(self.entries, key=lambda entry: entry.file != file):
            lines = by_file.setdefault(entry.file, {})
            lines |= {f"{entry.line:,}": None} if entry.line else {}
        places = [
            " of ".join(filter(None, [_describe_lines([*lines]), name if name != file else ""]))
            for name, lines in by_file.items()
        ]
        more = [count_noun(len(places) - 1, "more file")] if places[1:] else []
        return "; ".join(filter(None, [*places[:1], *more]))


def _describe_lines(lines: Sequence[str]) -> str:
    noun = "lines" if len(lines) > 1 else "line"
    return f"{noun} {join_names(lines, _LINES)}" if lines else ""


class SourceGroup(NamedTuple):
    """A source and its entries."""

    source: MigrationSource
    entries: tuple[MigrationEntry, ...]

    @property
    def is_clean(self) -> bool:
        """Whether no entry has a remark, and no other format was likely."""
        return not self.source.also and not any(entry.reasons for entry in self.entries)


class ReasonTotal(NamedTuple):
    """A reason with its number of entries and files, and its first place.

    The last one may count the remaining reasons.
    """

    outcome: str
    entries: int
    files: int
    reason: str
    first: str = ""


def group_by_source(report: MigrationReport) -> list[SourceGroup]:
    """Return the sources in order, each with its entries."""
    entries = iter(report.entries)
    return [
        SourceGroup(source, tuple(islice(entries, source.entries))) for source in report.sources
    ]


def collect_remarks(entries: Iterable[MigrationEntry]) -> list[MigrationRemark]:
    """Return the reasons of entries, each once with its entries.

    A reason that bears on no outcome is a note.
    """
    by_reason: dict[tuple[str, str], list[MigrationEntry]] = {}
    for entry in entries:
        for reason in dict.fromkeys(entry.reasons):
            outcome = _NOTE if reason in entry.remarks else str(entry.outcome)
            by_reason.setdefault((outcome, reason), []).append(entry)
    return [MigrationRemark(*key, tuple(matches)) for key, matches in by_reason.items()]


def count_reasons(groups: Iterable[SourceGroup]) -> Iterator[ReasonTotal]:
    """Yield the reasons over all sources.

    The worst outcome comes first, and within an outcome the reasons that concern most files.
    """
    remarks = collect_remarks(entry for group in groups for entry in group.entries)
    for outcome in (*reversed(OUTCOMES), _NOTE):
        ranking = [remark for remark in remarks if remark.outcome == outcome]
        ranking.sort(key=_count_files_and_entries, reverse=True)
        top = ranking
        if outcome in _QUIET:
            top = [remark for remark in top if _count_files_and_entries(remark) > _TWO_FILES]
        top = top[:_SENTENCES]
        for remark in top:
            counts = _count_entries_and_files([remark])
            yield ReasonTotal(outcome, *counts, remark.reason, _first_place(remark))
        if more := ranking[len(top) :]:
            counts = _count_entries_and_files(more)
            yield ReasonTotal(outcome, *counts, count_noun(len(more), "more sentence"))


def count_by_format(groups: Sequence[SourceGroup]) -> list[tuple[str, ...]]:
    """Return a row for each format, with the cells that `HEAD` names.

    If there are several, the last row is the total.
    """
    by_format: dict[str, list[SourceGroup]] = {}
    for group in groups:
        by_format.setdefault(group.source.format or "no format", []).append(group)
    rows = [_format_row(name, members) for name, members in sorted(by_format.items())]
    return rows if len(rows) == 1 else [*rows, _format_row("all", groups)]


def count_outcomes(entries: Iterable[MigrationEntry]) -> dict[str, int]:
    """Return how many entries have each outcome.

    A whole file that is set aside counts as its cases do.
    """
    counts = dict.fromkeys(OUTCOMES, 0)
    for entry in entries:
        counts[str(entry.outcome)] += entry.number
    return counts


def summarize(report: MigrationReport) -> str:
    """Return the total of entries and outcomes on one line."""
    counts = count_outcomes(report.entries)
    number = sum(counts.values())
    entries = f"{number:,} {'entry' if number == 1 else 'entries'}"
    return f"{entries}: {', '.join(f'{counts[outcome]:,} {outcome}' for outcome in OUTCOMES)}"


def describe_detection(source: MigrationSource) -> Iterator[str]:
    """Yield why a source was taken for its format, and what else it looks like."""
    if source.format:
        dialect = f" ({source.dialect})" if source.dialect else ""
        yield f"recognised as {source.format}{dialect}: {source.reason}"
    elif not source.entries and source.reason:
        yield source.reason
    # If two formats weigh about the same, the entry itself asks which one it is.
    for guess in source.also if source.format else ():
        why = f"{guess.confidence:.0%} sure: {guess.reason}"
        yield f"also looks like {guess.format}, {why}; --from {guess.format} reads it as that"


def describe_result(report: MigrationReport, names: str = "") -> Iterator[str]:
    """Yield sentences about the files written and skipped; `names` says where to see the latter."""
    states = Counter(str(file.state) for file in report.files)
    if not report.sources:
        yield "no file has a format that evalstore migrates: nothing to do"
    elif report.dry_run:
        counts = [f"{states[state]:,} {state}" for state in STATES if states[state]]
        yield (
            "dry run, nothing written: "
            f"{', '.join([count_noun(len(report.files), 'file'), *counts])}"
        )
    else:
        rare = [state for state in STATES if states[state] and state not in _PLAIN_STATES]
        others = [f"{states[state]:,} {state}" for state in rare]
        counts = [f"{states['new']:,} new", *others] if others and states["new"] else others
        written = (
            f"{count_noun(len(report.written), 'file')} written, {states['unchanged']:,} unchanged"
        )
        yield f"{written}{': ' if counts else ''}{', '.join(counts)}"
    if states["conflict"]:
        yield (
            "a file in conflict stays as it is: run again with --force for the source's side, with "
            "--keep for yours"
        )
    if states["orphan"]:
        yield "an orphan also stays: delete it if `evalstore impact` finds nothing that needs it"
    if report.behind:
        sentence = "{0.dataset} pins {0.pin}, its source is at {0.version}"
        pins = dict.fromkeys(map(sentence.format, report.behind))
        yield f"pin-behind: {join_names(pins, _LINES)}"
    folders = [source.file for source in report.skipped if source.file.endswith("/")]
    if files := len(report.skipped) - len(folders):
        yield f"{count_noun(files, 'other file')} skipped{names}"
    if folders:
        yield (
            f"not searched, as it holds installed packages: {join_names(folders, _LINES)}; name it "
            "to search it"
        )
    if report.recovered:
        yield "an earlier migration was interrupted; what it left was undone first"


def is_repeated(report: MigrationReport) -> bool:
    """Whether the store already had some of the artifacts."""
    return any(file.state != "new" for file in report.files)


def sort_files(files: Iterable[PlannedFile]) -> list[PlannedFile]:
    """Return files by state, with those first that somebody must look at."""
    return sorted(files, key=lambda file: (STATES.index(file.state), file.path))


def count_changed_lines(file: PlannedFile) -> tuple[int, int]:
    """Return how many lines a planned file adds, and how many it removes."""
    lines = file.diff.splitlines()[2:]
    return sum(line.startswith("+") for line in lines), sum(line.startswith("-") for line in lines)


def _count_entries_and_files(remarks: Sequence[MigrationRemark]) -> tuple[int, int]:
    entries = {entry for remark in remarks for entry in remark.entries}
    return sum(entry.number for entry in entries), len({entry.file for entry in entries})


def _count_files_and_entries(remark: MigrationRemark) -> tuple[int, int]:
    return _count_entries_and_files([remark])[::-1]


def _first_place(remark: MigrationRemark) -> str:
    entry = remark.entries[0]
    return f"{entry.file}:{entry.line}" if entry.line else entry.file


def _format_row(name: str, groups: Sequence[SourceGroup]) -> tuple[str, ...]:
    counts = count_outcomes(entry for group in groups for entry in group.entries)
    numbers = [len(groups), sum(counts.values()), *(counts[outcome] for outcome in OUTCOMES)]
    return name, *(f"{number:,}" for number in numbers)
