"""The values that evaluators are read into: gradings with terms of a score, losses and notes; and their texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

from evalstore.documents import Document, Pointer
from evalstore.migration.extraction import ArtifactDraft, MigrationNote
from evalstore.migration.outcome import MigrationOutcome
from evalstore.migration.remainder import encode_value
from evalstore.migration.table import FormatTable
from evalstore.text import make_excerpt

Raw = Mapping[str, Any]
Check = dict[str, Any]
PASSES = Fraction(4, 5)  # the runner's threshold, where nothing sets another
AVERAGE = "weighted_avg"
EXCERPT = 60  # characters of a value in a message
FILE_PREFIX = "file://"
# A variable of a test in a text; the other two are what only the runner can fill when it starts.
VARIABLE = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*\}\}")
_ENVIRONMENT = re.compile(r"\$\{\{.*?\}\}|\{\{\s*env\..*?\}\}")
_TEMPLATE = re.compile(r"\{[{%#]")


class CrashError(Exception):
    """A value at which the legacy runner stops; the message says why."""


@dataclass(frozen=True, slots=True)
class Term:
    """One part of a score: a check, or a group of terms with its own `combine`.

    `gate` is the score that a required term must reach. `passes` is the threshold of a group. `steps` is the number of
    scores above 0 that a check can have; 0 for any score. `unmapped` are the parts of a group that no check expresses.
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
    """What one evaluator, or several, contribute: terms, losses, notes, unmapped parts, and judges."""

    terms: tuple[Term, ...] = ()
    lossy: tuple[str, ...] = ()
    notes: tuple[MigrationNote, ...] = ()
    unmapped: tuple[Mapping[str, Any], ...] = ()
    judges: tuple[ArtifactDraft, ...] = ()


@dataclass(frozen=True, slots=True)
class Dialect:
    """One dialect, as the table describes it."""

    name: str
    evaluators: tuple[str, ...]
    appends: bool
    gates: bool
    limits: bool
    custom: bool
    args: str


@dataclass(frozen=True, slots=True)
class CaseScope:
    """What an evaluator depends on besides itself: its dialect, and the case that it grades."""

    table: FormatTable
    dialect: Dialect
    read_companion: Callable[[str], Document | None]
    expected: Any = None
    variables: Mapping[str, Any] = field(default_factory=dict)
    passes: Fraction = PASSES


def join_gradings(gradings: Iterable[Grading]) -> Grading:
    """Return several gradings as one, without repeated reasons and notes."""
    parts = list(gradings)
    return Grading(
        terms=tuple(term for part in parts for term in part.terms),
        lossy=tuple(dict.fromkeys(reason for part in parts for reason in part.lossy)),
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
        unmapped=tuple(raw for part in parts for raw in part.unmapped),
        judges=tuple(judge for part in parts for judge in part.judges),
    )


def grade_by_check(raw: Mapping[str, Any], pointer: Pointer, check: Check, *lossy: str, steps: int = 1) -> Grading:
    """Return the grading of one check."""
    return Grading((Term(find_name(raw), pointer, check, steps=steps),), lossy)


def note_skipped(pointer: Pointer, reason: str) -> Grading:
    """Return a note on a part that the runner itself leaves out of the score."""
    return Grading(notes=(MigrationNote(pointer, MigrationOutcome.UNMAPPED, f"the runner skips it: {reason}"),))


def note_ignored(pointer: Pointer, reason: str) -> Grading:
    """Return a note on a value that the runner never reads."""
    return Grading(notes=(MigrationNote(pointer, MigrationOutcome.UNMAPPED, f"the runner never reads it: {reason}"),))


def set_aside(raw: Any, pointer: Pointer, reason: str) -> Grading:
    """Return a part that the runner grades and no check expresses: its rubric becomes partial."""
    return Grading(
        notes=(MigrationNote(pointer, MigrationOutcome.UNMAPPED, reason),),
        unmapped=({"reason": reason, "raw": encode_value(raw)},),
    )


def find_name(raw: Mapping[str, Any]) -> str:
    """Return the name of an evaluator, else its type."""
    return next((raw[key] for key in ("metric", "name", "id", "type") if isinstance(raw.get(key), str)), "")


def parse_number(raw: Any) -> Fraction | None:
    """Return a number as an exact fraction; None for anything else."""
    # bool is an int in Python; the runner takes neither it nor texts for numbers.
    return Fraction(raw) if isinstance(raw, int | Decimal) and not isinstance(raw, bool) else None


def parse_share(raw: Any) -> Fraction | None:
    """Return a number above 0 and up to 1; None for anything else."""
    value = parse_number(raw)
    return value if value is not None and 0 < value <= 1 else None


def fill_variables(text: str, scope: CaseScope) -> str:
    """Return a text with the test's variables in their places, as far as they are texts."""

    def fill(match: re.Match[str]) -> str:
        value = scope.variables.get(match[1])
        return value if isinstance(value, str) else match[0]

    return VARIABLE.sub(fill, text) if scope.variables else text


def describe_open_places(text: str, scope: CaseScope) -> str:
    """Return a sentence on places of a text that only the runner can fill when it starts; empty for none."""
    has_templates = scope.dialect.name == "D4"
    is_open = _ENVIRONMENT.search(text) or (has_templates and (_TEMPLATE.search(text) or text.startswith(FILE_PREFIX)))
    return f"nobody can say here what fills {make_excerpt(text, EXCERPT)}" if is_open else ""
