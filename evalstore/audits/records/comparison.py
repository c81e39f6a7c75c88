"""Compares two records as pairs, grading nothing.

It finds the difference, its interval, flips, and which versions differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from evalstore.audits.questions.question_sets import SideSum, build_side
from evalstore.audits.stored_run import (
    IncomparableError,
    UnscoredRunError,
    list_score_notes,
    make_disjoint_error,
)
from evalstore.audits.values import NO_PAIRS, Flips, PairsByInput, RunSide
from evalstore.errors import RefusedError
from evalstore.identity_cache import IdentityCache
from evalstore.model import CheckResult, Verdict, has_failed_check
from evalstore.model.question import drop_blanks
from evalstore.model.question_ids import build_names, match_contents
from evalstore.runs import Run
from evalstore.runs.aggregate_review import AggregateReview
from evalstore.runs.graded_rows import BareRow
from evalstore.runs.imports.entry import Series
from evalstore.runs.imports.series_filter import SeriesFilter
from evalstore.runs.outputs import is_bare_outputs
from evalstore.runs.question_mean import Outcome, compute_question_mean
from evalstore.runs.records import can_be_graded, open_record, require_format
from evalstore.runs.row_index import make_doubled_error
from evalstore.runs.values import SeriesMean
from evalstore.statistics import (
    ChangeEstimate,
    Conclusion,
    ExactMean,
    MoveCounts,
    count_moves,
    count_units,
    estimate_change,
)
from evalstore.text import count_noun, make_excerpt

# What the rows of a pair may have in common, in the order of `_RecordRow.contents`.
CONTENTS = ("input", "reference", "output", "rubric")
RECORD_NAMES = ("A", "B")
_DIGEST = 8  # characters of a digest that are shown
_UNCOMPARED = "replies_"  # begins the counts of judge calls in a run's harness

_Key = tuple[str, int]  # a question, and the number of its sample
_Record = tuple[Run, Iterable[BareRow]]
_Watch = Callable[[Iterable[BareRow]], Iterable[BareRow]]


@dataclass(frozen=True, slots=True)
class RecordChange:
    """A mean over the pairs in either record.

    `estimate` and `moves` say what its change shows about questions like these.
    """

    a: Fraction
    b: Fraction
    estimate: ChangeEstimate
    moves: MoveCounts

    @property
    def delta(self) -> Fraction:
        """The mean of B minus that of A."""
        return self.b - self.a

    @property
    def is_significant(self) -> bool:
        """Whether it is more than chance."""
        return self.estimate.conclusion is Conclusion.SIGNIFICANT


@dataclass(frozen=True, slots=True)
class RecordSeries:
    """The pairs of one configuration, if a record has several."""

    name: str
    pairs: int
    score: RecordChange
    passes: RecordChange


@dataclass(frozen=True, slots=True)
class RecordDifference:
    """What two records name differently; `same_scoring`: their digests say that it scores alike.

    A side that does not name it is empty.
    """

    name: str
    a: str
    b: str
    same_scoring: bool


@dataclass(frozen=True, slots=True)
class RecordComparison:
    """Two records, paired by question and sample; a pair has a score in both.

    `a` and `b` are everything that either record scored. `only_a`, `only_b` and `unscored` are the
    answers without a pair. `missing_b` of them are scored in A and missing in B: `lost_score` and
    `lost_passes` are what A had for them. `contents` counts the pairs that differ in one of
    `CONTENTS`, if both records have it. `ungraded` counts the answers of both records with a check
    that could not be graded in one of them, `emptied` the pairs with one that had nothing to grade
    in only one. `names` are what both are called: A and B, or the configurations of one file.
    """

    a: RunSide
    b: RunSide
    pairs: int
    score: RecordChange
    passes: RecordChange
    flips: Flips
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    unscored: tuple[str, ...]
    missing_b: int
    lost_score: Fraction
    lost_passes: int
    differences: tuple[RecordDifference, ...]
    contents: Mapping[str, int]
    ungraded: int
    emptied: int
    notes: tuple[str, ...]
    series: tuple[RecordSeries, ...] = ()
    pairs_by_input: PairsByInput = NO_PAIRS
    names: tuple[str, str] = RECORD_NAMES

    @property
    def delta_as_zero(self) -> Fraction:
        """The change of the mean score with answers that B lacks counted as 0."""
        return (self.score.delta * self.pairs - self.lost_score) / (self.pairs + self.missing_b)


class _RecordRow(NamedTuple):
    """What is compared of a row; for each content its hash, None if it is not recorded."""

    score: Fraction | None
    passes: Fraction
    verdict: Verdict
    group: str
    has_failure: bool
    graded: frozenset[str]
    empty: frozenset[str]
    contents: tuple[int | None, ...]
    asked: str

    @property
    def points(self) -> Fraction:
        """The score, or 0 if there is none."""
        return self.score or Fraction(0)


_Rows = dict[_Key, _RecordRow]
_Pairs = Mapping[_Key, tuple[_RecordRow, _RecordRow]]


def find_record_reason(path_a: Path, path_b: Path) -> str:
    """Return why two files can be compared only as they were recorded.

    It is empty if they can be graded again. Outputs of other tools next to a run of evalstore are
    graded as that was. Raises `LoadError` for a file of no known format.
    """
    paths = path_a, path_b
    shapes = [require_format(path) for path in paths]
    if not all(shape.has_verdicts for shape in shapes):
        return ""
    without = [path.name for path in paths if not can_be_graded(path)]
    if without:
        return f"{without[0]} has no outputs to grade again"
    if all(map(is_bare_outputs, paths)):
        return "neither names the rubrics that graded it, so neither can be graded again"
    return ""


def compare_records(
    path_a: Path,
    path_b: Path,
    *,
    watch: _Watch = iter,
    choice: SeriesFilter | None = None,
    reason: str = "",
) -> RecordComparison:
    """Compare two files that carry scores: runs, results of other tools, or rows that no run names.

    `watch` wraps the iteration over the rows of each, `choice` selects outputs from a file with
    several series (None: all, each series separately), and `reason` says why nothing was graded
    again. Raises `LoadError` for a file without scores, and `RefusedError` if an answer occurs
    twice, a score is not between 0 and 1, or no answer is scored in both.
    """
    opened = [open_record(path, choice) for path in (path_a, path_b)]
    return _compare_opened(opened, RECORD_NAMES, watch=watch, reason=reason)


def compare_configurations(
    path: Path, only: Mapping[str, str] | None = None, *, watch: _Watch = iter
) -> tuple[RecordComparison, ...]:
    """Compare the configurations of one file, each with the baseline.

    That is `without_skill`, else the first. `only` has the names to compare, as `SeriesFilter`
    reads them. Raises `RefusedError` for a file with a single configuration, and like
    `compare_records`.
    """
    wanted = only or {}
    choice = SeriesFilter(wanted)
    series = open_record(path, None)[0].series
    found = [one for one in series if choice.is_wanted(Series(**{**wanted, **one.only}))]
    if len(found) < 2:  # noqa: PLR2004  # a baseline and what is held against it
        raise RefusedError(
            (
                f"{path.name} holds one configuration{f' of {choice}' if only else ''}, and an "
                "audit compares two"
            ),
            hint="name the other run behind it; evalstore show prints one by itself",
        )
    base = next((one for one in found if one.is_baseline), found[0])

    def open_one(one: SeriesMean) -> _Record:
        return open_record(path, SeriesFilter(wanted, exact=one.only))

    compared: list[RecordComparison] = []
    for one in (other for other in found if other is not base):
        opened = [open_one(base), open_one(one)]
        compared.append(_compare_opened(opened, (base.name, one.name), watch=watch))
    return tuple(compared)


def _compare_opened(
    opened: Sequence[_Record], names: tuple[str, str], *, watch: _Watch, reason: str = ""
) -> RecordComparison:
    """Compare two open records, whose rows are read here."""
    runs = [run for run, _ in opened]
    a, b = (_index_rows(run, watch(found)) for run, found in opened)
    paired, a = _pair_by_input(a, b)
    common = {key: (row, b[key]) for key, row in a.items() if key in b}
    pairs = {
        key: pair for key, pair in common.items() if all(row.score is not None for row in pair)
    }
    sides = [_sum_side(*one) for one in zip(names, runs, (a, b), strict=True)]
    if not pairs:
        raise make_disjoint_error(*runs)
    scored = (key for key, row in a.items() if row.score is not None and key not in pairs)
    lost = [a[key] for key in scored if _is_missing(key, b, runs)]
    groups = [old.group for old, _ in pairs.values()]
    passes = _estimate_change([(old.passes, new.passes) for old, new in pairs.values()], groups)
    turned = [key for key, (old, new) in pairs.items() if old.verdict is not new.verdict]
    return RecordComparison(
        a=sides[0],
        b=sides[1],
        pairs=len(pairs),
        score=_estimate_change([(old.points, new.points) for old, new in pairs.values()], groups),
        passes=passes,
        flips=Flips(
            pass_to_fail=tuple(
                _name_answer(key) for key in turned if a[key].verdict is Verdict.PASS
            ),
            fail_to_pass=tuple(
                _name_answer(key) for key in turned if b[key].verdict is Verdict.PASS
            ),
            by={},
            mid_p=passes.estimate.p,
        ),
        only_a=tuple(_name_answer(key) for key in a if key not in common),
        only_b=tuple(_name_answer(key) for key in b if key not in common),
        unscored=tuple(_name_answer(key) for key in common if key not in pairs),
        missing_b=len(lost),
        lost_score=sum((row.points for row in lost), Fraction(0)),
        lost_passes=sum(row.verdict is Verdict.PASS for row in lost),
        differences=tuple(_list_differences(*runs)),
        contents=_count_contents(pairs),
        ungraded=sum(old.has_failure or new.has_failure for old, new in common.values()),
        emptied=sum(
            bool(old.empty & new.graded or new.empty & old.graded) for old, new in pairs.values()
        ),
        notes=(
            *_list_notes(*runs, names=names, reason=reason),
            *_note_emptied(Counter(_list_emptied(pairs, names)), len(pairs)),
        ),
        series=tuple(_compare_series(pairs, runs)),
        pairs_by_input=PairsByInput(paired),
        names=names,
    )


def _pair_by_input(a: _Rows, b: _Rows) -> tuple[dict[str, str], _Rows]:
    """Return the ids in B of questions that ask the same under other ids in A.

    The rows of A by these ids come with them.
    """
    asked = [{id_: row.asked for (id_, _), row in rows.items()} for rows in (a, b)]
    paired = match_contents(*asked)
    names = build_names(paired, asked[0])
    return paired, {(names.get(id_, id_), sample): row for (id_, sample), row in a.items()}


def _compare_series(pairs: _Pairs, runs: Sequence[Run]) -> Iterator[RecordSeries]:
    """Yield the change of each configuration by itself, if a record has several.

    An id such as `1/with_skill` names its configuration.
    """
    for name in dict.fromkeys(one.name for run in runs for one in run.series):
        found = [pair for key, pair in pairs.items() if key[0].endswith(f"/{name}")]
        if found:
            groups = [old.group for old, _ in found]
            score = _estimate_change([(old.points, new.points) for old, new in found], groups)
            passes = _estimate_change([(old.passes, new.passes) for old, new in found], groups)
            yield RecordSeries(name, len(found), score, passes)


def _list_notes(*runs: Run, names: tuple[str, str], reason: str) -> Iterator[str]:
    """Yield why only the records were compared, and what each file says about itself.

    Contradictions within a file are reported, too.
    """
    if reason:
        yield f"compared as recorded: {reason}"
    yield from list_score_notes(*runs)
    for name, run in zip(names, runs, strict=True):
        if run.log_status:
            yield f"{name} is from a log with the status {run.log_status}"
        if run.unread_rows:
            yield f"{name}: {count_noun(run.unread_rows, 'row')} could not be read"
        if run.dataset is None:
            yield from (f"{name}: {note}" for note in run.notes)


def _name_answer(key: _Key) -> str:
    """Return the name of one answer: its question, and the sample unless it is the first."""
    id_, sample = key
    return f"{id_} (sample {sample + 1})" if sample else id_


def _index_rows(run: Run, found: Iterable[BareRow]) -> dict[_Key, _RecordRow]:
    rows: dict[_Key, _RecordRow] = {}
    review = AggregateReview(run)
    summaries = IdentityCache(_summarize_checks)  # runs have few different results
    for row, is_stored, digest in found:
        key = row.id, row.sample
        if key in rows:
            raise make_doubled_error(run.samples, row.id)
        if row.score is not None and not 0 <= row.score <= 1:
            raise RefusedError(
                f"{run.samples} gives {row.id} the score {float(row.score):g}",
                hint="two records are compared on a scale from 0 to 1",
            )
        review.add(row)
        output = digest or (row.output_digest if is_stored else "")
        asked = row.input if row.asked is None else row.asked
        contents: tuple[Any, ...] = asked, row.reference, output, row.rubric_digest or row.rubric
        has_failure, graded, empty = summaries.find(row.checks)
        rows[key] = _RecordRow(
            score=row.score,
            passes=row.pass_share,
            verdict=row.verdict,
            group=f"question {row.id}" if row.group is None else f"group {row.group}",
            has_failure=has_failure,
            graded=graded,
            empty=empty,
            contents=tuple(hash(one) if one else None for one in contents),
            asked=str(hash(drop_blanks(asked))) if asked else "",
        )
    review.require_agreement()
    return rows


def _summarize_checks(
    checks: tuple[CheckResult, ...],
) -> tuple[bool, frozenset[str], frozenset[str]]:
    """Return whether a grading failed, and the names of the checks that graded, and could not."""
    graded = _name_checks(check.id for check in checks if check.is_whole)
    empty = _name_checks(check.id for check in checks if check.gaps)
    return has_failed_check(checks), graded, empty


@lru_cache(maxsize=256)
def _share_names(names: frozenset[str]) -> frozenset[str]:
    """Return one set for all rows with equal names: runs have few different ones."""
    return names


def _name_checks(names: Iterable[str]) -> frozenset[str]:
    return _share_names(frozenset(names))


def _list_emptied(pairs: _Pairs, names: tuple[str, str]) -> Iterator[tuple[str, str]]:
    """Yield by run each check that had nothing to grade there, while the other record graded it."""
    for old, new in pairs.values():
        yield from ((names[0], name) for name in sorted(old.empty & new.graded))
        yield from ((names[1], name) for name in sorted(new.empty & old.graded))


def _note_emptied(emptied: Mapping[tuple[str, str], int], pairs: int) -> Iterator[str]:
    for (run, name), count in emptied.items():
        yield (
            f"{make_excerpt(name)} had nothing to grade in {run} on {count:,} of {pairs:,} "
            "answers, which the other record graded"
        )


def _sum_side(name: str, run: Run, rows: _Rows) -> RunSide:
    """Return the means of a whole record."""
    outcomes: dict[str, list[Outcome]] = {}
    for (id_, _), row in rows.items():
        outcomes.setdefault(id_, []).append((row.score, row.verdict))
    sums = SideSum()
    for mean in map(compute_question_mean, outcomes.values()):
        if mean.score is not None and mean.pass_share is not None:
            sums.scores.add(mean.score)
            sums.passes.add(mean.pass_share)
    if not sums.scores.count:
        raise IncomparableError(name, UnscoredRunError(run).why)
    return build_side(run, len(outcomes), sums)


def _is_missing(key: _Key, b: _Rows, runs: Sequence[Run]) -> bool:
    """Whether B lacks an answer that it should have.

    It need not answer a question that its dataset may not have.
    """
    datasets = [(run.dataset.digest, run.dataset.rows) for run in runs if run.dataset]
    is_one_dataset = len({*datasets}) < 2  # noqa: PLR2004  # two runs
    return key in b or key[0] in runs[1].missing_outputs or is_one_dataset


def _estimate_change(
    pairs: Sequence[tuple[Fraction, Fraction]], groups: Sequence[str]
) -> RecordChange:
    means = ExactMean(), ExactMean()
    for pair in pairs:
        for mean, value in zip(means, pair, strict=True):
            mean.add(value)
    units = count_units([new - old for old, new in pairs], groups)
    return RecordChange(
        means[0].total / len(pairs),
        means[1].total / len(pairs),
        estimate_change(units),
        count_moves(units),
    )


def _count_contents(pairs: _Pairs) -> dict[str, int]:
    found: dict[str, int] = {}
    for at, name in enumerate(CONTENTS):
        both = [(old.contents[at], new.contents[at]) for old, new in pairs.values()]
        known = [old != new for old, new in both if old is not None and new is not None]
        if known:
            found[name] = sum(known)
    return found


def _list_differences(a: Run, b: Run) -> Iterator[RecordDifference]:
    """Yield what both records name differently, and what only one of them names."""
    with_harness = bool(a.harness and b.harness)
    old, new = (_index_names(run, with_harness=with_harness) for run in (a, b))
    for name in dict.fromkeys((*old, *new)):
        one, other = old.get(name, {}), new.get(name, {})
        if one.keys() != other.keys():
            same = {*one.values()} == {*other.values()}
            yield RecordDifference(name, ", ".join(one), ", ".join(other), same)


def _index_names(run: Run, *, with_harness: bool) -> dict[str, dict[str, str]]:
    """Return what a record names.

    For each name it has the versions, each with what distinguishes its scoring.
    """
    found: dict[str, dict[str, str]] = {"model": {run.model: run.model}} if run.model else {}
    for used in (*filter(None, [run.dataset]), *run.rubrics, *run.judges):
        name, _, version = used.ref.partition("@")
        label = f"{version} ({(used.rows or used.digest)[:_DIGEST]})"
        found.setdefault(name, {})[label] = f"{used.scoring_digest} {used.rows}"
    if with_harness:
        kept = {
            name: text for name, text in run.harness.items() if not name.startswith(_UNCOMPARED)
        }
        found |= {name.replace("_", " "): {text: text} for name, text in kept.items()}
    return found
