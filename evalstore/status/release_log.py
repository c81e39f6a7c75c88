"""What each release of an artifact changed, by rule, and since which release its scores are comparable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from evalstore.diff import ComparisonSettings, Diff, compare
from evalstore.errors import EvalstoreError
from evalstore.model import Ref, parse_ref
from evalstore.references.reading import read_references
from evalstore.status.acceptances import read_base_settings
from evalstore.store import ArtifactStore, Resolved
from evalstore.store.listing import ReleaseRecord, read_history
from evalstore.versions import Bump, Version

COMPARED_LIMIT = 30  # releases, each with the one before it: half a second of an ordinary rubric


@dataclass(frozen=True, slots=True)
class ReleaseLogEntry:
    """One release against `before`, the readable one before it (None for the first, or where nothing was compared).

    `rules` say how often each found something at which level, and `required` is the bump for all, by the rules alone,
    whatever was overridden or accepted. `problem` says why a release cannot be read. `since` is the earliest release
    whose scores are comparable, None where that is not known; with `open` an earlier one might be, too.
    """

    logged: ReleaseRecord
    before: Version | None = None
    required: Bump | None = None
    rules: tuple[tuple[str, Bump, int], ...] = ()
    problem: str | None = None
    since: Version | None = None
    open: bool = False


@dataclass(frozen=True, slots=True)
class ReleaseLog:
    """The releases of one artifact, newest first.

    `skipped` were not compared, because of their number or because nobody asked; `floating` are references of the
    newest without an exact version, under which scores can move without a release.
    """

    name: str
    releases: tuple[ReleaseLogEntry, ...]
    skipped: int = 0
    floating: tuple[str, ...] = ()


def read_release_log(store: ArtifactStore, ref: Ref, *, limit: int | None = COMPARED_LIMIT) -> ReleaseLog:
    """Return the releases that a reference covers, the newest `limit` compared with those before them (None: all).

    A release that cannot be read says so, and is passed over. Raises `RefError` when there are none.
    """
    covered = read_history(store, ref)
    if limit == 0:
        return ReleaseLog(covered.name, tuple(map(ReleaseLogEntry, covered.releases)), len(covered.releases))
    every = read_history(store, parse_ref(ref.name)).releases if ref.pin else covered.releases
    wanted = {entry.version for entry in covered.releases}
    places = [place for place, entry in enumerate(every) if entry.version in wanted]
    line = _ReleaseLine(store, covered.name, every, read_base_settings(store).without_opinions)
    line.compare_steps(places, limit)
    skipped = sum(place not in line.steps and place not in line.problems for place in places)
    return ReleaseLog(covered.name, tuple(line.list_entries(places)), skipped, tuple(line.list_floating(places[0])))


class _LogStep(NamedTuple):
    """The place of the release before (None: this is the first), and what changed (None: nothing)."""

    before: int | None
    diff: Diff | None

    @property
    def moves(self) -> bool:
        return self.diff is not None and self.diff.required_bump is Bump.MAJOR


@dataclass(slots=True)
class _ReleaseLine:
    """All releases of an artifact, newest first, and what is known of each by its place in that line."""

    store: ArtifactStore
    name: str
    releases: Sequence[ReleaseRecord]
    terms: ComparisonSettings
    steps: dict[int, _LogStep] = field(default_factory=dict)
    problems: dict[int, str] = field(default_factory=dict)
    _read: dict[int, Resolved] = field(default_factory=dict)

    def compare_steps(self, places: Sequence[int], limit: int | None) -> None:
        """Compare releases with those before them, and go on until a score could move."""
        end = len(self.releases) if limit is None else min(places[0] + limit, len(self.releases))
        for place in range(places[0], end):
            try:
                self.steps[place] = step = self._compare_with_previous(place)
            except EvalstoreError as error:
                self.problems[place] = str(error)
            else:
                if place >= places[-1] and (step.moves or step.before is None):
                    return

    def list_entries(self, places: Sequence[int]) -> Iterator[ReleaseLogEntry]:
        """Yield releases as far as they were compared."""
        for place in places:
            entry = ReleaseLogEntry(self.releases[place], problem=self.problems.get(place))
            if step := self.steps.get(place):
                since = self._find_comparable(place)
                entry = replace(
                    entry, since=self.releases[since].version, open=self._is_open(since), **_summarize_step(step)
                )
                if step.before is not None:
                    entry = replace(entry, before=self.releases[step.before].version)
            yield entry

    def list_floating(self, place: int) -> Iterator[str]:
        """Yield what a release refers to without an exact version."""
        if found := self._read.get(place):
            references = read_references(self.store, found, found.ref).references
            yield from (
                str(reference.ref) for reference in references if reference.ref.is_floating and reference.scores
            )

    def _find_comparable(self, place: int) -> int:
        """Return the place of the earliest release since which no score could move; unknown steps end the search."""
        while (step := self.steps.get(place)) and step.before is not None and not step.moves:
            place = step.before
        return place

    def _is_open(self, since: int) -> bool:
        """Whether there are releases before one of which nobody knows if a score could move."""
        step = self.steps.get(since)
        earlier = range(since + 1, len(self.releases))
        return not (step and step.moves) and any(self._precedes(before, since) for before in earlier)

    def _compare_with_previous(self, place: int) -> _LogStep:
        new = self._resolve_place(place)
        for before in range(place + 1, len(self.releases)):
            if self._precedes(before, place):
                try:
                    old = self._resolve_place(before)
                except EvalstoreError as error:
                    self.problems[before] = str(error)
                else:
                    return _LogStep(before, self._compare_pair(old, new))
        return _LogStep(None, None)

    def _precedes(self, before: int, place: int) -> bool:
        """Whether one release is what another is measured by: a pre-release is that for pre-releases only."""
        return bool(self.releases[place].version.prerelease or not self.releases[before].version.prerelease)

    def _resolve_place(self, place: int) -> Resolved:
        if place not in self._read:
            self._read[place] = self.store.resolve(f"{self.name}@{self.releases[place].version}")
        return self._read[place]

    def _compare_pair(self, old: Resolved, new: Resolved) -> Diff | None:
        beside = "rows" in {*old.artifact.value, *new.artifact.value}
        if old.digest == new.digest and not beside:
            return None
        rows = (self.store.read_rows(old), self.store.read_rows(new)) if beside else None
        return compare(old.artifact, new.artifact, load=self.store.load, rows=rows, settings=self.terms)


def _summarize_step(step: _LogStep) -> dict[str, Any]:
    if step.diff is None:
        return {"required": None if step.before is None else Bump.NONE}
    found = Counter((finding.rule, finding.level) for finding in step.diff.findings)
    ordered = sorted(found.items(), key=lambda entry: (-entry[0][1].rank, entry[0][0]))
    return {"required": step.diff.required_bump, "rules": tuple((*key, count) for key, count in ordered)}
