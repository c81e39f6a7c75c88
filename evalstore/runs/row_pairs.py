"""Pairs the rows of two runs by question, and counts the pairs that are graded alike; outputs are only compared.

Each run is a table of a temporary database, DuckDB or SQLite, which `pair_tables` fills.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from heapq import merge
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from evalstore.errors import Place
from evalstore.model import Output
from evalstore.runs.eee_rows import read_checks, read_consistent_grade
from evalstore.runs.record_fields import explain_shape_errors
from evalstore.runs.row_index import make_doubled_error
from evalstore.runs.values import GradedRow, Run, merge_samples


class UnstoredText(str):
    """Stands for the text of an output that a run does not hold: it may differ from that of any other run."""

    __slots__ = ()


class TableRow(NamedTuple):
    """A row of a run as a table holds it, a column each.

    `unclear` says that some check has no score; what tells inputs, references and outputs apart may be any value, and
    is null for an output that is not stored.
    """

    place: int
    id: str
    sample: int
    score: str
    verdict: str
    rubric: str
    checks: str
    unclear: bool
    input: str | int
    reference: str | int
    output: str | int | None

    def read(self, run: Run) -> GradedRow:
        """Return the row; raises `LoadError` where its checks are none."""
        place = Place(str(run.samples), self.place)
        with explain_shape_errors(place, "this line is not a row of a run"):
            score, verdict = read_consistent_grade(self.score, self.verdict)
            return GradedRow(
                id=self.id,
                input="",
                reference=(),
                output=Output(UnstoredText(f"not stored in {run.path}") if self.output is None else str(self.output)),
                score=score,
                verdict=verdict,
                rubric=self.rubric,
                rubric_digest="",
                checks=read_checks(self.checks, place),
                input_digest=str(self.input),
                reference_digest=str(self.reference),
                sample=self.sample,
            )


SIDES = ("old", "new")
SAME_QUESTIONS = "CREATE VIEW asked_new AS SELECT id FROM asked_old"

# What has to be looked at one by one: all but one row of either run, both with scores, to a question of its dataset.
_CREATE_LONE = """
CREATE TABLE lone AS SELECT id FROM (
    SELECT 0 AS side, id, unclear OR verdict = 'unscored' OR id NOT IN (SELECT id FROM asked_old) AS is_odd FROM old
    UNION ALL
    SELECT 1, id, unclear OR verdict = 'unscored' OR id NOT IN (SELECT id FROM asked_new) FROM new
) AS rows_of_both GROUP BY id HAVING count(*) <> 2 OR min(side) = max(side) OR max(CASE WHEN is_odd THEN 1 END) = 1
"""
_CREATE_ALL = "CREATE TABLE lone AS SELECT id FROM old UNION SELECT id FROM new"
_KIND = (
    *("old.score", "old.verdict", "old.rubric", "new.score", "new.verdict", "new.rubric"),
    *("old.input = new.input", "old.reference = new.reference", "coalesce(old.output = new.output, 0 = 1)"),
    *("old.output IS NULL", "new.output IS NULL"),
)
_ALIKE = "FROM old JOIN new ON old.id = new.id WHERE old.id NOT IN (SELECT id FROM lone)"
_COUNT_KINDS = (
    f"SELECT min(old.place) AS rank, count(*), {', '.join(_KIND)} {_ALIKE} "
    f"GROUP BY {', '.join(_KIND)} ORDER BY rank"
)  # fmt: skip
_LIST_KIND = f"SELECT old.place, old.id {_ALIKE} AND {' AND '.join(f'({one}) = ?' for one in _KIND)} ORDER BY 1"
# The questions of the first run come first, in its order, and then those that only the second one has.
_LIST_LONE = f"""
SELECT min(place + side * 1000000000000) OVER (PARTITION BY id) AS rank, id,
    id IN (SELECT id FROM asked_old), id IN (SELECT id FROM asked_new), side, {", ".join(TableRow._fields)} FROM (
    SELECT 0 AS side, * FROM old WHERE id IN (SELECT id FROM lone)
    UNION ALL SELECT 1, * FROM new WHERE id IN (SELECT id FROM lone)
) AS rows_of_both ORDER BY rank, side, place
"""


class AskedQuestions(NamedTuple):
    """The questions of a dataset: `lines` yields pieces of JSON Lines, `ids` their ids, checked one by one."""

    lines: Callable[[], Iterator[bytes]]
    ids: Callable[[], Iterable[str]]


class RowPair(NamedTuple):
    """The rows of one question in two runs (None in one that has none), and of how many questions they are true.

    Texts are left out. Outputs and digests of the two rows are equal where those of the runs are, and say nothing else.
    `is_asked` says whether the dataset of either run has the question. `list_ids` yields (rank, id) of the questions.
    """

    id: str
    old: GradedRow | None
    new: GradedRow | None
    is_asked: tuple[bool, bool]
    times: int
    list_ids: Callable[[], Iterator[tuple[int, str]]]


@dataclass(frozen=True, slots=True)
class PairTables:
    """Two runs in a database; `fetch_checks` fills in the checks of lone rows where they were left out."""

    runs: tuple[Run, Run]
    execute: Callable[..., Any]
    fetch_checks: Callable[[], object] = lambda: None

    def rename(self, names: Mapping[str, str]) -> None:
        """Give questions of the first run the names that they have in the second one."""
        for table in ("old", "asked_old"):
            for name, later in names.items():
                self.execute(f"UPDATE {table} SET id = ? WHERE id = ?", (later, name))

    def has_question(self, side: int, id_: str) -> bool:
        """Whether the dataset of the first or the second run has a question."""
        found = self.execute(f"SELECT count(*) FROM asked_{SIDES[side]} WHERE id = ?", (id_,))
        return bool(found.fetchone()[0])

    def has_score(self, side: int) -> bool:
        """Whether some row of the first or the second run has a score."""
        found = self.execute(f"SELECT count(*) FROM {SIDES[side]} WHERE verdict <> 'unscored'")
        return bool(found.fetchone()[0])

    def list_pairs(self, *, one_by_one: bool) -> Iterator[RowPair]:
        """Yield the pairs of both runs by their rank, those alike as one; `one_by_one`: each by itself."""
        self.execute("DROP TABLE IF EXISTS lone")
        self.execute(_CREATE_ALL if one_by_one else _CREATE_LONE)
        self.fetch_checks()
        kinds = [] if one_by_one else self.execute(_COUNT_KINDS).fetchall()
        both = merge(map(self._read_kind, kinds), self._list_lone(), key=itemgetter(0))
        return (pair for _, pair in both)

    def _read_kind(self, found: tuple[Any, ...]) -> tuple[int, RowPair]:
        rank, times, *kind = found
        id_ = self.execute("SELECT id FROM old WHERE place = ?", (rank,)).fetchone()[0]
        rows = []
        for side, run in enumerate(self.runs):
            parts = ["" if is_same else SIDES[side] for is_same in kind[6:9]]
            output = None if kind[9 + side] else parts[2]
            grade = kind[side * 3 : side * 3 + 3]
            rows.append(TableRow._make([rank, id_, 0, *grade, "[]", False, *parts[:2], output]).read(run))

        def list_ids() -> Iterator[tuple[int, str]]:
            return iter(self.execute(_LIST_KIND, kind).fetchall())

        return rank, RowPair(id_, rows[0], rows[1], (True, True), times, list_ids)

    def _list_lone(self) -> Iterator[tuple[int, RowPair]]:
        for (rank, id_, *asked), several in groupby(_fetch(self.execute(_LIST_LONE)), key=itemgetter(0, 1, 2, 3)):
            rows: tuple[list[GradedRow], list[GradedRow]] = ([], [])
            for found in several:
                side = found[4]
                row = TableRow._make(found[5:]).read(self.runs[side])
                if any(row.sample == other.sample for other in rows[side]):
                    raise make_doubled_error(self.runs[side].samples, id_)
                rows[side].append(row)
            old, new = (merge_samples(one) if one else None for one in rows)
            is_asked = bool(asked[0]), bool(asked[1])
            yield rank, RowPair(id_, old, new, is_asked, 1, partial(iter, [(rank, id_)]))


def _fetch(cursor: Any) -> Iterator[tuple[Any, ...]]:
    while rows := cursor.fetchmany(1_000):  # rows that are taken from the database at once
        yield from rows
