"""What verify and `lock --check` found, as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalstore.model import Findings
from evalstore.report import findings as listed
from evalstore.report.screen import PAPER, Screen

if TYPE_CHECKING:
    from evalstore.integrity import Verified


def text(result: Verified, screen: Screen = PAPER) -> str:
    """Return the findings as validate shows them, and a line that says what was looked at."""
    return "\n\n".join([*([listed.groups(result.findings, screen)] if result.findings else []), summary(result)])


def summary(result: Verified) -> str:
    """Return what was looked at, and how many findings there are."""
    counts = [
        _count(result.releases, "release"),
        _count(result.ledgers, "ledger"),
        _count(result.locked, "locked reference"),
    ]
    looked = f"{', '.join(counts[:-1])} and {counts[-1]}"
    return f"{looked}: {listed.tally(result.findings) if result.findings else 'all as they were released'}"


def document(result: Verified) -> Any:
    """Return the JSON document, of the same shape as that of validate."""
    files = result.releases + result.ledgers + bool(result.locked)
    return listed.document(Findings(files, result.findings))


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
