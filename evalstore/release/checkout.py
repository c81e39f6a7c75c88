"""The branch that a release goes onto, and the states of a working tree in which there is none; reads only."""

from __future__ import annotations

from dataclasses import dataclass

from evalstore.errors import RefusedError
from evalstore.store.git import Git
from evalstore.store.index import find_unmerged, wait_for_index
from evalstore.store.revisions import BRANCH_REFS, find_refs

# A file of the git directory -> what is going on while it is there.
_UNFINISHED = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "sequencer": "a cherry-pick or a revert",
}


@dataclass(frozen=True, slots=True)
class Checkout:
    """The branch's full ref name and its commit, None before the first one."""

    branch: str
    tip: str | None

    @property
    def name(self) -> str:
        """The branch as people call it."""
        return self.branch.removeprefix(BRANCH_REFS)


def find_checkout(git: Git) -> Checkout:
    """Return the branch that is checked out; refuses while git is at work on something, and on a detached HEAD."""
    wait_for_index(git.directory)
    for file, what in _UNFINISHED.items():
        if (git.directory / file).exists():
            raise RefusedError(f"{what} is not finished", hint="finish it or abort it, then run the bump again")
    if conflict := find_unmerged(git):
        raise RefusedError(f"{conflict} has a conflict that is not resolved", hint="resolve it, git add it, then bump")
    name = find_branch(git)
    if name is None:
        raise RefusedError(
            "HEAD is detached, so no branch would hold the release", hint="git switch to a branch, then bump"
        )
    branch = BRANCH_REFS + name
    return Checkout(branch, find_refs(git, [branch]).get(branch))


def find_branch(git: Git) -> str | None:
    """Return the name of the branch that is checked out; None on a detached HEAD."""
    answer = git.run_or_none("symbolic-ref", "--quiet", "HEAD")
    branch = (answer or b"").decode("utf-8", "surrogateescape").strip()
    return branch.removeprefix(BRANCH_REFS) if branch.startswith(BRANCH_REFS) else None
