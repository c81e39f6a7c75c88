"""Compares the version of every release with what its change needs.

The settings and acceptances of its time count.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from datetime import date
from itertools import chain
from typing import TYPE_CHECKING

from evalstore.errors import EvalstoreError, Place
from evalstore.model import Finding
from evalstore.release.changes.base_store import BaseStore
from evalstore.release.changes.version_choice import find_free_version
from evalstore.release.integrity_rules import make_finding
from evalstore.release.records.release_tags import ReleaseTag
from evalstore.store import ArtifactStore, Resolved
from evalstore.store.artifacts import find_rows_blob
from evalstore.store.resolve import resolve_release
from evalstore.store.revisions import list_merged_tags
from evalstore.store.tags import TAG_REFS
from evalstore.versions import Bump, Version, bump_version, compute_bump

if TYPE_CHECKING:
    from evalstore.diff import Diff
    from evalstore.release.changes.acceptances import Acceptance, ChangePolicy

_SHOWN = 3  # rules in a message
_KEPT = 3  # releases: one and those that it is compared with, but not a whole store


class BumpChecker:
    """Compares the version of a release with what changed since earlier ones.

    Releases are checked in the order of `releases`, each artifact's ascending. An unsound one has
    other content than was released: it is neither judged nor used to judge others. What was
    released since a base is judged by its settings and acceptances, on the day `today`; everything
    else by those of its time.
    """

    def __init__(
        self,
        store: ArtifactStore,
        tags: Iterable[ReleaseTag],
        base: BaseStore | None = None,
        today: date | None = None,
    ) -> None:
        """Order all releases of a store."""
        groups: defaultdict[str, list[ReleaseTag]] = defaultdict(list)
        for tag in tags:
            groups[tag.ref.name].append(tag)
        for group in groups.values():
            group.sort(key=lambda tag: tag.version)
        self._groups = dict(sorted(groups.items()))
        # The final release before each one: however many are unsound, stepping over them costs one
        # step.
        pairs = chain.from_iterable(map(_pair_with_finals, self._groups.values()))
        self._earlier = {tag.name: last for tag, last in pairs}
        self._store, self._base, self._today = store, base, today
        self._unsound: set[str] = set()
        # By commit: most share the policy of another one, which has the same blobs.
        self._policies: dict[str, ChangePolicy] = {}
        self._policy_blobs: dict[str, tuple[str | None, ...]] = {}
        self._known_policies: dict[tuple[str | None, ...], ChangePolicy] = {}
        self._now: tuple[Acceptance, ...] | None = None
        self._resolved: dict[
            str, Resolved
        ] = {}  # the last few: each is the new one once, and then the old one

    @property
    def releases(self) -> Iterator[ReleaseTag]:
        """Yield all releases by artifact, ascending."""
        return chain.from_iterable(self._groups.values())

    def expect(self, tags: Iterable[ReleaseTag]) -> None:
        """Announce which releases will be checked, in this order.

        git then reads them, and those before them, ahead.
        """
        wanted = ((self._find_last_final(tag) or tag, tag) for tag in tags)
        self._store.prefetch.expect((one.name, one.ref.path) for pair in wanted for one in pair)

    def mark_unsound(self, tag: ReleaseTag) -> None:
        """Exclude a release because its content is not what was released."""
        self._unsound.add(tag.name)
        self._find_last_final(tag)

    def check(self, tag: ReleaseTag, new: Resolved) -> Iterator[Finding]:
        """Yield a finding if a release is too low for what changed, or rests on lowered levels.

        A major version is high enough for anything and is not compared.
        """
        self._keep(tag, new)
        if self._earlier[tag.name] is None:
            self._earlier[tag.name] = self._find_former(tag, new.artifact.former_name)
        last = self._find_last_final(tag)
        # A pre-release says what its final version will say.
        version = tag.version.final
        if last is None or compute_bump(last.version, version) is Bump.MAJOR:
            return
        try:
            base, diff = self._compare_with_last(tag, new)
            if diff and diff.required_bump > compute_bump(base.version, version):
                base, diff = self._compare_with_ancestor(tag, new, base) or (base, diff)
        except EvalstoreError as error:
            yield make_finding(
                "release-bump-unknown",
                Place(TAG_REFS + tag.name),
                ref=tag.ref,
                message=error.message,
            )
            return
        if diff is not None:
            known = [one.version for one in self._groups[tag.ref.name]]
            yield from _judge_step(tag, base, diff, known)

    def _find_former(self, tag: ReleaseTag, former: str) -> ReleaseTag | None:
        """Return the final release of the former id that the new id continues.

        The first release under the new id is `tag`.
        """
        earlier = (
            one for one in reversed(self._groups.get(former, ())) if not one.version.prerelease
        )
        return next((one for one in earlier if one.version < tag.version), None)

    def _list_finals(self, tag: ReleaseTag) -> Iterator[ReleaseTag]:
        """Yield the sound releases before this one that are not pre-releases, latest first."""
        last = self._find_last_final(tag)
        while last:
            yield last
            last = self._find_last_final(last)

    def _find_last_final(self, tag: ReleaseTag) -> ReleaseTag | None:
        """Return the last sound final release before this one, and remember it.

        A final release is one that is not a pre-release.
        """
        last = self._earlier[tag.name]
        while last and last.name in self._unsound:
            last = self._earlier[last.name]
        self._earlier[tag.name] = last
        return last

    def _resolve(self, tag: ReleaseTag) -> Resolved:
        if tag.name not in self._resolved:
            self._keep(tag, resolve_release(self._store, tag.ref, tag.version))
        return self._resolved[tag.name]

    def _keep(self, tag: ReleaseTag, resolved: Resolved) -> None:
        if len(self._resolved) >= _KEPT:
            del self._resolved[next(iter(self._resolved))]
        self._resolved[tag.name] = resolved

    def _compare_with_last(self, tag: ReleaseTag, new: Resolved) -> tuple[ReleaseTag, Diff | None]:
        """Compare with the last release that can be read."""
        for base in self._list_finals(tag):
            try:
                old = self._resolve(base)
            except EvalstoreError:
                self.mark_unsound(base)
                continue
            return base, self._compare_pair(old, new, compute_bump(base.version, tag.version.final))
        return tag, None

    def _compare_with_ancestor(
        self, tag: ReleaseTag, new: Resolved, last: ReleaseTag
    ) -> tuple[ReleaseTag, Diff | None] | None:
        """Compare with the last release in the history of `new` that it directly follows.

        Returns None if that is `last`, which it has been compared with, or if there is none. So a
        bump counts on a branch that has not seen the others; any other number was written by hand.
        """
        bases = list(self._list_followed(tag))
        # If it can follow no other one, the history has nothing to add.
        if not new.commit or all(base is last for base, _ in bases):
            return None
        # One question for all: a line of hotfixes may have thousands.
        pattern = f"{TAG_REFS}{self._store.tag_prefix}{bases[0][0].ref.name}@*"
        merged = list_merged_tags(self._store.git, new.commit, pattern)
        base, said = next((one for one in bases if one[0].name in merged), (last, Bump.NONE))
        return None if base is last else (base, self._compare_pair(self._resolve(base), new, said))

    def _list_followed(self, tag: ReleaseTag) -> Iterator[tuple[ReleaseTag, Bump]]:
        """Yield the releases directly followed by a version, with the step."""
        for base in self._list_finals(tag):
            said = compute_bump(base.version, tag.version.final)
            # Where it does not follow one release, it follows none of those before that.
            if bump_version(base.version, said) != tag.version.final:
                return
            yield base, said

    def _compare_pair(self, old: Resolved, new: Resolved, said: Bump) -> Diff | None:
        """Return what changed.

        Returns None if that needs a patch at most, and the version allows as much.
        """
        has_same_rows = self._find_rows(old) == self._find_rows(new)
        if has_same_rows and old.digest == new.digest:
            return None
        policy = self._find_policy(new)
        # Most patches change words for people, which need no comparison unless somebody has set
        # their level.
        has_opinions = policy.settings.overrides or any(
            one.artifact == new.name for one in policy.acceptances
        )
        if (
            said
            and has_same_rows
            and not has_opinions
            and old.artifact.functional_digest == new.artifact.functional_digest
        ):
            return None
        from evalstore.diff import Detail
        from evalstore.release.changes.comparison import compare_versions

        return compare_versions(self._store, old, new, policy, detail=Detail.LEVELS)

    def _find_rows(self, resolved: Resolved) -> str | None:
        return find_rows_blob(self._store, resolved.artifact, resolved.commit)

    def _find_policy(self, new: Resolved) -> ChangePolicy:
        """Return how changes were judged when a release was made.

        What was accepted later, in review, counts too.
        """
        if self._base and self._is_of_change(self._base, new):
            return replace(self._read_policy(self._base.commit), today=self._today)
        commit = new.commit or ""
        if commit not in self._policies:
            day = self._store.commit(commit).date[:10]
            self._policies[commit] = replace(
                self._read_policy(commit), today=date.fromisoformat(day) if day else None
            )
        return self._policies[commit]

    def _is_of_change(self, base: BaseStore, new: Resolved) -> bool:
        """Whether a release came after the base, by the ledger of the change.

        A release on another branch did not.
        """
        if base.releases.has(new.name, new.version, new.tag or ""):
            return False
        return new.version in self._store.ledgers.read(new.name).by_version

    def _read_policy(self, commit: str) -> ChangePolicy:
        from evalstore.release.changes.acceptances import (
            find_policy_blobs,
            read_acceptances,
            read_change_policy_at,
        )

        if commit not in self._policy_blobs:
            # For all releases that were read ahead at once: each commit has a separate tree.
            several = {commit, *self._store.prefetch.commits.values()} - self._policy_blobs.keys()
            self._policy_blobs |= find_policy_blobs(self._store, several)
        blobs = self._policy_blobs.get(commit, ())
        if blobs not in self._known_policies:  # () for a commit that cannot be read, which raises
            policy = read_change_policy_at(self._store, commit, None)
            if self._now is None:
                base = self._base and read_change_policy_at(self._store, self._base.commit, None)
                self._now = base.acceptances if base else read_acceptances(self._store)
            self._known_policies[blobs] = replace(
                policy, acceptances=(*self._now, *policy.acceptances)
            )
        return self._known_policies[blobs]


def _pair_with_finals(
    group: Iterable[ReleaseTag],
) -> Iterator[tuple[ReleaseTag, ReleaseTag | None]]:
    """Pair each of some ascending releases with the last final one before it.

    A final release is one that is not a pre-release.
    """
    last: ReleaseTag | None = None
    for tag in group:
        yield tag, last
        last = last if tag.version.prerelease else tag


def _judge_step(
    tag: ReleaseTag, base: ReleaseTag, diff: Diff, known: Collection[Version]
) -> Iterator[Finding]:
    said, needed = compute_bump(base.version, tag.version.final), diff.required_bump
    facts = {"ref": str(tag.ref), "base": str(base.ref), "said": str(said), "needed": str(needed)}
    if needed > said:
        names = dict.fromkeys(finding.rule for finding in diff.findings if finding.level is needed)
        next_version = find_free_version(base.version, needed, known)
        yield make_finding(
            "release-bump-too-small",
            Place(TAG_REFS + tag.name),
            **facts,
            rules=_join_some(names),
            next=next_version,
        )
    lowered = dict.fromkeys(finding.lowered for finding in diff.findings if finding.lowered)
    if lowered:
        yield make_finding(
            "release-bump-lowered", Place(TAG_REFS + tag.name), **facts, what=_join_some(lowered)
        )


def _join_some(words: Collection[str]) -> str:
    more = f" and {len(words) - _SHOWN} more" if len(words) > _SHOWN else ""
    return ", ".join(list(words)[:_SHOWN]) + more
