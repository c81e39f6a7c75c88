"""Opens any file with scores as a record: a run, rows without a run, or another tool's results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from evalstore.errors import LoadError, Place
from evalstore.runs.formats import EEE_ROWS, EVERY_EVAL_EVER, FileFormat, detect_format
from evalstore.runs.graded_rows import BareRow
from evalstore.runs.imports.entry import MissingOutput
from evalstore.runs.imports.grades import compute_average
from evalstore.runs.imports.series_filter import SeriesFilter
from evalstore.runs.question_mean import Outcome, compute_question_mean
from evalstore.runs.read import read_bare_rows, read_lone_rows, read_rows, read_run
from evalstore.runs.recorded import open_recorded
from evalstore.runs.run_files import find_aggregate, require_rows_file
from evalstore.runs.values import GradedRow, Run


def open_record(path: Path, choice: SeriesFilter | None) -> tuple[Run, Iterable[BareRow]]:
    """Return a record and its rows; rows that no run names get a run with nothing but their mean.

    With a `choice` the outputs are of one series, without one of all series. Raises `LoadError` for
    outputs without scores.
    """
    path = find_aggregate(path) if path.is_dir() else path
    shape = detect_format(path)
    if not shape.has_verdicts:
        _refuse_unread(path, shape)
        raise LoadError(
            f"holds {shape.name}, without scores that evalstore reads",
            place=Place(str(path)),
            hint="; ".join(shape.list_steps(str(path))),
        )
    if shape.tool != EVERY_EVAL_EVER:
        return open_recorded(path, shape, choice)
    if shape is EEE_ROWS and not _has_aggregate(path):
        return _make_bare_run(path), read_lone_rows(path)
    run = read_run(path)
    is_own = run.dataset is not None or run.samples == run.path
    return run, read_bare_rows(run) if is_own else _read_rows_of_others(run)


def _read_rows_of_others(run: Run) -> Iterator[BareRow]:
    yield from read_lone_rows(require_rows_file(run.path, run.samples))


def read_record(path: Path) -> Run:
    """Return the run that a file of any format records."""
    return open_record(path, None)[0]


def read_graded_run(path: Path) -> Run:
    """Return the run at a path; for other tools' files, `LoadError` says which commands take it."""
    shape = None if path.is_dir() else _find_shape(path)
    if shape is not None and shape.tool not in {"", EVERY_EVAL_EVER}:
        raise LoadError(
            f"holds {shape.name}, and names no rubrics of a store",
            place=Place(str(path)),
            hint="; ".join(shape.list_steps(str(path))),
        )
    return read_run(path)


def read_record_rows(run: Run) -> Iterator[GradedRow]:
    """Yield the rows of a record that have an output, in file order."""
    if run.dataset is None and detect_format(run.path).tool != EVERY_EVAL_EVER:
        return (one.row for one in open_record(run.path, None)[1] if one.is_stored)
    return read_rows(run)


def can_be_graded(path: Path) -> bool:
    """Whether a file has the outputs themselves, so that they can be graded again."""
    shape = _find_shape(path)
    if shape is None or not shape.has_outputs:
        return False
    if shape.tool != EVERY_EVAL_EVER:
        return True
    with suppress(LoadError):  # grading it will say what is wrong
        return all(one.is_stored for one in islice(open_record(path, None)[1], 1))
    return True


def has_verdicts(path: Path) -> bool:
    """Whether a file has recorded scores that can be compared."""
    shape = _find_shape(path)
    return shape is not None and shape.has_verdicts


def require_format(path: Path) -> FileFormat:
    """Return the format of a file, or of the only run of a folder; `LoadError` for another."""
    return detect_format(find_aggregate(path) if path.is_dir() else path)


def _find_shape(path: Path) -> FileFormat | None:
    """Return the format of a file, or of a folder's only run; None if it cannot be read."""
    with suppress(LoadError):
        return require_format(path)
    return None


def _has_aggregate(path: Path) -> bool:
    with suppress(LoadError):
        return find_aggregate(path) != path
    return False


def _refuse_unread(path: Path, shape: FileFormat) -> None:
    """Raise `LoadError` if the first row of a file does not really have its format.

    An example is a test case without an output.
    """
    entries = iter(shape.require_reader()(path))
    first = next(entries, None)
    if first is None:
        raise LoadError("holds no output", place=Place(str(path)))
    if not isinstance(first.output, MissingOutput):
        return
    if not first.is_read:
        raise LoadError(first.output.reason, place=Place(str(path)))
    if all(isinstance(one.output, MissingOutput) for one in entries):
        raise LoadError("holds no output", place=Place(str(path)), hint=first.output.reason)


def _make_bare_run(path: Path) -> Run:
    """Return a run for rows without an aggregate: only the mean of the questions is known."""
    outcomes: dict[str, list[Outcome]] = {}
    for one in read_lone_rows(path):
        outcomes.setdefault(one.row.id, []).append((one.row.score, one.row.verdict))
    means = [compute_question_mean(found) for found in outcomes.values()]
    known = [mean for mean in means if mean.score is not None]
    return Run(
        path=path,
        samples=path,
        id="",
        name=path.stem,
        at="",
        model="",
        dataset=None,
        rubrics=(),
        outputs_sha256="",
        score=compute_average(mean.score for mean in known),
        pass_rate=compute_average(mean.pass_share for mean in known),
        scored=len(known),
        unscored=len(means) - len(known),
        checks={},
        harness={},
        outputs=sum(map(len, outcomes.values())),
    )
