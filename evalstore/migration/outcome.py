"""The values that `migrate` and `export` return, and the rule that gives an entry its outcome."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from evalstore.arguments import require_arguments, require_choice
from evalstore.notebook import ReportValue, format_repr
from evalstore.versions import find_version

_ANOTHER_PROMPT = "another prompt"


class MigrationOutcome(StrEnum):
    """The outcome of an entry, best first; `find_worst_outcome` uses this order.

    migrated: the rubric gives the same verdicts as the legacy grader. lossy: it is graded, but
    verdicts can differ, or the legacy grader did not do what the file seems to ask. unmapped: read,
    kept as data, and not graded. refused: not read, because the legacy grader would crash, or
    nobody knows how it would read it.
    """

    MIGRATED = "migrated"
    LOSSY = "lossy"
    UNMAPPED = "unmapped"
    REFUSED = "refused"


class LossKind(StrEnum):
    """What a migration may lose of an entry, as `--strict --allow` names it.

    another-prompt: its judge asks in other words than the legacy grader's. lossy: anything else
    that can move a verdict. unmapped, refused: the outcomes of that name.
    """

    ANOTHER_PROMPT = "another-prompt"
    LOSSY = "lossy"
    UNMAPPED = "unmapped"
    REFUSED = "refused"


class FileState(StrEnum):
    """What a migration does to a file of the store.

    new, updated: written. unchanged: there is nothing to do. kept: changed or removed only in the
    store, or its source is now refused; left alone. conflict: changed at the source, and changed or
    removed in the store; left alone. renamed: the same as before, but its source has another name
    or place. orphan: nothing in the source needs it any more; it stays until somebody deletes it.
    """

    NEW = "new"
    UPDATED = "updated"
    RENAMED = "renamed"
    CONFLICT = "conflict"
    KEPT = "kept"
    ORPHAN = "orphan"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class JudgeFacts:
    """How a judge differs from the legacy grader's, each fact a clause.

    A fact is empty if there is no difference. `prompt` is about the words of its template, `reply`
    about how its reply is read. A judge with no facts asks in words of ours. `is_given`: the user
    says that it is the grader, so it sees what that sees. `remarks` are sentences on what makes no
    difference.
    """

    prompt: str = "it is evalstore's own"
    reply: str = ""
    remarks: tuple[str, ...] = ()
    is_given: bool = False


OUR_JUDGE = JudgeFacts()


@dataclass(frozen=True, slots=True)
class FormatGuess:
    """A format that a file may have, with a confidence from 0 to 1 and a reason."""

    format: str
    confidence: float
    reason: str


@dataclass(frozen=True, slots=True)
class MigrationSource:
    """One file that was read: its format, with confidence and `reason`.

    `also` are close alternatives. `target` is the path of the dataset, rubric or run that
    represents the file. `entries` counts its entries in the report, which lists entries in the
    order of the sources.
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
    """The outcome of a case, a part, or a file; `line` counts from 1, `reasons` are sentences.

    `remarks` are those reasons that do not affect the outcome. A whole file that is set aside has
    the number of its `cases`.
    """

    file: str
    pointer: str
    line: int | None
    outcome: MigrationOutcome
    target: str | None = None
    rubric: str | None = None
    reasons: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    cases: int | None = None

    @property
    def number(self) -> int:
        """How many entries it counts as."""
        return self.cases or 1

    @property
    def losses(self) -> frozenset[LossKind]:
        """What is lost of it."""
        if self.outcome is MigrationOutcome.MIGRATED:
            return frozenset()
        if self.outcome is not MigrationOutcome.LOSSY:
            return frozenset({LossKind(self.outcome)})
        reasons = [reason for reason in self.reasons if reason not in self.remarks]
        is_prompt = [reason.startswith(_ANOTHER_PROMPT) for reason in reasons]
        return frozenset(
            LossKind.ANOTHER_PROMPT if found else LossKind.LOSSY for found in is_prompt or [False]
        )

    @property
    def reason(self) -> str:
        """The first reasons on one line, and how many more there are; empty if there is none."""
        shown, more = self.reasons[:3], len(self.reasons[3:])
        return "; ".join([*shown, *([f"and {more} more"] if more else [])])


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """One file of the store that a migration touches, and why it has its state (empty if obvious).

    `diff` is a unified diff from the file to what the source asks for: always for a conflict, in a
    dry run for whatever would be written; otherwise it is empty.
    """

    path: str
    state: FileState
    reason: str = ""
    is_written: bool = False
    diff: str = ""


class PinBehind(NamedTuple):
    """A dataset's pin to a rubric from its own source that has a later version.

    That version came after the source changed.
    """

    dataset: str
    pin: str
    version: str


def list_pins_behind(
    dataset: str, pins: Iterable[str], versions: Mapping[str, str]
) -> Iterator[PinBehind]:
    """Yield the pins of a dataset that are below the versions of what they pin.

    `versions` are by name.
    """
    for pin in dict.fromkeys(pins):
        name, _, pinned = pin.partition("@")
        before, now = find_version(pinned), find_version(versions.get(name, ""))
        if before and now and before < now:
            yield PinBehind(dataset, pin, versions[name])


