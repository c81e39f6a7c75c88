"""A repository of our own that borrows the objects of another: there only the user's own settings choose what runs."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from evalstore.errors import GitError
from evalstore.store.doors import OWN
from evalstore.store.git import OWN_CONFIG, CommandError, Git, call

_FORMATS = {40: "sha1", 64: "sha256"}  # digits of an object's id
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}


class ConfigSetting(NamedTuple):
    """A line of git's config; its key has a section, perhaps a name with dots, and a variable."""

    key: str
    value: str


@contextmanager
def own_repository(git: Git, hex_digits: int, settings: Iterable[ConfigSetting] = ()) -> Iterator[Git]:
    """Make an empty repository without hooks or refs; objects are read from, and written to, those of `git`.

    Its config is what the user's global one says of the repository of `git` in particular (includeIf), and `settings`.
    """
    common = git.common()
    with tempfile.TemporaryDirectory(prefix="evalstore-") as folder:
        call(("init", "--quiet", "--bare", "--template=", f"--object-format={_FORMATS[hex_digits]}", "--", folder))
        with suppress(FileNotFoundError):  # where a shallow clone's history ends
            shutil.copyfile(common / "shallow", Path(folder, "shallow"))
        own = replace(git, directory=Path(folder))
        # What holds of every repository is read from the global config as it stands.
        particular = Counter(_global(git)) - Counter(_global(own))
        with Path(folder, "config").open("a", encoding="utf-8", errors="surrogateescape") as config:
            config.writelines(_line(setting) for setting in (*particular.elements(), *settings))
        door = replace(OWN, environment={**OWN.environment, "GIT_OBJECT_DIRECTORY": str(common / "objects")})
        yield replace(own, door=door)


def find_settings(git: Git, *words: str) -> list[ConfigSetting]:
    """Return the settings that `git config` finds by `words`, in its order; the user's own are among them."""
    try:
        out = git.run("config", "--includes", "--null", *words, env=OWN_CONFIG)
    except CommandError as failure:
        if failure.status == 1:
            return []
        raise
    pairs = (line.partition("\n") for line in out.decode("utf-8", "surrogateescape").split("\0") if line)
    return [ConfigSetting(key, value if stated else "true") for key, stated, value in pairs]


def _global(git: Git) -> list[ConfigSetting]:
    try:
        return find_settings(git, "--global", "--list")
    except CommandError as failure:
        if "unable to read config file" in failure.stderr:  # there is none
            return []
        raise


def _line(setting: ConfigSetting) -> str:
    section, _, rest = setting.key.partition(".")
    name, dot, variable = rest.rpartition(".")
    head = f'{section} "{_escaped(name)}"' if dot else section
    return f'[{head}]\n\t{variable} = "{_escaped(setting.value)}"\n'


def _escaped(text: str) -> str:
    escaped = "".join(_ESCAPES.get(character, character) for character in text)
    if any(ord(character) < ord(" ") for character in escaped):
        raise GitError("git's config holds a control character, which is not handed on", hint="git config --list")
    return escaped
