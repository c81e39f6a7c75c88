"""How changes were judged at a base: by the settings of the last releases, or of one commit that people reviewed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from evalstore.diff import ComparisonSettings, Profile
from evalstore.model import Finding
from evalstore.status.acceptances import ChangePolicy, read_change_policy_at, read_settings_at
from evalstore.status.loosening import find_loosenings, make_loosening_finding
from evalstore.store import ArtifactStore, Release
from evalstore.store.settings import read_settings

_SHOWN = 12  # characters of a commit


@dataclass(slots=True)
class BasePolicies:
    """How changes are judged: by the settings of a base as well as by today's (`now`), of which the stricter count.

    The base is `commit` with its acceptances; without one it is the last release of each artifact, and acceptances are
    today's: an entry names one change and is of no other, so that no release can have it. Locks are today's.
    """

    store: ArtifactStore
    now: ChangePolicy
    commit: str | None = None
    profile: Profile | None = None
    _by_commit: dict[str, ChangePolicy] = field(default_factory=dict)
    _names: dict[str, str] = field(default_factory=dict)

    def list_policies(self, base: Release) -> Sequence[ChangePolicy]:
        """Return the policies that judge a change since a release: today's, and the base's where it is another."""
        commit = self.commit or base.commit
        if commit not in self._by_commit:
            self._by_commit[commit] = self._read_policy(commit)
            self._names[commit] = self.commit[:_SHOWN] if self.commit else f"{base.name}@{base.version}"
        policy = self._by_commit[commit]
        return [self.now] if policy == self.now else [self.now, policy]

    def keep_known(self, releases: Sequence[Release]) -> Sequence[Release]:
        """Return the releases that the base has seen: what a ledger lists since then is part of the change."""
        if self.commit is None or not releases:
            return releases
        name = releases[0].name
        then, now = self.store.ledgers.read_at(self.commit, name), self.store.ledgers.read(name)
        fresh = now.by_version.keys() - then.by_version.keys()
        return [release for release in releases if str(release.version) not in fresh]

    def find_loosenings(self) -> Iterator[Finding]:
        """Yield what evalstore.yaml lets through and the bases that were asked for did not; each setting once."""
        bases = dict.fromkeys([*([self.commit] if self.commit else []), *self._by_commit])
        document = read_settings(
            self.store.repository, self.store.objects, root=self.store.root, prefix=self.store.prefix
        )
        seen: set[Any] = set()
        for commit in bases:
            old: Mapping[str, Any] = read_settings_at(self.store, commit)
            for loosening in find_loosenings(old, self.store.settings):
                if (known := (loosening.pointer, loosening.now)) not in seen:
                    seen.add(known)
                    yield make_loosening_finding(loosening, document, self._names.get(commit, commit[:_SHOWN]))

    def _read_policy(self, commit: str) -> ChangePolicy:
        policy = read_change_policy_at(self.store, commit, self.now.today, self.profile)
        settings: ComparisonSettings = replace(policy.settings, locked=self.now.settings.locked)
        acceptances = policy.acceptances if self.commit else self.now.acceptances
        return replace(policy, settings=settings, acceptances=acceptances)
