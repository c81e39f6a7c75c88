"""Opens, reads, writes, moves and removes files below a root, without following links.

Each folder on the way is opened relative to the one before it, so nobody can slip a link in
meanwhile.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Self

from evalstore.errors import AbsentError, LoadError, Place, RefusedError

# The most bytes of a file that is read whole: a YAML file; a file that people write, or a git
# object; a legacy file.
SMALL_FILE, MIDDLE_FILE, LARGE_FILE = 1 << 20, 4 << 20, 64 << 20
# Bytes read at once: from a pipe or a socket, and from a file that is only copied or hashed.
CHUNK, BLOCK = 1 << 16, 1 << 20

_ANY_FOLDER = 0o777  # minus the umask
_ODD_PARTS = frozenset({"", ".", ".."})
_READ_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
# A file is written in a hidden folder next to it, under a name that git never adds: what a killed
# process leaves there is not part of the next commit, from its first byte on.
OWN_FOLDER, UNSEEN, UNSEEN_DATA = 0o700, ".git", ".git/data"
_TEMPORARY = re.compile(r"\.(.+)\.[0-9]+\.tmp", re.DOTALL)
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_WRITE_HINTS = {
    errno.EROFS: "work in a writable copy",
    errno.EACCES: "check the permissions of the file and its folder",
    errno.EPERM: "check the permissions of the file and its folder",
    errno.ENOSPC: "free some space, then run it again",
    errno.EDQUOT: "free some space, then run it again",
}


def read_user_file(path: Path, limit: int) -> bytes:
    """Read a regular file that the user named (links are followed).

    Raises `LoadError` beyond `limit` bytes.
    """
    with open_user_file(path) as file:
        return read_limited(file, str(path), limit)


def open_user_file(path: Path) -> BinaryIO:
    """Open a regular file that the user named, of any size, for streaming."""
    try:
        descriptor = os.open(path, _READ_FLAGS)
    except OSError as error:
        raise LoadError(
            f"cannot be read: {describe_error(error)}", place=Place(str(path))
        ) from None
    return _open_regular(descriptor, str(path))


def refuse_links_below(root: Path, path: Path) -> None:
    """Raise `RefusedError` if a link inside the folder `root` leads the path elsewhere.

    Links outside `root` are the user's own.
    """
    top, here = root.resolve(), Path(path.absolute().anchor)
    for part in path.absolute().parts[1:]:
        here /= part
        if here.is_symlink() and here.parent.resolve().is_relative_to(top):
            hint = f"it leads to {here.resolve()}: remove the link, or name that path itself"
            raise RefusedError(
                "is a link, and evalstore does not write through links",
                place=Place(str(here)),
                hint=hint,
            )


def read_below(root: Path, relative: str, limit: int) -> bytes:
    """Read `root/relative`, at most `limit` bytes; no component below `root` may be a link."""
    with open_below(root, relative) as file:
        return read_limited(file, relative, limit)


def open_below(root: Path, relative: str) -> BinaryIO:
    """Open `root/relative`, of any size, for streaming.

    Raises `AbsentError` if it is missing, and `LoadError` for a link.
    """
    try:
        with open_parent(root, relative) as (folder, name):
            descriptor = os.open(name, _READ_FLAGS | os.O_NOFOLLOW, dir_fd=folder)
    except OSError as error:
        raise _build_read_error(error, relative) from None
    return _open_regular(descriptor, relative)


class FolderReader:
    """Reads many files like `read_below`, but opens each folder once; a context manager."""

    __slots__ = ("_folders",)

    def __init__(self) -> None:
        self._folders: dict[tuple[Path, str], int] = {}

    def read(self, root: Path, relative: str, limit: int) -> bytes:
        """Read `root/relative`; raises like `read_below`."""
        folder, _, name = relative.rpartition("/")
        key = root, folder
        try:
            if (opened := self._folders.get(key)) is None:
                opened = self._folders[key] = _open_folder(root, folder)
            descriptor = os.open(name, _READ_FLAGS | os.O_NOFOLLOW, dir_fd=opened)
        except OSError as error:
            raise _build_read_error(error, relative) from None
        try:
            status = os.fstat(descriptor)
            if stat.S_ISREG(status.st_mode) and status.st_size <= limit:
                data = os.read(descriptor, status.st_size + 1)
                if len(data) == status.st_size:
                    return data
        finally:
            os.close(descriptor)
        return read_below(root, relative, limit)  # refuses it, or reads a file that grows

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the folders; the next read opens them again."""
        while self._folders:
            os.close(self._folders.popitem()[1])


def _open_folder(root: Path, relative: str) -> int:
    with open_parent(root, f"{relative}/*" if relative else "*") as (folder, _):
        return os.dup(folder)


def _build_read_error(error: OSError, label: str) -> LoadError:
    type_ = AbsentError if error.errno == errno.ENOENT else LoadError
    return type_(f"cannot be read: {describe_error(error)}", place=Place(label))


