"""A finding of validation: a rule, a sentence, a place and a hint."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How much a finding matters; `error` says that something could not be read."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that validation found; line and column count from 1."""

    rule: str
    severity: Severity
    file: str
    line: int | None
    column: int | None
    pointer: str
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Findings:
    """All findings of all files of one run, in the order of the files."""

    files: int
    findings: tuple[Finding, ...]
