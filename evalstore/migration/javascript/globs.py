"""Lists the files that match a pattern of npm's `glob`, in the same order as that package."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import NamedTuple

# The names in a folder, given by its path below the root, each with whether it is a folder.
ListFolder = Callable[[str], Sequence[tuple[str, bool]]]

_MAGIC = re.compile(r"[*?{\[]")
_ANY_DEPTH = "**"
_RANGE = re.compile(r"(-?[0-9]{1,4})\.\.(-?[0-9]{1,4})")
_MOST_PATTERNS = 1_000  # the most patterns that braces may expand to
_FOLDERS_ENTERED = 10_000


class _GlobStep(NamedTuple):
    """The parts of a pattern that are still to be matched in a folder."""

    folder: str
    parts: tuple[str, ...]


def has_pattern(path: str) -> bool:
    """Whether a path is a pattern of several files."""
    return _MAGIC.search(path) is not None


def list_matches(pattern: str, list_folder: ListFolder) -> list[str]:
    """Return the files that match a pattern: by its first alternative, then the last names first.

    A name that begins with a dot matches only a part of the pattern that does too. The result is
    empty for a pattern with unknown syntax, such as `!(a)`.

    Examples:
        >>> list_matches("{b,a}*.md", lambda _: [("a1.md", False), ("a2.md", False)])
        ['a2.md', 'a1.md']
    """
    walks = [_GlobStep("", tuple(one.split("/"))) for one in _expand_braces(pattern)]
    known = not re.search(r"[+@!?*]\(", pattern)
    return list(dict.fromkeys(_walk(walks, _FolderReader(list_folder)))) if known else []


class _FolderReader:
    """Reads each folder once, the last name first, up to a limit of folders."""

    def __init__(self, list_folder: ListFolder) -> None:
        self._list_folder = list_folder
        self._read = dict[str, dict[str, bool]]()

    def read(self, folder: str) -> dict[str, bool]:
        """Return the names in a folder, each with whether it is a folder itself."""
        if folder not in self._read:
            is_room = len(self._read) < _FOLDERS_ENTERED
            found = sorted(self._list_folder(folder), reverse=True) if is_room else []
            self._read[folder] = dict(found)
        return self._read[folder]


def _walk(walks: Sequence[_GlobStep], reader: _FolderReader) -> Iterator[str]:
    """Yield the matches of patterns: those in a folder itself before those below it."""
    below: dict[str, dict[tuple[str, ...], None]] = {}
    for walk in walks:
        folder, parts = walk
        while len(parts) > 1 and not _is_magic(parts[0]):
            folder, parts = _join(folder, parts[0]), parts[1:]
        if not _is_magic(parts[0]):
            if reader.read(folder).get(parts[0]) is False:
                yield _join(folder, parts[0])
        else:
            below.setdefault(folder, {})[parts] = None
    for folder, patterns in below.items():
        inner: dict[str, dict[tuple[str, ...], None]] = {}
        for name, is_folder in reader.read(folder).items():
            path = _join(folder, name)
            for parts in patterns:
                yield from _match_entry(path, name, parts, inner.setdefault, is_folder=is_folder)
        for path, rests in inner.items():
            yield from _walk([_GlobStep(path, rest) for rest in rests], reader)


def _match_entry(
    path: str,
    name: str,
    parts: tuple[str, ...],
    enter: Callable[[str, dict[tuple[str, ...], None]], dict[tuple[str, ...], None]],
    *,
    is_folder: bool,
) -> Iterator[str]:
    """Yield an entry that completes a pattern; pass what is left to match below it to `enter`."""
    first, *rest = parts
    if first == _ANY_DEPTH:
        if not name.startswith("."):
            if not rest and not is_folder:
                yield path
            if is_folder:
                enter(path, {})[parts] = None
        if not rest:
            return
        first, *rest = rest
    if not _matches(first, name):
        return
    if rest and is_folder:
        enter(path, {})[tuple(rest)] = None
    elif not rest and not is_folder:
        yield path


def _is_magic(part: str) -> bool:
    return part == _ANY_DEPTH or has_pattern(part)


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _matches(part: str, name: str) -> bool:
    if name.startswith(".") and not part.startswith("."):
        return False
    return fnmatchcase(name, part.replace("[^", "[!"))


def _expand_braces(pattern: str) -> list[str]:
    """Return the patterns to which one with alternatives in braces expands, in order."""
    found, waiting = list[str](), [pattern]
    while waiting and len(found) + len(waiting) <= _MOST_PATTERNS:
        one = waiting.pop(0)
        split = _split_braces(one)
        if split is None:
            found.append(one)
        else:
            before, alternatives, after = split
            waiting[:0] = [f"{before}{alternative}{after}" for alternative in alternatives]
    return found


def _split_braces(pattern: str) -> tuple[str, list[str], str] | None:
    """Return the first braces with alternatives, and the text around them; None without any."""
    for start in (match.start() for match in re.finditer(r"\{", pattern)):
        depth, cuts = 0, [start]
        for place in range(start, len(pattern)):
            char = pattern[place]
            depth += (char == "{") - (char == "}")
            if depth == 1 and char == ",":
                cuts.append(place)
            if depth == 0:
                pieces = [pattern[low + 1 : high] for low, high in pairwise([*cuts, place])]
                if numbers := _RANGE.fullmatch(pattern, start + 1, place):
                    pieces = _list_range(int(numbers[1]), int(numbers[2]))
                if len(pieces) > 1:
                    return pattern[:start], pieces, pattern[place + 1 :]
                break
    return None


def _list_range(first: int, last: int) -> list[str]:
    step = 1 if first <= last else -1
    return [str(number) for number in range(first, last + step, step)]
