"""Which files beside a source hold cases of it, and what they are called: they come with it, there and back."""

from __future__ import annotations

import os.path
from collections.abc import Mapping
from pathlib import PurePosixPath

from evalstore.documents import Document
from evalstore.migration.taken import Extraction


def find_companion_files(taken: Extraction, beside: Mapping[str, Document], file: str) -> dict[str, str]:
    """Return the files that hold cases of a source, each with the path that the source names it by.

    A path that begins with / is left out: what it begins at is known only while it is read.
    """
    holders = {id(case.document) for case in taken.cases if case.document}
    paths = [path for path, document in beside.items() if id(document) in holders and not path.startswith("/")]
    folder = PurePosixPath(file).parent
    return {os.path.normpath(folder / path.removeprefix("file://")): path for path in paths}
