"""Reads git's config, both the user's and the repository's."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from typing import NamedTuple

from evalstore.store.repository.git import NAME_ENCODING, USER_CONFIG, CommandError, Git

# Values of core.autocrlf that convert on commit.
_TRUE = frozenset({"true", "yes", "on", "1", "input"})


class ConfigSetting(NamedTuple):
    """One setting in git's config.

    Its key is a section, perhaps a name (which may contain dots), and a variable.
    """

    key: str
    value: str


def read_config(git: Git) -> list[ConfigSetting]:
    """Return all settings of user and repository, each before what overrides it, ours last.

    Section and variable of a key are in lower case.
    """
    return _find_settings(git, "--list")


def find_remote(git: Git) -> tuple[str, str]:
    """Return the remote that releases come from ("" if none), and its name for `git fetch`.

    That name is "" if the only remote is origin, git's default.
    """
    keys = (
        key for key, _ in read_config(git) if key.startswith("remote.") and key.endswith(".url")
    )
    names = dict.fromkeys(key.removeprefix("remote.").removesuffix(".url") for key in keys)
    name = next((name for name in ("upstream", "origin", *names) if name in names), "")
    return name, "" if [*names] in ([], ["origin"]) else f"{shlex.quote(name)} "


def find_extra_headers(git: Git) -> list[ConfigSetting]:
    """Return the HTTP headers in the repository's own config: build servers pass tokens in them."""
    return _find_settings(git, "--local", "--get-regexp", r"^http\..+\.extraheader$")


def find_global_settings(git: Git) -> list[ConfigSetting]:
    """Return the settings in the user's global config; none if there is no such file."""
    try:
        return _find_settings(git, "--global", "--list")
    except CommandError as failure:
        if "unable to read config file" in failure.stderr:  # there is none
            return []
        raise


def find_hooks_path(config: Iterable[ConfigSetting]) -> str:
    """Return the configured folder of hooks; empty if there is none."""
    paths = [setting.value for setting in config if setting.key == "core.hookspath"]
    # The last is ours, which disables all hooks. Path's method raises if there is no such user.
    return os.path.expanduser(next(reversed(paths[:-1]), ""))  # noqa: PTH111


def is_autocrlf_on(git: Git) -> bool:
    """Whether core.autocrlf has git commit CRLF as LF."""
    values = [setting.value for setting in read_config(git) if setting.key == "core.autocrlf"]
    return bool(values) and values[-1].lower() in _TRUE


def has_merge_driver(git: Git) -> bool:
    """Whether this clone has evalstore configured as a merge driver."""
    return any(setting.key == "merge.evalstore.driver" for setting in read_config(git))


def _find_settings(git: Git, *options: str) -> list[ConfigSetting]:
    try:
        out = git.run("config", "--includes", "--null", *options, env=USER_CONFIG).decode(
            *NAME_ENCODING
        )
    except CommandError as failure:
        if failure.status == 1:  # no setting matches
            return []
        raise
    pairs = (line.partition("\n") for line in out.split("\0") if line)
    # A key without `=` is a bool that is true (git-config(1)).
    return [ConfigSetting(key, value if separator else "true") for key, separator, value in pairs]
