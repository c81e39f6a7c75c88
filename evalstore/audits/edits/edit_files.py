"""Reads the lines of files in which edits were made.

It also finds where a web host shows their commits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple

from evalstore.audits.values import Audit, EditSource
from evalstore.diff import DiffFinding
from evalstore.errors import EvalstoreError, Place
from evalstore.store import ArtifactStore
from evalstore.store.repository.hosting import find_commit_page

_AROUND = 2  # lines before and after the edited one
_LONGEST = 200  # characters of a line
_ALIKE = 0.5  # of two lines, from which on they count as one edited line
_MOST = 200  # edits on a page
_MOST_LINES = 2_000  # in a file whose lines are paired with those of its other version


class FileExcerpt(NamedTuple):
    """Some lines of a file, the number of the first, and the number of the edited one."""

    path: str
    first: int
    line: int
    lines: tuple[str, ...]


class EditStep(NamedTuple):
    """One edit, and the references before and after it."""

    finding: DiffFinding
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class EditFiles:
    """The excerpts of edited files by place.

    `page` makes the address of a commit's page, and is empty if that is unknown. `others` has the
    lines of the other version for a place that the edit has on one side only, such as a phrase in a
    one-line list.
    """

    excerpts: Mapping[Place, FileExcerpt]
    page: str = ""
    others: Mapping[Place, FileExcerpt] = field(default_factory=dict)

    def find_page(self, commit: str | None) -> str:
        """Return the address of a commit; empty if its host is not known."""
        return self.page.format(commit) if commit and self.page else ""


NO_FILES = EditFiles(MappingProxyType({}))


def read_edit_files(store: ArtifactStore, edits: Iterable[EditStep]) -> EditFiles:
    """Return the lines around each place that the first edits name.

    A file that cannot be read has none.
    """
    excerpts: dict[Place, FileExcerpt] = {}
    others: dict[Place, FileExcerpt] = {}
    for finding, old_ref, new_ref in islice(edits, _MOST):
        old, new = finding.old, finding.new
        for place, beside, ref in ((old, new, new_ref), (new, old, old_ref)):
            if place is None or not place.line or place in excerpts:
                continue
            try:
                lines = _read_lines(store, place.file)
                if len(lines) < place.line:
                    continue
                excerpts[place] = _cut_excerpt(place.file, lines, place.line)
                other = f"{ref}:{place.file.partition(':')[2]}"
                at = None if beside else _find_other(lines, _read_lines(store, other), place.line)
                if at is not None:
                    others[place] = _cut_excerpt(other, _read_lines(store, other), at)
            except EvalstoreError:
                continue  # the edit is shown without its surroundings
    return EditFiles(excerpts, find_commit_page(store.git), others)


def read_audit_files(store: ArtifactStore, audit: Audit) -> EditFiles:
    """Return the lines of the edits that moved something, most first."""
    causes = (cause for factor in audit.factors for cause in factor.causes if cause.moved)
    ordered = sorted(causes, key=lambda cause: -abs(cause.share))
    steps = (step for cause in ordered for step in _list_steps(cause.source))
    return read_edit_files(store, steps)


def _list_steps(source: EditSource) -> Iterator[EditStep]:
    origin = source.origin
    for finding in source.findings:
        yield EditStep(finding, f"{origin.ref}@{origin.old}", f"{origin.ref}@{origin.new}")


def _read_lines(store: ArtifactStore, file: str) -> list[str]:
    """Return the lines of `<reference>:<path>`; none if there is no such file."""
    ref, _, path = file.partition(":")
    commit = store.resolve(ref).commit if path else None
    data = store.read_file_at(commit, path) if commit else None
    return [] if data is None else data.decode("utf-8", "replace").splitlines()


def _find_other(lines: Sequence[str], others: Sequence[str], line: int) -> int | None:
    """Return the number of the same line in the other version; None if it is new or gone."""
    if max(len(lines), len(others)) > _MOST_LINES:
        return None
    matcher = SequenceMatcher(None, lines, others, autojunk=False)
    for tag, first, last, other_first, other_last in matcher.get_opcodes():
        if tag != "replace" or not first < line <= last:
            continue
        if last - first == other_last - other_first:
            return other_first + line - first
        numbers = range(other_first + 1, other_last + 1)
        alike = {number: _compare_lines(lines[line - 1], others[number - 1]) for number in numbers}
        best = max(numbers, key=alike.__getitem__)
        return best if alike[best] > _ALIKE else None
    return None


def _compare_lines(line: str, other: str) -> float:
    return SequenceMatcher(None, line[:_LONGEST], other[:_LONGEST], autojunk=False).ratio()


def _cut_excerpt(file: str, lines: Sequence[str], line: int) -> FileExcerpt:
    first = max(1, line - _AROUND)
    shown = tuple(map(_cut_line, lines[first - 1 : line + _AROUND]))
    return FileExcerpt(file.partition(":")[2], first, line, shown)


def _cut_line(text: str) -> str:
    return f"{text[:_LONGEST]}…" if len(text) > _LONGEST else text
