"""Says whether scores of two versions, commits or runs can be compared.

If not, it says what would help. The proofs are those of the comparison of artifacts: a change below
major moves no score and no verdict, and one with a bound moves no question further than that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from pathlib import Path

from evalstore.audits.inference import open_stored_pair
from evalstore.audits.judge_evidence import has_other_engines
from evalstore.audits.questions.question_sets import list_row_gaps
from evalstore.audits.stored_run import (
    StoredRun,
    read_judge_model,
    read_strictness,
)
from evalstore.audits.version_path import VersionFinder
from evalstore.audits.wording.gaps import describe_pairs
from evalstore.diff import Diff, DiffFinding, Direction
from evalstore.documents import write_canonical
from evalstore.model import parse_ref
from evalstore.release.changes.comparison import compare_by_rules
from evalstore.runs import GradedRow
from evalstore.scoring.judging import Judges, open_session
from evalstore.store import ArtifactStore
from evalstore.text import count_noun, make_excerpt
from evalstore.versions import Bump

_NOTHING = Fraction(0)
_NAMED_CHECKS = 3  # of those with nothing to grade
# Stored outputs do not answer a question with another input, and what is gone cannot be scored
# again.
_OTHER_QUESTIONS = frozenset({"question-input-changed", "question-removed", "question-id-renamed"})


class ComparableAnswer(StrEnum):
    """Whether two scores can be compared, best answer first."""

    YES = "yes"
    AFTER_SCORING_AGAIN = "yes, after scoring again"
    BOUNDED = "bounded"
    NO = "no"


_WORST_LAST = list(ComparableAnswer)


@dataclass(frozen=True, slots=True)
class ComparedPart:
    """One thing that two sides share or not: the answer for it alone, and why.

    `bound`: as they are, it moves the difference of two scores by at most this (0 to 1); None if no
    bound is known.
    """

    name: str
    answer: ComparableAnswer
    bound: Fraction | None
    reason: str


@dataclass(frozen=True, slots=True)
class Comparability:
    """The answer for two sides, `a` and `b` as they were named.

    `dataset` is what run A would have to be graded by again, None if that is not needed, if what
    graded run B is not a release, or if there are no runs.
    """

    a: str
    b: str
    parts: tuple[ComparedPart, ...]
    dataset: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def answer(self) -> ComparableAnswer:
        """The worst answer of any part."""
        return max(
            (part.answer for part in self.parts),
            key=_WORST_LAST.index,
            default=ComparableAnswer.YES,
        )

    @property
    def bound(self) -> Fraction | None:
        """The most by which the difference of two scores can be off.

        None if no bound below 1 is known.
        """
        return add_bounds(part.bound for part in self.parts)

    @property
    def bound_after(self) -> Fraction | None:
        """The same once one side has been graded as the other was."""
        again = ComparableAnswer.AFTER_SCORING_AGAIN
        return add_bounds(part.bound for part in self.parts if part.answer is not again)


def add_bounds(bounds: Iterable[Fraction | None]) -> Fraction | None:
    """Return the sum of some bounds.

    Returns None if one is unknown, or if the sum means nothing for scores between 0 and 1.
    """
    total = _NOTHING
    for bound in bounds:
        if bound is None or (total := total + bound) >= 1:
            return None
    return total


def judge_diff(name: str, diff: Diff) -> ComparedPart:
    """Return whether scores under the two sides of a diff can be compared.

    Acceptances lower nothing here.
    """
    moving = (
        [] if _is_still(diff) else [one for one in diff.findings if one.level_before is Bump.MAJOR]
    )
    settings = [change for change in diff.settings if change.level is Bump.MAJOR]
    if not moving and not settings:
        return ComparedPart(name, ComparableAnswer.YES, _NOTHING, _describe_still(diff))
    if others := [finding for finding in moving if finding.rule in _OTHER_QUESTIONS]:
        return ComparedPart(
            name,
            ComparableAnswer.NO,
            None,
            f"the stored outputs answer other questions: {_count_rules(others)}",
        )
    reason = "; ".join(
        [
            *([_count_rules(moving)] if moving else []),
            *(f"the setting {one.setting} changed" for one in settings),
        ]
    )
    bound = None if settings else add_bounds([diff.total.max_shift])
    return ComparedPart(name, ComparableAnswer.AFTER_SCORING_AGAIN, bound, reason)


def _is_still(diff: Diff) -> bool:
    """Whether all edits together move no score and no verdict; other questions are not edits."""
    still = {diff.total.direction, diff.total.verdict_direction} == {Direction.NONE}
    return still and not any(finding.rule in _OTHER_QUESTIONS for finding in diff.findings)


def _describe_still(diff: Diff) -> str:
    if not diff.findings:
        return "the same content" if diff.old.digest == diff.new.digest else "no change that counts"
    return f"no score and no verdict moves: {_count_rules(diff.findings)}"


def _count_rules(findings: Sequence[DiffFinding]) -> str:
    counts = Counter(finding.rule for finding in findings)
    named = [f"{rule} ({count:,})" if count > 1 else rule for rule, count in counts.most_common(4)]
    more = len(counts) - len(named)
    return ", ".join([*named, *([count_noun(more, "more rule")] if more else [])])


def compare_runs(run_a: Path, run_b: Path, store: ArtifactStore) -> Comparability:
    """Return whether the scores of two runs can be compared.

    Only their records are read: nothing is graded or asked. Raises `RefusedError` for a run whose
    artifacts are not in the store.
    """
    finder = VersionFinder(store)
    with open_session(Judges(), store.git.common) as session:
        a, b = open_stored_pair(run_a, run_b, finder, session)
    shared = _SharedQuestions.collect(a, b)
    parts = (
        *_judge_scores(a, b),
        shared.judge_questions(),
        *shared.judge_artifacts(store),
        *shared.judge_coverage(),
        *shared.judge_references(),
        *_judge_settings(a, b, store),
        *shared.judge_engines(),
        *shared.judge_replies(),
    )
    again = any(part.answer is ComparableAnswer.AFTER_SCORING_AGAIN for part in parts)
    return Comparability(
        str(run_a),
        str(run_b),
        parts,
        b.dataset.resolved.ref if again and not b.run.unreleased else None,
        (*finder.notes, *describe_pairs(a.paired), *shared.list_notes()),
    )


@dataclass(slots=True)
class _SharedQuestions:
    """What two runs have in common.

    These are the questions that both scored with the same input, and what graded them.
    """

    a: StoredRun
    b: StoredRun
    scored: tuple[int, int]
    other_input: int = 0
    other_words: int = 0
    other_reference: int = 0
    # Questions in which a check had nothing to grade in one run only; those checks, each with its
    # run.
    emptied: int = 0
    empty_checks: Counter[tuple[str, str]] = field(default_factory=Counter)
    rubrics: Counter[tuple[str, str]] = field(default_factory=Counter)
    # By kind of check, for run A and for run B.
    engines: dict[str, tuple[set[str], set[str]]] = field(default_factory=dict)
    # Equal answers that one rubric had judged in both runs, and those to which a judge gave another
    # score.
    judged: int = 0
    judged_otherwise: int = 0

    @classmethod
    def collect(cls, a: StoredRun, b: StoredRun) -> _SharedQuestions:
        """Read the rows of both runs once, side by side."""
        found = cls(a, b, (_count_scored(a), _count_scored(b)))
        for id_, row in a.rows.items():
            other = b.rows.get(id_)
            if other is not None and row.score is not None and other.score is not None:
                found.add(row, other)
        return found

    def add(self, row: GradedRow, other: GradedRow) -> None:
        if not _are_alike(row.input_digest, other.input_digest):
            self.other_input += 1
            return
        self.other_words += _read_words(row) != _read_words(other)
        has_reference = _are_alike(row.reference_digest, other.reference_digest)
        self.other_reference += not has_reference
        if has_reference and row.rubric == other.rubric and row.has_output_of(other):
            self._add_judged(row, other)
        gaps = {(gap.run, gap.name) for gap in list_row_gaps(row, other)}
        self.emptied += bool(gaps)
        self.empty_checks.update(gaps)
        self.rubrics[row.rubric, other.rubric] += 1
        for side, graded in enumerate((row, other)):
            for check in graded.checks:
                self.engines.setdefault(check.kind, (set(), set()))[side].add(check.engine)

    def _add_judged(self, row: GradedRow, other: GradedRow) -> None:
        scores = [
            {check.id: check.score for check in one.checks if check.replies} for one in (row, other)
        ]
        common = scores[0].keys() & scores[1].keys()
        self.judged += bool(common)
        self.judged_otherwise += any(scores[0][id_] != scores[1][id_] for id_ in common)

    @property
    def count(self) -> int:
        """How many there are."""
        return self.rubrics.total()

    def judge_questions(self) -> ComparedPart:
        """Return the part about the questions themselves."""
        count, name = self.count, "questions"
        rest = tuple(scored - count for scored in self.scored)
        if not count:
            return ComparedPart(
                name,
                ComparableAnswer.NO,
                None,
                "no question was scored with the same input in both",
            )
        if rest == (0, 0):
            how = (
                f"{self.other_words:,} of them asked in other words"
                if self.other_words
                else "with one input"
            )
            return ComparedPart(
                name, ComparableAnswer.YES, _NOTHING, f"both scored the same {count:,}, {how}"
            )
        bound = add_bounds(
            Fraction(more, scored) for more, scored in zip(rest, self.scored, strict=True)
        )
        reason = f"{count:,} are scored in both; {rest[0]:,} more in A, {rest[1]:,} more in B"
        if self.other_input:
            reason += f", {self.other_input:,} of them with another input"
        return ComparedPart(
            name,
            ComparableAnswer.BOUNDED if bound is not None else ComparableAnswer.NO,
            bound,
            reason,
        )

    def judge_artifacts(self, store: ArtifactStore) -> Iterator[ComparedPart]:
        """Yield a part for each pair of rubrics, and for judges that moved below equal rubrics."""
        moved = False
        for (old, new), count in self.rubrics.items():
            one, other = self.a.rubrics.get(old), self.b.rubrics.get(new)
            if one is None or other is None:
                yield ComparedPart(
                    new or old or "rubric",
                    ComparableAnswer.NO,
                    None,
                    "a run does not name the rubrics that graded it",
                )
                continue
            diff = compare_by_rules(store, one.version.resolved, other.version.resolved)
            part = judge_diff(old if old == new else f"{old} and {new}", diff)
            moved |= bool(diff.findings)
            yield replace(
                part, bound=None if part.bound is None else part.bound * count / self.count
            )
        if not moved:
            yield from self._judge_judges(store)

    def _judge_judges(self, store: ArtifactStore) -> Iterator[ComparedPart]:
        finder = VersionFinder(store)
        before = {finder.find_first_name(parse_ref(pin.ref).name): pin for pin in self.a.run.judges}
        for pin in self.b.run.judges:
            old = before.get(finder.find_first_name(parse_ref(pin.ref).name))
            if old is not None and old.digest != pin.digest:
                one, other = (finder.locate_pin(used).resolved for used in (old, pin))
                yield judge_diff(f"{old.ref} and {pin.ref}", compare_by_rules(store, one, other))

    def judge_coverage(self) -> Iterator[ComparedPart]:
        """Yield a part if only one run had nothing to grade: no rubric makes up for that."""
        if self.emptied:
            counts: list[str] = []
            for (run, name), count in self.empty_checks.most_common(_NAMED_CHECKS):
                counts.append(f"{make_excerpt(name)} had nothing to grade in {run} on {count:,}")
            reason = f"of {count_noun(self.count, 'question')}, {', '.join(counts)}"
            bound = add_bounds([Fraction(self.emptied, self.count)])
            answer = ComparableAnswer.NO if bound is None else ComparableAnswer.BOUNDED
            yield ComparedPart("coverage", answer, bound, reason)

    def judge_references(self) -> Iterator[ComparedPart]:
        """Yield a part if expected answers differ.

        The dataset's diff says whether a check reads them.
        """
        if self.other_reference:
            share = Fraction(self.other_reference, self.count)
            reason = (
                f"{count_noun(self.other_reference, 'question')} "
                f"{'has' if self.other_reference == 1 else 'have'} other references, or other "
                "values of checks"
            )
            bound = share if share < 1 else None
            yield ComparedPart("references", ComparableAnswer.AFTER_SCORING_AGAIN, bound, reason)

    def judge_engines(self) -> Iterator[ComparedPart]:
        """Yield a part for each kind of check that different programs or models answered."""
        for kind, (old, new) in self.engines.items():
            if old and new and has_other_engines(old, new):
                reason = f"A was graded by {', '.join(sorted(old))}, B by {', '.join(sorted(new))}"
                yield ComparedPart(
                    f"engine of {kind}", ComparableAnswer.AFTER_SCORING_AGAIN, None, reason
                )

    def judge_replies(self) -> Iterator[ComparedPart]:
        """Yield a part if a judge scored the same answer differently the second time."""
        if self.judged_otherwise:
            reason = (
                f"{self.judged_otherwise:,} of {self.judged:,} answers that both runs have were "
                "judged differently"
            )
            yield ComparedPart(
                "replies of judges", ComparableAnswer.AFTER_SCORING_AGAIN, None, reason
            )

    def list_notes(self) -> Iterator[str]:
        """Yield what no record can show."""
        if self.judged_otherwise or not (self.a.run.judges or self.b.run.judges):
            return
        same = f"all {self.judged:,} answers that both runs have were judged the same"
        known = (
            same
            if self.judged
            else "no answer was judged in both runs, so nothing shows whether the judge changed"
        )
        yield f"a hosted judge can change without changing its name; {known}"


def _judge_scores(a: StoredRun, b: StoredRun) -> Iterator[ComparedPart]:
    """Yield a part for each run without a score, with which nothing can be compared."""
    for name, stored in (("A", a), ("B", b)):
        if stored.run.is_withheld:
            reason = f"it has none, because gradings failed: {stored.run.ungraded}"
            yield ComparedPart(f"the score of {name}", ComparableAnswer.NO, None, reason)


def _judge_settings(a: StoredRun, b: StoredRun, store: ArtifactStore) -> Iterator[ComparedPart]:
    strict = [read_strictness(one.run, store) for one in (a, b)]
    models = [read_judge_model(one.run) for one in (a, b)]
    for name, (old, new) in (("strict", strict), ("the model of judges", models)):
        if old != new:
            reason = f"A was graded with {write_canonical(old)}, B with {write_canonical(new)}"
            yield ComparedPart(name, ComparableAnswer.AFTER_SCORING_AGAIN, None, reason)


def _count_scored(stored: StoredRun) -> int:
    """Return how many questions of a run have a score; its aggregate must agree with them."""
    count, review = 0, stored.open_review()
    for row in stored.rows.values():
        review.add(row)
        count += row.score is not None
    review.require_agreement()
    return count


def _read_words(row: GradedRow) -> list[str]:
    """Return what an output was asked, as far as its run knows, ignoring white space."""
    return (row.input if row.asked is None else row.asked).split()


def _are_alike(old: str, new: str) -> bool:
    """Whether two digests are equal; a digest that a run did not record counts as equal."""
    return old == new or not (old and new)
