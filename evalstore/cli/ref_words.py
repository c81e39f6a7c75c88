"""Reads the words of a command line that mean artifacts: references, and the files of the store."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from evalstore.errors import RefError, UsageError
from evalstore.text import make_excerpt

if TYPE_CHECKING:
    from evalstore.model import Ref

KINDS = ("rubric", "judge", "dataset")
ID = "[a-z][a-z0-9_]{0,63}"
# Compiled when they are first used: most words are references.
_PATH = r"(?P<path>[^\0]+\.ya?ml)(?:@(?P<pin>[^@/]*))?"
_ARTIFACT = rf"(?:{'|'.join(KINDS)})s/{ID}\.yaml"


def check_ref(word: str, directory: Path, *, of_content: bool = False) -> str:
    """Return the reference that a word is, or whose file it names; raises `UsageError` when it is neither."""
    ref = name_artifact(word, directory, of_content=of_content)
    read_ref(ref)
    return ref


def name_artifact(word: str, directory: Path, *, of_content: bool = False) -> str:
    """Return the reference of an artifact's file in the store around `directory`; any other word as it is.

    Raises `UsageError` for a file that is none of the store's artifacts.
    """
    match = re.fullmatch(_PATH, word, re.DOTALL)
    if match is None:
        return word
    from evalstore.store.locate import find_enclosing_store, resolve_folder

    # The folder's real path, but the file's own name: no link is followed in its place.
    folder, file = (directory / match["path"]).parent.resolve(), Path(match["path"]).name
    root = find_enclosing_store(resolve_folder(directory))
    if root is None or folder.parent != root or not re.fullmatch(_ARTIFACT, f"{folder.name}/{file}"):
        raise UsageError(
            f"'{make_excerpt(word)}' is not a file of an artifact in this store",
            hint="its artifacts are rubrics/<id>.yaml, judges/<id>.yaml and datasets/<id>.yaml; another store: -C DIR",
        )
    pin = match["pin"] or ("worktree" if of_content else "")
    return f"{folder.name.removesuffix('s')}/{file.removesuffix('.yaml')}{'@' if pin else ''}{pin}"


def read_ref(text: str) -> Ref:
    """Read a reference of the command line; raises `UsageError` when it is none."""
    from evalstore.model import parse_ref

    try:
        return parse_ref(text)
    except RefError as error:
        raise UsageError(error.message, hint=error.hint) from None
