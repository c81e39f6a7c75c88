"""Sorts the questions of two runs: those that are compared, and those behind each line; and what the lines come to.

The means of both runs are narrowed down together: first to the questions of both datasets, then to those answered in
both runs, then to those that both could grade. What a step changes in the difference of the means is its line, so that
the lines and the difference on the compared questions sum to the whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from evalstore.audits.stored_run import StoredRun
from evalstore.audits.values import FailedCheck, LineEffect, Lines, Mix
from evalstore.model import CheckResult, UnscoredReason
from evalstore.runs import GradedRow

_ZERO = Fraction(0)


@dataclass(slots=True)
class QuestionSets:
    """Ids: `compared` in both, `errors` that one run could not grade, `silent` without an answer in A or in B, mix."""

    compared: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    silent: tuple[list[str], list[str]] = field(default_factory=lambda: ([], []))
    added: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    ungraded: list[str] = field(default_factory=list)


def sort_questions(a: StoredRun, b: StoredRun) -> QuestionSets:
    """Return the questions of both runs by what became of them."""
    found = QuestionSets()
    for id_ in dict.fromkeys((*a.rows, *b.rows)):
        old, new = a.rows.get(id_), b.rows.get(id_)
        if old is None or new is None:
            side = int(new is None)
            if id_ in (a, b)[side].asked:
                found.silent[side].append(id_)
            else:
                (found.removed if side else found.added).append(id_)
        elif next(_list_failures(old, new), None) is not None:
            found.errors.append(id_)
        elif old.score is not None and new.score is not None:
            found.compared.append(id_)
        elif (old.score, new.score) != (None, None):
            # Nothing to grade in one of two answers is no answer; in one and the same, the rulers say so.
            same = old.output_digest == new.output_digest
            (found.ungraded if same else found.silent[int(new.score is None)]).append(id_)
    return found


def sum_lines(a: StoredRun, b: StoredRun, sets: QuestionSets, lost: LineEffect) -> Lines:
    """Return the lines; `lost` is what replay does not reproduce on the compared questions."""
    silent = {*sets.silent[0], *sets.silent[1]}
    steps = [
        [*sets.compared],
        [*sets.compared, *sets.errors],
        [*sets.compared, *sets.errors, *silent],
        [*sets.compared, *sets.errors, *silent, *sets.added, *sets.removed, *sets.ungraded],
    ]
    # Steps that add no question change nothing.
    known = {len(step): step for step in steps}
    by_size = {size: _change_means(a.rows, b.rows, step) for size, step in known.items()}
    changes = [by_size[len(step)] for step in steps]
    zeros = _change_means(a.rows, b.rows, steps[2], zeros=silent) if silent else changes[2]
    return Lines(
        mix=_subtract(changes[3], changes[2]),
        no_answer=_subtract(changes[2], changes[1]),
        no_answer_as_zero=_subtract(zeros, changes[1]) if silent else LineEffect(),
        judge_errors=_subtract(changes[1], changes[0]),
        not_reproduced=lost,
        questions=Mix(tuple(sets.added), tuple(sets.removed), tuple(sets.ungraded)),
        silent_a=tuple(sets.silent[0]),
        silent_b=tuple(sets.silent[1]),
        errors=tuple(sets.errors),
        failed_checks=tuple(_count_failures(a.rows, b.rows, sets.errors)),
    )


def compute_mean(scores: Iterable[Fraction]) -> Fraction:
    """Return the exact mean; there is at least one."""
    # By denominator: a sum of fractions would be reduced term by term.
    sums: Counter[int] = Counter()
    count = 0
    for score in scores:
        sums[score.denominator] += score.numerator
        count += 1
    return sum((Fraction(total, unit) for unit, total in sums.items()), _ZERO) / count


def read_passes(row: GradedRow) -> Fraction:
    """Return 1 for a pass, else 0; of samples the share that passes."""
    return row.pass_share


def _change_means(
    a: Mapping[str, GradedRow], b: Mapping[str, GradedRow], ids: Sequence[str], *, zeros: Iterable[str] = ()
) -> LineEffect:
    """Return the change of both means over some questions; 0 where one run has none. `zeros` count 0 if unscored."""
    counted = {*zeros}
    sides = []
    for rows in (a, b):
        held = [rows.get(id_) for id_ in ids]
        scored = [(row.score, read_passes(row)) for row in held if row is not None and row.score is not None]
        absent = sum(
            1 for id_, row in zip(ids, held, strict=True) if id_ in counted and (row is None or row.score is None)
        )
        sides.append(scored + [(_ZERO, _ZERO)] * absent)
    if not all(sides):
        return LineEffect()
    score, passes = ([compute_mean(pair[channel] for pair in side) for side in sides] for channel in (0, 1))
    return LineEffect(score[1] - score[0], passes[1] - passes[0])


def _list_failures(old: GradedRow, new: GradedRow) -> Iterator[tuple[str, CheckResult]]:
    """Yield each check that one run graded and the other could not, with the run that failed; sample by sample."""
    for pair in zip(old.outputs, new.outputs, strict=False):
        checks = [{check.id: check for check in row.checks} for row in pair]
        for side in (0, 1):
            is_lost = pair[side].score is None and pair[1 - side].score is not None
            for check in pair[side].checks:
                twin = checks[1 - side].get(check.id)
                # A check that the other run does not have fails where the question has no score for it.
                if check.unscored is UnscoredReason.ERROR and (
                    twin.unscored is not UnscoredReason.ERROR if twin else is_lost
                ):
                    yield "AB"[side], check


def _count_failures(
    a: Mapping[str, GradedRow], b: Mapping[str, GradedRow], ids: Sequence[str]
) -> Iterator[FailedCheck]:
    counts: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], str] = {}
    for id_ in ids:
        for run, check in _list_failures(a[id_], b[id_]):
            counts[run, check.id] += 1
            first.setdefault((run, check.id), check.reason)
    return (FailedCheck(run, check, count, first[run, check]) for (run, check), count in counts.most_common())


def _subtract(whole: LineEffect, part: LineEffect) -> LineEffect:
    return LineEffect(whole.score - part.score, whole.passes - part.passes)
