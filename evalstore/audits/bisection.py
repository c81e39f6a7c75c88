"""Finds the versions of an artifact at which a score changed, and who did it.

The score is that of a run, or of a question. Scores are not monotone in versions: a binary search
would miss an edit that was reverted. So every version is graded, each content once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path

from evalstore.audits.inference import open_stored_run
from evalstore.audits.side_replay import OutputGrader, RunTotals, grade_with_judges, sum_results
from evalstore.audits.version_path import VersionFinder
from evalstore.errors import EvalstoreError, RefError, RefusedError
from evalstore.model import PinType, Ref, parse_ref
from evalstore.scoring.judging import Judges, JudgeSession
from evalstore.store import ArtifactStore, Release
from evalstore.store.file_history import FileHistory, read_file_history
from evalstore.store.repository.objects import Commit
from evalstore.store.revisions import resolve_head
from evalstore.store.tags import list_patterns
from evalstore.text import count_noun, suggest_known


@dataclass(frozen=True, slots=True)
class CommitChange:
    """A commit at which the score or pass rate differs from that of its first parent."""

    commit: Commit
    old: RunTotals
    new: RunTotals


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """A version at which the score or the pass rate changed.

    `commits` are the commits on the way that changed it. `version` is None for a commit that is not
    a release. The change may belong to one of the earlier versions in `passed_over`, which could
    not be graded: then no commit is known to have made it.
    """

    version: str | None
    old: RunTotals
    new: RunTotals
    commits: tuple[CommitChange, ...]
    passed_over: tuple[str, ...] = ()

    @property
    def main(self) -> CommitChange | None:
        """The commit that moved the score most in the direction of the whole change.

        None if no commit is known to have moved it.
        """
        rose = _measure_rise(self.old, self.new) > (Fraction(0), Fraction(0))
        ranked = sorted(
            self.commits, key=lambda change: _measure_rise(change.old, change.new), reverse=rose
        )
        return ranked[0] if ranked else None


@dataclass(frozen=True, slots=True)
class Bisection:
    """All change points of a run, or of one of its questions, oldest first.

    `first` and `last` are the versions at both ends; `versions` is how many were graded.
    `first_bad` is the first version after the last good one, None if the newest is as good as any.
    `calls` to judges were missing: versions that need them were skipped.
    """

    name: str
    run: str
    question: str | None
    points: tuple[ChangePoint, ...]
    first: tuple[str, RunTotals]
    last: tuple[str, RunTotals]
    versions: int
    first_bad: ChangePoint | None
    last_good: str | None
    calls: int
    notes: tuple[str, ...] = ()


def bisect_scores(  # noqa: PLR0913  # each by its name
    ref: str,
    run: Path | str,
    store: ArtifactStore,
    *,
    question: str | None = None,
    commits: bool = False,
    judges: Judges | None = None,
) -> Bisection:
    """Find every release on the way to `ref` at which a run's score changed.

    With `commits`, every commit is searched. Raises `RefusedError` for a run that cannot be graded
    here, or a question that it does not have.
    """
    parsed = parse_ref(ref)
    tip = _find_tip(store, parsed, commits=commits)
    patterns = list_patterns(store.tags.grammar, parsed.kind, parsed.id)
    history = read_file_history(store, [parsed.path], tip, tags=patterns)
    by_commit: dict[str, Release] = {}
    for release in store.releases(parsed.kind, parsed.id):
        by_commit.setdefault(release.commit, release)

    def attempt(finder: VersionFinder, session: JudgeSession) -> Bisection:
        stored = open_stored_run(run, finder, session)
        if question is not None and question not in stored.rows:
            raise RefusedError(
                f"{run} has no question {question}",
                hint=suggest_known(question, stored.rows, "question"),
            )
        search = _VersionSearch(
            store, parsed.name, history, by_commit, OutputGrader(stored, finder, session), question
        )
        return replace(search.run(every_commit=commits), run=str(run), calls=len(session.missing))

    return grade_with_judges(store, judges, attempt)


def _find_tip(store: ArtifactStore, ref: Ref, *, commits: bool) -> str:
    # Unreleased commits count only if somebody asks for commits.
    if commits and ref.type is PinType.NONE:
        return resolve_head(store.git)
    commit = store.resolve(ref).commit
    if commit is None:
        raise RefusedError(
            "a file on disk has no history",
            hint=f"commit it, and bisect {ref.name}@git:HEAD --commits",
        )
    return commit


@dataclass(slots=True)
class _VersionSearch:
    """One search through the versions of an artifact; each content is graded once."""

    store: ArtifactStore
    name: str
    history: FileHistory
    releases: Mapping[str, Release]
    grader: OutputGrader
    question: str | None
    notes: list[str] = field(default_factory=list)
    # Why some output has no result under a version for reasons other than a judge's reply: its
    # question is gone, for instance.
    _lacking: list[str] = field(default_factory=list)
    _by_commit: dict[str, RunTotals | None] = field(default_factory=dict)
    _by_digest: dict[str, RunTotals] = field(default_factory=dict)

    def run(self, *, every_commit: bool) -> Bisection:
        oldest_first = reversed([*self.history.commits])
        asked = [oid for oid in oldest_first if every_commit or oid in self.releases]
        chosen = [oid for oid in asked if self._can_tell(oid)]
        if not chosen:
            raise RefError(
                f"no version of {self.name} can be graded", hint="; ".join(self.notes) or None
            )
        find_point = partial(self._find_point, every_commit=every_commit)
        points = [point for oid in chosen if (point := find_point(oid, frozenset(chosen)))]
        lacking = () if self.grader.session.missing else self._lacking
        good = self._find_last_good(chosen)
        bad = chosen[good + 1] if good is not None else None
        return Bisection(
            name=self.name,
            run="",
            question=self.question,
            points=tuple(point for _, point in points),
            first=(self._label(chosen[0]), self._measure(chosen[0]) or RunTotals(None, None, 0)),
            last=(self._label(chosen[-1]), self._measure(chosen[-1]) or RunTotals(None, None, 0)),
            versions=len(chosen),
            first_bad=next((point for oid, point in points if oid == bad), None),
            last_good=None if good is None else self._label(chosen[good]),
            calls=0,
            notes=tuple(dict.fromkeys((*self.grader.finder.notes, *self.notes, *lacking))),
        )

    def _find_point(
        self, oid: str, chosen: frozenset[str], *, every_commit: bool
    ) -> tuple[str, ChangePoint] | None:
        """Return the change at a version if it differs from every version right before it."""
        before = [*self._list_before(oid, chosen)]
        old, new = (self._measure(before[0]) if before else None), self._measure(oid)
        if old is None or new is None or any(self._measure(one) == new for one in before):
            return None
        release = self.releases.get(oid)
        passed_over = tuple(self._list_passed_over(oid, before, every_commit=every_commit))
        commits = () if passed_over else tuple(self._list_commit_changes(oid, before))
        return oid, ChangePoint(
            str(release.version) if release else None, old, new, commits, passed_over
        )

    def _list_passed_over(
        self, oid: str, before: list[str], *, every_commit: bool
    ) -> Iterator[str]:
        """Yield the versions in between that could not be graded, oldest first."""
        known = {ancestor for one in before for ancestor in self.history.list_ancestors(one)}
        way = set(self.history.list_ancestors(oid, stop=known)) - {oid, *before}
        for one in reversed([*self.history.commits]):
            if one in way and (every_commit or one in self.releases) and not self._can_tell(one):
                yield self._label(one)

    def _list_commit_changes(self, oid: str, before: list[str]) -> Iterator[CommitChange]:
        """Yield the commits up to a version at which the result changed, oldest first.

        The search begins at the versions before it.
        """
        known = {ancestor for one in before for ancestor in self.history.list_ancestors(one)}
        way = set(self.history.list_ancestors(oid, stop=known))
        readable = frozenset(one for one in {*way, *before} if self._can_tell(one))
        for commit in reversed([*self.history.commits]):
            if commit not in way or commit not in readable:
                continue
            parents = [*self._list_before(commit, readable)]
            old, new = (self._measure(parents[0]) if parents else None), self._measure(commit)
            if old and new and all(self._measure(parent) != new for parent in parents):
                yield CommitChange(self.store.commit(commit), old, new)

    def _list_before(self, oid: str, chosen: frozenset[str]) -> Iterator[str]:
        """Yield the nearest ancestors that are among the chosen versions."""
        waiting, seen = [*reversed(self.history.commits[oid])], set[str]()
        while waiting:
            parent = waiting.pop()
            if parent in seen or parent not in self.history.commits:
                continue
            seen.add(parent)
            if parent in chosen:
                yield parent
            else:
                waiting += reversed(self.history.commits[parent])

    def _find_last_good(self, chosen: list[str]) -> int | None:
        """Return the index of the last good version; None if the newest is good.

        If the newest fails and some version passed, those that pass are good; otherwise those with
        the highest score.
        """
        totals = [total for oid in chosen if (total := self._measure(oid))]
        if self.question is not None and not totals[-1].pass_rate:
            passed = [index for index, total in enumerate(totals) if total.pass_rate]
            if passed:
                return passed[-1]
        scores = [total.score or Fraction(0) for total in totals]
        last = max(index for index, score in enumerate(scores) if score == max(scores))
        return last if last < len(scores) - 1 else None

    def _can_tell(self, oid: str) -> bool:
        return self._measure(oid) is not None

    def _measure(self, oid: str) -> RunTotals | None:
        """Return the results of the outputs at a commit.

        Returns None if the commit's content is malformed, or a judge's reply is missing.
        """
        if oid not in self._by_commit:
            self._by_commit[oid] = self._grade(oid)
        return self._by_commit[oid]

    def _grade(self, oid: str) -> RunTotals | None:
        pin = self._label(oid)
        try:
            resolved = self.store.resolve(f"{self.name}@{pin}")
            if resolved.digest not in self._by_digest:
                results = self.grader.grade_under(resolved)
                asked = (
                    results if self.question is None else {self.question: results[self.question]}
                )
                self._by_digest[resolved.digest] = sum_results(asked)
        except EvalstoreError as error:
            self.notes.append(f"{self.name}@{pin} was skipped: {error.message}")
            return None
        totals = self._by_digest[resolved.digest]
        if totals.missing:
            outputs = count_noun(totals.missing, "output")
            self._lacking.append(
                f"{self.name}@{pin} was skipped, because it cannot grade {outputs}"
            )
            return None
        return totals

    def _label(self, oid: str) -> str:
        release = self.releases.get(oid)
        return str(release.version) if release else f"git:{oid}"


def _measure_rise(old: RunTotals, new: RunTotals) -> tuple[Fraction, Fraction]:
    zero = Fraction(0)
    return (new.score or zero) - (old.score or zero), (new.pass_rate or zero) - (
        old.pass_rate or zero
    )
