"""Finds the files to migrate, with the same names on every machine.

It walks folders, and follows no links.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from evalstore.documents import Document
from evalstore.errors import LoadError, Place
from evalstore.files import LARGE_FILE, read_below, read_user_file
from evalstore.migration.javascript.globs import has_pattern, list_matches
from evalstore.migration.legacy_files import SUFFIXES, parse_companion
from evalstore.migration.staging import STAGE
from evalstore.runs.run_names import STORED_PATH, decode_path
from evalstore.store.file_history import was_committed
from evalstore.store.locate import find_top

# Folders of a store or of version control.
_OWN_FOLDERS = frozenset({".git", ".hg", ".jj", ".svn", ".evalstore", STAGE})
# What a package manager installs: git ignores it, so nobody expects it to be searched. A `vendor`
# folder is committed.
_INSTALLED_FOLDERS = frozenset(
    {"node_modules", "bower_components", ".venv", "venv", ".tox", ".nox", "site-packages"}
)
_INSTALLED = "a folder of installed packages is not searched; name it to search it"
_MOST_COMPANIONS = 50  # files per pattern: enough to tell what they are
_COPY = "this is the run that a migration has made of a source"
_LINK = "a link is followed only when it is named itself"


@dataclass(frozen=True, slots=True)
class LegacyFile:
    """A file to read: `name` is its path in reports; `in_folder` if the user named only its folder.

    A file with a `skip_reason` is not read.
    """

    name: str
    root: Path
    relative_path: str
    in_folder: bool
    skip_reason: str = ""

    def read(self) -> bytes:
        """Return its bytes; a file that the user named may be a link, one in a folder may not."""
        if self.in_folder:
            return read_below(self.root, self.relative_path, LARGE_FILE)
        return read_user_file(self.path, LARGE_FILE)

    @property
    def path(self) -> Path:
        """Its path on disk."""
        return self.root / self.relative_path

    def list_companions(self, path: str) -> list[str]:
        """Return the files that a pattern names, in the order of npm's `glob`.

        Their paths are relative to this one. Any other path is returned itself.
        """
        below = self._resolve_below(path) if has_pattern(path) else None
        if below is None:
            return [path]
        found = list_matches(PurePosixPath(below).as_posix(), self._list_folder)
        folder = PurePosixPath(self.relative_path).parent
        names = (os.path.relpath(file, folder) for file in found[:_MOST_COMPANIONS])
        return [PurePosixPath(name).as_posix() for name in names]

    def _list_folder(self, folder: str) -> list[tuple[str, bool]]:
        """Return the names in a folder below the root, each with whether it is one; no link is."""
        try:
            with os.scandir(self.root / folder) as entries:
                return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        except OSError:
            return []

    def read_companion(self, path: str) -> Document | None:
        """Return a companion file's document by the path, with or without `file://`, in this file.

        A path is relative to this file; one that begins with / is relative to the folder that the
        user named. None outside that folder, through a link, for a URL, and if no file can be read.
        A file whose extension names no format is read as text.
        """
        with suppress(LoadError):
            if below := self._resolve_below(path):
                return parse_companion(
                    read_below(self.root, below, LARGE_FILE), _to_text(self._top / below)
                )
        return None

    def name_companion(self, path: str) -> str:
        """Return the name under which the companion file at a path would be a source.

        It is empty for a file outside.
        """
        below = self._resolve_below(path)
        return _to_text(self._top / below) if below else ""

    @property
    def _top(self) -> PurePosixPath:
        return PurePosixPath(self.name).parents[len(PurePosixPath(self.relative_path).parts) - 1]

    def _resolve_below(self, path: str) -> str | None:
        """Return a path in this file as one below the root; None outside it, and for a URL."""
        path = path.removeprefix("file://")
        folder = PurePosixPath(self.relative_path).parent
        # Normalised before the check, so that `a/../../b` cannot leave the folder.
        below = os.path.normpath(path.lstrip("/") if path.startswith("/") else folder / path)
        is_foreign = "://" in path or "\0" in path or not path.strip("/")
        return None if is_foreign or below == ".." or below.startswith("../") else below


def find_sources(paths: Iterable[Path], store: Path) -> list[LegacyFile]:
    """Return the files in `paths`, once each, by name.

    A file that is also named itself counts as named.
    """
    found = (file for path in paths for file in _list_files(path, store))
    files = sorted(found, key=lambda file: file.in_folder, reverse=True)
    # Named files come last and replace the same file found in a folder.
    by_path = {_make_absolute(file.path): file for file in files}
    counts = Counter(file.name for file in by_path.values())
    # Files of several repositories may have the same name: only then the folder of the repository
    # comes first.
    for path, file in by_path.items():
        if counts[file.name] > 1 and (top := _find_top(file.path.parent, store)):
            by_path[path] = replace(file, name=f"{_to_text(PurePosixPath(top.name))}/{file.name}")
    names = {file.name for file in by_path.values()}
    files = [_mark_copy(file, names) for file in by_path.values()]
    return sorted(files, key=lambda file: file.name)


def _mark_copy(file: LegacyFile, names: Collection[str]) -> LegacyFile:
    """Return a file, marked as skipped if it is a stored run of another source.

    It is below `runs/`, and its original is a source, too.
    """
    if not file.in_folder or not STORED_PATH.fullmatch(file.name):
        return file
    original = decode_path(file.name)
    is_copy = original != file.name and original in names
    return replace(file, skip_reason=_COPY) if is_copy else file


def find_gone(paths: Iterable[Path], store: Path) -> Callable[[str], bool]:
    """Return whether a recorded file near one of `paths` no longer exists.

    It was below one of them, or next to one. In a repository outside the store, the history must
    have had the file: another repository may have one of that name.
    """
    home = _make_absolute(store)
    plain: list[tuple[PurePosixPath, Path]] = []
    tops: list[tuple[PurePosixPath, Path]] = []
    for path in paths:
        folder = path if path.is_dir() else path.parent
        name = _make_name(folder, store, folder=True)
        if top := _find_top(folder, store):
            tops.append((name, top))
        # Outside the store and git, a name without a folder does not say where it was.
        elif name.parts or _make_absolute(folder).is_relative_to(home):
            plain.append((name, folder))

    def is_gone(file: str) -> bool:
        below = [(name, folder) for name, folder in plain if _is_below(file, name)]
        if below:
            places = (folder / PurePosixPath(file).relative_to(name) for name, folder in below)
            return not any(map(os.path.lexists, places))
        # The name of the clone's folder may be in front.
        forms = [form for form in (file, file.partition("/")[2]) if form]
        found = [(top, form) for name, top in tops for form in forms if _is_below(form, name)]
        if any(os.path.lexists(top / form) for top, form in found):
            return False
        return any(was_committed(top, form) for top, form in found)

    return is_gone


def find_missing(paths: Iterable[Path], store: Path) -> Callable[[str], bool]:
    """Return whether a recorded file no longer exists in the store.

    All `paths` must be in the store. Outside git, the name of a folder is the first part of what
    was recorded: such a file is missing if the folder has the rest of the path below it, and no
    folder of the recorded name is next to it. What was migrated from outside the store may have
    been recorded by a name that the store lacks: by itself this means nothing, except that an
    otherwise equal suite may have moved.
    """
    home, all_paths = _make_absolute(store), [*map(_make_absolute, paths)]
    is_inside = all(path.is_relative_to(home) for path in all_paths)
    outside = [path for path in all_paths if path.is_dir() and not path.is_relative_to(home)]
    folders = [path for path in outside if not find_top(path)]

    def is_missing(file: str) -> bool:
        if is_inside:
            return not os.path.lexists(home / file)
        top, _, rest = file.partition("/")
        others = [folder for folder in folders if folder.name != top]
        renamed = [folder for folder in others if not os.path.lexists(folder.parent / top)]
        return bool(rest) and any(os.path.lexists(folder / rest) for folder in renamed)

    return is_missing


def _is_below(file: str, folder: PurePosixPath) -> bool:
    return PurePosixPath(file).is_relative_to(folder) and not file.startswith("/")


def _list_files(path: Path, store: Path) -> Iterator[LegacyFile]:
    if not path.is_dir():
        yield LegacyFile(
            _to_text(_make_name(path, store, folder=False)), path.parent, path.name, in_folder=False
        )
        return
    name, home, folder = (
        _make_name(path, store, folder=True),
        _make_absolute(store),
        _make_absolute(path),
    )
    is_around = home != folder and home.is_relative_to(folder)
    inner = f"{home.relative_to(folder).as_posix()}/" if is_around else ""
    for below in _walk_folder(path):
        # What is in the store is named from there, whichever folder around it is searched.
        full = (
            PurePosixPath(below.removeprefix(inner))
            if inner and below.startswith(inner)
            else name / below
        )
        if below.endswith("/"):
            yield LegacyFile(
                f"{_to_text(full)}/", path, below, in_folder=True, skip_reason=_INSTALLED
            )
            continue
        # A dangling link is not a file to name instead: it is read, which says why it cannot be.
        is_link = (path / below).is_symlink() and os.path.exists(path / below)  # noqa: PTH110
        reason = _LINK if is_link else ""
        yield LegacyFile(_to_text(full), path, below, in_folder=True, skip_reason=reason)


def _walk_folder(root: Path) -> Iterator[str]:
    """Yield candidate paths below a folder; a folder that cannot be listed is yielded itself.

    A folder of installed packages is yielded with a slash at its end.
    """
    # An explicit stack: folders may be nested deeper than Python's recursion limit.
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(f"{root}/{folder}") as entries:
                children = list(entries)
        except OSError as error:
            if not folder:
                raise LoadError(
                    f"cannot be listed: {error.strerror}", place=Place(str(root))
                ) from None
            yield folder
            continue
        for entry in children:
            below = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir(follow_symlinks=False) and entry.name in _INSTALLED_FOLDERS:
                yield f"{below}/"
            elif entry.is_dir(follow_symlinks=False) and entry.name not in _OWN_FOLDERS:
                waiting.append(below)
            elif _is_candidate(entry):
                yield below


def _is_candidate(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a file with a legacy suffix, or a link to one or to a folder."""
    has_suffix = PurePosixPath(entry.name).suffix.lower() in SUFFIXES
    try:
        return (has_suffix and entry.is_file()) or (entry.is_symlink() and entry.is_dir())
    except OSError:
        return True  # a link that leads to itself: reading it says so


