"""Reads a run for display: keeps only the requested outputs, the worst first."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

from evalstore.errors import RefusedError
from evalstore.model import CheckResult, Verdict
from evalstore.runs.aggregate_review import AggregateReview
from evalstore.runs.graded_rows import BareRow
from evalstore.runs.imports.series_filter import SeriesFilter
from evalstore.runs.records import open_record
from evalstore.runs.values import GradedRow, Run
from evalstore.statistics import CorrectedShare, Rate
from evalstore.text import make_excerpt, suggest_known

_BINS = 10
_RANKS = {Verdict.FAIL: 0, Verdict.UNSCORED: 1, Verdict.PASS: 2}


@dataclass(frozen=True, slots=True)
class RowChoice:
    """Which outputs of a run: those that did not pass, of one question, or of one check.

    With `check`, an output passes if that check passes.
    """

    failed: bool = False
    question: str | None = None
    check: str | None = None

    def list_checks(self, row: GradedRow) -> tuple[CheckResult, ...]:
        """Return the requested checks of a row."""
        return tuple(check for check in row.checks if self.check in {None, check.id})

    def find_verdict(self, row: GradedRow) -> Verdict:
        """Return the verdict of the requested check, or of the row if none is requested."""
        return row.verdict if self.check is None else self.list_checks(row)[0].verdict

    def has_row(self, row: GradedRow) -> bool:
        """Whether a row is requested."""
        if self.question not in {None, row.id} or (
            self.check is not None and not self.list_checks(row)
        ):
            return False
        return not self.failed or self.find_verdict(row) is not Verdict.PASS


@dataclass(frozen=True, slots=True)
class RunView:
    """A run and the requested outputs: `found` of `total`; `rows` are those that were kept.

    A question with samples has a row for each. Rows that fail come first, then those without a
    score, then the rest, each group from the lowest score up; equal ones in the order of the run.
    `histogram` counts the scores of the requested outputs in ten equal bins; the last includes 1.
    """

    run: Run
    choice: RowChoice
    rows: tuple[GradedRow, ...]
    found: int
    total: int
    histogram: tuple[int, ...] = ()


@dataclass(slots=True)
class RunReader:
    """Reads the outputs of a run that match `choice`, once and in file order, and counts them.

    `found` and `total` are those so far: after an output was read, `total` is its number in the
    run, and `stored` how many of the run's outputs are in its record, and not their scores alone.
    With `_review` all outputs are read, and what contradicts them is a note of the run, too. Raises
    `RefusedError` at the end for a question or a check that the run does not have, with the nearest
    name.
    """

    run: Run
    choice: RowChoice
    _rows: Iterable[BareRow]
    _review: AggregateReview | None = None
    found: int = 0
    total: int = 0
    stored: int = 0
    contradiction: str = ""
    _histogram: list[int] = field(default_factory=lambda: [0] * _BINS)

    def __iter__(self) -> Iterator[GradedRow]:
        questions, checks = dict[str, None](), dict[str, None].fromkeys(self.run.checks)
        # Another tool may have recorded the results of checks without the output.
        rows = (one for one in self._rows if one.is_stored or _has_grade(one.row))
        for self.total, one in enumerate(rows, 1):
            row = one.row
            if self._review is not None:
                self._review.add(row)
            self.stored += one.is_stored
            questions |= dict.fromkeys([row.id] if self.choice.question is not None else ())
            checks |= dict.fromkeys(check.id for check in row.checks)
            if not self.choice.has_row(row):
                continue
            self.found += 1
            if (score := _find_score(row, self.choice)) is not None:
                self._histogram[min(int(score * _BINS), _BINS - 1)] += 1
            yield row
        _require_name("question", self.choice.question, questions, self.run)
        _require_name("check", self.choice.check, checks, self.run)
        if self._review is not None:
            self.contradiction = self._review.describe_contradiction()
        if self.contradiction:
            self.run = replace(self.run, notes=(*self.run.notes, self.contradiction))

    def rank_row(self, row: GradedRow) -> tuple[int, Fraction]:
        """Return the key that sorts rows, the worst first."""
        rank = _RANKS[self.choice.find_verdict(row)]
        return rank, _find_score(row, self.choice) or Fraction(0)

    def build_view(self, rows: tuple[GradedRow, ...]) -> RunView:
        """Return the view with the kept rows, after all outputs were read."""
        return RunView(self.run, self.choice, rows, self.found, self.total, tuple(self._histogram))


def read_chosen_rows(
    path: Path, choice: RowChoice, series: SeriesFilter | None = None
) -> RunReader:
    """Open a run, or any file with scores, to read the outputs that match `choice`.

    `series` chooses the series in results of another tool.
    """
    run, rows = open_record(path, series)
    return RunReader(run, choice, rows, AggregateReview(run))


def read_kept_rows(view: RunView) -> RunReader:
    """Return a reader of a view's outputs; at the end it has the counts of the whole view."""
    rows = (BareRow(row, is_stored=True, output_digest="") for row in view.rows)
    kept = len(view.rows)
    return RunReader(view.run, view.choice, rows, found=view.found - kept, total=view.total - kept)


def keep_worst(reader: RunReader, limit: int | None) -> RunView:
    """Read all outputs, and keep the `limit` worst (None: all)."""
    kept: list[tuple[tuple[int, Fraction, int], GradedRow]] = []
    for row in reader:
        insort(kept, ((*reader.rank_row(row), reader.found), row), key=lambda one: one[0])
        del kept[limit if limit is not None else reader.found :]
    return reader.build_view(tuple(row for _, row in kept))


def view_run(path: Path, choice: RowChoice, *, limit: int | None = None) -> RunView:
    """Open a run, and keep the `limit` worst outputs that match `choice` (None: all)."""
    return keep_worst(read_chosen_rows(path, choice), limit)


@dataclass(frozen=True, slots=True)
class CheckCorrection:
    """A check's pass rate, corrected for its judge's errors on `good` and `bad` labelled rows.

    `corrected` is None if it cannot be computed; `problem` says why.
    """

    rubric: str
    check: str
    judge: str
    good: Rate | None = None
    bad: Rate | None = None
    corrected: CorrectedShare | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class WrittenRun:
    """A run just written, with its worst outputs: at most three of the `failed` that did not pass.

    `corrections` are those of its judged checks, if requested.
    """

    run: Run
    worst: tuple[GradedRow, ...]
    failed: int
    corrections: tuple[CheckCorrection, ...] = ()


def find_worst(run: Run) -> WrittenRun:
    """Read a run's rows, and return the run with its worst outputs."""
    view = view_run(run.path, RowChoice(failed=True), limit=3)
    return WrittenRun(run, view.rows, view.found)


def list_missing(view: RunView) -> Iterator[tuple[str, str]]:
    """Yield the requested questions that have no output, each with the reason."""
    if view.choice.check is not None:
        return
    for id_, reason in view.run.missing_outputs.items():
        if view.choice.question in {None, id_}:
            yield id_, reason


def _has_grade(row: GradedRow) -> bool:
    return bool(row.checks) or row.score is not None


def _find_score(row: GradedRow, choice: RowChoice) -> Fraction | None:
    return row.score if choice.check is None else choice.list_checks(row)[0].score


def _require_name(what: str, name: str | None, names: Iterable[str], run: Run) -> None:
    known = [*names, *(run.missing_outputs if what == "question" else ())]
    if name is not None and name not in known:
        raise RefusedError(
            f"{run.path} has no {what} {make_excerpt(name)}", hint=suggest_known(name, known, what)
        )
