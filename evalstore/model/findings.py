"""A finding of validation: a rule, a sentence, a place and a hint."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple


class Severity(StrEnum):
    """How much a finding matters; `error` says that something could not be read."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class SourceLine(NamedTuple):
    """A line of a file, or the part of a long one around what is meant: its characters `[start, end)`; not yet safe.

    Without `end` greater than `start` nothing in it is marked.
    """

    text: str
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that validation found; line and column count from 1, and `source` is the line."""

    rule: str
    severity: Severity
    file: str
    line: int | None
    column: int | None
    pointer: str
    message: str
    hint: str = ""
    source: SourceLine | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Findings:
    """All findings of all files of one run, in the order of the files."""

    files: int
    findings: tuple[Finding, ...]
