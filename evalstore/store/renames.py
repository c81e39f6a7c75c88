"""Lists the questions of a dataset that got another id: as the settings declare, and as a migration noted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from evalstore.documents import read_row
from evalstore.errors import LoadError
from evalstore.model import Kind
from evalstore.model.question import list_noted_renames
from evalstore.store.resolve import Resolved
from evalstore.store.rows import read_row_lines
from evalstore.store.store import ArtifactStore


def list_renames(store: ArtifactStore, dataset: Resolved) -> dict[str, str]:
    """Return the new ids of questions by the old ones; a declared rename wins over a noted one."""
    if dataset.kind is not Kind.DATASET:
        return {}
    declared = store.settings.get("renames", {})
    own = declared.get(dataset.name, {}) if isinstance(declared, dict) else {}
    return {**list_noted_renames(_list_noted_rows(store, dataset)), **(own if isinstance(own, dict) else {})}


def _list_noted_rows(store: ArtifactStore, dataset: Resolved) -> Iterator[Any]:
    questions = dataset.artifact.value.get("questions")
    yield from questions if isinstance(questions, list) else ()
    if "x_source" not in dataset.artifact.value:
        return
    # Only what a migration noted is parsed: the other rows may be many.
    with suppress(LoadError):  # a finding of whoever reads the questions
        for line in read_row_lines(store, dataset.artifact, commit=dataset.commit, tag=dataset.tag):
            if b'"renamed_from"' in line.data:
                yield read_row(line.data, line.file, line.number)
