"""A rule of validation, and a finding: a rule, a sentence, a place and a hint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from evalstore.errors import Place

SHOWN_ALIKE = 3  # findings of one rule in one file that are shown: the others say the same


class Severity(StrEnum):
    """How much a finding matters; `error` says that something could not be read."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class ValidationRule:
    """One row: `message` and `hint` are templates over a note's facts.

    `once` keeps the first finding of a run.

    `example` is something that the rule finds, where its message alone does not show it.
    """

    id: str
    severity: Severity
    message: str
    hint: str
    why: str
    once: bool = False
    example: str = ""

    def make_finding(
        self,
        place: Place,
        facts: Mapping[str, object],
        pointer: str = "",
        *,
        severity: Severity | None = None,
    ) -> Finding:
        """Return this rule's finding at a place, as severe as the row or `severity` says."""
        message, hint = self.message.format_map(facts), self.hint.format_map(facts)
        level = severity or self.severity
        return Finding(self.id, level, place.file, place.line, place.column, pointer, message, hint)


class SourceLine(NamedTuple):
    """A line of a file, or the part of a long one that is meant: its characters `[start, end)`.

    It is not safe to print yet.

    Without `end` greater than `start` nothing in it is marked.
    """

    text: str
    start: int = 0
    end: int = 0


class TextEdit(NamedTuple):
    """The fix of a finding: `old`, the characters `[start, end)` of `root/path`, become `new`.

    They count within one `line` where that is set; without both, the file itself is renamed from
    `old` to `new`.
    """

    root: Path
    path: str
    line: int
    start: int
    end: int
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class MendedPlace:
    """One thing that was fixed: where, what it was and is, and whether it can move scores."""

    file: str
    line: int | None
    column: int | None
    old: str
    new: str
    moves: bool


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that validation found.

    Line and column count from 1, `source` is the line, `edit` what fixes it.
    """

    rule: str
    severity: Severity
    file: str
    line: int | None
    column: int | None
    pointer: str
    message: str
    hint: str = ""
    source: SourceLine | None = field(default=None, compare=False)
    edit: TextEdit | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{Place(self.file, self.line, self.column)}: {self.severity}: {self.message}"


@dataclass(frozen=True, slots=True)
class Findings:
    """All findings of one run, in the order of the files; `mended` is None if nobody asked for it.

    `off` says how many more the settings switch off, by rule; `notes` are sentences on what was not
    looked at.
    """

    files: int
    findings: tuple[Finding, ...]
    mended: tuple[MendedPlace, ...] | None = None
    off: tuple[tuple[str, int], ...] = ()
    notes: tuple[str, ...] = ()
