"""Renders the findings of `evalstore verify` and `evalstore lock --check`, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalstore.report import findings
from evalstore.report.text_layout import PAPER, Part, Screen, join_names, wrap_lines
from evalstore.text import count_noun

if TYPE_CHECKING:
    from evalstore.release.verify import Verification


def text(result: Verification, screen: Screen = PAPER) -> str:
    """Return the findings in the layout of validate, and a line with the numbers of what was checked."""
    lines = wrap_lines(summary(result), width=screen.width, inner="  ")
    end = "\n".join(screen.paint(None if result.findings else Part.PATCH, line) for line in lines)
    return "\n\n".join([*([findings.format_groups(result.findings, screen)] if result.findings else []), end])


def summary(result: Verification) -> str:
    """Return the numbers of what was checked, and of the findings."""
    counts = ((result.releases, "release"), (result.ledgers, "ledger"), (result.locked, "locked reference"))
    scope = join_names(count_noun(number, word) for number, word in counts)
    return f"{scope}: {findings.count_by_severity(result.findings) if result.findings else 'all as they were released'}"
