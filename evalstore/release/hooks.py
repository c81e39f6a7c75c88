"""The hooks of the user's own repository that git would have run, so that it can be said that none did."""

from __future__ import annotations

import os
from pathlib import Path

from evalstore.store.git import USER_CONFIG
from evalstore.transactions.locking import LockedRepository

_COMMIT = ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "reference-transaction")
_PUSH = ("pre-push",)


def find_bypassed_hooks(repository: LockedRepository, *, push: bool) -> tuple[str, ...]:
    """Return the names of the hooks that are there and can run."""
    configured = _find_hooks_path(repository)
    folder = repository.top / configured if configured else repository.common / "hooks"
    return tuple(name for name in (*_COMMIT, *(_PUSH if push else ())) if _is_executable(folder / name))


def _find_hooks_path(repository: LockedRepository) -> str:
    words = ("config", "--includes", "--null", "--type=path", "--get-all", "core.hooksPath")
    answers = os.fsdecode(repository.git.run(*words, env=USER_CONFIG)).split("\0")[:-1]
    return next(reversed(answers[:-1]), "")  # the last is our own, which sends git to no hook at all


def _is_executable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
