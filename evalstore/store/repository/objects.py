"""Parses commits, tags and trees from verified bytes, and finds files."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from evalstore.errors import EvalstoreError, GitError, RefusedError
from evalstore.store.repository.git import Git
from evalstore.store.repository.object_reader import ObjectReader
from evalstore.store.repository.tree_editor import FOLDER_MODE
from evalstore.store.repository.trees import TreeEntry, list_entries

_PERSON = re.compile(rb"(.*?) ?<([^<>\n]*)>(?: (-?[0-9]{1,12}) ([+-])([0-9]{2})([0-9]{2}))?")
# A tag as git writes it; if somebody else wrote it, its headers are read one by one.
_TAG = re.compile(rb"object ([^\n]*)\ntype ([^\n]*)\ntag ([^\n]*)\n")
_KNOWN_FOLDERS = 4096  # trees whose ids are remembered
# A trailer as GitHub and `git commit --trailer` write it; the name without the address.
_CO_AUTHOR = re.compile(rb"^co-authored-by:[ \t]*([^<>\r\n]*[^<>\s])", re.MULTILINE | re.IGNORECASE)
_SUBMODULE_MODE = "160000"
_MODE_NAMES = {FOLDER_MODE: "a folder", "120000": "a symbolic link", _SUBMODULE_MODE: "a submodule"}
_FEW_FOLDERS = 16  # whose trees can be read before a process has started
_MANY_FILES = 32  # of one folder, from which on its tree is read for all of them at once


_PARENT = b"parent "


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit: author, date, the first line of its message, and `Co-authored-by`.

    The date is ISO 8601, "" if unreadable.
    """

    oid: str
    author: str
    email: str
    date: str
    summary: str
    co_authors: tuple[str, ...] = ()


class TagObject(NamedTuple):
    """The headers of an annotated tag: the object that it names, its type, and the tag's name."""

    target: str
    type: str
    name: str


def read_commit(objects: ObjectReader, oid: str) -> Commit:
    """Return a commit; an unreadable author or date does not raise."""
    headers, message = _split_headers(read_object(objects, oid, "commit"))
    author, email, date = _parse_person(headers.get(b"author", b""))
    co_authors = tuple(
        dict.fromkeys(_decode(name) for name in _CO_AUTHOR.findall(message.partition(b"\n")[2]))
    )
    return Commit(
        oid, author, email, date, _decode(message.strip().partition(b"\n")[0]), co_authors
    )


def read_parents(objects: ObjectReader, oid: str) -> list[str]:
    """Return the parents that a commit names, which a shallow clone may lack."""
    head = read_object(objects, oid, "commit").partition(b"\n\n")[0]
    return [_decode(line[len(_PARENT) :]) for line in head.split(b"\n") if line.startswith(_PARENT)]


def read_tag(objects: ObjectReader, oid: str) -> TagObject:
    """Return the headers of a tag object."""
    return parse_tag(read_object(objects, oid, "tag"))


def read_tagger(objects: ObjectReader, oid: str) -> str:
    """Return the name of the person who made a tag object; "" if it names none."""
    line = _parse_headers(read_object(objects, oid, "tag")).get(b"tagger", b"")
    return _parse_person(line)[0] if line else ""


def parse_tag(data: bytes) -> TagObject:
    """Return the headers of a tag object from its bytes."""
    if match := _TAG.match(data):
        return TagObject(*map(_decode, match.groups()))
    headers = _parse_headers(data)
    return TagObject(*(_decode(headers.get(key, b"")) for key in (b"object", b"type", b"tag")))


def find_file(objects: ObjectReader, commit: str, path: str) -> str | None:
    """Return a regular file's blob at a commit, or None; `RefusedError` for other entries."""
    entry = find_entry(objects, commit, path)
    if entry is not None and not is_regular(entry):
        raise _build_type_error(path, entry.mode, commit, "a file")
    return entry.oid if entry else None


def is_regular(entry: TreeEntry) -> bool:
    """Whether an entry of a tree is a file, not a folder, link or submodule."""
    return entry.mode.startswith("100")


def has_entry(objects: ObjectReader, commit: str, path: str) -> bool:
    """Whether something exists at a path at a commit; False below anything but a folder."""
    try:
        return find_entry(objects, commit, path) is not None
    except RefusedError:
        return False


