"""The values of one measurement of a judge; nothing here reads or writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from evalstore.agreement.statistics import Confusion
from evalstore.documents.edit_entries import Scalar
from evalstore.model import Verdict
from evalstore.runs import UsedArtifact


@dataclass(frozen=True, slots=True)
class Case:
    """One row that is worth a look: what it was labelled, what the judge said, and why."""

    id: str
    line: int
    label: Verdict
    verdict: Verdict
    score: Fraction | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Agreement:
    """What labelled rows say of a judge, and what of that its file gets to hold.

    `read` counts the verdicts that stood in the labels, `unjudged` the rows that no number counts, `engines` are the
    models that answered. `apart` and `left_out` are the first rows on which judge and label differ, and the first
    without a verdict. An entry that is None is not in the file afterwards; `written` is the file, None where nothing
    was written.
    """

    judge: UsedArtifact
    labels: str
    labels_sha256: str
    threshold: Fraction
    confusion: Confusion
    against: UsedArtifact | None = None
    read: int = 0
    unjudged: int = 0
    engines: tuple[str, ...] = ()
    apart: tuple[Case, ...] = ()
    left_out: tuple[Case, ...] = ()
    notes: tuple[str, ...] = ()
    entries: Mapping[str, Scalar | None] = field(default_factory=dict)
    diff: str = ""
    written: str | None = None
