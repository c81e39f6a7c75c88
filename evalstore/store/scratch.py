"""Scratch repositories: they share the objects of a store, and only the user's own config chooses what runs there.

Where git has to run programs (signing, pushing), it runs there, because the repository's own config may be hostile.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from evalstore.errors import GitError
from evalstore.store.environment import USER
from evalstore.store.git import Git, run_git
from evalstore.store.git_config import ConfigSetting, find_global_settings

_FORMATS = {40: "sha1", 64: "sha256"}  # digits of an object's id
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}


@contextmanager
def open_scratch_repository(git: Git, hex_digits: int, settings: Iterable[ConfigSetting] = ()) -> Iterator[Git]:
    """Make an empty repository without hooks or refs, which reads and writes the objects of `git`'s repository.

    Its config holds what the user's global config has for the repository of `git` alone (`includeIf`), and `settings`.
    """
    common = git.find_common_directory()
    with tempfile.TemporaryDirectory(prefix="evalstore-") as folder:
        run_git(("init", "--quiet", "--bare", "--template=", f"--object-format={_FORMATS[hex_digits]}", "--", folder))
        # Without it git would look for the parents that a shallow clone lacks.
        with suppress(FileNotFoundError):
            shutil.copyfile(common / "shallow", Path(folder, "shallow"))
        scratch = git._replace(directory=Path(folder))
        # What the global config sets for every repository holds there anyhow.
        conditional = Counter(find_global_settings(git)) - Counter(find_global_settings(scratch))
        with Path(folder, "config").open("a", encoding="utf-8", errors="surrogateescape") as config:
            config.writelines(_format_setting(setting) for setting in (*conditional.elements(), *settings))
        variables = {**USER.variables, "GIT_OBJECT_DIRECTORY": str(common / "objects")}
        yield scratch._replace(environment=USER._replace(variables=variables))


def _format_setting(setting: ConfigSetting) -> str:
    section, _, rest = setting.key.partition(".")
    name, dot, variable = rest.rpartition(".")
    head = f'{section} "{_escape_value(name)}"' if dot else section
    return f'[{head}]\n\t{variable} = "{_escape_value(setting.value)}"\n'


def _escape_value(text: str) -> str:
    escaped = "".join(_ESCAPES.get(character, character) for character in text)
    if any(ord(character) < ord(" ") for character in escaped):
        raise GitError("git's config holds a control character, which is not handed on", hint="git config --list")
    return escaped
