"""The options of a run, one value from the command line to the job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from fractions import Fraction

from evalstore.model.outcome import MAX_UNGRADED
from evalstore.runs import LATEST
from evalstore.scoring.judging import Judges


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringOptions:
    """How outputs are graded, and what the run says; each field is an option of `evalstore score`.

    `at` is the time that the run records; `today` decides whether a judge's validation is stale,
    and is by default the day of `at`. `model` names the outputs' model (None: the name in the
    outputs, else in their file name). If the file has several series, `only` chooses one
    (`{"model": …, "prompt": …, "epoch": …}`). `matched_by` says how outputs are joined to
    questions: by `id`, or by `input` (what was asked). `rubric`, if given, grades every question
    instead of its own rubric. `judges` says where judges' replies come from, by default from the
    repository's cache. `eee_version` is the version of Every Eval Ever to write, `rows_format`
    (`jsonl`, `parquet`; None: that of the outputs) the file format of the run's rows. If a larger
    share than `max_ungraded` of all gradings failed, the run has no score. `engine` says what
    grades: `local` is this process; `dask` is the cluster of `scheduler`, or without one a process
    for each core of this machine.
    """

    at: datetime
    today: date | None = None
    model: str | None = None
    only: Mapping[str, str] = field(default_factory=dict)
    matched_by: str = "id"
    rubric: str | None = None
    judges: Judges = field(default_factory=Judges)
    eee_version: str = LATEST
    rows_format: str | None = None
    max_ungraded: Fraction = MAX_UNGRADED
    engine: str = "local"
    scheduler: str | None = None

    @property
    def by_input(self) -> bool:
        """Whether outputs are joined to questions by what was asked, not by id."""
        return self.matched_by == "input"