def _make_name(path: Path, store: Path, *, folder: bool) -> PurePosixPath:
    """Return a path relative to the store if it is in it, else to its own repository.

    It is never absolute. A path in no repository is named as the user wrote it.
    """
    absolute, home = _make_absolute(path), _make_absolute(store)
    if absolute.is_relative_to(home):
        return PurePosixPath(absolute.relative_to(home).as_posix())
    if top := _find_top(path if folder else path.parent, store):
        return PurePosixPath(absolute.relative_to(top).as_posix())
    if not path.is_absolute() and ".." not in path.parts:
        return PurePosixPath(path.as_posix())
    # The last one or two parts: an absolute path would differ between machines.
    return PurePosixPath(*absolute.parts[1:][-1 if folder else -2 :])


def _find_top(folder: Path, store: Path) -> Path | None:
    """Return the top of the working tree of a folder outside the store.

    Returns None if there is none.
    """
    absolute = _make_absolute(folder)
    return None if absolute.is_relative_to(_make_absolute(store)) else find_top(absolute)


def _make_absolute(path: Path) -> Path:
    return Path(os.path.normpath(path.absolute()))


def _to_text(name: PurePosixPath) -> str:
    # A file name that is not UTF-8 is spelled with escapes, because reports and artifacts are
    # UTF-8.
    return str(name).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
