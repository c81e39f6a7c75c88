"""Opens a file that carries scores as a record: a run with its rows, or rows that no run names."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from evalstore.errors import LoadError, Place
from evalstore.runs.graded_rows import BareRow
from evalstore.runs.output_formats import EVERY_EVAL_EVER, detect_format
from evalstore.runs.outputs import is_bare_outputs
from evalstore.runs.read import read_bare_rows, read_lone_rows, read_run
from evalstore.runs.values import Run


def open_record(path: Path) -> tuple[Run, Iterable[BareRow]]:
    """Return a record with its rows; of rows that no run names, a run that says nothing else.

    Raises `LoadError` for outputs without scores.
    """
    if not is_bare_outputs(path):
        run = read_run(path)
        return run, read_bare_rows(run)
    if detect_format(path).name == EVERY_EVAL_EVER:
        return _make_bare_run(path), read_lone_rows(path)
    raise LoadError(
        "holds outputs without scores that evalstore reads",
        place=Place(str(path)),
        hint="evalstore score grades them; evalstore audit without --records grades them as the other run was",
    )


def _make_bare_run(path: Path) -> Run:
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
        score=None,
        pass_rate=None,
        scored=0,
        unscored=0,
        checks={},
        harness={},
    )
