"""A repository of our own that borrows the objects of another: there only the user's own settings choose what runs."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from evalstore.errors import GitError
from evalstore.store.doors import OWN
from evalstore.store.git import Git, call

_FORMATS = {40: "sha1", 64: "sha256"}  # digits of an object's id


@contextmanager
def own_repository(git: Git, hex_digits: int, headers: Mapping[str, str] | None = None) -> Iterator[Git]:
    """Make an empty repository without hooks or refs; objects are read from, and written to, those of `git`.

    Of all that a config can say, `headers` alone are taken over: what is sent with requests, by address.
    """
    common = git.common()
    with tempfile.TemporaryDirectory(prefix="evalstore-") as folder:
        call(("init", "--quiet", "--bare", "--template=", f"--object-format={_FORMATS[hex_digits]}", "--", folder))
        with suppress(FileNotFoundError):  # where a shallow clone's history ends
            shutil.copyfile(common / "shallow", Path(folder, "shallow"))
        with Path(folder, "config").open("a", encoding="utf-8", errors="surrogateescape") as config:
            config.writelines(_header(*pair) for pair in (headers or {}).items())
        door = replace(OWN, environment={**OWN.environment, "GIT_OBJECT_DIRECTORY": str(common / "objects")})
        yield replace(git, directory=Path(folder), door=door)


def _header(address: str, header: str) -> str:
    return f'[http "{_escaped(address)}"]\n\textraHeader = "{_escaped(header)}"\n'


def _escaped(text: str) -> str:
    if not text.isprintable():
        raise GitError("a header in the repository's config holds what cannot be sent", hint="look at .git/config")
    return text.replace("\\", "\\\\").replace('"', '\\"')