def iterate_pieces(file: BinaryIO) -> Iterator[bytes]:
    """Yield the rest of a file in pieces."""
    return iter(partial(file.read, CHUNK), b"")


def list_below(root: Path, relative: str) -> list[str]:
    """Return the sorted names of the regular files in `root/relative`; none if it is not a folder.

    Raises `LoadError` for a folder without read permission: its files exist, and must not count as
    removed.
    """
    try:
        with open_parent(root, relative) as (parent, name):
            folder = os.open(name, _FOLDER_FLAGS, dir_fd=parent)
    except PermissionError as error:
        raise LoadError(f"cannot be read: {describe_error(error)}", place=Place(relative)) from None
    except OSError:
        return []
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries if entry.is_file(follow_symlinks=False))
    finally:
        os.close(folder)


def write_below(
    root: Path,
    relative: str,
    data: bytes | Iterable[bytes],
    *,
    mode: int | None = None,
    label: str = "",
) -> None:
    """Write `root/relative` atomically, making its folders.

    An existing file keeps its mode; a link is a `RefusedError`, whose place is `label`, or else
    `relative`.

    `mode` is that of a file of ours and, with search permission added, of its folders; the umask is
    taken from it.
    """
    folder_mode = _ANY_FOLDER if mode is None else mode | (mode & 0o444) >> 2
    try:
        with open_parent(root, relative, make=folder_mode) as (folder, name):
            _replace_file(folder, name, [data] if isinstance(data, bytes) else data, mode=mode)
    except OSError as error:
        raise make_write_error(error, label or relative) from None


def write_aside_below(
    root: Path, relative: str, data: Iterable[bytes], *, sync: bool = False, mode: int | None = None
) -> None:
    """Write the temporary file of `root/relative`, making its folders; `RefusedError` for a link.

    `mode` is the file's mode (chmod(2)), by default that of the file it replaces.
    """
    try:
        with open_parent(root, relative, make=_ANY_FOLDER) as (folder, name):
            _write_temporary(folder, name, data, sync=sync, mode=mode)
    except OSError as error:
        raise make_write_error(error, relative) from None


def place_below(root: Path, relative: str) -> None:
    """Rename the temporary file of `write_aside_below` into place, without syncing the folder."""
    try:
        with open_parent(root, relative) as (folder, name):
            _place_temporary(folder, name)
    except OSError as error:
        raise make_write_error(error, relative) from None


def write_folders_below(root: Path, *paths: str) -> None:
    """Wait until the names of the files `paths` are on disk; call it after `place_below`."""
    for folder in dict.fromkeys(str(PurePosixPath(path).parent) for path in paths):
        with open_parent(root, f"{folder}/*") as (parent, _):
            os.fsync(parent)


def sweep_below(root: Path, *paths: str) -> None:
    """Remove what killed processes, or this one, left next to the files `paths`."""
    by_folder: dict[str, set[str]] = {}
    for path in paths:
        by_folder.setdefault(str(PurePosixPath(path).parent), set()).add(PurePosixPath(path).name)
    for folder, names in by_folder.items():
        with suppress(OSError), open_parent(root, f"{folder}/*") as (parent, _):
            # By descriptor, which no link can replace.
            for left in os.listdir(parent):  # noqa: PTH208
                if (match := _TEMPORARY.fullmatch(left)) and match[1] in names:
                    _remove_temporary(parent, left)


def move_below(root: Path, old: str, target_root: Path, new: str) -> None:
    """Move `root/old` to `target_root/new`; `OSError` for a link or an existing target.

    Across file systems it copies atomically, then removes: a kill in between leaves both files.
    """
    with (
        open_parent(root, old) as (source, name),
        open_parent(target_root, new, make=_ANY_FOLDER) as (target, new_name),
    ):
        with suppress(FileNotFoundError):
            os.stat(new_name, dir_fd=target, follow_symlinks=False)
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        try:
            os.rename(name, new_name, src_dir_fd=source, dst_dir_fd=target)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            with open_below(root, old) as file:
                _replace_file(target, new_name, iterate_pieces(file))
            os.unlink(name, dir_fd=source)


def remove_below(root: Path, relative: str) -> None:
    """Remove the file `root/relative`; no component below `root` may be a link."""
    with open_parent(root, relative) as (folder, name):
        os.unlink(name, dir_fd=folder)


def remove_folder_below(root: Path, relative: str) -> None:
    """Remove the folder `root/relative` if it is empty; no component below `root` may be a link."""
    with open_parent(root, relative) as (parent, name):
        os.rmdir(name, dir_fd=parent)


def _replace_file(
    folder: int, name: str, pieces: Iterable[bytes], *, mode: int | None = None
) -> None:
    # Write next to the file, sync, rename: after a crash there is the old file or the new one,
    # never half of it.
    _write_temporary(folder, name, pieces, sync=True, mode=mode)
    try:
        _place_temporary(folder, name)
    except BaseException:
        _remove_temporary(folder, _name_temporary(name))
        raise
    os.fsync(folder)


