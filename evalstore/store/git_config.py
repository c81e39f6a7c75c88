"""TODO: one sentence."""

from __future__ import annotations

from typing import NamedTuple

from evalstore.store.git import USER_CONFIG, CommandError, Git


class ConfigSetting(NamedTuple):
    """A line of git's config; its key has a section, perhaps a name with dots, and a variable."""

    key: str
    value: str


def find_config(git: Git, *words: str) -> list[ConfigSetting]:
    """Return the settings that `git config` finds by `words`, in its order; the user's own are among them."""
    try:
        out = git.run("config", "--includes", "--null", *words, env=USER_CONFIG)
    except CommandError as failure:
        if failure.status == 1:
            return []
        raise
    pairs = (line.partition("\n") for line in out.decode("utf-8", "surrogateescape").split("\0") if line)
    return [ConfigSetting(key, value if stated else "true") for key, stated, value in pairs]
