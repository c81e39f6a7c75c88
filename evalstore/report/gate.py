"""Renders the gate's results for a change as text: the three results, then the answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from evalstore.model import Findings, Severity
from evalstore.report import findings, status
from evalstore.report.text_layout import PAPER, Part, Screen, join_blocks
from evalstore.text import SHORT_DIGEST, count_noun

if TYPE_CHECKING:
    from evalstore.release.integrity.gate import GateResult


def text(result: GateResult, screen: Screen = PAPER) -> str:
    """Return what the change does to the store, the three results, and the answer.

    The results are the texts of validate, verify and status.
    """
    return join_blocks(
        findings.format_groups(result.findings, screen),
        *(f"{name}\n{part}" for name, part in _list_parts(result, screen)),
        screen.wrap(summary(result), part=Part.PATCH if result.ok else Part.MAJOR),
    )


def summary(result: GateResult) -> str:
    """Return whether the change may be merged, and how many findings there are."""
    counts = Counter(finding.severity for finding in result.all_findings)
    words = ((Severity.ERROR, "error"), (Severity.WARNING, "warning"))
    found = [count_noun(counts[severity], word) for severity, word in words if counts[severity]]
    if versions := sum(not artifact.ok for artifact in result.status.artifacts):
        found.append(f"{count_noun(versions, 'version')} too low")
    answer = "ready to merge" if result.ok else "not ready to merge"
    strict = ", strictly" if result.strict else ""
    return (
        f"{answer} into {result.base[:SHORT_DIGEST]}{strict}: {', '.join(found) or 'nothing found'}"
    )


def _list_parts(result: GateResult, screen: Screen) -> Iterator[tuple[str, str]]:
    seen = frozenset(result.findings)
    validation = Findings(
        result.validation.files,
        tuple(finding for finding in result.validation.findings if finding not in seen),
        off=result.validation.off,
    )
    yield "validate", findings.text(validation, screen)
    yield "verify", findings.text_verification(result.verification, screen)
    yield "status", status.text(result.status, screen)
