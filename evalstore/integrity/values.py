"""What lock and verify answer."""

from __future__ import annotations

from dataclasses import dataclass

from evalstore.model import Finding, Severity


@dataclass(frozen=True, slots=True)
class Verification:
    """What was looked at by which command, and every finding; a note (severity info) is nothing against it."""

    releases: int
    ledgers: int
    locked: int
    findings: tuple[Finding, ...]
    command: str = "verify"

    @property
    def ok(self) -> bool:
        """Whether all that was looked at is what was released."""
        return all(finding.severity is Severity.INFO for finding in self.findings)


@dataclass(frozen=True, slots=True)
class LockedRef:
    """One reference as it is locked; `previous` is the version that it was locked at before, None when it was not."""

    ref: str
    version: str
    previous: str | None
    changed: bool


@dataclass(frozen=True, slots=True)
class LockResult:
    """A lock as it was written: `written` is false when the file was so already; `removed` is referred to no more."""

    path: str
    written: bool
    refs: tuple[LockedRef, ...]
    removed: tuple[str, ...]
    ledgers: int
