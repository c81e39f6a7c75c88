"""Every validation rule, a row each: its id, severity, sentence, hint, and why it matters."""

from __future__ import annotations

from dataclasses import dataclass

from evalstore.model import Severity

_ERROR, _WARNING, _INFO = Severity.ERROR, Severity.WARNING, Severity.INFO


@dataclass(frozen=True, slots=True)
class ValidationRule:
    """One row: `message` and `hint` are templates over a note's facts; `once` keeps the first finding of a run.

    `example` is something that the rule finds, where its message alone does not show it.
    """

    id: str
    severity: Severity
    message: str
    hint: str
    why: str
    once: bool = False
    example: str = ""
