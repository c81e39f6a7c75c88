"""Says which branch of a clone has a release, and asks git once for each commit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from evalstore.store import ArtifactStore, Release
from evalstore.store.revisions import find_branch_with, list_branches


@dataclass(slots=True)
class BranchFinder:
    """The branches of a store's repository, local and remote, as they are now."""

    store: ArtifactStore
    _by_commit: dict[str, str | None] = field(default_factory=dict)
    _tips: Mapping[str, str] | None = None

    def find_branch(self, release: Release) -> str | None:
        """Return a branch with the commit of a release; else one whose ledger lists it.

        A squash and a rebase leave the tag where it was, and take the ledger's line along.
        """
        commit = release.commit
        if commit not in self._by_commit:
            self._by_commit[commit] = find_branch_with(self.store.git, commit)
        return self._by_commit[commit] or self._find_listing(release)

    def _find_listing(self, release: Release) -> str | None:
        if self._tips is None:
            self._tips = list_branches(self.store.git)
        version, read_at = str(release.version), self.store.ledgers.read_at
        return next(
            (
                branch
                for branch, tip in self._tips.items()
                if version in read_at(tip, release.name).by_version
            ),
            None,
        )
