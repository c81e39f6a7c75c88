"""evalstore.yaml as the store needs it: from the working tree, or from HEAD in a bare repository."""

from __future__ import annotations

import re
from pathlib import Path

from evalstore.documents import Document, read_yaml
from evalstore.errors import LoadError, RefError
from evalstore.files import read_below
from evalstore.store.artifacts import LIMIT
from evalstore.store.batch import Batch
from evalstore.store.locate import SETTINGS_FILE, Repository, is_marked
from evalstore.store.objects import find_file
from evalstore.store.revisions import head

# Taken literally into ref names, so: what git allows there, and nothing that a pattern of git would read.
_PREFIX = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9._/-]*)?")
_NOT_IN_REFS = re.compile(r"\.\.|//|/\.|\./|\.lock/")


def read_settings(repository: Repository, batch: Batch, root: Path | None) -> Document:
    """Return the settings of a store; an empty document when it has none."""
    document = read_yaml(_bytes(repository, batch, root), SETTINGS_FILE)
    if document.value is not None and not isinstance(document.value, dict):
        raise LoadError("settings are a mapping", place=document.place(), hint="see .evalstore/schema")
    return document


def tag_prefix(settings: Document) -> str:
    """Return `tag_prefix`, checked: it becomes a part of ref names."""
    prefix = (settings.value or {}).get("tag_prefix", "")
    if not isinstance(prefix, str) or not _PREFIX.fullmatch(prefix) or _NOT_IN_REFS.search(prefix):
        raise LoadError(
            "tag_prefix cannot stand in the name of a tag",
            place=settings.place(("tag_prefix",)),
            hint='use letters, digits, . _ - and /, as in tag_prefix: "evals/"',
        )
    return prefix


def _bytes(repository: Repository, batch: Batch, root: Path | None) -> bytes:
    if root is not None:
        return read_below(root, SETTINGS_FILE, LIMIT) if is_marked(root) else b""
    try:
        commit = head(repository.git)
    except RefError:
        return b""
    blob = find_file(batch, commit, SETTINGS_FILE)
    return batch.read(blob).data if blob else b""
