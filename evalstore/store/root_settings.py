"""Finds a store's folder in a bare repository, and reads the settings at a store's root."""

from __future__ import annotations

import os
import re
from pathlib import Path

from evalstore.documents import Document, read_yaml
from evalstore.errors import GitError, LoadError
from evalstore.files import read_below
from evalstore.model import Kind
from evalstore.places import SETTINGS_FILE
from evalstore.store.locate import Repository
from evalstore.store.repository.git import Git
from evalstore.store.repository.object_reader import ObjectReader
from evalstore.store.repository.objects import find_file
from evalstore.store.revisions import find_head

# A prefix becomes part of ref names: what git allows there, without the characters of git's
# patterns.
_PREFIX = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9._/-]*)?")
_FOLDERS = tuple(f"{kind.folder}/" for kind in Kind)
_NOT_IN_REFS = re.compile(r"\.\.|//|/\.|\./|\.lock/")


def find_bare_prefix(git: Git) -> str:
    """Return the store's folder in a bare repository's HEAD: its root, or the one with settings."""
    head = find_head(git)
    if head is None:
        return ""
    out = git.run("ls-tree", "-r", "-z", "--name-only", "--full-tree", head)
    paths = [path for path in os.fsdecode(out).split("\0") if "\n" not in path]
    if any(path == SETTINGS_FILE or path.startswith(_FOLDERS) for path in paths):
        return ""
    folders = [
        path.removesuffix(SETTINGS_FILE) for path in paths if path.endswith(f"/{SETTINGS_FILE}")
    ]
    if len(folders) > 1:
        raise GitError(
            f"this bare repository has {len(folders)} stores: {', '.join(folders)}",
            hint="name one in a clone",
        )
    return folders[0] if folders else ""


def parse_settings(data: bytes, file: str) -> Document:
    """Return the settings in evalstore.yaml's bytes.

    Raises `LoadError` for anything but a mapping.
    """
    document = read_yaml(data, file)
    if document.value is not None and not isinstance(document.value, dict):
        raise LoadError(
            "settings must be a mapping", place=document.locate(), hint="see .evalstore/schema"
        )
    return document


def read_tag_prefix(settings: Document) -> str:
    """Return the setting `tag_prefix`; raises `LoadError` if it cannot be part of a ref name."""
    prefix = (settings.value or {}).get("tag_prefix", "")
    if not isinstance(prefix, str) or not _PREFIX.fullmatch(prefix) or _NOT_IN_REFS.search(prefix):
        raise LoadError(
            "tag_prefix cannot be part of a tag name",
            place=settings.locate(("tag_prefix",)),
            hint='use letters, digits, . _ - and /, as in tag_prefix: "evals/"',
        )
    return prefix


def read_root_file(  # noqa: PLR0913  # where to look, for which file, and how much of it
    repository: Repository,
    objects: ObjectReader,
    *,
    root: Path | None,
    prefix: str,
    name: str,
    limit: int,
) -> bytes | None:
    """Return the bytes of a file at a store's root, on disk or in HEAD; None if missing."""
    if root is not None:
        # Anything but a file there is an error: without its settings, a strict store would be
        # lenient.
        return read_below(root, name, limit) if os.path.lexists(root / name) else None
    head = find_head(repository.git)
    blob = find_file(objects, head, prefix + name) if head else None
    return objects.read(blob, limit).data if blob else None
