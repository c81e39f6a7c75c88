"""Pairs the outputs of two runs to the same questions, as they were recorded.

It names the edits behind each pair.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from evalstore.audits.records.comparison import (
    RecordComparison,
    compare_records,
    find_record_reason,
)
from evalstore.audits.values import EditSource, LineEffect, MovedQuestion
from evalstore.errors import EvalstoreError, RefusedError
from evalstore.model import CheckResult, Verdict
from evalstore.runs import GradedRow, Run
from evalstore.runs.graded_rows import BareRow
from evalstore.runs.imports.series_filter import SeriesFilter
from evalstore.runs.records import open_record
from evalstore.store import ArtifactStore
from evalstore.store.remote import find_commit_pages
from evalstore.text import make_excerpt, suggest_known

# Questions whose edits are named, the most moved ones: an audit keeps everything about each.
_MOST_MOVED = 1_000
_GRADERS = ("rubric/", "judge/", "dataset/")

Edits = tuple[tuple[EditSource, LineEffect], ...]


class RowPair(NamedTuple):
    """The outputs of run A and of run B to one question, or one sample of each.

    They are under the name that B has for it.
    """

    a: GradedRow
    b: GradedRow

    @property
    def change(self) -> Fraction:
        """How far the score moved; 0 if one of them has none."""
        old, new = self.a.score, self.b.score
        return Fraction(0) if old is None or new is None else new - old

    @property
    def turn(self) -> int:
        """-1 if B fails what A passed, 1 the other way round, else 0."""
        old, new = (row.verdict is Verdict.PASS for row in self)
        return new - old

    @property
    def rank(self) -> tuple[int, Fraction]:
        """What pairs are sorted by.

        Lost verdicts come first, then scores that fell, furthest first.
        """
        return self.turn, self.change

    def list_checks(self) -> Iterator[tuple[str, CheckResult | None, CheckResult | None]]:
        """Yield the checks of either run with what both said.

        Checks whose result changed come first.
        """
        old, new = ({check.id: check for check in row.checks} for row in self)
        found = [(id_, old.get(id_), new.get(id_)) for id_ in {**old, **new}]
        yield from sorted(found, key=lambda one: not has_moved(one[1], one[2]))


def has_moved(old: CheckResult | None, new: CheckResult | None) -> bool:
    """Whether a check's score or verdict changed, or only one of two runs has the check."""
    if old is None or new is None:
        return True
    return (old.score, old.verdict) != (new.score, new.verdict)


@dataclass(slots=True)
class PairReader:
    """Two records compared, and their pairs, read once.

    The row of one run waits in memory for that of the other. `edits` are those behind a question,
    if an audit of both runs names them; `gap` says why it names none. `commits` is the beginning of
    the addresses of commit pages, empty if the remote's host is not known.
    """

    comparison: RecordComparison
    runs: tuple[Run, Run]
    _rows: tuple[Iterable[BareRow], Iterable[BareRow]]
    edits: Mapping[str, Edits] = field(default_factory=dict)
    gap: str = ""
    commits: str = ""
    found: int = 0

    def __iter__(self) -> Iterator[RowPair]:
        paired = self.comparison.pairs_by_input.ids
        taken = {*paired.values()}
        for pair in _match_rows(*self._rows, {**{id_: f"{id_} (in A)" for id_ in taken}, **paired}):
            self.found += 1
            yield pair


@dataclass(frozen=True, slots=True)
class RunPairs:
    """Two records compared, with those of their `found` pairs that regressed most.

    `edits` and `gap` are as in a reader.
    """

    comparison: RecordComparison
    runs: tuple[Run, Run]
    pairs: tuple[RowPair, ...]
    found: int
    edits: Mapping[str, Edits]
    gap: str


def keep_regressed(reader: PairReader, limit: int | None, question: str | None = None) -> RunPairs:
    """Read all pairs, or those of one question, and keep those that regressed most.

    `limit` is how many (None: all). Raises `RefusedError` for a question without a pair.
    """
    kept: list[tuple[tuple[int, Fraction, int], RowPair]] = []
    found, ids = 0, dict[str, None]()
    for pair in reader:
        ids |= dict.fromkeys([pair.b.id] if question is not None else ())
        if question in {None, pair.b.id}:
            found += 1
            insort(kept, ((*pair.rank, reader.found), pair), key=lambda one: one[0])
            del kept[limit if limit is not None else found :]
    if question is not None and not found:
        raise RefusedError(
            f"the two runs have no pair of outputs to the question {make_excerpt(question)}",
            hint=suggest_known(question, ids, "question"),
        )
    pairs = tuple(pair for _, pair in kept)
    return RunPairs(reader.comparison, reader.runs, pairs, found, reader.edits, reader.gap)


def _match_rows(
    a: Iterable[BareRow], b: Iterable[BareRow], names: Mapping[str, str]
) -> Iterator[RowPair]:
    """Yield pairs as they become complete; `names` are B's names for questions of A."""
    sides = iter(a), iter(b)
    waiting: tuple[dict[tuple[str, int], GradedRow], dict[tuple[str, int], GradedRow]] = {}, {}
    open_sides = [0, 1]
    while open_sides:
        for side in tuple(open_sides):
            one = next(sides[side], None)
            if one is None:
                open_sides.remove(side)
                continue
            row = one.row
            key = (row.id if side else names.get(row.id, row.id)), row.sample
            other = waiting[1 - side].pop(key, None)
            if other is None:
                waiting[side][key] = row
            else:
                yield RowPair(other, row) if side else RowPair(row, other)


def _list_traced_edits(question: MovedQuestion) -> Iterator[tuple[EditSource, LineEffect]]:
    """Yield the edits behind a question that belong to an artifact."""
    return (pair for pair in question.edits if pair[0].origin.ref is not None)


def read_pairs(path_a: Path, path_b: Path, choice: SeriesFilter | None = None) -> PairReader:
    """Compare two files that carry scores, and open their pairs.

    `compare_records` says what is refused.
    """
    comparison = compare_records(path_a, path_b, choice=choice)
    a, b = (open_record(path, choice) for path in (path_a, path_b))
    return PairReader(comparison, (a[0], b[0]), (a[1], b[1]))


def add_edits(reader: PairReader, path_a: Path, path_b: Path, store: ArtifactStore) -> None:
    """Name the edits that moved each question, or say why none is named.

    No judge is asked anything.
    """
    reader.edits, reader.gap = _find_edits(reader.comparison, path_a, path_b, store)
    reader.commits = find_commit_pages(store.git)


def _find_edits(
    comparison: RecordComparison, path_a: Path, path_b: Path, store: ArtifactStore
) -> tuple[Mapping[str, Edits], str]:
    graders = [one for one in comparison.differences if one.name.startswith(_GRADERS)]
    if all(one.same_scoring for one in graders):
        return (
            {},
            "the same rubrics, judges and questions graded both, so no edit of them moved anything",
        )
    if reason := find_record_reason(path_a, path_b):
        return {}, f"no edit is named: {reason}"
    # Two runs of one rubric, as most that are looked at, need no audit.
    from evalstore.audits.explain import AuditOptions, audit_runs

    try:
        audit = audit_runs(path_a, path_b, store, AuditOptions(allow_drift=True, moved=_MOST_MOVED))
    except EvalstoreError as error:
        return {}, f"no edit is named: {error.message}"
    more = audit.moved_count - len(audit.moved)
    gap = f"of {more:,} questions that moved less, no edit is named" if more else ""
    return {one.id: tuple(_list_traced_edits(one)) for one in audit.moved}, gap