@dataclass(frozen=True, slots=True)
class MigrationReport(ReportValue):
    """Everything that one migration read, decided and wrote.

    Attributes:
        sources: The files that were read, each with `.file`, `.format`, `.target` and `.reason`.
        entries: Their entries, each with `.file`, `.line`, `.outcome`, `.target` and `.reason`.
        skipped: The files without a known format.
        files: The files of the store, each with `.path`, `.state` and `.reason`.
        dry_run: Whether nothing was written.
        recovered: Whether the leftovers of an interrupted migration were undone first.
        behind: The pins that an edit at the source left behind.

    Examples:
        >>> migrate("outputs", into=".", dry_run=True).sources
        ()
    """

    sources: tuple[MigrationSource, ...]
    entries: tuple[MigrationEntry, ...]
    skipped: tuple[MigrationSource, ...]
    files: tuple[PlannedFile, ...]
    dry_run: bool = False
    recovered: bool = False
    behind: tuple[PinBehind, ...] = ()

    def __repr__(self) -> str:
        counts = (f"{self.count(outcome):,} {outcome}" for outcome in MigrationOutcome)
        return format_repr(self, f"{len(self.sources):,} sources", *counts)

    @property
    def format(self) -> str | None:
        """The format of all sources; None without a format or with several."""
        # A mixed migration has no single format.
        formats = {source.format for source in self.sources if source.format}
        return formats.pop() if len(formats) == 1 else None

    @property
    def written(self) -> tuple[str, ...]:
        """The paths of the files that were written, relative to the store."""
        return () if self.dry_run else tuple(file.path for file in self.files if file.is_written)

    @property
    def conflicts(self) -> tuple[PlannedFile, ...]:
        """The files that were changed at the source and in the store."""
        return tuple(file for file in self.files if file.state is FileState.CONFLICT)

    def count(self, outcome: MigrationOutcome | str) -> int:
        """Count the entries of an outcome.

        Args:
            outcome: `migrated`, `lossy`, `unmapped` or `refused`.

        Returns:
            How many there are; a whole file that is set aside counts as its cases do.

        Raises:
            UsageError: There is no such outcome.

        Examples:
            >>> migrate("outputs", into=".", dry_run=True).count("migrated")
            0
        """
        require_arguments(MigrationReport.count, locals())
        require_choice("outcome", outcome, MigrationOutcome)
        return sum(entry.number for entry in self.entries if entry.outcome == outcome)

    @property
    def complete(self) -> bool:
        """Whether there is a source, every entry is migrated, and no file is in conflict."""
        return self.is_complete_but_for(())

    def is_complete_but_for(self, losses: Collection[LossKind | str]) -> bool:
        """Whether it is complete except for the allowed kinds of loss.

        Args:
            losses: `another-prompt`, `lossy`, `unmapped`, `refused`.

        Returns:
            Whether there is a source, nothing else was lost, and no file is in conflict.

        Raises:
            UsageError: There is no such kind of loss.

        Examples:
            >>> migrate("outputs", into=".", dry_run=True).is_complete_but_for(["lossy"])
            False
        """
        require_arguments(MigrationReport.is_complete_but_for, locals())
        for loss in losses:
            require_choice("losses", loss, LossKind)
        lost = {loss for entry in self.entries for loss in entry.losses}
        return bool(self.sources) and lost <= set(losses) and not self.conflicts


def find_judge_loss(judges: Collection[JudgeFacts], unseen: Collection[str]) -> str:
    """Return in a sentence why judges are not the legacy grader's.

    It is empty if they are, or if there are none. This is the one rule for all formats: a case with
    a judge is migrated only if the template, the inputs and the reading of the reply are the legacy
    grader's. `unseen` are the inputs that only the legacy grader's judge sees.
    """
    if all(fact.is_given for fact in judges):
        unseen = ()
    inputs = f"it does not see {' and '.join(dict.fromkeys(unseen))}" if unseen else ""
    # With several judges, one difference of each sort is enough to mention.
    prompt = next(filter(None, (fact.prompt for fact in judges)), "")
    reply = next(filter(None, (fact.reply for fact in judges)), "")
    sentence = ", and ".join(filter(None, (prompt, inputs, reply)))
    return f"{_ANOTHER_PROMPT}: {sentence}" if judges and sentence else ""


def classify_losses(losses: Collection[object]) -> MigrationOutcome:
    """Return the outcome of a case that became a question or a rubric.

    It is lossy if any part of it is lost.
    """
    return MigrationOutcome.LOSSY if losses else MigrationOutcome.MIGRATED


def find_worst_outcome(outcomes: Iterable[MigrationOutcome]) -> MigrationOutcome:
    """Return the worst of several outcomes; `migrated` if there are none."""
    # The members are declared from best to worst.
    return max(outcomes, key=list(MigrationOutcome).index, default=MigrationOutcome.MIGRATED)
