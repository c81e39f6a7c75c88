"""Finds the files to validate: a store's, those in a folder of one kind, a file, standard input."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from evalstore.model import Kind
from evalstore.model.lock import LOCK_FILE

SETTINGS = "evalstore.yaml"
ACCEPTED = ".evalstore/accepted.yaml"
BUNDLE_FOLDER = "bundles"
BUNDLE_SUFFIX = ".schema.json"
_YAML, _JSON = ".yaml", ".json"
_KINDS = {kind.folder: kind for kind in Kind}
_LOOKALIKES = (".yaml", ".yml", ".json")


class FileRole(StrEnum):
    """What a file is read as.

    ARTIFACT has the kind that its keys show, CANDIDATE only if they show one.
    """

    ARTIFACT = "artifact"
    CANDIDATE = "candidate"
    SETTINGS = "settings"
    ACCEPTED = "accepted"
    LOCK = "lock"
    BUNDLE = "bundle"
    ROWS = "rows"
    LINK = "link"
    IGNORED = "ignored"
    FOREIGN = "foreign"


# The files of a store that are read as something other than artifacts.
_OWN = {SETTINGS: FileRole.SETTINGS, ACCEPTED: FileRole.ACCEPTED, LOCK_FILE: FileRole.LOCK}


@dataclass(frozen=True, slots=True)
class ValidationSource:
    """One file: `root/path`, shown as `file`; or `data` from standard input, without a root.

    For a foreign file, `tool` says whose it is, and `advice` what to do.
    """

    file: str
    root: Path | None
    path: str
    role: FileRole = FileRole.ARTIFACT
    kind: Kind | None = None
    data: bytes | None = None
    tool: str = ""
    advice: str = ""

    @property
    def stem(self) -> str | None:
        """The id in the file's name; None if there is no file."""
        return (
            self.path.rpartition("/")[2].removesuffix(_YAML).removesuffix(_JSON)
            if self.root
            else None
        )

    @property
    def is_in_layout(self) -> bool:
        """Whether its folder determines what it is, not only its name."""
        return "/" in self.path


def find_folder_sources(folder: Path, shown: str = "") -> Iterator[ValidationSource]:
    """Yield the artifacts, bundles and settings below `folder`, in order, and no other files."""
    if folder.name in _KINDS:
        yield from find_kind_sources(folder.parent, _KINDS[folder.name], shown)
    elif any((folder / name).exists() for name in (*_OWN, *_KINDS)):
        yield from find_store_sources(folder, shown)
    else:
        yield from _find_candidates(folder, shown)


def find_store_sources(root: Path, shown: str = "") -> Iterator[ValidationSource]:
    """Yield what the layout of a store holds."""
    for name, role in _OWN.items():
        if os.path.lexists(root / name):
            yield _mark_link(ValidationSource(_join_path(shown, name), root, name, role))
    for folder, kind in _KINDS.items():
        if (root / folder).is_symlink():
            yield ValidationSource(_join_path(shown, folder), root, folder, FileRole.LINK)
        elif (root / folder).is_dir():
            yield from find_kind_sources(root, kind, _join_path(shown, folder))
        yield from _find_ignored(root, folder, shown)
    for name in _list_names(root / BUNDLE_FOLDER, BUNDLE_SUFFIX):
        yield _mark_link(
            ValidationSource(
                _join_path(shown, f"{BUNDLE_FOLDER}/{name}"),
                root,
                f"{BUNDLE_FOLDER}/{name}",
                FileRole.BUNDLE,
            )
        )


def find_kind_sources(root: Path, kind: Kind, shown: str = "") -> Iterator[ValidationSource]:
    """Yield the artifacts of one kind below a store's root; `shown` is their folder's name."""
    for name in _list_names(root / kind.folder, _YAML):
        yield _mark_link(
            ValidationSource(_join_path(shown, name), root, f"{kind.folder}/{name}", kind=kind)
        )


def make_file_source(path: Path, shown: str) -> ValidationSource:
    """Return a named file: by its place in a store's layout, else as an artifact.

    Its keys show the artifact's kind.
    """
    folder, name = path.parent.name, path.name
    inner = f"{folder}/{name}"
    if path.is_symlink():
        return ValidationSource(shown, path.parent, name, FileRole.LINK)
    if folder in _KINDS and name.endswith(_YAML):
        return ValidationSource(shown, path.parents[1], inner, kind=_KINDS[folder])
    if folder in _KINDS and name.endswith(".jsonl"):
        return ValidationSource(shown, path.parents[1], inner, FileRole.ROWS)
    if inner == ACCEPTED:
        return ValidationSource(shown, path.parents[1], inner, FileRole.ACCEPTED)
    if folder == BUNDLE_FOLDER and name.endswith(BUNDLE_SUFFIX):
        return ValidationSource(shown, path.parents[1], inner, FileRole.BUNDLE)
    role = _OWN.get(name, FileRole.ROWS if name.endswith(".jsonl") else FileRole.ARTIFACT)
    return ValidationSource(shown, path.parent, name, role)


def make_text_source(data: bytes) -> ValidationSource:
    """Return the source for the bytes of standard input."""
    return ValidationSource("<stdin>", None, "", data=data)


def _find_ignored(root: Path, folder: str, shown: str) -> Iterator[ValidationSource]:
    """Yield unread files in a kind's folder, below it, and in folders with similar names."""
    wanted = (folder, folder.removesuffix("s"))
    for name in sorted(_list_folders(root), key=lambda name: (name != folder, name)):
        if name.lower() not in wanted:
            continue
        for base, folders, files in os.walk(root / name):
            folders[:] = sorted(inner for inner in folders if not inner.startswith("."))
            here = Path(base).relative_to(root).as_posix()
            for file in sorted(files):
                path = f"{here}/{file}"
                if (
                    file.lower().endswith(_LOOKALIKES)
                    and path != f"{folder}/{file.removesuffix(_YAML)}{_YAML}"
                ):
                    yield ValidationSource(_join_path(shown, path), root, path, FileRole.IGNORED)


def _find_candidates(root: Path, shown: str) -> Iterator[ValidationSource]:
    for name in _list_names(root, _YAML):
        yield _mark_link(ValidationSource(_join_path(shown, name), root, name, FileRole.CANDIDATE))
    for name in sorted(_list_folders(root)):
        if not name.startswith("."):
            yield from find_folder_sources(root / name, _join_path(shown, name))


def _list_folders(root: Path) -> list[str]:
    with os.scandir(root) as entries:
        return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]


def _list_names(folder: Path, suffix: str) -> list[str]:
    if not folder.is_dir():
        return []
    with os.scandir(folder) as entries:
        return sorted(
            entry.name for entry in entries if entry.name.endswith(suffix) and entry.name[0] != "."
        )


def _mark_link(source: ValidationSource) -> ValidationSource:
    # There are thousands of them, and pathlib would make an object for each.
    if source.root is not None and os.path.islink(f"{source.root}/{source.path}"):  # noqa: PTH114
        return ValidationSource(source.file, source.root, source.path, FileRole.LINK)
    return source


def _join_path(shown: str, name: str) -> str:
    return f"{shown.rstrip('/')}/{name}" if shown else name
