"""Detects the format of a document by its content alone, with a confidence and a reason; the file name never counts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evalstore.migration.outcome import FormatGuess
from evalstore.migration.table import ForeignShape, FormatSign, FormatTable

SURE = 0.5
_CAMEL_CASE = re.compile(r"[a-z][a-z0-9]*(?:[A-Z][a-z0-9]*)+", re.ASCII)
_VARIANT_MARGIN = 0.25  # of the cases: closer than this, signs for a variant and against it decide nothing
_MARGIN = 0.05  # formats within this distance of the best match are reported as alternatives


@dataclass(frozen=True, slots=True)
class FormatMatch:
    """A detected format, or the shape of a file that is something else, or neither; `also` are close alternatives."""

    table: FormatTable | None
    shape: ForeignShape | None
    confidence: float
    reason: str
    also: tuple[FormatGuess, ...] = ()


NO_MATCH = FormatMatch(None, None, 0.0, "this is no format that evalstore migrates")
OWN_MATCH = FormatMatch(None, None, 1.0, "a migration has made this")


def detect_format(value: Any, tables: Sequence[FormatTable]) -> FormatMatch:
    """Return the best match among the tables; a foreign shape (`not_this`) wins over every format."""
    if _has_own_source(value):
        return OWN_MATCH
    shapes = (shape for table in tables for shape in table.not_this if _has_shape(value, shape, table))
    if shape := next(shapes, None):
        return FormatMatch(None, shape, 1.0, shape.reason)
    # The first sign that a document shows gives a table's confidence, so tables list their signs from the surest down.
    matches = sorted((_match_table(value, table) for table in tables), key=lambda match: -match.confidence)
    best, *others = matches or [NO_MATCH]
    # Alternatives must be sure enough to be taken with --from, and about as sure as the best.
    least = max(SURE, best.confidence - _MARGIN)
    return replace(
        best, also=tuple(_make_guess(match) for match in others if match.table and match.confidence >= least)
    )


def select_variant(value: Any, table: FormatTable) -> FormatTable | str:
    """Return the variant of a table whose signs most cases show, else the table itself.

    Where about as many cases speak for the one as for the other, it is a sentence with both reasons.
    """
    for variant in table.variants:
        cases = next((_list_items(value, key) for key in variant.lists if _has_list(value, key)), [])
        signs = [sign for sign in variant.signs if sign.at == "case"]
        others = [case for case in cases if not any(_is_sign_of(case, sign) for sign in signs)]
        shown = len(cases) - len(others)
        # Keys that only the table's own grader reads speak against its variant.
        foreign = {row.key for row in table.checks} - {row.key for row in variant.checks}
        against = sum(any(case.get(key) for key in foreign) for case in others)
        if abs(shown - against) <= _VARIANT_MARGIN * len(cases) and shown and against:
            return _describe_tie(variant, table, (shown, against, len(cases)), sorted(foreign))
        if shown * 2 > len(cases) and shown > against:
            return variant
    return table


def _describe_tie(variant: FormatTable, table: FormatTable, counts: tuple[int, int, int], keys: list[str]) -> str:
    shown, against, total = counts
    names = [next(iter(table.lists.values())), next(iter(variant.lists.values()))]
    sign = next(sign.because for sign in variant.signs if sign.at == "case")
    return (
        f"it may be {names[1]} ({sign}: {shown} of {total}) or {names[0]} (a key of {', '.join(keys)}: "
        f"{against} of {total}); --dialect decides"
    )


def _has_own_source(value: Any) -> bool:
    """Whether a document is an artifact or a row that a migration wrote."""
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, dict) and isinstance(first.get("x_source"), dict)


def _make_guess(match: FormatMatch) -> FormatGuess:
    return FormatGuess(match.table.format if match.table else "", match.confidence, match.reason)


def _match_table(value: Any, table: FormatTable) -> FormatMatch:
    lists = [key for key in table.lists if _has_list(value, key)]
    if table.lists and not lists:
        return NO_MATCH
    cases = _list_items(value, lists[0]) if lists else []
    sign = next((sign for sign in table.signs if _has_sign(value, cases, sign)), None)
    return FormatMatch(table, None, sign.confidence, sign.because) if sign else NO_MATCH


def _has_list(value: Any, key: str) -> bool:
    return key in value if isinstance(value, dict) else isinstance(value, list) and not key


def _has_sign(root: Any, cases: Iterable[dict[str, Any]], sign: FormatSign) -> bool:
    holders = ([root] if isinstance(root, dict) else []) if sign.at == "root" else cases
    return any(_is_sign_of(holder, sign) for holder in holders)


def _is_sign_of(holder: dict[str, Any], sign: FormatSign) -> bool:
    some = not sign.keys or not sign.keys.isdisjoint(holder)
    return some and sign.all <= holder.keys() and all(holder.get(key) in items for key, items in sign.values.items())


def _has_shape(value: Any, shape: ForeignShape, table: FormatTable) -> bool:
    # A shape that describes a list applies only where the file has none of the format's own lists.
    if shape.holder not in {None, *table.lists} and any(_has_list(value, key) for key in table.lists):
        return False  # the file has cases of this format: the foreign list only stands beside them
    root = value if isinstance(value, dict) else {}
    if not shape.root <= root.keys() or any(keys.isdisjoint(root) for keys in shape.any_of):
        return False
    # Most items must have the shape: a single odd one makes no other file of a suite.
    items = _list_items(value, shape.holder) if shape.holder is not None else []
    if shape.holder is not None and sum(_fits_shape(item, shape) for item in items) * 2 <= len(items):
        return False
    if not shape.camel_case and not shape.unless:
        return True
    # Evidence for the format outweighs the shape, whichever of its lists it stands in.
    cases = [case for key in table.lists for case in _list_items(value, key)]
    is_format = any(_has_sign(value, cases, sign) for sign in shape.unless)
    return not is_format and (not shape.camel_case or _has_camel_case(root, cases))


def _has_camel_case(root: Mapping[str, Any], cases: Iterable[Mapping[str, Any]]) -> bool:
    """Whether keys that a format defines are in camelCase; those of variables and metadata are the user's own."""
    return any(_is_camel_case(key) for holder in _list_key_holders(root, cases) for key in holder)


def _list_key_holders(root: Mapping[str, Any], cases: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    yield root
    for case in cases:
        options = case.get("options")
        yield from (case, options if isinstance(options, dict) else {}, *_list_items(case, "assert"))


def _is_camel_case(key: Any) -> bool:
    return isinstance(key, str) and _CAMEL_CASE.fullmatch(key) is not None


def _fits_shape(item: dict[str, Any], shape: ForeignShape) -> bool:
    return all(key in item and (not values or item[key] in values) for key, values in shape.item.items())


def _list_items(value: Any, key: str) -> list[dict[str, Any]]:
    items = value.get(key) if key and isinstance(value, dict) else None if key else value
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
