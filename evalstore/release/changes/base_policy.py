"""Judges by the settings of an earlier commit.

It also finds what the store's own settings allow that they did not then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from evalstore.diff import ComparisonSettings, Profile
from evalstore.model import Finding, Findings, Severity
from evalstore.release.changes.acceptances import (
    ChangePolicy,
    read_change_policy_at,
    read_settings_at,
)
from evalstore.release.changes.base_store import BaseReleases
from evalstore.release.changes.loosenings import find_loosenings, make_loosening_finding
from evalstore.store import ArtifactStore, Release
from evalstore.store.revisions import resolve_revision
from evalstore.text import SHORT_DIGEST

_SEVERITIES = list(Severity)


@dataclass(slots=True)
class BasePolicies:
    """How changes are judged: by a base's settings and by today's (`now`); the stricter counts.

    The base is `commit` with its acceptances. Without one, it is the last release of each artifact,
    and acceptances are today's: an entry names one change and belongs to no other, so no release
    can contain it. Locks are today's.
    """

    store: ArtifactStore
    now: ChangePolicy
    commit: str | None = None
    profile: Profile | None = None
    _by_commit: dict[str, ChangePolicy] = field(default_factory=dict)
    _names: dict[str, str] = field(default_factory=dict)
    _known: BaseReleases | None = None

    def list_policies(self, base: Release) -> Sequence[ChangePolicy]:
        """Return the policies that judge a change since a release.

        They are today's, and the base's if that differs.
        """
        commit = self.commit or base.commit
        if commit not in self._by_commit:
            self._by_commit[commit] = self._read_policy(commit)
            self._names[commit] = (
                self.commit[:SHORT_DIGEST] if self.commit else f"{base.name}@{base.version}"
            )
        policy = self._by_commit[commit]
        return [self.now] if policy == self.now else [self.now, policy]

    def keep_known(self, releases: Sequence[Release]) -> Sequence[Release]:
        """Return the releases that had reached the base.

        Every other one is part of the change, wherever it is.
        """
        if self.commit is None:
            return releases
        if self._known is None:
            self._known = BaseReleases(self.store, self.commit)
        return [one for one in releases if self._known.has(one.name, str(one.version), one.tag)]

    def find_loosenings(self) -> Iterator[Finding]:
        """Yield what evalstore.yaml allows and the bases asked about did not.

        Each setting is yielded once.
        """
        bases = dict.fromkeys([*([self.commit] if self.commit else []), *self._by_commit])
        yield from find_loosening_findings(
            self.store, {one: self._names.get(one, one[:SHORT_DIGEST]) for one in bases}
        )

    def _read_policy(self, commit: str) -> ChangePolicy:
        policy = read_change_policy_at(self.store, commit, self.now.today, self.profile)
        settings: ComparisonSettings = replace(policy.settings, locked=self.now.settings.locked)
        acceptances = policy.acceptances if self.commit else self.now.acceptances
        return replace(policy, settings=settings, acceptances=acceptances)


def find_loosening_findings(store: ArtifactStore, bases: Mapping[str, str]) -> Iterator[Finding]:
    """Yield what evalstore.yaml allows and some earlier commits did not.

    `bases` are the commits with their names. Each setting is yielded once.
    """
    document = store.read_settings()
    seen: set[Any] = set()
    for commit, name in bases.items():
        for loosening in find_loosenings(read_settings_at(store, commit), store.settings):
            if (known := (loosening.pointer, loosening.now)) not in seen:
                seen.add(known)
                yield make_loosening_finding(loosening, document, name)


def judge_by_base(
    store: ArtifactStore,
    base: str,
    found: Findings,
    validate_by: Callable[[Mapping[str, Any]], Findings],
) -> Findings:
    """Return findings at the higher of two levels: by today's settings, or by a revision's.

    They include whatever the settings have allowed since then. `validate_by` returns the findings
    under other settings.
    """
    commit = resolve_revision(store.git, store.objects, base)
    settings = read_settings_at(store, commit)
    if settings == store.settings:
        return found
    loosened = find_loosening_findings(store, {commit: commit[:SHORT_DIGEST]})
    then = validate_by(settings)
    highest: dict[Finding, Finding] = {}
    for finding in (*then.findings, *found.findings):
        # Errors first: a finding in both is kept at the more severe level.
        at = replace(finding, severity=Severity.ERROR)
        if at not in highest or _SEVERITIES.index(finding.severity) < _SEVERITIES.index(
            highest[at].severity
        ):
            highest[at] = finding
    off = tuple(pair for pair in found.off if pair[0] in dict(then.off))
    return replace(found, findings=(*loosened, *highest.values()), off=off)