def _write_temporary(
    folder: int, name: str, pieces: Iterable[bytes], *, sync: bool, mode: int | None = None
) -> None:
    same_mode = 0o666
    with suppress(FileNotFoundError):
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(0, "it is not a regular file")
        same_mode = stat.S_IMODE(found.st_mode)
    temporary = _name_temporary(name)
    os.mkdir(temporary, OWN_FOLDER, dir_fd=folder)
    try:
        with _open_folder_in(folder, temporary) as aside:
            os.mkdir(UNSEEN, OWN_FOLDER, dir_fd=aside)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            with os.fdopen(
                os.open(UNSEEN_DATA, flags, mode or same_mode, dir_fd=aside), "wb"
            ) as file:
                file.writelines(pieces)
                file.flush()
                if sync:
                    os.fsync(file.fileno())
    except BaseException:
        _remove_temporary(folder, temporary)
        raise


def _place_temporary(folder: int, name: str) -> None:
    temporary = _name_temporary(name)
    with _open_folder_in(folder, temporary) as aside:
        os.rename(UNSEEN_DATA, name, src_dir_fd=aside, dst_dir_fd=folder)
    _remove_temporary(folder, temporary)


def _remove_temporary(folder: int, temporary: str) -> None:
    """Remove the folder of a temporary file; a plain file with such a name goes, too."""
    try:
        with _open_folder_in(folder, temporary) as aside:
            with suppress(FileNotFoundError):
                os.unlink(UNSEEN_DATA, dir_fd=aside)
            with suppress(FileNotFoundError):
                os.rmdir(UNSEEN, dir_fd=aside)
        os.rmdir(temporary, dir_fd=folder)
    except NotADirectoryError:
        os.unlink(temporary, dir_fd=folder)


@contextmanager
def _open_folder_in(folder: int, name: str) -> Iterator[int]:
    descriptor = os.open(name, _FOLDER_FLAGS, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _name_temporary(name: str) -> str:
    return f".{name}.{os.getpid()}.tmp"


@contextmanager
def open_parent(
    root: Path, relative: str, *, make: int = 0, check: Callable[[int, Path], None] | None = None
) -> Iterator[tuple[int, str]]:
    """Give a descriptor for the folder of `root/relative`, without links, and the name in it.

    `make` is the mode of folders to create, 0 to create none; `check` sees each folder below
    `root`.
    """
    parts: Sequence[str] = relative.split("/")
    if not _ODD_PARTS.isdisjoint(parts):  # written by hand, with an odd part in it
        parts = PurePosixPath(relative).parts
    if not parts or ".." in parts or parts[0] == "/":
        raise OSError(0, "the path leaves the store")
    *folders, name = parts
    path, here = root, os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in folders:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, make, dir_fd=here)
            below = os.open(part, _FOLDER_FLAGS, dir_fd=here)
            os.close(here)
            here = below
            if check:
                path /= part
                check(here, path)
        yield here, name
    finally:
        os.close(here)


def _open_regular(descriptor: int, label: str) -> BinaryIO:
    # Checked before `fdopen`, which raises another error for a folder.
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise LoadError(
            "is a folder, not a file" if stat.S_ISDIR(mode) else "is not a regular file",
            place=Place(label),
        )
    return os.fdopen(descriptor, "rb", CHUNK)


def read_limited(file: BinaryIO, label: str, limit: int) -> bytes:
    """Read the rest of an open file; `LoadError` beyond `limit` bytes."""
    size = os.fstat(file.fileno()).st_size
    # Not `limit`: Python allocates as much as it is asked for.
    data = file.read(size + 1) if size <= limit else b""
    if len(data) > size:  # the file is growing, or is virtual with size 0
        data += file.read(limit - size)
    if max(size, len(data)) > limit:
        raise LoadError(f"larger than {limit:,} bytes, the limit for one file", place=Place(label))
    return data


def make_folder(path: Path) -> None:
    """Make a folder and its parents if needed; raises `RefusedError` if it cannot be made."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise make_write_error(error, str(path)) from None


def make_write_error(error: OSError, label: str) -> RefusedError:
    """Return the `RefusedError` for a system error about writing a file or a folder."""
    hint = _WRITE_HINTS.get(error.errno or 0)
    return RefusedError(
        f"cannot be written: {describe_error(error)}", place=Place(label), hint=hint
    )


def describe_error(error: OSError) -> str:
    """Return what the system says about a file, as the end of a sentence."""
    if error.errno in {40, 20}:  # ELOOP, ENOTDIR: a link or a file, where a folder should be
        return "a link or a file is in its path"
    words = error.strerror or str(error)
    return words.lower() or type(error).__name__  # a TimeoutError may have no text
