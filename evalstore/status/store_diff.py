"""Defines `StoreDiff`: everything of a store that changed since its last releases."""

from __future__ import annotations

from dataclasses import dataclass

from evalstore.diff import Diff
from evalstore.errors import Place
from evalstore.versions import Bump


@dataclass(frozen=True, slots=True)
class BrokenComparison:
    """An artifact (`<kind>/<id>`) that could not be compared, why, and where."""

    ref: str
    message: str
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class StoreDiff:
    """Each changed artifact against its last release; the names that were never released, or that are gone.

    `total` counts the artifacts there are. What is `broken` could not be compared.
    """

    total: int
    diffs: tuple[Diff, ...] = ()
    new: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    broken: tuple[BrokenComparison, ...] = ()

    @property
    def required_bump(self) -> Bump:
        """The highest bump that a change needs."""
        return max((diff.required_bump for diff in self.diffs), default=Bump.NONE)
