"""Which files a run reads, and as what: the layout of a store, a folder of one kind, a file, or standard input."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from evalstore.model import Kind
from evalstore.model.lock import LOCK_FILE
from evalstore.validation.bundles import FOLDER as BUNDLES
from evalstore.validation.bundles import SUFFIX as BUNDLE_SUFFIX

SETTINGS = "evalstore.yaml"
ACCEPTED = ".evalstore/accepted.yaml"
_YAML = ".yaml"


class Role(StrEnum):
    """What a file is read as; ARTIFACT is of the kind that its keys tell, CANDIDATE only if they tell one."""

    ARTIFACT = "artifact"
    CANDIDATE = "candidate"
    SETTINGS = "settings"
    ACCEPTED = "accepted"
    LOCK = "lock"
    BUNDLE = "bundle"
    ROWS = "rows"
    LINK = "link"


@dataclass(frozen=True, slots=True)
class Source:
    """One file: `root/path`, shown as `file`; or `data` from elsewhere (standard input), which has no root."""

    file: str
    root: Path | None
    path: str
    role: Role = Role.ARTIFACT
    kind: Kind | None = None
    data: bytes | None = None

    @property
    def stem(self) -> str | None:
        """The id that the file's name stands for; None without a file."""
        return Path(self.path).name.removesuffix(_YAML) if self.root else None


def folder_sources(folder: Path, shown: str = "") -> Iterator[Source]:
    """Yield the artifacts, bundles and settings below `folder`, in order; other files are none of our business."""
    if folder.name in _KINDS:
        yield from _kind_sources(folder.parent, shown, _KINDS[folder.name])
    elif any((folder / name).exists() for name in (*_OWN, *_KINDS)):
        yield from store_sources(folder, shown)
    else:
        yield from _candidates(folder, shown)


def store_sources(root: Path, shown: str = "") -> Iterator[Source]:
    """Yield what the layout of a store holds."""
    for name, role in _OWN.items():
        if os.path.lexists(root / name):
            yield _linked(Source(_join(shown, name), root, name, role))
    for folder, kind in _KINDS.items():
        if (root / folder).is_symlink():
            yield Source(_join(shown, folder), root, folder, Role.LINK)
        elif (root / folder).is_dir():
            yield from _kind_sources(root, _join(shown, folder), kind)
    for name in _names(root / BUNDLES, BUNDLE_SUFFIX):
        yield _linked(Source(_join(shown, f"{BUNDLES}/{name}"), root, f"{BUNDLES}/{name}", Role.BUNDLE))


def file_source(path: Path, shown: str) -> Source:
    """Return a file that was named itself: by its place in a store's layout, else as an artifact of some kind."""
    folder, name = path.parent.name, path.name
    inner = f"{folder}/{name}"
    if path.is_symlink():
        return Source(shown, path.parent, name, Role.LINK)
    if folder in _KINDS and name.endswith(_YAML):
        return Source(shown, path.parents[1], inner, kind=_KINDS[folder])
    if folder in _KINDS and name.endswith(".jsonl"):
        return Source(shown, path.parents[1], inner, Role.ROWS)
    if inner == ACCEPTED:
        return Source(shown, path.parents[1], inner, Role.ACCEPTED)
    if folder == BUNDLES and name.endswith(BUNDLE_SUFFIX):
        return Source(shown, path.parents[1], inner, Role.BUNDLE)
    role = _OWN.get(name, Role.ROWS if name.endswith(".jsonl") else Role.ARTIFACT)
    return Source(shown, path.parent, name, role)


def text_source(data: bytes) -> Source:
    """Return what came from standard input."""
    return Source("<stdin>", None, "", data=data)


def kind_of(value: object) -> Kind | None:
    """Return the kind that a document's keys tell, or None."""
    keys = set(value) if isinstance(value, dict) else set()
    best = max(Kind, key=lambda kind: len(keys & _KEYS[kind]))
    return best if keys & _KEYS[best] else None


def may_be_artifact(text: bytes) -> bool:
    """Whether a text that cannot be parsed looks like an artifact."""
    return _TOP_KEY.search(text) is not None


_OWN = {SETTINGS: Role.SETTINGS, ACCEPTED: Role.ACCEPTED, LOCK_FILE: Role.LOCK}
_KINDS = {kind.folder: kind for kind in Kind}
_KEYS = {
    Kind.RUBRIC: {"checks", "scoring"},
    Kind.JUDGE: {"template", "score_type", "level_names", "reply_pattern"},
    Kind.DATASET: {"questions", "rows", "defaults"},
}
_TOP_KEY = re.compile(rb"^(checks|scoring|template|score_type|questions|rows)[ ]*:", re.MULTILINE)


def _kind_sources(root: Path, shown: str, kind: Kind) -> Iterator[Source]:
    for name in _names(root / kind.folder, _YAML):
        yield _linked(Source(_join(shown, name), root, f"{kind.folder}/{name}", kind=kind))


def _candidates(root: Path, shown: str) -> Iterator[Source]:
    for name in _names(root, _YAML):
        yield _linked(Source(_join(shown, name), root, name, Role.CANDIDATE))
    with os.scandir(root) as entries:
        folders = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    for name in folders:
        if not name.startswith("."):
            yield from folder_sources(root / name, _join(shown, name))


def _names(folder: Path, suffix: str) -> list[str]:
    if not folder.is_dir():
        return []
    with os.scandir(folder) as entries:
        return sorted(entry.name for entry in entries if entry.name.endswith(suffix) and entry.name[0] != ".")


def _linked(source: Source) -> Source:
    if source.root is not None and (source.root / source.path).is_symlink():
        return Source(source.file, source.root, source.path, Role.LINK)
    return source


def _join(shown: str, name: str) -> str:
    return f"{shown.rstrip('/')}/{name}" if shown else name
