"""What a migration and an export answer; plain values, no behaviour but counting."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum


class MigrationOutcome(StrEnum):
    """What became of an entry, the best first.

    migrated: the same verdicts. lossy: a check, but the legacy grader did not do what the file seems to ask.
    unmapped: read and set aside. refused: not read; the legacy grader would crash, or evalstore cannot say.
    """

    MIGRATED = "migrated"
    LOSSY = "lossy"
    UNMAPPED = "unmapped"
    REFUSED = "refused"


class FileState(StrEnum):
    """What a planned file is to the store."""

    NEW = "new"
    CHANGED = "changed"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class FormatGuess:
    """A format that a file may be of: how sure that is, from 0 to 1, and why."""

    format: str
    confidence: float
    reason: str


@dataclass(frozen=True, slots=True)
class MigrationSource:
    """One file that was read and recognised; `reason` says why it was taken for this, `also` what else it looks like.

    `target` is the dataset's file. `entries` of the report are its own, in the order of the sources.
    """

    file: str
    sha256: str
    format: str | None
    dialect: str | None
    confidence: float
    reason: str
    target: str | None = None
    also: tuple[FormatGuess, ...] = ()
    entries: int = 0


@dataclass(frozen=True, slots=True)
class MigrationEntry:
    """One case of a source, or a source that has none to give; `line` counts from 1, `reasons` are sentences."""

    file: str
    pointer: str
    line: int | None
    outcome: MigrationOutcome
    target: str | None = None
    rubric: str | None = None
    reasons: tuple[str, ...] = ()

    @property
    def reason(self) -> str:
        """What there is to say of it, on one line; empty when nothing."""
        return "; ".join(self.reasons)


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """One file of the store; `shown` gives its `diff`, which only a dry run has."""

    path: str
    state: FileState
    shown: Callable[[], str] = str

    @property
    def diff(self) -> str:
        """The difference that writing it would make; empty when there is none, or it is written."""
        return self.shown()


@dataclass(frozen=True, slots=True)
class MigrationReport:
    """Everything that one migration read, decided and wrote."""

    sources: tuple[MigrationSource, ...]
    entries: tuple[MigrationEntry, ...]
    skipped: tuple[MigrationSource, ...]
    files: tuple[PlannedFile, ...]
    dry_run: bool = False
    recovered: bool = False

    @property
    def format(self) -> str | None:
        """The format of all sources; None when there is none, or more than one."""
        formats = {source.format for source in self.sources if source.format}
        return formats.pop() if len(formats) == 1 else None

    @property
    def written(self) -> tuple[str, ...]:
        """The files that were written, relative to the store."""
        return () if self.dry_run else tuple(file.path for file in self.files if file.state is not FileState.UNCHANGED)

    def count(self, outcome: MigrationOutcome) -> int:
        """Return how many entries came out so."""
        return sum(entry.outcome is outcome for entry in self.entries)

    @property
    def complete(self) -> bool:
        """Whether every entry is migrated."""
        return self.count(MigrationOutcome.MIGRATED) == len(self.entries)


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """One file given back: its path, the dataset it comes from, its text, and what the format could not take."""

    file: str
    ref: str
    text: str
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ExportResult:
    """The files of one export; `out` is the folder they were written to, None when they were only asked for."""

    format: str
    files: tuple[ExportedFile, ...]
    out: str | None = None


def find_worst_outcome(outcomes: Iterable[MigrationOutcome]) -> MigrationOutcome:
    """Return the worst of several outcomes; `migrated` when there is none."""
    return max(outcomes, key=list(MigrationOutcome).index, default=MigrationOutcome.MIGRATED)
