"""Reads the lines of files in which edits were made, and where a host on the web shows their commits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from evalstore.audits.values import Audit
from evalstore.diff import DiffFinding
from evalstore.errors import EvalstoreError, Place
from evalstore.store import ArtifactStore
from evalstore.store.repository.hosting import find_commit_page

_AROUND = 2  # lines before and after the edited one
_LONGEST = 200  # characters of a line
_MOST = 200  # edits of a page


class FileExcerpt(NamedTuple):
    """Some lines of a file, the number of the first, and the number of the edited one."""

    path: str
    first: int
    line: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EditFiles:
    """The excerpts of edited files by place; `page` makes the address of a commit's page, empty where it is unknown."""

    excerpts: Mapping[Place, FileExcerpt]
    page: str = ""

    def find_page(self, commit: str | None) -> str:
        """Return the address of a commit; empty where its host is not known."""
        return self.page.format(commit) if commit and self.page else ""


NO_FILES = EditFiles(MappingProxyType({}))


def read_edit_files(store: ArtifactStore, findings: Iterable[DiffFinding]) -> EditFiles:
    """Return the lines around each place that the first findings name; a file that cannot be read has none."""
    places = dict.fromkeys(
        place for one in findings for place in (one.old, one.new) if place and place.line
    )
    excerpts = {}
    for place in [*places][:_MOST]:
        try:
            found = _read_excerpt(store, place)
        except EvalstoreError:
            continue  # the edit is shown without its surroundings
        if found:
            excerpts[place] = found
    return EditFiles(excerpts, find_commit_page(store.git))


def read_audit_files(store: ArtifactStore, audit: Audit) -> EditFiles:
    """Return the lines of the edits that moved something, those first that moved most."""
    causes = (cause for factor in audit.factors for cause in factor.causes if cause.moved)
    ordered = sorted(causes, key=lambda cause: -abs(cause.share))
    return read_edit_files(store, (one for cause in ordered for one in cause.source.findings))


def _read_excerpt(store: ArtifactStore, place: Place) -> FileExcerpt | None:
    """Return the lines around a place in `<reference>:<path>`; None where there is no such file."""
    ref, _, path = place.file.partition(":")
    commit = store.resolve(ref).commit if path else None
    data = store.read_file_at(commit, path) if commit else None
    if data is None or not place.line:
        return None
    lines = data.decode("utf-8", "replace").splitlines()
    first = max(1, place.line - _AROUND)
    shown = (line[:_LONGEST] for line in lines[first - 1 : place.line + _AROUND])
    return FileExcerpt(path, first, place.line, tuple(shown))
