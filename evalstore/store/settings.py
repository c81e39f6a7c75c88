"""The files at a store's root, from the working tree or from a bare HEAD; evalstore.yaml as the store needs it."""

from __future__ import annotations

import os
import re
from pathlib import Path

from evalstore.documents import Document, read_yaml
from evalstore.errors import GitError, LoadError, RefError
from evalstore.files import read_below
from evalstore.model import Kind
from evalstore.store.git import Git
from evalstore.store.locate import SETTINGS_FILE, Repository
from evalstore.store.object_reader import LIMIT as FILE_LIMIT
from evalstore.store.object_reader import ObjectReader
from evalstore.store.objects import find_file
from evalstore.store.revisions import resolve_head

# Taken literally into ref names, so: what git allows there, and nothing that a pattern of git would read.
_PREFIX = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9._/-]*)?")
_FOLDERS = tuple(f"{kind.folder}/" for kind in Kind)
_NOT_IN_REFS = re.compile(r"\.\.|//|/\.|\./|\.lock/")


def find_bare_prefix(git: Git) -> str:
    """Return the folder of a bare repository's store, as HEAD has it: the root, else the one that settings mark."""
    try:
        listed = git.run("ls-tree", "-r", "-z", "--name-only", "--full-tree", resolve_head(git))
    except RefError:
        return ""
    paths = [path for path in os.fsdecode(listed).split("\0") if "\n" not in path]
    if any(path == SETTINGS_FILE or path.startswith(_FOLDERS) for path in paths):
        return ""
    marked = [path.removesuffix(SETTINGS_FILE) for path in paths if path.endswith(f"/{SETTINGS_FILE}")]
    if len(marked) > 1:
        raise GitError(
            f"this bare repository holds {len(marked)} stores: {', '.join(marked)}", hint="name one in a clone"
        )
    return marked[0] if marked else ""


def read_settings(repository: Repository, batch: ObjectReader, *, root: Path | None, prefix: str) -> Document:
    """Return the settings of a store; an empty document when it has none."""
    data = read_root_file(repository, batch, root=root, prefix=prefix, name=SETTINGS_FILE)
    document = read_yaml(data or b"", SETTINGS_FILE)
    if document.value is not None and not isinstance(document.value, dict):
        raise LoadError("settings are a mapping", place=document.locate(), hint="see .evalstore/schema")
    return document


def read_tag_prefix(settings: Document) -> str:
    """Return `tag_prefix`, checked: it becomes a part of ref names."""
    prefix = (settings.value or {}).get("tag_prefix", "")
    if not isinstance(prefix, str) or not _PREFIX.fullmatch(prefix) or _NOT_IN_REFS.search(prefix):
        raise LoadError(
            "tag_prefix cannot stand in the name of a tag",
            place=settings.locate(("tag_prefix",)),
            hint='use letters, digits, . _ - and /, as in tag_prefix: "evals/"',
        )
    return prefix


def read_root_file(
    repository: Repository, batch: ObjectReader, *, root: Path | None, prefix: str, name: str
) -> bytes | None:
    """Return a file at the store's root: from the working tree, or of a bare repository from HEAD; None without one."""
    if root is not None:
        # What is there and no file is an error: without its settings a strict store would be a lenient one.
        return read_below(root, name, FILE_LIMIT) if os.path.lexists(root / name) else None
    try:
        commit = resolve_head(repository.git)
    except RefError:
        return None
    blob = find_file(batch, commit, prefix + name)
    return batch.read(blob).data if blob else None
