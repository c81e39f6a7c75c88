"""The hooks of the user's own repository that git would have run, so that it can be said that none did."""

from __future__ import annotations

import os
from pathlib import Path

from evalstore.release.site import Site
from evalstore.store.git import OWN_CONFIG, CommandError

_COMMIT = ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "reference-transaction")
_PUSH = ("pre-push",)


def find_hooks(site: Site, *, push: bool) -> tuple[str, ...]:
    """Return the names of the hooks that are there and can run."""
    folder = site.top / _configured(site) if _configured(site) else site.common / "hooks"
    return tuple(name for name in (*_COMMIT, *(_PUSH if push else ())) if _runs(folder / name))


def _configured(site: Site) -> str:
    try:
        answer = site.git.run("config", "--includes", "--type=path", "--get", "core.hooksPath", env=OWN_CONFIG)
    except CommandError:
        return ""
    return os.fsdecode(answer).removesuffix("\n")


def _runs(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
