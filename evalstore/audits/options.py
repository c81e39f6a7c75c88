"""The options of an audit, one value from the command line to the attribution."""

from __future__ import annotations

from dataclasses import dataclass, field

from evalstore.audits.slices import SliceKind
from evalstore.scoring.judging import Judges


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions:
    """What an audit may do, and what it is to keep; each field is an option of `evalstore audit`.

    `allow_drift`: what grading again does not reproduce counts as not reproduced, instead of being
    refused. Judges answer from kept replies, else as the runs recorded it, else as `judges` says;
    where another model answered for a hosted judge in run B, `ask` lets it be asked about the
    answers of run A. `by` is what the questions are also summed up by. `moved` is how many of the
    questions that moved most are kept in full.
    """

    allow_drift: bool = False
    judges: Judges = field(default_factory=Judges)
    ask: bool = False
    by: SliceKind | None = None
    moved: int = 0
