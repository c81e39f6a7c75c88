"""Asks `git config` for settings, the user's own among them; they are data, and choose nothing that evalstore runs."""

from __future__ import annotations

import os
from typing import NamedTuple

from evalstore.store.git import USER_CONFIG, CommandError, Git

_TRUE = frozenset({"true", "yes", "on", "1", "input"})  # values of core.autocrlf that convert on commit


class ConfigSetting(NamedTuple):
    """One setting of git's config; its key is a section, perhaps a name (which may contain dots), and a variable."""

    key: str
    value: str


def find_remote_settings(git: Git) -> list[ConfigSetting]:
    """Return the settings of remotes, and of the branches that are pushed to them."""
    return _find_settings(git, "--get-regexp", r"^(branch|remote)\.")


def find_extra_headers(git: Git) -> list[ConfigSetting]:
    """Return the HTTP headers in the repository's own config: a build server hands its token to a clone in one."""
    return _find_settings(git, "--local", "--get-regexp", r"^http\..+\.extraheader$")


def find_global_settings(git: Git) -> list[ConfigSetting]:
    """Return the settings of the user's global config; none when there is no such file."""
    try:
        return _find_settings(git, "--global", "--list")
    except CommandError as failure:
        if "unable to read config file" in failure.stderr:  # there is none
            return []
        raise


def find_identity(git: Git) -> dict[str, str]:
    """Return the names and addresses of `user`, `author` and `committer`, by key in lower case."""
    out = _read_config(git, "--get-regexp", r"^(user|author|committer)\.(name|email)$")
    pairs = (line.partition("\n")[::2] for line in out.decode("utf-8", "replace").split("\0") if line)
    return {key.lower(): value for key, value in pairs}


def find_hooks_path(git: Git) -> str:
    """Return the folder of hooks that the user or the repository has configured; empty when there is none."""
    out = git.run("config", "--includes", "--null", "--type=path", "--get-all", "core.hooksPath", env=USER_CONFIG)
    paths = os.fsdecode(out).split("\0")[:-1]
    return next(reversed(paths[:-1]), "")  # the last is ours, which sends git to no hook at all


def is_autocrlf_on(git: Git) -> bool:
    """Whether core.autocrlf has git commit CRLF as LF."""
    settings = _find_settings(git, "--get-regexp", r"^core\.autocrlf$")
    return bool(settings) and settings[-1].value.lower() in _TRUE


def _find_settings(git: Git, *options: str) -> list[ConfigSetting]:
    out = _read_config(git, *options).decode("utf-8", "surrogateescape")
    pairs = (line.partition("\n") for line in out.split("\0") if line)
    # A key without `=` is a bool that is true (git-config(1)).
    return [ConfigSetting(key, value if separator else "true") for key, separator, value in pairs]


def _read_config(git: Git, *options: str) -> bytes:
    try:
        return git.run("config", "--includes", "--null", *options, env=USER_CONFIG)
    except CommandError as failure:
        if failure.status == 1:  # no setting matches
            return b""
        raise
