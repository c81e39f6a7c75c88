"""Finds the dialect of a suite by its keys and check types, and checks the keys of objects against a dialect."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from evalstore.documents import Pointer
from evalstore.migration.extraction import MigrationNote
from evalstore.migration.outcome import MigrationOutcome
from evalstore.migration.readers.agentevals.grading import (
    CaseScope,
    Dialect,
    Grading,
    join_gradings,
    note_ignored,
    parse_share,
)
from evalstore.migration.table import FormatTable
from evalstore.migration.unknown_keys import describe_unknown_keys

ORDER = ("D0", "D1", "D2", "D2s", "D3", "D4")
_MARGIN = 0.25  # of the cases: closer than this, two dialects are for the user to decide
_LISTS = ("assertions", "assert", "evaluators")


def load_dialect(name: str, table: FormatTable) -> Dialect:
    """Return a dialect of the table by its name."""
    row = table.form["dialects"][name]
    return Dialect(
        name=name,
        evaluators=tuple(row["evaluators"]),
        appends=row["inherit"] == "append",
        gates=row.get("gates", False),
        limits=row.get("limits", False),
        custom=row.get("custom", False),
        args=row["args"],
    )


@dataclass(frozen=True, slots=True)
class DialectEvidence:
    """A dialect, the key or check type that is evidence for it, and the dialects that know it `also`.

    `cases` are the numbers of the cases that show it: all of them where it stands at the root.
    """

    dialect: str
    because: str
    also: tuple[str, ...]
    cases: frozenset[int]


def find_dialects(root: Mapping[str, Any], cases: list[Any], table: FormatTable) -> list[DialectEvidence]:
    """Return the dialects with evidence, the most certain first; what few cases show comes behind what many do."""
    keys = [frozenset(case) if isinstance(case, dict) else frozenset() for case in cases]
    types = [set(_find_check_types(case)) for case in cases]
    root_types = set(_find_check_types(root))
    evidence: dict[str, DialectEvidence] = {}
    # The table lists its evidence from the surest down; the first row of a dialect names it.
    for row in table.form["told_by"]:
        if "of" in row and row["of"] not in root:
            continue
        whole = _find_evidence(row, root, frozenset(), root_types)
        parts = {number: _find_evidence(row, {}, *signs) for number, signs in enumerate(zip(keys, types, strict=True))}
        shown = frozenset(number for number, because in parts.items() if because or whole)
        if because := whole or next(filter(None, parts.values()), ""):
            first = evidence.setdefault(
                row["dialect"], DialectEvidence(row["dialect"], because, tuple(row.get("also", ())), frozenset())
            )
            evidence[row["dialect"]] = replace(first, cases=first.cases | shown)
    most = max((len(found.cases) for found in evidence.values()), default=0)
    # The sort is stable: among dialects that enough cases speak for, the order of the table decides.
    return sorted(evidence.values(), key=lambda found: len(found.cases) * 2 < most)


def describe_tie(evidence: Sequence[DialectEvidence], cases: int) -> str:
    """Return a sentence where about as many cases speak for a second dialect as for the first; else an empty text."""
    for first, other in ((evidence[0], other) for other in evidence[1:]):
        if first.dialect in other.also or other.dialect in first.also:
            continue
        ours, theirs = len(first.cases - other.cases), len(other.cases - first.cases)
        # A case that shows both is mixed in itself, and decides nothing between them.
        if ours and theirs and abs(ours - theirs) <= _MARGIN * cases:
            names = " or ".join(
                f"{found.dialect} ({found.because}: {len(found.cases)} of {cases})" for found in (first, other)
            )
            return f"it may be {names}; --dialect decides"
    return ""


def is_in_dialect(name: str, row: Mapping[str, Any]) -> bool:
    """Whether a row of the table applies to a dialect, by its `since` and `until`."""
    # Dialects are ordered by age.
    place = ORDER.index(name)
    return ORDER.index(row.get("since", ORDER[0])) <= place <= ORDER.index(row.get("until", ORDER[-1]))


def _find_evidence(row: Mapping[str, Any], root: Mapping[str, Any], keys: Collection[Any], types: set[str]) -> str:
    at_root = [key for key in row.get("root", ()) if key in root]
    values = [key for key, value in row.get("root_values", {}).items() if root.get(key) == value]
    in_case = [key for key in row.get("case", ()) if key in keys]
    matching_types = sorted(type_ for type_ in types if any(fnmatchcase(type_, name) for name in row.get("types", ())))
    return next(iter([*at_root, *values, *in_case, *(f"type {type_}" for type_ in matching_types)]), "")


def _find_check_types(holder: Any) -> Iterator[str]:
    """Yield the types of all checks in a mapping, at any depth."""
    for raw in _find_check_lists(holder):
        for item in raw if isinstance(raw, list) else ():
            if isinstance(item, dict):
                yield from (item["type"],) if isinstance(item.get("type"), str) else ()
                yield from _find_check_types(item)


def _find_check_lists(holder: Any) -> Iterator[Any]:
    for inner in (holder, *(holder.get(key) for key in ("execution", "default_test"))) if _is_mapping(holder) else ():
        yield from (inner[key] for key in _LISTS if key in inner) if _is_mapping(inner) else ()


def _is_mapping(value: Any) -> bool:
    return isinstance(value, dict)


def check_keys(raw: Any, pointer: Pointer, scope: CaseScope, *places: str) -> Grading:
    """Return losses and notes for the keys of an object, checked against the table's keys for these `places`."""
    known = {key: row or {} for place in places for key, row in scope.table.form["keys"].get(place, {}).items()}
    # A key with null counts as absent, as in the runner.
    keys = [] if not isinstance(raw, dict) else [key for key, value in raw.items() if value is not None]
    unknown = [key for key in keys if key not in known]
    too_early = [key for key in keys if key in known and not is_in_dialect(scope.dialect.name, known[key])]
    misfits = [key for key in keys if key in known and key not in too_early and not _fits_row(raw[key], known[key])]
    losses = [known[key]["lost"] for key in keys if "lost" in known.get(key, ()) and key not in too_early]
    return join_gradings(
        [
            Grading(lossy=tuple(losses)),
            *(_note_unknown((*pointer, key), known) for key in unknown),
            *(note_ignored((*pointer, key), f"{scope.dialect.name} has no {key}") for key in too_early),
            *(note_ignored((*pointer, key), f"it takes {known[key]['takes']}") for key in misfits),
        ]
    )


def _note_unknown(pointer: Pointer, known: Iterable[str]) -> Grading:
    (reason,) = describe_unknown_keys(pointer[-1:], known)
    return Grading(notes=(MigrationNote(pointer, MigrationOutcome.UNMAPPED, reason),))


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
