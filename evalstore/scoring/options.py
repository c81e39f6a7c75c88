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

    `at` is the time that the run records; `today` the day by which a judge's validation is stale,
    by default that of `at`. `model` names the outputs' model (None: as they say, else their file).
    Where they are several series, `only` chooses one (`{"model": …, "prompt": …, "epoch": …}`).
    `matched_by` says how outputs are joined to questions: by `id`, or by `input`, what was asked.
    Every question is graded by `rubric` where one is given, else by its own; judges answer as
    `judges` says, by default from the replies that the repository keeps. `eee_version` is the
    version of Every Eval Ever that the run is written in, `rows_format` (`jsonl`, `parquet`; None:
    that of the outputs) the file format of its rows. Where more than the share `max_ungraded` of
    all gradings failed, it has no score. `engine` says who grades: `local` is this process, `dask`
    the workers of a cluster, that of `scheduler` or a process for each core of this machine.
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
        """Whether outputs are joined to questions by what was asked."""
        return self.matched_by == "input"