def list_folder(objects: ObjectReader, commit: str, path: str) -> dict[str, TreeEntry]:
    """Return the entries of a folder at a commit by name; none if there is no such folder."""
    folder = find_entry(objects, commit, path)
    if folder is None:
        return {}
    if folder.mode != FOLDER_MODE:
        raise _build_type_error(path, folder.mode, commit, "a folder")
    entries = list_entries(read_object(objects, folder.oid, "tree"), len(folder.oid) // 2)
    return {_decode(name): entry for name, entry in entries.items()}


def expect_folder(objects: ObjectReader, commits: Iterable[str], path: str) -> None:
    """Announce that a folder will be looked up at many commits, to request trees level by level.

    It is a hint, which never fails.
    """
    several, steps = list(dict.fromkeys(commits)), path.split("/")
    objects.expect(several)
    for length in range(len(steps) + 1):
        folder, trees = "/".join(steps[:length]), list[str]()
        for commit in several:
            with suppress(EvalstoreError):
                trees += filter(None, [find_folder(objects, commit, folder)])
        objects.expect(trees)


def find_entry(objects: ObjectReader, commit: str, path: str) -> TreeEntry | None:
    """Return what is at a path at a commit, whether a file or not; None if nothing is."""
    folder, _, name = path.rpartition("/")
    tree = objects.folders.get((commit, folder))
    if tree is None and (tree := find_folder(objects, commit, folder)):
        if len(objects.folders) >= _KNOWN_FOLDERS:
            objects.folders.clear()
        objects.folders[commit, folder] = tree
    return _find_entry(objects, tree, name) if tree else None


def find_folder(objects: ObjectReader, commit: str, path: str) -> str | None:
    """Return the tree of a folder ("": the root) at a commit; None if there is none."""
    headers = _parse_headers(read_object(objects, commit, "commit"))
    tree = _decode(headers.get(b"tree", b""))
    for folder in path.split("/") if path else ():
        entry = _find_entry(objects, tree, folder)
        if entry is None:
            return None
        if entry.mode != FOLDER_MODE:
            raise _build_type_error(folder, entry.mode, commit, "a folder")
        tree = entry.oid
    return tree


def _find_entry(objects: ObjectReader, tree: str, name: str) -> TreeEntry | None:
    return objects.trees.find(tree, read_object(objects, tree, "tree"), os.fsencode(name))


def find_committed_blobs(
    objects: ObjectReader, files: Iterable[tuple[str, str]]
) -> list[str | None]:
    """Return the blob of each (commit, path), or None.

    If many trees are searched for a few files each, git answers.
    """
    asked = list(files)
    by_folder: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for commit, path in asked:
        by_folder[commit, path.rpartition("/")[0]].add(path)
    # git reads the trees on the way to a file again for each file, but need not transfer them.
    has_few = len(by_folder) <= _FEW_FOLDERS
    found: dict[tuple[str, str], str | None] = {}
    for (commit, _), paths in by_folder.items():
        if has_few or len(paths) >= _MANY_FILES:
            with suppress(
                EvalstoreError
            ):  # a link on the way, or an object that this clone lacks: git says None
                found |= {(commit, path): _find_blob(objects, commit, path) for path in paths}
    # Each once: every rubric that pins a judge asks for it, and git reads the whole commit for each
    # answer.
    rest = [file for file in dict.fromkeys(asked) if file not in found]
    found |= zip(rest, _ask_for_blobs(objects.git, rest), strict=True)
    return [found[file] for file in asked]


def find_sizes(git: Git, oids: Iterable[str]) -> dict[str, int]:
    """Return objects' sizes, without those that this clone lacks.

    git answers, and no hash is checked.
    """
    if not (lines := "".join(f"{oid}\n" for oid in oids)):
        return {}
    out = git.run(
        "cat-file", "--batch-check=%(objectname) %(objectsize)", stdin=lines.encode("ascii")
    ).decode("ascii")
    pairs = (line.split(" ") for line in out.split("\n") if line)
    return {oid: int(size) for oid, size in pairs if size.isdecimal()}


def _find_blob(objects: ObjectReader, commit: str, path: str) -> str | None:
    entry = find_entry(objects, commit, path)
    return entry.oid if entry and entry.mode not in {FOLDER_MODE, _SUBMODULE_MODE} else None


def _ask_for_blobs(git: Git, files: Sequence[tuple[str, str]]) -> list[str | None]:
    names = [f"{commit}:{path}\n" for commit, path in files]
    if not names:
        return []
    out = git.run(
        "cat-file", "--batch-check=%(objecttype) %(objectname)", stdin=os.fsencode("".join(names))
    )
    lines = out.decode("utf-8", "replace").split("\n")[:-1]
    if len(lines) != len(names):
        raise GitError("git answered for the wrong files", hint="a folder's name holds a line feed")
    return [line.removeprefix("blob ") if line.startswith("blob ") else None for line in lines]


def read_object(objects: ObjectReader, oid: str, type_: str) -> bytes:
    """Return the bytes of an object; raises `GitError` if it has another type."""
    object_ = objects.read(oid)
    if object_.type != type_:
        raise GitError(f"object {oid[:12]} is a {object_.type}, where a {type_} should be")
    return object_.data


def _build_type_error(path: str, mode: str, commit: str, expected: str) -> RefusedError:
    return RefusedError(
        f"{path} at {commit[:12]} is {_MODE_NAMES.get(mode, 'a file')}, where {expected} should be",
        hint="commit the file itself: evalstore follows no links and no submodules",
    )


def _split_headers(data: bytes) -> tuple[dict[bytes, bytes], bytes]:
    return _parse_headers(data), data.partition(b"\n\n")[2]


def _parse_headers(data: bytes) -> dict[bytes, bytes]:
    # The message is not copied: after a bump of thousands, it is as long as all their names.
    end = data.find(b"\n\n")
    head = data if end < 0 else data[:end]
    headers: dict[bytes, bytes] = {}
    for line in head.split(b"\n"):
        key, _, value = line.partition(b" ")
        headers.setdefault(key, value)
    return headers


def _parse_person(line: bytes) -> tuple[str, str, str]:
    match = _PERSON.fullmatch(line)
    if match is None:
        return "(unreadable)", "", ""
    name, email, seconds, sign, hours, minutes = match.groups()
    return (
        _decode(name),
        _decode(email),
        format_iso_date(seconds, sign, hours, minutes) if seconds else "",
    )


def format_iso_date(seconds: bytes, sign: bytes, hours: bytes, minutes: bytes) -> str:
    """Return git's time stamp as ISO 8601 with its offset; "" if it is not a date."""
    from datetime import UTC, datetime, timedelta, timezone

    offset = timedelta(hours=int(hours), minutes=int(minutes)) * (-1 if sign == b"-" else 1)
    try:
        zone = timezone(offset) if offset else UTC
        return datetime.fromtimestamp(int(seconds), zone).isoformat()
    except (ValueError, OverflowError, OSError):
        return ""


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "replace")
