"""Walks the versions of one artifact back to the commits in which its parts took their values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple

from evalstore.release.history.artifact_parts import (
    ArtifactPart,
    PartTable,
    find_weight_factor,
    pair_names,
)
from evalstore.store.file_history import FileHistory


class Ending(StrEnum):
    """Where the search for a part's origin ended.

    That is in a commit, at the base, or at the end of a shallow clone.
    """

    COMMIT = "commit"
    BASE = "base"
    CUT = "cut"


class PartEnding(NamedTuple):
    """The commit in which the search for one part ended, and how."""

    ending: Ending
    commit: str


class _PartSearch(NamedTuple):
    """One part searched for, and its name in the version that has been reached."""

    wanted: ArtifactPart
    here: ArtifactPart


@dataclass(frozen=True, slots=True)
class _Step:
    """The step from a parent to a commit, with both versions.

    `names` are older names of checks and questions by newer ones.
    """

    parent: str
    old: PartTable
    new: PartTable
    names: Mapping[str, str]
    changed: frozenset[ArtifactPart]

    @classmethod
    def between(
        cls, parent: str, old: PartTable, new: PartTable, renames: Mapping[str, str]
    ) -> _Step:
        """Return the step between two versions.

        `changed` are the parts that differ, by name.
        """
        changed = frozenset(part for part, _ in old.meanings.items() ^ new.meanings.items())
        return cls(parent, old, new, pair_names(old, new, renames) if changed else {}, changed)

    def find_earlier_name(self, part: ArtifactPart) -> ArtifactPart:
        """Return the name of a part in the older version.

        A part that the newer version lacks keeps its name.
        """
        if part.name not in self.names or part not in self.new.meanings:
            return part
        return part._replace(name=self.names[part.name])

    def keeps(self, part: ArtifactPart) -> bool:
        """Whether a part means the same in both versions."""
        if part not in self.changed and part.name not in self.names:
            return True
        later, earlier = (
            self.new.meanings.get(part),
            self.old.meanings.get(self.find_earlier_name(part)),
        )
        if part.area != "weight" or earlier is None or later is None or earlier == later:
            return earlier == later
        return Fraction(earlier) * find_weight_factor(self.old, self.new) == Fraction(later)


@dataclass(slots=True)
class PartHistory:
    """The versions of one artifact in a `FileHistory`.

    `read_table(commit)` returns the parts at a commit, None for a malformed file: such a version is
    skipped. `renames` are the new ids of renamed questions by the old ones.
    """

    history: FileHistory
    read_table: Callable[[str], PartTable | None]
    renames: Mapping[str, str] = field(default_factory=dict)
    _tables: dict[str, PartTable | None] = field(default_factory=dict)

    def find_endings(self, parts: Iterable[ArtifactPart]) -> dict[ArtifactPart, PartEnding]:
        """Return each part's newest commit whose value differs from that of all parents.

        Names are those of the head. A part that the head lacks is named as in the version that last
        had it.
        """
        if self.history.head is None:
            return {}
        found = self._walk({self.history.head: [_PartSearch(part, part) for part in parts]})
        return {part: self._follow_renamed(part, ending) for part, ending in found.items()}

    def _walk(self, waiting: dict[str, list[_PartSearch]]) -> dict[ArtifactPart, PartEnding]:
        found: dict[ArtifactPart, PartEnding] = {}
        for oid in self.history.commits:
            searches = waiting.pop(oid, None)
            if not searches:
                continue
            steps = [*self._list_steps(oid)]
            # Most commits change few parts, and the rest moves on to the first parent together.
            if steps and not steps[0].names and steps[0].parent in self.history.commits:
                rest = [search for search in searches if search.here not in steps[0].changed]
                waiting.setdefault(steps[0].parent, []).extend(rest)
                searches = [search for search in searches if search.here in steps[0].changed]
            for search in searches:
                step = next((step for step in steps if step.keeps(search.here)), None)
                if step is None:
                    ending = Ending.CUT if oid in self.history.cut else Ending.COMMIT
                    found[search.wanted] = PartEnding(ending, oid)
                elif step.parent in self.history.commits:
                    earlier = _PartSearch(search.wanted, step.find_earlier_name(search.here))
                    waiting.setdefault(step.parent, []).append(earlier)
                else:
                    found[search.wanted] = PartEnding(Ending.BASE, step.parent)
        return found

    def _list_steps(self, oid: str) -> Iterator[_Step]:
        """Yield the step from each parent of a commit.

        A malformed parent is replaced by its own parents. There is no step to a malformed version.
        """
        new = self._read(oid)
        waiting, seen = list(reversed(self.history.commits[oid])), set[str]()
        while waiting and new is not None:
            parent = waiting.pop()
            if parent in seen:
                continue
            seen.add(parent)
            old = self._read(parent)
            if old is not None:
                yield _Step.between(parent, old, new, self.renames)
            elif parent in self.history.commits:
                waiting += reversed(self.history.commits[parent])

    def _follow_renamed(self, part: ArtifactPart, ending: PartEnding) -> PartEnding:
        """Return where a removed check ended that had another id before.

        It ended where it was removed, not where it was renamed.
        """
        seen = {part}
        while (
            ending.ending is Ending.COMMIT
            and (later := self._find_later_name(part, ending.commit)) not in seen
        ):
            seen.add(later)
            part = later
            ending = self._walk({self.history.head or "": [_PartSearch(part, part)]})[part]
        return ending

    def _find_later_name(self, part: ArtifactPart, oid: str) -> ArtifactPart:
        """Return the name that an absent part has at a commit, if the commit only renamed it."""
        for step in self._list_steps(oid):
            names = {before: after for after, before in step.names.items() if before}
            if part in step.old.meanings and part.name in names:
                return part._replace(name=names[part.name])
        return part

    def _read(self, oid: str) -> PartTable | None:
        if oid not in self._tables:
            # A version is compared with its parents, which come soon after.
            while len(self._tables) >= 8:  # noqa: PLR2004  # versions that are kept parsed
                del self._tables[next(iter(self._tables))]
            self._tables[oid] = self.read_table(oid)
        return self._tables[oid]
