"""The log of an artifact: what each release changed, by rule.

It also says since which release the scores are comparable.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from evalstore.diff import Diff
from evalstore.errors import EvalstoreError
from evalstore.model import Ref, parse_ref
from evalstore.release.changes.acceptances import ChangePolicy, read_rules_policy
from evalstore.release.changes.comparison import compare_versions
from evalstore.release.dependencies.references import read_references
from evalstore.store import ArtifactStore, Resolved
from evalstore.store.lineage import list_former_names
from evalstore.store.listing import ReleaseHistory, ReleaseSummary, read_history
from evalstore.versions import Bump, Version

COMPARED_LIMIT = 30  # releases, each against the one before: half a second for an ordinary rubric


@dataclass(frozen=True, slots=True)
class ReleaseLogEntry:
    """One release against `before`, the readable one before it.

    `before` is None for the first release, or if nothing was compared. `before_name` is its name: a
    former one of the artifact if it was renamed in between. `rules` say how often each found
    something at which level, and `required` is the bump for all, by the rules alone, whatever was
    overridden or accepted. `problem` says why a release cannot be read. `since` is the earliest
    release whose scores are comparable, None if unknown; with `open`, an earlier one might be, too.
    `diff` is the whole comparison if something changed.
    """

    logged: ReleaseSummary
    before: Version | None = None
    before_name: str = ""
    required: Bump | None = None
    rules: tuple[tuple[str, Bump, int], ...] = ()
    problem: str | None = None
    since: Version | None = None
    open: bool = False
    diff: Diff | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class ReleaseLog:
    """The releases of one artifact, newest first, including those from before it was renamed.

    `skipped` were not compared, because of their number or because nobody asked; `floating` are
    references without an exact version, of the newest or of what it refers to, under which scores
    can move without a release. `untagged` were released, and their tags are not in this clone;
    `note` says what that means.
    """

    name: str
    releases: tuple[ReleaseLogEntry, ...]
    skipped: int = 0
    floating: tuple[str, ...] = ()
    untagged: tuple[Version, ...] = ()
    note: str = ""


def read_release_log(
    store: ArtifactStore, ref: Ref, *, limit: int | None = COMPARED_LIMIT
) -> ReleaseLog:
    """Return the releases that a reference covers, newest first.

    The newest `limit` (None: all) are compared with those before them. A release that cannot be
    read says so, and is skipped. Raises `RefError` if there are none.
    """
    history = read_history(store, ref)
    line = _list_line(store, ref.name)
    if limit == 0:
        shown = history.releases if ref.pin else line
        entries = tuple(map(ReleaseLogEntry, shown))
        return ReleaseLog(history.name, entries, len(shown), (), *_list_absent(history))
    wanted = {summary.tag for summary in history.releases}
    indexes = [index for index, summary in enumerate(line) if not ref.pin or summary.tag in wanted]
    comparer = _ReleaseComparer(store, line, read_rules_policy(store))
    comparer.compare_steps(indexes, limit)
    skipped = sum(
        index not in comparer.steps and index not in comparer.problems for index in indexes
    )
    return ReleaseLog(
        history.name,
        tuple(comparer.list_entries(indexes)),
        skipped,
        tuple(comparer.list_floating(indexes[0])),
        *_list_absent(history),
    )


def _list_absent(history: ReleaseHistory) -> tuple[tuple[Version, ...], str]:
    return history.untagged, history.describe_untagged()


def _list_line(store: ArtifactStore, name: str) -> list[ReleaseSummary]:
    """Return the releases of an artifact, newest first.

    They are followed by those that it had before it was renamed.
    """
    line = [*read_history(store, parse_ref(name)).releases]
    for former in list_former_names(store, name):
        first = line[-1].version
        line += [
            one for one in read_history(store, parse_ref(former)).releases if one.version < first
        ]
    return line


class _LogStep(NamedTuple):
    """The index of the previous release, and what changed since.

    `before` is None for the first release, `diff` if nothing changed.
    """

    before: int | None
    diff: Diff | None

    @property
    def is_major(self) -> bool:
        return self.diff is not None and self.diff.required_bump is Bump.MAJOR


@dataclass(slots=True)
class _ReleaseComparer:
    """Compares the releases of an artifact, newest first.

    Results are by the index of a release in that order.
    """

    store: ArtifactStore
    releases: Sequence[ReleaseSummary]
    policy: ChangePolicy
    steps: dict[int, _LogStep] = field(default_factory=dict)
    problems: dict[int, str] = field(default_factory=dict)
    _resolved: dict[int, Resolved] = field(default_factory=dict)

    def compare_steps(self, indexes: Sequence[int], limit: int | None) -> None:
        """Compare the releases at `indexes`, and older ones until a score could move.

        At most `limit` are compared in total.
        """
        end = len(self.releases) if limit is None else min(indexes[0] + limit, len(self.releases))
        for index in range(indexes[0], end):
            try:
                self.steps[index] = step = self._compare_with_previous(index)
            except EvalstoreError as error:
                self.problems[index] = str(error)
            else:
                # Beyond the requested ones only until it is known whether the oldest of them is
                # comparable.
                if index >= indexes[-1] and (step.is_major or step.before is None):
                    return

    def list_entries(self, indexes: Sequence[int]) -> Iterator[ReleaseLogEntry]:
        """Yield the entries at `indexes`, with the results of comparing."""
        for index in indexes:
            entry = ReleaseLogEntry(self.releases[index], problem=self.problems.get(index))
            if step := self.steps.get(index):
                since = self._find_comparable(index)
                entry = replace(
                    entry,
                    since=self.releases[since].version,
                    open=self._is_open(since),
                    **_summarize_step(step),
                )
                if step.before is not None:
                    before = self.releases[step.before]
                    entry = replace(entry, before=before.version, before_name=before.name)
            yield entry

    def list_floating(self, index: int) -> Iterator[str]:
        """Yield the floating references of a release, and those of everything that it refers to."""
        waiting = [resolved] if (resolved := self._resolved.get(index)) else []
        seen: set[str] = set()
        while waiting:
            user = waiting.pop(0)
            for reference in read_references(self.store, user, user.ref).references:
                ref = str(reference.ref)
                if not reference.scores or ref in seen:
                    continue
                seen.add(ref)
                if reference.ref.is_floating:
                    yield ref if user is resolved else f"{ref} in {user.ref}"
                # What cannot be resolved is reported by validate and verify.
                with suppress(EvalstoreError):
                    waiting.append(self.store.resolve(ref))

    def _find_comparable(self, index: int) -> int:
        """Return the index of the earliest release since which no score could move.

        Unknown steps end the search.
        """
        while (step := self.steps.get(index)) and step.before is not None and not step.is_major:
            index = step.before
        return index

    def _is_open(self, since: int) -> bool:
        """Whether an older release might be comparable, too.

        Such a release was not compared, and no score may have moved since.
        """
        step = self.steps.get(since)
        earlier = range(since + 1, len(self.releases))
        return not (step and step.is_major) and any(
            self._precedes(before, since) for before in earlier
        )

    def _compare_with_previous(self, index: int) -> _LogStep:
        new = self._resolve_release(index)
        # A release that cannot be read is skipped: the one before it is compared instead.
        for before in self._list_earlier(index):
            if self._precedes(before, index):
                try:
                    old = self._resolve_release(before)
                except EvalstoreError as error:
                    self.problems[before] = str(error)
                else:
                    return _LogStep(before, self._compare_pair(old, new))
        return _LogStep(None, None)

    def _list_earlier(self, index: int) -> list[int]:
        """Return the older releases, beginning with the one that this was made from.

        A fix of an old line may come between them.
        """
        previous = self.releases[index].previous
        earlier = range(index + 1, len(self.releases))
        return sorted(
            earlier, key=lambda before: (str(self.releases[before].version) != previous, before)
        )

    def _precedes(self, before: int, index: int) -> bool:
        """Whether one release is what another is measured against.

        A pre-release is that for pre-releases only.
        """
        return bool(
            self.releases[index].version.prerelease or not self.releases[before].version.prerelease
        )

    def _resolve_release(self, index: int) -> Resolved:
        if index not in self._resolved:
            release = self.releases[index]
            self._resolved[index] = self.store.resolve(f"{release.name}@{release.version}")
        return self._resolved[index]

    def _compare_pair(self, old: Resolved, new: Resolved) -> Diff | None:
        diff = compare_versions(self.store, old, new, self.policy)
        return diff if diff.findings else None


def _summarize_step(step: _LogStep) -> dict[str, Any]:
    if step.diff is None:
        return {"required": None if step.before is None else Bump.NONE}
    resolved = Counter((finding.rule, finding.level) for finding in step.diff.findings)
    ordered = sorted(resolved.items(), key=lambda summary: (-summary[0][1].rank, summary[0][0]))
    rules = tuple((*key, count) for key, count in ordered)
    return {"required": step.diff.required_bump, "rules": rules, "diff": step.diff}
