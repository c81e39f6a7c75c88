"""The values that evaluators are parsed into.

They are gradings with terms of a score, losses and notes; and texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from evalstore.documents import Pointer, format_json_pointer
from evalstore.migration.extraction import ArtifactDraft, LegacySource, MigrationNote
from evalstore.migration.outcome import MigrationOutcome
from evalstore.migration.readers.agentevals.dialects import Dialect, is_in_dialect
from evalstore.migration.remainder import encode_value
from evalstore.migration.table import FormatTable
from evalstore.migration.value_readings import is_number, note_unknown_key
from evalstore.text import SHORT_EXCERPT, make_excerpt

Raw = Mapping[str, Any]
Check = dict[str, Any]
PASSES = Fraction(4, 5)  # the runner's threshold if nothing sets another
AVERAGE = "weighted_avg"
FILE_PREFIX = "file://"
# A variable of a test in a text; the other two are what only the runner can fill in when it starts.
VARIABLE = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*\}\}")
_ENVIRONMENT = re.compile(r"\$\{\{.*?\}\}|\{\{\s*env\..*?\}\}")
_TEMPLATE = re.compile(r"\{[{%#]")


class CrashError(Exception):
    """A value on which the legacy runner crashes; the message says why."""


@dataclass(frozen=True, slots=True)
class Term:
    """One part of a score: a check, or a group of terms with its own `combine`.

    `gate` is the score that a required term must reach. `passes` is the threshold of a group.
    `steps` is the number of scores above 0 that a check can have; 0 for any score. `unmapped` are
    the parts of a group that no check can express.
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
class GradingTerms:
    """What one evaluator, or several, contribute to a grading.

    That is terms, losses, notes, unmapped parts and judges.
    """

    terms: tuple[Term, ...] = ()
    lossy: tuple[str, ...] = ()
    notes: tuple[MigrationNote, ...] = ()
    unmapped: tuple[Mapping[str, Any], ...] = ()
    judges: tuple[ArtifactDraft, ...] = ()

    def __add__(self, other: GradingTerms) -> GradingTerms:
        """Return both as one."""
        return join_gradings([self, other])


@dataclass(frozen=True, slots=True)
class SuiteContext:
    """What all cases of a file share: its root, its dialect, its source and the table."""

    root: Raw
    dialect: Dialect
    legacy: LegacySource
    table: FormatTable


@dataclass(frozen=True, slots=True)
class CaseScope:
    """What an evaluator depends on besides itself: its suite, and the case that it grades."""

    suite: SuiteContext
    expected: Any
    variables: Mapping[str, Any]
    passes: Fraction

    @property
    def dialect(self) -> Dialect:
        """The dialect of the suite."""
        return self.suite.dialect

    @property
    def form(self) -> Mapping[str, Any]:
        """What the table has for this format alone."""
        return self.suite.table.form


def join_gradings(gradings: Iterable[GradingTerms]) -> GradingTerms:
    """Return several gradings as one, without repeated reasons and notes."""
    parts = list(gradings)
    return GradingTerms(
        terms=tuple(term for part in parts for term in part.terms),
        lossy=tuple(dict.fromkeys(reason for part in parts for reason in part.lossy)),
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
        unmapped=tuple(raw for part in parts for raw in part.unmapped),
        judges=tuple(judge for part in parts for judge in part.judges),
    )


def note_losses(*reasons: str) -> GradingTerms:
    """Return losses alone; an empty text is not a loss."""
    return GradingTerms(lossy=tuple(filter(None, reasons)))


def note_unmapped(pointer: Pointer, reason: str) -> GradingTerms:
    """Return a note alone."""
    return GradingTerms(notes=(MigrationNote(pointer, MigrationOutcome.UNMAPPED, reason),))


