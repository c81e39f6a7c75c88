"""Who signs a release: git's own variables where they are set, else the user's settings, as git itself would choose."""

from __future__ import annotations

from collections.abc import Mapping

from evalstore.errors import RefusedError
from evalstore.store.git import USER_CONFIG, CommandError, Git

ROLES = ("AUTHOR", "COMMITTER")
VARIABLES = tuple(f"GIT_{role}_{part}" for role in ROLES for part in ("NAME", "EMAIL", "DATE"))
_SETTINGS = r"^(user|author|committer)\.(name|email)$"


def complete_signature(git: Git, given: Mapping[str, str]) -> dict[str, str]:
    """Return git's GIT_AUTHOR_* and GIT_COMMITTER_* variables, complete but for the dates; refuses to guess a name."""
    # git reads nobody's settings behind our door, so the one thing needed of them is asked for by itself.
    settings = _read_identity_settings(git)
    signed = {name: given[name] for name in VARIABLES if given.get(name)}
    for role in ROLES:
        for part in ("name", "email"):
            value = settings.get(f"{role.lower()}.{part}") or settings.get(f"user.{part}")
            _fill_variable(signed, f"GIT_{role}_{part.upper()}", value)
    return signed


def _fill_variable(signed: dict[str, str], variable: str, value: str | None) -> None:
    if variable not in signed and not value:
        part = variable.rpartition("_")[2].lower()
        raise RefusedError(
            f"there is nobody to sign the release: git knows no user.{part}",
            hint=f'git config --global user.{part} "…", or set {variable}',
        )
    signed.setdefault(variable, value or "")


def _read_identity_settings(git: Git) -> dict[str, str]:
    try:
        out = git.run("config", "--includes", "--null", "--get-regexp", _SETTINGS, env=USER_CONFIG)
    except CommandError as failure:
        if failure.status == 1:
            return {}
        raise
    pairs = (line.partition("\n")[::2] for line in out.decode("utf-8", "replace").split("\0") if line)
    return {key.lower(): value for key, value in pairs}
