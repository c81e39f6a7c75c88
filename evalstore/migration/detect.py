"""Detects the format of a document by its content: signs for and against, weighed over all cases.

The file name never counts. A case counts for or against a format by its strongest sign, and a sign
at the root counts for every case, so one odd case does not turn a file into another format.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from evalstore.files import LARGE_FILE, read_user_file
from evalstore.migration.legacy_files import parse_legacy
from evalstore.migration.outcome import FormatGuess, MigrationOutcome
from evalstore.migration.table import (
    ANY_KEY,
    ForeignShape,
    FormatSign,
    FormatTable,
    get_path,
    has_path,
    load_tables,
    load_tool_shapes,
)
from evalstore.runs.formats import find_value_format

SURE = 0.5
_HEAD = 100  # rows that determine the format of a file of rows, however many follow
# As a share of the weight of both formats' signs: closer ones are left for the user to decide.
MARGIN = Fraction(1, 5)
_CAMEL_CASE = re.compile(r"[a-z][a-z0-9]*(?:[A-Z][a-z0-9]*)+", re.ASCII)
_LISTLESS = "nothing in it can be the cases of {}: it has no {}"


@dataclass(frozen=True, slots=True)
class SignCount:
    """In how many of a file's cases a sign is, for or against a format.

    A sign at the root counts for all.
    """

    sign: FormatSign
    is_against: bool
    shown: int
    cases: int

    @property
    def sentence(self) -> str:
        """The sign in words, with its count."""
        where = "at the root" if self.sign.at == "root" else f"{self.shown:,} of {self.cases:,}"
        return f"{self.sign.because}: {where}"


@dataclass(frozen=True, slots=True)
class FormatWeight:
    """How strongly a file speaks for a format: its `weight`, from -1 to 1, and its signs.

    The strongest sign comes first. `mass` is the weight of its signs, whether for or against it.
    `confidence` is how sure they are, from 0 to 1, over the cases that have any.
    """

    table: FormatTable
    weight: Fraction
    mass: Fraction
    confidence: float
    signs: tuple[SignCount, ...]

    @property
    def reason(self) -> str:
        """The strongest sign for the format."""
        return next((count.sign.because for count in self.signs if not count.is_against), "")

    @property
    def has_sure_sign(self) -> bool:
        """Whether some sign for the format would be enough by itself."""
        return any(not count.is_against and count.sign.confidence >= SURE for count in self.signs)

    def compute_margin(self, other: FormatWeight) -> Fraction:
        """Return by how much it outweighs another format.

        It is a share of the weight of both formats' signs.
        """
        mass = self.mass + other.mass
        return (self.weight - other.weight) / mass if mass else Fraction(0)

    @property
    def guess(self) -> FormatGuess:
        """The format as one that a file may have."""
        return FormatGuess(self.table.format, self.confidence, self.reason)


@dataclass(frozen=True, slots=True)
class FormatMatch:
    """A detected format, or the shape of a file that is something else, or neither.

    `weights` are all formats with a sign for them, heaviest first; `also` are those that weigh
    about as much as the best. If one of these is another format, there is no `table`, and the
    reason asks for --from.
    """

    table: FormatTable | None
    shape: ForeignShape | None
    confidence: float
    reason: str
    also: tuple[FormatGuess, ...] = ()
    weights: tuple[FormatWeight, ...] = ()

    @property
    def is_sure(self) -> bool:
        """Whether a migration takes the file for the format without being told to."""
        return self.table is not None and self.confidence >= SURE

    @property
    def is_tie(self) -> bool:
        """Whether two formats weigh about the same."""
        return self.table is None and bool(self.also)

    @property
    def margin(self) -> Fraction | None:
        """By how much the heaviest format outweighs the next, as a share of their signs.

        None if there is no next one.
        """
        return self.weights[0].compute_margin(self.weights[1]) if self.weights[1:] else None


NO_MATCH = FormatMatch(None, None, 0.0, "this is not a format that evalstore migrates")
EMPTY_MATCH = FormatMatch(None, None, 0.0, "it is empty: there is no case in it to migrate")
OWN_MATCH = FormatMatch(None, None, 1.0, "written by a migration")


def detect_format(value: Any, tables: Sequence[FormatTable]) -> FormatMatch:
    """Return the heaviest table, if no other weighs about as much.

    A foreign shape (`not_this`) wins over all tables.
    """
    if _has_own_source(value):
        return OWN_MATCH
    shape = next(_find_shapes(value, tables), None)
    weights = weigh_formats(value, tables)
    if shape:
        table = next((table for table in tables if table.format == shape.format), None)
        return FormatMatch(table, None if table else shape, 1.0, shape.reason, weights=weights)
    if not weights:
        return NO_MATCH if value else EMPTY_MATCH
    best, *others = weights
    close = [one for one in others if one.has_sure_sign and best.compute_margin(one) <= MARGIN]
    also = tuple(one.guess for one in close)
    rival = next((one for one in close if one.table.format != best.table.format), None)
    if rival:
        return FormatMatch(
            None, None, best.confidence, _describe_rivals(best, rival), (best.guess, *also), weights
        )
    return FormatMatch(best.table, None, best.confidence, best.reason, also, weights)


def detect_file(path: Path) -> FormatMatch:
    """Return the format of a file; for rows, according to the first of them.

    Raises `LoadError` if it cannot be read.
    """
    data = read_user_file(path, LARGE_FILE)
    if path.suffix.lower() in {".jsonl", ".ndjson"}:
        data = b"\n".join(data.split(b"\n", _HEAD)[:_HEAD])
    return detect_format(parse_legacy(data, path.name)[0].value, load_tables(None))


def take_format(value: Any, table: FormatTable, *, is_named: bool) -> FormatMatch:
    """Return the match of a file with the format that the user says it has.

    What else the file looks like does not matter. In a folder, only a file with some sign of the
    format is taken, but not the results of a run: `is_named` says that the user named the file
    itself.
    """
    if _has_own_source(value) and not is_named:
        return OWN_MATCH
    weights = weigh_formats(value, [table])
    if not is_named:
        for shape in _find_shapes(value, [table]):
            if shape.outcome is MigrationOutcome.UNMAPPED:
                return FormatMatch(None, shape, 1.0, shape.reason, weights=weights)
        if not weights:
            return NO_MATCH
    elif find_list(value, table) is None and not _runs_alone(value, table):
        lists = " or ".join(key or "list at its root" for key in table.lists)
        return FormatMatch(None, None, 0.0, _LISTLESS.format(table.format, lists))
    best = weights[0] if weights else FormatWeight(table, Fraction(0), Fraction(0), 0.0, ())
    return FormatMatch(
        table, None, best.confidence, best.reason or "--from says so", weights=weights
    )


def _find_shapes(value: Any, tables: Sequence[FormatTable]) -> Iterator[ForeignShape]:
    """Yield the foreign shapes of a document.

    Results come first, then neighbours of a suite, then other tools' files.
    """
    results = find_value_format(value)
    if results and not results.migrates:
        reason = f"it holds {results.describe_use('FILE')}, and no suite"
        yield ForeignShape(results.name, reason, MigrationOutcome.UNMAPPED, holds_results=True)
    for table in tables:
        yield from (one for one in table.not_this if _has_shape(value, one, table.lists))
    yield from (shape for shape in load_tool_shapes() if _has_shape(value, shape, ()))


def count_cases(value: Any, match: FormatMatch, tables: Sequence[FormatTable]) -> int | None:
    """Return how many cases a file has that no format takes.

    Returns None if the file is not a suite, or has no list.
    """
    if match.shape and not match.shape.has_cases:
        return None
    keys = {key for table in tables for key in table.lists} | {
        match.shape.holder or "" if match.shape else ""
    }
    return max(len(_list_items(value, key)) for key in keys) or None


def weigh_formats(value: Any, tables: Sequence[FormatTable]) -> tuple[FormatWeight, ...]:
    """Return the weights of the tables for which a document has a list and a sign.

    The heaviest comes first.
    """
    listed = [(table, key) for table in tables if (key := find_list(value, table)) is not None]
    cases = {key: _list_items(value, key) for _, key in listed}
    # Lists in one file weigh by their length: a single case next to twenty others does not make
    # another format.
    total = max(map(len, cases.values()), default=0)
    weights = [_weigh_table(value, table, cases[key], total) for table, key in listed]
    shown = [one for one in weights if any(not count.is_against for count in one.signs)]
    return tuple(sorted(shown, key=lambda one: (-one.weight, -one.confidence)))


def _runs_alone(value: Any, table: FormatTable) -> bool:
    """Whether a file without a list is a suite of one case."""
    return isinstance(value, dict) and any(key in value for key in table.alone)


def find_list(value: Any, table: FormatTable) -> str | None:
    """Return the path of the first of a table's lists that a document has.

    Returns None if it has none.
    """
    return next((key for key in table.lists if _has_list(value, key)), None)


def _weigh_table(
    root: Any, table: FormatTable, cases: Sequence[dict[str, Any]], total: int
) -> FormatWeight:
    signs = (*table.signs, *table.against)
    root_signs = {sign for sign in signs if sign.at == "root"} if isinstance(root, dict) else ()
    at_root = {sign for sign in root_signs if _is_sign_of(root, sign)}
    in_case = [sign for sign in signs if sign.at == "case"]
    # Cases with the same signs weigh the same. A file with an empty list, or with no list, has only
    # its root.
    alike = Counter(
        tuple(sign for sign in in_case if _is_sign_of(case, sign)) for case in cases or [{}]
    )
    shown = Counter({sign: len(cases) for sign in signs if sign in at_root})
    tally = Counter[tuple[float, float]]()  # cases by their evidence for and against the format
    for found, number in alike.items():
        shown.update(dict.fromkeys(found, number))
        present = at_root.union(found)
        for_ = max((sign.confidence for sign in table.signs if sign in present), default=0.0)
        against = max((sign.confidence for sign in table.against if sign in present), default=0.0)
        tally[for_, against] += number

    def weigh(for_: float, against: float) -> Fraction:
        return -_strength(against) if against > for_ else _strength(for_)

    weights = [number * weigh(*sides) for sides, number in tally.items()]
    spoken = {sides: number for sides, number in tally.items() if max(sides) >= SURE} or tally
    votes = sum(number * for_ for (for_, against), number in spoken.items() if for_ >= against)
    counts = [
        SignCount(sign, sign in table.against, number, len(cases)) for sign, number in shown.items()
    ]
    counts.sort(
        key=lambda count: (-_strength(count.sign.confidence) * count.shown, -count.sign.confidence)
    )
    weight, mass = (Fraction(sum(items), max(total, 1)) for items in (weights, map(abs, weights)))
    return FormatWeight(table, weight, mass, round(votes / sum(spoken.values()), 2), tuple(counts))


def _strength(confidence: float) -> Fraction:
    """Return how much a sign decides, from 0 to 1: below `SURE` nothing."""
    return max(Fraction(0), (Fraction(str(confidence)) - Fraction(1, 2)) * 2)


def _describe_rivals(*rivals: FormatWeight) -> str:
    signs = [
        next((count.sentence for count in one.signs if not count.is_against), "") for one in rivals
    ]
    names = " or ".join(
        f"{one.table.format} ({sign})" for one, sign in zip(rivals, signs, strict=True)
    )
    return f"it may be {names}; --from decides"


def select_variant(value: Any, table: FormatTable) -> FormatTable | str:
    """Return the variant of a table whose signs most cases show, else the table itself.

    If about as many cases show one as the other, return a sentence with both reasons.
    """
    for variant in table.variants:
        cases = next(
            (_list_items(value, key) for key in variant.lists if _has_list(value, key)), []
        )
        signs = [sign for sign in variant.signs if sign.at == "case"]
        others = [case for case in cases if not any(_is_sign_of(case, sign) for sign in signs)]
        shown = len(cases) - len(others)
        # Keys that only the table's own grader reads count against its variant.
        foreign = {row.key for row in table.checks} - {row.key for row in variant.checks}
        against = sum(any(case.get(key) for key in foreign) for case in others)
        if (
            abs(shown - against) <= 0.25 * len(cases) and shown and against
        ):  # closer than that, signs decide nothing
            return _describe_tie(variant, table, (shown, against, len(cases)), sorted(foreign))
        if shown * 2 > len(cases) and shown > against:
            return variant
    return table


def _describe_tie(
    variant: FormatTable, table: FormatTable, counts: tuple[int, int, int], keys: list[str]
) -> str:
    shown, against, total = counts
    names = [next(iter(table.lists.values())), next(iter(variant.lists.values()))]
    sign = next(sign.because for sign in variant.signs if sign.at == "case")
    return (
        f"it may be {names[1]} ({sign}: {shown} of {total}) or {names[0]} (a key of "
        f"{', '.join(keys)}: {against} of {total}); --dialect decides"
    )


def _has_own_source(value: Any) -> bool:
    """Whether a document is an artifact, or rows, that a migration wrote."""
    items = value if isinstance(value, list) else [value]
    own = [
        item for item in items if isinstance(item, dict) and isinstance(item.get("x_source"), dict)
    ]
    return len(own) * 2 > len(items)


def _has_list(value: Any, key: str) -> bool:
    if key == ANY_KEY:
        return bool(_list_items(value, key))
    return (
        bool(key) and has_path(value, key)
        if isinstance(value, dict)
        else isinstance(value, list) and not key
    )


def _has_sign(root: dict[str, Any], cases: Sequence[dict[str, Any]], sign: FormatSign) -> bool:
    holders = {"root": [root], "case": cases, "check": _list_checks([root, *cases])}[sign.at]
    return any(_is_sign_of(holder, sign) for holder in holders)


def _list_checks(holders: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the checks of cases and of their root; one that is only a text is a criterion."""
    for holder in holders:
        items = holder.get("assert")
        for item in items if isinstance(items, list) else ():
            if isinstance(item, dict):
                yield item
            elif isinstance(item, str):
                yield {"criteria": item}


