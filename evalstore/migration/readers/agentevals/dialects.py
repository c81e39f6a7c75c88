"""The dialects of a suite: what each reads, and which of them a suite's keys indicate."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from evalstore.migration.table import FormatTable

ORDER = ("D0", "D1", "D2", "D2s", "D3", "D4")
_LISTS = ("assertions", "assert", "evaluators")
_TIE = 0.25  # of the cases: if two dialects are closer, the user decides


@dataclass(frozen=True, slots=True)
class Dialect:
    """One dialect, as the table describes it; `inherit` is `append` or `replace`."""

    name: str
    evaluators: Sequence[str]
    inherit: str
    args: str
    gates: bool = False
    limits: bool = False
    custom: bool = False


def load_dialect(name: str, table: FormatTable) -> Dialect:
    """Return a dialect of the table by its name."""
    return Dialect(name, **table.form["dialects"][name])


@dataclass(frozen=True, slots=True)
class DialectEvidence:
    """A dialect, and the key or check type that is evidence for it.

    `also` are the other dialects that know it. `cases` are the numbers of the cases that show it:
    all of them if it is at the root.
    """

    dialect: str
    because: str
    also: tuple[str, ...]
    cases: frozenset[int]


def find_dialects(
    root: Mapping[str, Any], cases: list[Any], table: FormatTable
) -> list[DialectEvidence]:
    """Return the dialects with evidence, most certain first; what few cases show comes last."""
    keys = [frozenset(case) if isinstance(case, dict) else frozenset() for case in cases]
    types = [set(_find_check_types(case)) for case in cases]
    root_types = set(_find_check_types(root))
    evidence: dict[str, DialectEvidence] = {}
    # The table lists its evidence from the strongest down; the first row for a dialect names it.
    for row in table.form["told_by"]:
        if "of" in row and row["of"] not in root:
            continue
        whole = _find_evidence(row, root, frozenset(), root_types)
        signs = zip(keys, types, strict=True)
        parts = [_find_evidence(row, {}, *one) for one in signs]
        shown = frozenset(number for number, because in enumerate(parts) if because or whole)
        if because := whole or next(filter(None, parts), ""):
            first = evidence.setdefault(
                row["dialect"],
                DialectEvidence(row["dialect"], because, tuple(row.get("also", ())), frozenset()),
            )
            evidence[row["dialect"]] = replace(first, cases=first.cases | shown)
    most = max((len(found.cases) for found in evidence.values()), default=0)
    # The sort is stable: among dialects shown by enough cases, the order of the table decides.
    return sorted(evidence.values(), key=lambda found: len(found.cases) * 2 < most)


def describe_tie(evidence: Sequence[DialectEvidence], cases: int) -> str:
    """Return a sentence if about as many cases indicate a second dialect as the first."""
    for first, other in ((evidence[0], other) for other in evidence[1:]):
        if first.dialect in other.also or other.dialect in first.also:
            continue
        ours, theirs = len(first.cases - other.cases), len(other.cases - first.cases)
        # A case that shows both is mixed, and does not decide between them.
        if ours and theirs and abs(ours - theirs) <= _TIE * cases:
            one, two = (_describe_evidence(found, cases) for found in (first, other))
            return f"it may be {one} or {two}; --dialect decides"
    return ""


def _describe_evidence(found: DialectEvidence, cases: int) -> str:
    return f"{found.dialect} ({found.because}: {len(found.cases)} of {cases})"


def is_in_dialect(name: str, row: Mapping[str, Any]) -> bool:
    """Whether a row of the table applies to a dialect, by its `since` and `until`."""
    # Dialects are ordered by age.
    place = ORDER.index(name)
    return (
        ORDER.index(row.get("since", ORDER[0])) <= place <= ORDER.index(row.get("until", ORDER[-1]))
    )


def _find_evidence(
    row: Mapping[str, Any], root: Mapping[str, Any], keys: Collection[Any], types: set[str]
) -> str:
    at_root = [key for key in row.get("root", ()) if key in root]
    values = [key for key, value in row.get("root_values", {}).items() if root.get(key) == value]
    in_case = [key for key in row.get("case", ()) if key in keys]
    matching_types = sorted(
        type_ for type_ in types if any(fnmatchcase(type_, name) for name in row.get("types", ()))
    )
    return next(
        iter([*at_root, *values, *in_case, *(f"type {type_}" for type_ in matching_types)]), ""
    )


def _find_check_types(holder: Any) -> Iterator[str]:
    """Yield the types of all checks in a mapping, at any depth."""
    holders = (
        (holder, *map(holder.get, ("execution", "default_test")))
        if isinstance(holder, dict)
        else ()
    )
    lists = (inner.get(key) for inner in holders if isinstance(inner, dict) for key in _LISTS)
    for item in (
        item for raw in lists if isinstance(raw, list) for item in raw if isinstance(item, dict)
    ):
        yield from (item["type"],) if isinstance(item.get("type"), str) else ()
        yield from _find_check_types(item)
