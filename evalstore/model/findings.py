"""A rule of validation, and a finding: a rule, a sentence, a place and a hint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from evalstore.errors import Place

SHOWN_ALIKE = 3  # findings of one rule in one file that are shown: the rest say the same


class Severity(StrEnum):
    """How much a finding matters; `error` means that something could not be read."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class ValidationRule:
    """One row: `message` and `hint` are templates filled with a note's facts.

    `once` keeps only the first finding of a run.

    `example` is something that the rule finds, if its message alone does not show it.
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
        """Return this rule's finding at a place, with the severity of the row or of `severity`."""
        message, hint = self.message.format_map(facts), self.hint.format_map(facts)
        level = severity or self.severity
        return Finding(self.id, level, place.file, place.line, place.column, pointer, message, hint)


class SourceLine(NamedTuple):
    """A line of a file, or part of a long one, that is meant: its characters `[start, end)`.

    It is not yet safe to print.

    If `end` is not greater than `start`, nothing in it is marked.
    """

    text: str
    start: int = 0
    end: int = 0


class TextEdit(NamedTuple):
    """The fix for a finding: `old`, the characters `[start, end)` of `root/path`, becomes `new`.

    They count within one `line` if that is set; without both, the file itself is renamed from `old`
    to `new`.
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
    """One fixed place: where it is, its old and new text, and whether it can move scores."""

    file: str
    line: int | None
    column: int | None
    old: str
    new: str
    moves: bool


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding of validation.

    Line and column count from 1, `source` is the line, and `edit` fixes it.
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
    """All findings of one run, in file order; `mended` is None unless mending was requested.

    `off` counts, by rule, the findings that the settings switch off; `notes` are sentences on what
    was not checked.
    """

    files: int
    findings: tuple[Finding, ...]
    mended: tuple[MendedPlace, ...] | None = None
    off: tuple[tuple[str, int], ...] = ()
    notes: tuple[str, ...] = ()