@dataclass(frozen=True, slots=True)
class SuitePart:
    """A part of a suite with its pointer, in a case's scope.

    It is an evaluator, a point, or how to grade. `row` is the table's row for an evaluator's type.
    """

    raw: Any
    pointer: Pointer
    scope: CaseScope
    row: Mapping[str, Any] = field(default_factory=dict)

    def get(self, key: str) -> Any:
        """Return its value at a key; None if it is not a mapping."""
        return self.raw.get(key) if isinstance(self.raw, dict) else None

    def enter(self, *steps: Any) -> SuitePart:
        """Return the part at a key, or deeper."""
        inner: Any = self.raw
        for step in steps:
            if isinstance(inner, list) and isinstance(step, int):
                inner = inner[step]
            else:
                inner = inner.get(step) if isinstance(inner, dict) else None
        return SuitePart(inner, (*self.pointer, *steps), self.scope)

    @property
    def name(self) -> str:
        """Its name, else its type."""
        names = map(self.get, ("metric", "name", "id", "type"))
        return next((name for name in names if isinstance(name, str)), "")

    @property
    def weight(self) -> Fraction:
        """Its weight, by default 1.

        Raises `CrashError` unless it is a number from 0 up: the runner crashes there.
        """
        if self.get("weight") is None:
            return Fraction(1)
        weight = parse_number(self.raw["weight"])
        if weight is None or weight < 0:
            written = make_excerpt(str(self.raw["weight"]))
            raise CrashError(
                f"{format_json_pointer(self.pointer)}: the weight {written} is not a number "
                "of 0 or more"
            )
        return weight

    def grade(self, check: Check, *lossy: str, steps: int = 1) -> GradingTerms:
        """Return the grading of one check."""
        return GradingTerms((Term(self.name, self.pointer, check, steps=steps),), lossy)

    def skip(self, reason: str) -> GradingTerms:
        """Return a note that the runner itself leaves it out of the score."""
        return note_unmapped(self.pointer, f"the runner skips it: {reason}")

    def ignore(self, reason: str) -> GradingTerms:
        """Return a note that the runner never reads it."""
        return note_unmapped(self.pointer, f"the runner never reads it: {reason}")

    def set_aside(self, reason: str) -> GradingTerms:
        """Return it as something that the runner grades and no check expresses.

        Its rubric becomes partial.
        """
        kept = {"reason": reason, "raw": encode_value(self.raw)}
        return replace(note_unmapped(self.pointer, reason), unmapped=(kept,))

    def check_keys(self, *places: str) -> GradingTerms:
        """Return losses and notes for its keys.

        They are checked against the table's keys for these `places`.
        """
        tables = (self.scope.form["keys"].get(place, {}) for place in places)
        known = {key: row or {} for table in tables for key, row in table.items()}
        dialect = self.scope.dialect.name
        # A key with null counts as absent, as in the runner.
        raw = self.raw if isinstance(self.raw, dict) else {}
        keys = [key for key, value in raw.items() if value is not None]
        unknown = [(*self.pointer, key) for key in keys if key not in known]
        keys = [key for key in keys if key in known]
        too_early = [key for key in keys if not is_in_dialect(dialect, known[key])]
        keys = [key for key in keys if key not in too_early]
        misfits = [key for key in keys if not _fits_row(raw[key], known[key])]
        return join_gradings(
            [
                note_losses(*(known[key].get("lost", "") for key in keys)),
                *(GradingTerms(notes=(note_unknown_key(at, known),)) for at in unknown),
                *(self.enter(key).ignore(f"{dialect} has no {key}") for key in too_early),
                *(self.enter(key).ignore(f"it takes {known[key]['takes']}") for key in misfits),
            ]
        )


def parse_number(raw: Any) -> Fraction | None:
    """Return a number as an exact fraction; None for anything else."""
    return Fraction(raw) if is_number(raw) else None


def parse_bar(raw: Any) -> Fraction | None:
    """Return a number from 0 to 1; None for anything else."""
    value = parse_number(raw)
    return value if value is not None and 0 <= value <= 1 else None


def parse_share(raw: Any) -> Fraction | None:
    """Return a number above 0 and up to 1; None for anything else."""
    return parse_bar(raw) or None


def fill_variables(text: str, scope: CaseScope) -> str:
    """Return a text with the test's variables in their places, as far as they are texts."""

    def fill(match: re.Match[str]) -> str:
        value = scope.variables.get(match[1])
        return value if isinstance(value, str) else match[0]

    return VARIABLE.sub(fill, text) if scope.variables else text


def describe_open_places(text: str, scope: CaseScope) -> str:
    """Return a sentence on places in a text that only the runner can fill in.

    It fills them when it starts. The sentence is empty if there are none.
    """
    has_templates = scope.dialect.name == "D4"
    is_open = _ENVIRONMENT.search(text) or (
        has_templates and (_TEMPLATE.search(text) or text.startswith(FILE_PREFIX))
    )
    return f"nobody can say here what fills {make_excerpt(text, SHORT_EXCERPT)}" if is_open else ""


def _fits_row(value: Any, row: Mapping[str, Any]) -> bool:
    """Whether a value has a type that the runner accepts for its key."""
    return "takes" not in row or any(_TAKES[sort](value) for sort in row["takes"].split(" or "))


_TAKES: Mapping[str, Callable[[Any], bool]] = {
    "true": lambda value: isinstance(value, bool),
    "false": lambda value: isinstance(value, bool),
    "a number above 0 up to 1": lambda value: parse_share(value) is not None,
    "a text": lambda value: isinstance(value, str),
    "a list": lambda value: isinstance(value, list),
    "a mapping": lambda value: isinstance(value, dict),
}
