"""What a change does to the stored outputs of a run: each is graded under both sides, and nobody is asked anything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path

from evalstore.audits.bench import ChangeSide, SideReplay
from evalstore.audits.rulers import VersionFinder
from evalstore.audits.stored import read_stored
from evalstore.diff import MovedOutput, RunMeasurement
from evalstore.errors import Place
from evalstore.judging import Judges, open_session
from evalstore.model import CheckResult, RubricResult
from evalstore.runs import GradedRow, Run
from evalstore.runs.lines import read_objects
from evalstore.store import ArtifactStore

_EXAMPLES = 5
_RULE_OF_THREE = 3  # none of n moved: with 95 % confidence no larger share than 3/n does


def measure(run: Path, old: ChangeSide, new: ChangeSide, store: ArtifactStore) -> RunMeasurement:
    """Return how many outputs of a run that the change can reach get another score or verdict, and the mean shift.

    Judges answer from the replies that the repository keeps, else as the run recorded it, where the judge is the same;
    an output that lacks an answer is unscored. Raises `RefusedError` for a run that cannot be graded again here.
    """
    with open_session(Judges(), store.git.find_common_directory) as panel:
        rulers = VersionFinder(store)
        stored = read_stored(run, rulers)
        pair = [SideReplay.of(side, stored, rulers, panel) for side in (old, new)]
        found = [
            (row, *_grade_both(row, *pair)) for row in stored.rows.values() if any(one.reaches(row) for one in pair)
        ]
    return _sum_impact(stored.run, found)


def _grade_both(row: GradedRow, old: SideReplay, new: SideReplay) -> tuple[RubricResult | None, RubricResult | None]:
    known: dict[str, CheckResult] = {}
    before, after = old.asked.get(row.id), new.asked.get(row.id)
    if before is None or after is None or before.input != after.input:
        return None, None  # the output answers another question
    first = old.grade(row, known)
    return first, new.grade(row, known if before.reference == after.reference else {})


def _sum_impact(
    run: Run, found: Iterable[tuple[GradedRow, RubricResult | None, RubricResult | None]]
) -> RunMeasurement:
    rows = list(found)
    pairs = [(row, old, new) for row, old, new in rows if old and new and (old.score, new.score) != (None, None)]
    moved = [(row, old, new) for row, old, new in pairs if (old.score, old.verdict) != (new.score, new.verdict)]
    shifts = [new.score - old.score for _, old, new in pairs if old.score is not None and new.score is not None]
    return RunMeasurement(
        run=str(run.path),
        outputs=len(rows),
        moved=len(moved),
        verdict_moved=sum(old.verdict is not new.verdict for _, old, new in moved),
        unscored=len(rows) - len(pairs),
        mean_shift=sum(shifts, Fraction(0)) / len(shifts) if shifts else None,
        bound=min(Fraction(_RULE_OF_THREE, len(pairs)), Fraction(1)) if pairs and not moved else None,
        examples=tuple(_list_examples(run, moved[:_EXAMPLES])),
    )


def _list_examples(run: Run, moved: list[tuple[GradedRow, RubricResult, RubricResult]]) -> Iterator[MovedOutput]:
    lines = _find_lines(run, {row.id for row, _, _ in moved})
    for row, old, new in moved:
        place = Place(str(run.samples), lines.get(row.id))
        yield MovedOutput(row.id, place, old.score, new.score, old.verdict, new.verdict)


def _find_lines(run: Run, ids: set[str]) -> dict[str, int]:
    """Return the lines of rows by id; a run that holds its rows in itself has none."""
    if not ids or run.samples == run.path:
        return {}
    return {row["sample_id"]: line for line, row in read_objects(run.samples) if row.get("sample_id") in ids}
