"""Holds the version of every release against what its change needs, by the settings and acceptances of its time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from evalstore.errors import EvalstoreError, Place
from evalstore.model import Finding
from evalstore.release.integrity_rules import make_finding
from evalstore.release.release_tags import ReleaseTag
from evalstore.store import ArtifactStore, Resolved
from evalstore.store.artifacts import find_rows_blob
from evalstore.store.resolve import expect_releases, resolve_release
from evalstore.store.revisions import is_ancestor
from evalstore.store.tags import TAG_REFS
from evalstore.versions import Bump, Version, bump_version, compute_bump

if TYPE_CHECKING:
    from evalstore.diff import Diff
    from evalstore.release.acceptances import ChangePolicy

_SHOWN = 3  # rules in a message


def check_bumps(
    store: ArtifactStore, tags: Iterable[ReleaseTag], is_wanted: Callable[[ReleaseTag], bool], unsound: Collection[str]
) -> Iterator[Finding]:
    """Yield the releases whose version says less than what changed since the release before them.

    `tags` are all releases of the store; those named in `unsound` have other content than was released, so that they
    are neither judged nor what others are judged by. A major version says enough for anything and is not compared.
    """
    groups: defaultdict[str, list[ReleaseTag]] = defaultdict(list)
    for tag in tags:
        if tag.name not in unsound:
            groups[tag.ref.name].append(tag)
    several = (group for _, group in sorted(groups.items()) if len(group) > 1)
    ascending = (sorted(group, key=lambda tag: tag.version) for group in several)
    steps = [step for group in ascending for step in _list_steps(group)]
    steps = [step for step in steps if is_wanted(step.tag) and step.said is not Bump.MAJOR]
    expect_releases(store, dict.fromkeys(ref for step in steps for ref in (step.finals[-1].ref, step.tag.ref)))
    checker = _BumpChecker(store)
    for step in steps:
        yield from checker.check_step(step)


class _TagStep(NamedTuple):
    """A release, the final ones before it (at least one), and the version that it says, or will when it is final."""

    tag: ReleaseTag
    finals: Sequence[ReleaseTag]
    version: Version

    @property
    def said(self) -> Bump:
        """The bump that the version says it is."""
        return compute_bump(self.finals[-1].version, self.version)


def _list_steps(group: Iterable[ReleaseTag]) -> Iterator[_TagStep]:
    finals: list[ReleaseTag] = []
    for tag in group:
        if finals:
            # A pre-release says what its final version will say.
            yield _TagStep(tag, tuple(finals), tag.version.final)
        if not tag.version.prerelease:
            finals.append(tag)


@dataclass(slots=True)
class _BumpChecker:
    """Compares releases with those before them; how a commit judged changes is read once."""

    store: ArtifactStore
    _policies: dict[str, ChangePolicy] = field(default_factory=dict)

    def check_step(self, step: _TagStep) -> Iterator[Finding]:
        """Yield a finding where a release says too little for what changed, or rests on lowered levels."""
        tag, finals, version = step
        try:
            new = resolve_release(self.store, tag.ref, tag.version)
        except EvalstoreError:  # `check_release` reports it
            return
        try:
            base, diff = self._compare_with_last(new, finals)
            if diff and diff.required_bump > compute_bump(base.version, version):
                base, diff = self._compare_with_ancestor(new, version, finals, known=(base, diff)) or (base, diff)
        except EvalstoreError as error:
            yield make_finding("release-bump-unknown", Place(TAG_REFS + tag.name), ref=tag.ref, message=error.message)
            return
        if diff is not None:
            yield from _judge_step(tag, base, version, diff)

    def _compare_with_last(self, new: Resolved, finals: Sequence[ReleaseTag]) -> tuple[ReleaseTag, Diff | None]:
        """Compare with the last release that can be read."""
        for base in reversed(finals):
            try:
                old = resolve_release(self.store, base.ref, base.version)
            except EvalstoreError:
                continue
            return base, self._compare_pair(old, new)
        return finals[-1], None

    def _compare_with_ancestor(
        self,
        new: Resolved,
        version: Version,
        finals: Sequence[ReleaseTag],
        known: tuple[ReleaseTag, Diff | None],
    ) -> tuple[ReleaseTag, Diff | None] | None:
        """Compare with the last release in the history of `new`, where `version` is the next one after that.

        `known` is a release that is compared already, and how `new` differs from it.

        So a bump counts on a branch that has not seen the others; any other number is one that a hand wrote.
        """
        for base in reversed(finals):
            old = resolve_release(self.store, base.ref, base.version)
            if old.commit and new.commit and is_ancestor(self.store.git, old.commit, new.commit):
                steps = {bump_version(base.version, bump) for bump in (Bump.MAJOR, Bump.MINOR, Bump.PATCH)}
                if version not in steps:
                    return None
                return known if base is known[0] else (base, self._compare_pair(old, new))
        return None

    def _compare_pair(self, old: Resolved, new: Resolved) -> Diff | None:
        if old.digest == new.digest and self._find_rows(old) == self._find_rows(new):
            return None
        from evalstore.diff import Detail
        from evalstore.release.comparison import compare_versions

        return compare_versions(self.store, old, new, self._read_policy(new.commit or ""), detail=Detail.LEVELS)

    def _find_rows(self, resolved: Resolved) -> str | None:
        return find_rows_blob(self.store, resolved.artifact, resolved.commit)

    def _read_policy(self, commit: str) -> ChangePolicy:
        """Return how changes were judged when a commit was made; what was accepted later, in review, counts too."""
        from evalstore.release.acceptances import read_acceptances, read_change_policy_at

        if commit not in self._policies:
            day = self.store.commit(commit).date[:10]
            policy = read_change_policy_at(self.store, commit, date.fromisoformat(day) if day else None)
            accepted = (*read_acceptances(self.store), *policy.acceptances)
            self._policies[commit] = replace(policy, acceptances=accepted)
        return self._policies[commit]


def _judge_step(tag: ReleaseTag, base: ReleaseTag, version: Version, diff: Diff) -> Iterator[Finding]:
    said, needed = compute_bump(base.version, version), diff.required_bump
    facts = {"ref": str(tag.ref), "base": str(base.ref), "said": str(said), "needed": str(needed)}
    if needed > said:
        names = dict.fromkeys(finding.rule for finding in diff.findings if finding.level is needed)
        next_version = bump_version(base.version, needed)
        yield make_finding(
            "release-bump-too-small", Place(TAG_REFS + tag.name), **facts, rules=_join_some(names), next=next_version
        )
    lowered = dict.fromkeys(finding.lowered for finding in diff.findings if finding.lowered)
    if lowered:
        yield make_finding("release-bump-lowered", Place(TAG_REFS + tag.name), **facts, what=_join_some(lowered))


def _join_some(words: Collection[str]) -> str:
    more = f" and {len(words) - _SHOWN} more" if len(words) > _SHOWN else ""
    return ", ".join(list(words)[:_SHOWN]) + more
