"""Reads a run to look at it: the outputs that are asked for, those first that went worst; holds no more of them."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from evalstore.errors import RefusedError
from evalstore.model import CheckResult, Verdict
from evalstore.runs.imports.series_filter import SeriesFilter
from evalstore.runs.records import open_record
from evalstore.runs.values import GradedRow, Run
from evalstore.statistics import CorrectedShare, Rate
from evalstore.text import find_nearest, make_excerpt

_BINS = 10
_RANKS = {Verdict.FAIL: 0, Verdict.UNSCORED: 1, Verdict.PASS: 2}


@dataclass(frozen=True, slots=True)
class RowChoice:
    """Which outputs of a run: those that did not pass, those of one question, those that one check graded.

    With `check` an output passes where that check does.
    """

    failed: bool = False
    question: str | None = None
    check: str | None = None

    def list_checks(self, row: GradedRow) -> tuple[CheckResult, ...]:
        """Return the checks of a row that are asked for."""
        return tuple(check for check in row.checks if self.check in {None, check.id})

    def find_verdict(self, row: GradedRow) -> Verdict:
        """Return the verdict that counts: that of the check asked for, else that of the row."""
        return row.verdict if self.check is None else self.list_checks(row)[0].verdict

    def has_row(self, row: GradedRow) -> bool:
        """Whether a row is asked for."""
        if self.question not in {None, row.id} or (
            self.check is not None and not self.list_checks(row)
        ):
            return False
        return not self.failed or self.find_verdict(row) is not Verdict.PASS


@dataclass(frozen=True, slots=True)
class RunView:
    """A run and the outputs in it that were asked for: `found` of `total`, of which `rows` are kept.

    A question with samples has a row for each. Rows that fail stand first, then those without a
    score, each from the lowest score up; equal ones in the order of the run. `histogram` counts the
    scores that were asked for in tenths,
    1 among those of the last.
    """

    run: Run
    choice: RowChoice
    rows: tuple[GradedRow, ...]
    found: int
    total: int
    histogram: tuple[int, ...] = ()


def view_run(
    path: Path,
    choice: RowChoice,
    *,
    limit: int | None = None,
    series: SeriesFilter | None = None,
) -> RunView:
    """Read the outputs of a run that `choice` has, and keep the `limit` worst of them (None: all).

    A run is any file that carries scores; of results of another tool, `series` are those that are
    wanted. Raises `RefusedError` for a question or a check that the run does not have, with the nearest
    name.
    """
    run, found_rows = open_record(path, series)
    kept: list[tuple[tuple[int, Fraction, int], GradedRow]] = []
    found, questions, checks = 0, dict[str, None](), dict[str, None].fromkeys(run.checks)
    histogram = [0] * _BINS
    total = 0
    # Another tool may have kept what it said of each check, and not the output.
    rows = (one.row for one in found_rows if one.is_stored or _has_grade(one.row))
    for total, row in enumerate(rows, 1):  # noqa: B007  # counts them
        questions |= dict.fromkeys([row.id] if choice.question is not None else ())
        checks |= dict.fromkeys(check.id for check in row.checks)
        if not choice.has_row(row):
            continue
        found += 1
        if (score := _find_score(row, choice)) is not None:
            histogram[min(int(score * _BINS), _BINS - 1)] += 1
        insort(kept, (_rank_row(row, choice, found), row), key=lambda one: one[0])
        del kept[limit if limit is not None else found :]
    _require_name("question", choice.question, questions, run)
    _require_name("check", choice.check, checks, run)
    return RunView(run, choice, tuple(row for _, row in kept), found, total, tuple(histogram))


@dataclass(frozen=True, slots=True)
class CheckCorrection:
    """The pass rate of one judged check without the errors of its judge, whose labelled rows were `good` and `bad`.

    `corrected` is None where it cannot be had; `problem` says why.
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
    """A run that was just written, and what went worst in it: at most three outputs that did not pass, of `failed`.

    `corrections` are those of its judged checks, where they were asked for.
    """

    run: Run
    worst: tuple[GradedRow, ...]
    failed: int
    corrections: tuple[CheckCorrection, ...] = ()


def find_worst(run: Run) -> WrittenRun:
    """Read from the samples of a run what went worst."""
    view = view_run(run.path, RowChoice(failed=True), limit=3)
    return WrittenRun(run, view.rows, view.found)


def list_missing(view: RunView) -> Iterator[tuple[str, str]]:
    """Yield the questions that have no output, each with the reason, as far as they are asked for."""
    if view.choice.check is None:
        yield from (
            pair
            for pair in view.run.missing_outputs.items()
            if view.choice.question in {None, pair[0]}
        )


def _has_grade(row: GradedRow) -> bool:
    return bool(row.checks) or row.score is not None


def _rank_row(row: GradedRow, choice: RowChoice, place: int) -> tuple[int, Fraction, int]:
    return _RANKS[choice.find_verdict(row)], _find_score(row, choice) or Fraction(0), place


def _find_score(row: GradedRow, choice: RowChoice) -> Fraction | None:
    return row.score if choice.check is None else choice.list_checks(row)[0].score


def _require_name(what: str, name: str | None, names: Iterable[str], run: Run) -> None:
    known = [*names, *(run.missing_outputs if what == "question" else ())]
    if name is not None and name not in known:
        near = find_nearest(name, known)
        hint = f"did you mean {make_excerpt(near)}?" if near else None
        raise RefusedError(f"{run.path} has no {what} {make_excerpt(name)}", hint=hint)