def _is_sign_of(holder: dict[str, Any], sign: FormatSign) -> bool:
    some = not sign.keys or not sign.keys.isdisjoint(holder)
    return (
        some
        and sign.all <= holder.keys()
        and all(holder.get(key) in items for key, items in sign.values.items())
    )


def _has_shape(value: Any, shape: ForeignShape, lists: Collection[str]) -> bool:
    # A shape that describes a list applies only if the file has none of the format's own lists.
    if shape.holder not in {None, *lists} and any(_has_list(value, key) for key in lists):
        return False  # the file has cases of this format: the foreign list is merely next to them
    root = value if isinstance(value, dict) else {}
    has_keys = shape.root <= root.keys() and shape.none_of.isdisjoint(root)
    if not has_keys or any(keys.isdisjoint(root) for keys in shape.any_of):
        return False
    # Most items must have the shape: a single odd one does not turn a suite into another kind of
    # file.
    items = _list_items(value, shape.holder) if shape.holder is not None else []
    if shape.holder is not None and sum(_fits_shape(item, shape) for item in items) * 2 <= len(
        items
    ):
        return False
    if not shape.camel_case and not shape.unless:
        return True
    # Evidence for the format outweighs the shape, whichever list it is in.
    cases = [case for key in lists for case in _list_items(value, key)]
    is_format = any(_has_sign(root, cases, sign) for sign in shape.unless)
    return not is_format and (not shape.camel_case or _has_camel_case(root, cases))


def _has_camel_case(root: Mapping[str, Any], cases: Iterable[Mapping[str, Any]]) -> bool:
    """Whether keys of the format are in camelCase.

    The keys of variables and metadata are the user's own, and do not count.
    """
    holders = [root]
    for case in cases:
        options = case.get("options")
        holders += [
            case,
            options if isinstance(options, dict) else {},
            *_list_items(case, "assert"),
        ]
    return any(
        isinstance(key, str) and _CAMEL_CASE.fullmatch(key) for holder in holders for key in holder
    )


def _fits_shape(item: dict[str, Any], shape: ForeignShape) -> bool:
    return all(
        key in item and (not values or item[key] in values) for key, values in shape.item.items()
    )


def _list_items(value: Any, key: str) -> list[dict[str, Any]]:
    if key == ANY_KEY:
        items = value.values() if isinstance(value, dict) else ()
        return [item for item in items if isinstance(item, dict)]
    items = get_path(value, key) if key else value
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
