"""Makes an empty separate repository, in which git signs and pushes."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from evalstore.errors import GitError
from evalstore.store.repository.config import ConfigSetting, find_global_settings
from evalstore.store.repository.environment import USER
from evalstore.store.repository.git import Git, run_git

FORMATS = {40: "sha1", 64: "sha256"}  # digits of an object's id
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}


def init_like(common: Path, folder: Path, hex_digits: int, *, is_bare: bool) -> Path:
    """Make an empty repository without hooks, as shallow as that of `common`.

    Returns its git directory.
    """
    kind = ("--bare",) if is_bare else ()
    format_ = f"--object-format={FORMATS[hex_digits]}"
    run_git(("init", "--quiet", *kind, "--template=", format_, "--", os.fspath(folder)))
    directory = folder if is_bare else folder / ".git"
    # Without it git would look for the parents that a shallow clone lacks.
    with suppress(FileNotFoundError):
        shutil.copyfile(common / "shallow", directory / "shallow")
    return directory


@contextmanager
def open_scratch_repository(
    git: Git, hex_digits: int, settings: Iterable[ConfigSetting] = ()
) -> Iterator[Git]:
    """Make an empty repository without hooks or refs; it shares the objects of `git`'s.

    Its config has only `settings`, and what the user's global config has just for the repository of
    `git` (`includeIf`).
    """
    common = git.common
    with tempfile.TemporaryDirectory(prefix="evalstore-") as folder:
        init_like(common, Path(folder), hex_digits, is_bare=True)
        scratch = git._replace(directory=Path(folder), common=Path(folder))
        # What the global config sets for every repository applies there anyway.
        conditional = Counter(find_global_settings(git)) - Counter(find_global_settings(scratch))
        with Path(folder, "config").open("a", encoding="utf-8", errors="surrogateescape") as config:
            config.writelines(
                _format_setting(setting) for setting in (*conditional.elements(), *settings)
            )
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
        raise GitError(
            "git's config contains a control character, which evalstore does not pass on",
            hint="git config --list",
        )
    return escaped
