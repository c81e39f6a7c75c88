"""Which files are meant, and what each is called on every machine; folders are walked, links never followed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from evalstore.documents import Document
from evalstore.errors import LoadError, Place
from evalstore.files import read_below, read_named
from evalstore.migration.opened import SUFFIXES, parse_companion
from evalstore.migration.write import STAGE
from evalstore.runs.kept import came_from

_LIMIT = 64 << 20
_PASSED_BY = frozenset({".git", ".evalstore", STAGE})
_COPY = "this is the run that a migration has made of a source"
_LINK = "a link is followed only when it is named itself"


@dataclass(frozen=True, slots=True)
class LegacyFile:
    """A file to read: `name` is what artifacts and reports call it; `walked` if only its folder was named.

    One that is passed by has its reason in `aside`.
    """

    name: str
    root: Path
    below: str
    walked: bool
    aside: str = ""

    def read(self) -> bytes:
        """Return its bytes; a named file may be a link, a walked one never goes through any."""
        return read_below(self.root, self.below, _LIMIT) if self.walked else read_named(self.path, _LIMIT)

    @property
    def path(self) -> Path:
        """Where it lies."""
        return self.root / self.below

    def beside(self, path: str) -> Document | None:
        """Return the document of a file that this one names, with or without `file://`.

        A path is relative to this file; one that begins with / is relative to the folder that the user named. None
        outside of that folder, behind a link, for a URL, and where there is no file that can be read. A file whose
        ending says no format is a text.
        """
        below = _below(PurePosixPath(self.below).parent, path.removeprefix("file://"))
        try:
            return parse_companion(read_below(self.root, below, _LIMIT), _text(self._top / below)) if below else None
        except LoadError:
            return None

    @property
    def _top(self) -> PurePosixPath:
        return PurePosixPath(self.name).parents[len(PurePosixPath(self.below).parts) - 1]


def find_sources(paths: Iterable[Path], store: Path) -> list[LegacyFile]:
    """Return the files that `paths` mean, each once, by name; a link to pass by is no file that is named."""
    meant = sorted((one for path in paths for one in _found(path, store)), key=lambda one: one.walked, reverse=True)
    found = {_absolute(one.path): one for one in meant}
    names = {one.name for one in found.values()}
    copies = {name for name in names if came_from(name) in names - {name}}
    told = (replace(one, aside=_COPY) if one.walked and one.name in copies else one for one in found.values())
    return sorted(told, key=lambda one: one.name)


def _found(path: Path, store: Path) -> Iterator[LegacyFile]:
    if not path.is_dir():
        yield LegacyFile(_text(_name(path, store, folder=False)), path.parent, path.name, walked=False)
        return
    name = _name(path, store, folder=True)
    for below in _walk(path):
        aside = _LINK if (path / below).is_symlink() else ""
        yield LegacyFile(_text(name / below), path, below, walked=True, aside=aside)


def _walk(root: Path) -> Iterator[str]:
    """Yield what may be meant below a folder; one that cannot be listed stands for what lies in it."""
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(f"{root}/{folder}") as entries:
                found = list(entries)
        except OSError as error:
            if not folder:
                raise LoadError(f"cannot be listed: {error.strerror}", place=Place(str(root))) from None
            yield folder
            continue
        for entry in found:
            below = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir(follow_symlinks=False) and entry.name not in _PASSED_BY:
                waiting.append(below)
            elif _may_be_meant(entry):
                yield below


def _may_be_meant(entry: os.DirEntry[str]) -> bool:
    """Whether an entry of a folder is a file with a fitting name, or a link to one or to another folder."""
    named = PurePosixPath(entry.name).suffix.lower() in SUFFIXES
    return (named and entry.is_file()) or (entry.is_symlink() and entry.is_dir())


def _name(path: Path, store: Path, *, folder: bool) -> PurePosixPath:
    """Name a path from the store if it lies there, else as it was given; never from the root of the disk."""
    absolute, home = _absolute(path), _absolute(store)
    if absolute.is_relative_to(home):
        return PurePosixPath(absolute.relative_to(home).as_posix())
    if not path.is_absolute() and ".." not in path.parts:
        return PurePosixPath(path.as_posix())
    return PurePosixPath(*absolute.parts[1:][-1 if folder else -2 :])


def _below(folder: PurePosixPath, path: str) -> str | None:
    below = os.path.normpath(path.lstrip("/") if path.startswith("/") else folder / path)
    odd = "://" in path or "\0" in path or not path.strip("/")
    return None if odd or below == ".." or below.startswith("../") else below


def _absolute(path: Path) -> Path:
    return Path(os.path.normpath(path.absolute()))


def _text(name: PurePosixPath) -> str:
    return str(name).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
