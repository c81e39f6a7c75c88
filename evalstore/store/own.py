"""A repository of our own that borrows the objects of another: there only the user's own settings choose what runs."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from evalstore.store.doors import OWN
from evalstore.store.git import Git, call

_FORMATS = {40: "sha1", 64: "sha256"}  # digits of an object's id


@contextmanager
def own_repository(git: Git, hex_digits: int) -> Iterator[Git]:
    """Make an empty repository without config, hooks or refs; objects are read from, and written to, those of `git`."""
    common = git.common()
    with tempfile.TemporaryDirectory(prefix="evalstore-") as folder:
        call(("init", "--quiet", "--bare", "--template=", f"--object-format={_FORMATS[hex_digits]}", "--", folder))
        with suppress(FileNotFoundError):  # where a shallow clone's history ends
            shutil.copyfile(common / "shallow", Path(folder, "shallow"))
        door = replace(OWN, environment={**OWN.environment, "GIT_OBJECT_DIRECTORY": str(common / "objects")})
        yield replace(git, directory=Path(folder), door=door)
