"""What evaluators say once they are read: terms of a score, what is lost, and what stands aside; values only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from evalstore.documents import Document, Pointer
from evalstore.migration.extraction import ArtifactDraft, MigrationNote
from evalstore.migration.outcome import MigrationOutcome
from evalstore.migration.remainder import encode_keys
from evalstore.migration.table import FormatTable

Check = dict[str, Any]
PASSES = Fraction(4, 5)
AVERAGE = "weighted_avg"


class CrashError(Exception):
    """A value at which the legacy runner stops, in words."""


@dataclass(frozen=True, slots=True)
class Term:
    """One part of a score: a check, or a group of terms with its own `combine`; `gate` is the bar of a required one.

    `passes` is what the score of a group must reach to pass. `steps` is the number of scores that a check can have
    besides 0; 0 where it can have any. `unmapped` are the parts of a group that no check can say.
    """

    name: str
    pointer: Pointer
    check: Check | None = None
    members: tuple[Term, ...] = ()
    combine: str = AVERAGE
    passes: Fraction = PASSES
    weight: Fraction = Fraction(1)
    gate: Fraction | None = None
    negate: bool = False
    steps: int = 1
    unmapped: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Grading:
    """What one evaluator, or several, come to."""

    terms: tuple[Term, ...] = ()
    lossy: tuple[str, ...] = ()
    notes: tuple[MigrationNote, ...] = ()
    unmapped: tuple[Mapping[str, Any], ...] = ()
    judges: tuple[ArtifactDraft, ...] = ()


@dataclass(frozen=True, slots=True)
class Dialect:
    """One dialect, as the table has it."""

    name: str
    evaluators: tuple[str, ...]
    appends: bool
    gates: bool
    limits: bool
    custom: bool
    args: str


@dataclass(frozen=True, slots=True)
class CaseScope:
    """What an evaluator may look at besides itself: its dialect, and the case that it grades."""

    table: FormatTable
    dialect: Dialect
    beside: Callable[[str], Document | None]
    expected: Any = None
    variables: Mapping[str, Any] = field(default_factory=dict)
    passes: Fraction = PASSES


def joined(saids: Iterable[Grading]) -> Grading:
    """Return several as one."""
    parts = list(saids)
    return Grading(
        terms=tuple(term for said in parts for term in said.terms),
        lossy=tuple(dict.fromkeys(reason for said in parts for reason in said.lossy)),
        notes=tuple(dict.fromkeys(note for said in parts for note in said.notes)),
        unmapped=tuple(raw for said in parts for raw in said.unmapped),
        judges=tuple(judge for said in parts for judge in said.judges),
    )


def leaf(raw: Mapping[str, Any], pointer: Pointer, check: Check, *lossy: str, steps: int = 1) -> Grading:
    """Return what one check says."""
    return Grading((Term(name_of(raw), pointer, check, steps=steps),), lossy)


def skipped(pointer: Pointer, why: str) -> Grading:
    """Return what is out of the score because the runner itself leaves it out."""
    return Grading(notes=(MigrationNote(pointer, MigrationOutcome.UNMAPPED, f"the runner skips it: {why}"),))


def ignored(pointer: Pointer, why: str) -> Grading:
    """Return a note on a value that the runner never reads."""
    return Grading(notes=(MigrationNote(pointer, MigrationOutcome.UNMAPPED, f"the runner never reads it: {why}"),))


def unmapped(raw: Any, pointer: Pointer, why: str) -> Grading:
    """Return what the runner grades and no check can say: it is kept, and makes its rubric partial."""
    return Grading(
        notes=(MigrationNote(pointer, MigrationOutcome.UNMAPPED, why),),
        unmapped=({"reason": why, "raw": encode_keys(raw)},),
    )


def name_of(raw: Mapping[str, Any]) -> str:
    """Return what an evaluator is called: by itself, else by its type."""
    return next((raw[key] for key in ("metric", "name", "id", "type") if isinstance(raw.get(key), str)), "")


def number(raw: Any) -> Fraction | None:
    """Return a finite number exactly; None for anything else."""
    if isinstance(raw, bool | str | list | dict) or raw is None:
        return None
    return Fraction(raw)


def share(raw: Any) -> Fraction | None:
    """Return a number above 0 and up to 1; None for anything else."""
    given = number(raw)
    return given if given is not None and 0 < given <= 1 else None
