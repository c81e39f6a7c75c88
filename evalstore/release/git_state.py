"""What a release reads of the user's own git: the branch, who signs, and the hooks that will not run; reads only."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evalstore.errors import RefusedError
from evalstore.store.git import Git
from evalstore.store.git_config import find_hooks_path, find_identity
from evalstore.store.index import find_unmerged, wait_for_index
from evalstore.store.revisions import BRANCH_REFS, find_head_ref, find_refs
from evalstore.transactions.locking import LockedRepository

_ROLES = ("AUTHOR", "COMMITTER")
VARIABLES = tuple(f"GIT_{role}_{part}" for role in _ROLES for part in ("NAME", "EMAIL", "DATE"))
_COMMIT_HOOKS = ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "reference-transaction")
_PUSH_HOOKS = ("pre-push",)
# A file of the git directory -> what is going on while it exists.
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
    """The branch that is checked out: its full ref name, and its commit (None before the first one)."""

    branch: str
    tip: str | None

    @property
    def name(self) -> str:
        """The branch as people call it."""
        return self.branch.removeprefix(BRANCH_REFS)


def find_checkout(git: Git) -> Checkout:
    """Return the branch that is checked out; `RefusedError` during a merge or the like, and on a detached HEAD."""
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
    ref = find_head_ref(git)
    return ref.removeprefix(BRANCH_REFS) if ref and ref.startswith(BRANCH_REFS) else None


def find_bypassed_hooks(repository: LockedRepository, *, push: bool) -> tuple[str, ...]:
    """Return the names of the user's hooks that git would have run: evalstore runs none."""
    configured = find_hooks_path(repository.git)
    folder = repository.top / configured if configured else repository.common / "hooks"
    return tuple(name for name in (*_COMMIT_HOOKS, *(_PUSH_HOOKS if push else ())) if _is_executable(folder / name))


def _is_executable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def complete_signature(git: Git, source: Mapping[str, str]) -> dict[str, str]:
    """Return git's GIT_AUTHOR_* and GIT_COMMITTER_* variables, from `source` or the settings; dates may be missing.

    Raises `RefusedError` where a name or an email is set nowhere: git would guess one.
    """
    # evalstore's git reads no settings of the user, so the identity is asked for by itself.
    settings = find_identity(git)
    signature = {name: source[name] for name in VARIABLES if source.get(name)}
    for role in _ROLES:
        for part in ("name", "email"):
            value = settings.get(f"{role.lower()}.{part}") or settings.get(f"user.{part}")
            _fill_variable(signature, f"GIT_{role}_{part.upper()}", value)
    return signature


def _fill_variable(signature: dict[str, str], variable: str, value: str | None) -> None:
    if variable not in signature and not value:
        part = variable.rpartition("_")[2].lower()
        raise RefusedError(
            f"there is nobody to sign the release: git knows no user.{part}",
            hint=f'git config --global user.{part} "…", or set {variable}',
        )
    signature.setdefault(variable, value or "")
