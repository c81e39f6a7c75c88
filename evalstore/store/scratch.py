"""A repository of our own that borrows the objects of another: there only the user's own settings choose what runs."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from evalstore.errors import GitError
from evalstore.store.environment import USER
from evalstore.store.git import CommandError, Git, run_git
from evalstore.store.git_config import ConfigSetting, find_config

_FORMATS = {40: "sha1", 64: "sha256"}  # digits of an object's id
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}


@contextmanager
def open_scratch_repository(git: Git, hex_digits: int, settings: Iterable[ConfigSetting] = ()) -> Iterator[Git]:
    """Make an empty repository without hooks or refs; objects are read from, and written to, those of `git`.

    Its config is what the user's global one says of the repository of `git` in particular (includeIf), and `settings`.
    """
    common = git.find_common_directory()
    with tempfile.TemporaryDirectory(prefix="evalstore-") as folder:
        run_git(("init", "--quiet", "--bare", "--template=", f"--object-format={_FORMATS[hex_digits]}", "--", folder))
        with suppress(FileNotFoundError):  # where a shallow clone's history ends
            shutil.copyfile(common / "shallow", Path(folder, "shallow"))
        own = replace(git, directory=Path(folder))
        # What holds of every repository is read from the global config as it stands.
        particular = Counter(_global(git)) - Counter(_global(own))
        with Path(folder, "config").open("a", encoding="utf-8", errors="surrogateescape") as config:
            config.writelines(_line(setting) for setting in (*particular.elements(), *settings))
        door = replace(USER, environment={**USER.environment, "GIT_OBJECT_DIRECTORY": str(common / "objects")})
        yield replace(own, environment=door)


def _global(git: Git) -> list[ConfigSetting]:
    try:
        return find_config(git, "--global", "--list")
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
