"""Reads the branch that is checked out, on which a bump commits.

It reads the branch's index, hooks and signature.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evalstore.errors import RefusedError
from evalstore.release.transactions.locking import LockedRepository
from evalstore.store.repository.config import ConfigSetting, find_hooks_path
from evalstore.store.repository.git import NAME_ENCODING, Git
from evalstore.store.repository.index import (
    IndexState,
    describe_abort,
    find_unfinished,
    read_index,
    wait_for_index,
)
from evalstore.store.revisions import BRANCH_REFS, Head

_ROLES = ("AUTHOR", "COMMITTER")
VARIABLES = tuple(f"GIT_{role}_{part}" for role in _ROLES for part in ("NAME", "EMAIL", "DATE"))
_COMMIT_HOOKS = (
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "reference-transaction",
)
_PUSH_HOOKS = ("pre-push",)


@dataclass(frozen=True, slots=True)
class Checkout:
    """The branch that is checked out: its full ref name, commit and index.

    `tip` is None before the first commit.
    """

    branch: str
    tip: str | None
    index: IndexState

    @property
    def name(self) -> str:
        """The branch as people call it."""
        return self.branch.removeprefix(BRANCH_REFS)


def find_checkout(git: Git, head: Head) -> Checkout:
    """Return the branch that is checked out.

    Raises `RefusedError` during a merge or on a detached HEAD.
    """
    wait_for_index(git.directory)
    index = read_index(git)
    if unfinished := find_unfinished(git):
        what, abort = unfinished
        hint = describe_abort(git) or f"finish it, or {abort}; then run the bump again"
        raise RefusedError(f"{what} is still in progress", hint=hint)
    if index.conflict:
        raise RefusedError(
            f"{index.conflict} has an unresolved conflict",
            hint="resolve it, git add it, then run the bump again",
        )
    if head.branch is None:
        raise RefusedError(
            "HEAD is detached, so the release would be on no branch",
            hint="git switch to a branch, then run the bump again",
        )
    return Checkout(BRANCH_REFS + head.branch, head.commit, index)


def find_bypassed_hooks(
    repository: LockedRepository, config: Sequence[ConfigSetting], *, push: bool
) -> tuple[str, ...]:
    """Return the names of the user's hooks that git would have run: evalstore runs none."""
    configured = find_hooks_path(config)
    folder = repository.top / configured if configured else repository.git.common / "hooks"
    names = (*_COMMIT_HOOKS, *(_PUSH_HOOKS if push else ()))
    return tuple(
        name for name in names if (folder / name).is_file() and os.access(folder / name, os.X_OK)
    )


def complete_signature(
    config: Sequence[ConfigSetting], source: Mapping[str, str]
) -> dict[str, str]:
    """Return git's author and committer variables, from `source` or git's config.

    Dates may be missing. Raises `RefusedError` if a name or email is set nowhere: git would guess
    one.
    """
    settings = {
        key: value.encode(*NAME_ENCODING).decode("utf-8", "replace") for key, value in config
    }
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
            f"git has no user.{part} to sign the release with",
            hint=f'git config --global user.{part} "…", or set {variable}',
        )
    signature.setdefault(variable, value or "")
