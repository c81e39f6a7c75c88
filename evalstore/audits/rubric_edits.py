"""Splits the versions of a rubric into edits that can be made one without the other, and builds the hybrids; pure.

A rubric has parts: each parameter of a check (of a list without order, each item), its weight, whether it is required,
and how checks combine. Parts that differ between the first and the last version are edits; an edit has a step for every
version that changed it. Any choice of steps gives a hybrid that can be graded: a check that is added or removed, or
changes its kind, is one part and takes its weight and its gate along; a renamed check stays the same check; weights
that were only rescaled did not change. The threshold of the rubric is no part, because no score depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

from evalstore.audits.shapley import EXACT_PLAYERS, State
from evalstore.documents import write_canonical
from evalstore.model import Check, Combine, Rubric, Scoring, is_cosmetic

# The id of a check in one version -> its name along the path, which is its first id.
CheckNames = Mapping[str, str]
CHECK_KEYS = frozenset({"id", "threshold", "negate"})  # keys of a check that are no parameters of its kind


def trace_check_names(versions: Sequence[Rubric]) -> Iterator[CheckNames]:
    """Yield for each version the ids of its checks with the names that they keep along the path."""
    before: CheckNames = {check.id: check.id for check in versions[0].checks}
    yield before
    for old, new in pairwise(versions):
        now = {after: before[earlier] for earlier, after in _match_checks(old.checks, new.checks)}
        for check in new.checks:
            if check.id not in now:
                now[check.id] = _make_fresh_name(check.id, {*before.values(), *now.values()})
        yield now
        before = now


def encode_check(check: Check) -> str:
    """Return the content of a check as one text, whatever its id, title and layout."""
    params = {key: value for key, value in check.params.items() if key not in CHECK_KEYS and not is_cosmetic(key)}
    return write_canonical([check.kind, params, str(check.threshold), check.negate])


def _match_checks(old: Sequence[Check], new: Sequence[Check]) -> Iterator[tuple[str, str]]:
    """Yield the ids of the same check in both versions; an id derived from the order says less than the content."""
    before, after = list(old), list(new)
    # From the surest evidence to the weakest; a matched check is not matched again.
    for alike in _MATCHERS:
        for check in tuple(before):
            if (twin := next((other for other in after if alike(check, other)), None)) is not None:
                before.remove(check)
                after.remove(twin)
                yield check.id, twin.id


def _has_equal_content(old: Check, new: Check) -> bool:
    return encode_check(old) == encode_check(new)


def _has_same_id(old: Check, new: Check) -> bool:
    return old.id == new.id


# From same id and content, over equal content without ids, to the same id, and at last equal content (a rename).
_MATCHERS: tuple[Callable[[Check, Check], bool], ...] = (
    lambda old, new: _has_same_id(old, new) and _has_equal_content(old, new),
    lambda old, new: "id" not in old.params and "id" not in new.params and _has_equal_content(old, new),
    _has_same_id,
    _has_equal_content,
)


def _make_fresh_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "'"
    return name


class RubricPart(NamedTuple):
    """One part of a rubric; `area` is check, param, item, weight or required (of check `name`), or scoring."""

    area: str
    name: str
    key: str = ""
    item: str = ""


Parts = Mapping[RubricPart, Any]
SWAP = RubricPart("rubric", "")
# Parameters whose value is a list in which neither order nor repetition counts.
SETS = frozenset({"values", "required_sections", "forbidden_patterns"})
# Kinds that are never taken apart: their parameters depend on each other, or a mix would be a judge that never existed.
_WHOLE_KINDS = frozenset({"json_schema", "fact_match", "llm_judge", "composite"})
_SCORING_KEYS = ("combine", "missing", "errors")


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit: the values of its parts before and after each step, and the numbers of those steps (from 0)."""

    part: RubricPart
    states: tuple[Parts, ...]
    steps: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RubricEdits:
    """What leads from one rubric to another: the parts that stay, the edits, and the names of checks by version."""

    fixed: Parts
    edits: tuple[Edit, ...]
    names: tuple[CheckNames, ...]

    @property
    def levels(self) -> State:
        """How many steps each edit has."""
        return tuple(len(edit.steps) for edit in self.edits)

    def build_hybrid(self, state: State) -> Rubric:
        """Return the rubric in which each edit has taken `state` steps; the ids of its checks are their names."""
        parts = dict(self.fixed)
        for edit, level in zip(self.edits, state, strict=True):
            parts |= edit.states[level]
        # A check whose part is None is absent in this state.
        held = [part.name for part, value in parts.items() if part.area == "check" and value is not None]
        return Rubric("", "", tuple(_join_check(name, parts) for name in held), _join_scoring(parts, held))


def find_edits(versions: Sequence[Rubric]) -> RubricEdits:
    """Return the edits through the versions of one rubric, of which there is at least one.

    Checks are taken apart where that leaves few enough edits for exact shares; else each check is one part.
    """
    names = tuple(trace_check_names(versions))
    # Each edit doubles the hybrids, so fine parts are used only while shares stay exact.
    fine = _build_edits(versions, names, _find_separable_checks(versions, names))
    return fine if len(fine.edits) <= EXACT_PLAYERS else _build_edits(versions, names, frozenset())


def build_swap(old: Rubric, new: Rubric) -> RubricEdits:
    """Return the exchange of one rubric for another one as a single edit."""
    names = tuple({check.id: check.id for check in rubric.checks} for rubric in (old, new))
    before, after = _list_version_parts((old, new), names, frozenset())
    # The parts of the old rubric are absent in the new one, also those that the new one lacks.
    gone = {part: None for part in before if part not in after}
    return RubricEdits({}, (Edit(SWAP, (before, {**gone, **after}), (0,)),), names)


def _build_edits(versions: Sequence[Rubric], names: tuple[CheckNames, ...], apart: frozenset[str]) -> RubricEdits:
    rows = _list_version_parts(versions, names, apart)
    # A column holds one part through all versions; what differs at its ends is an edit.
    columns = {part: _fill_gaps(part, [row.get(part) for row in rows]) for row in rows for part in row}
    changed = {part: values for part, values in columns.items() if values[0] != values[-1]}
    fixed = {part: values[-1] for part, values in columns.items() if part not in changed}
    return RubricEdits(fixed, tuple(_build_edit(part, values) for part, values in sorted(changed.items())), names)


def _build_edit(part: RubricPart, values: Sequence[Any]) -> Edit:
    steps = tuple(step for step, (old, new) in enumerate(pairwise(values)) if old != new)
    return Edit(part, ({part: values[0]}, *({part: values[step + 1]} for step in steps)), steps)


def _find_separable_checks(versions: Sequence[Rubric], names: Sequence[CheckNames]) -> frozenset[str]:
    """Return the names of the checks that every version has with the same kind, one that can be taken apart."""
    kinds = [
        {(named[check.id], check.kind) for check in version.checks if check.kind not in _WHOLE_KINDS}
        for version, named in zip(versions, names, strict=True)
    ]
    return frozenset(name for name, _ in set.intersection(*kinds))


def _list_version_parts(
    versions: Sequence[Rubric], names: Sequence[CheckNames], apart: frozenset[str]
) -> list[dict[RubricPart, Any]]:
    weights = _list_weights(versions, names)
    return [
        {**_split_rubric(version, named, apart), **own}
        for version, named, own in zip(versions, names, weights, strict=True)
    ]


def _split_rubric(rubric: Rubric, names: CheckNames, apart: frozenset[str]) -> dict[RubricPart, Any]:
    parts: dict[RubricPart, Any] = {RubricPart("scoring", key): getattr(rubric.scoring, key) for key in _SCORING_KEYS}
    for check in rubric.checks:
        name = names[check.id]
        # Cosmetic keys score nothing, so a change of one is no edit.
        bare = {key: value for key, value in check.params.items() if key not in CHECK_KEYS and not is_cosmetic(key)}
        parts[RubricPart("required", name)] = check.id in rubric.scoring.required
        parts[RubricPart("check", name)] = check.kind if name in apart else replace(check, id=name, params=bare)
        if name in apart:
            parts |= {RubricPart("param", name, key): getattr(check, key) for key in ("threshold", "negate")}
            parts |= {part: value for key, param in bare.items() for part, value in _split_param(name, key, param)}
    return parts


def _split_param(name: str, key: str, value: Any) -> list[tuple[RubricPart, Any]]:
    if key in SETS:
        return [(RubricPart("param", name, key), ()), *((RubricPart("item", name, key, item), True) for item in value)]
    return [(RubricPart("param", name, key), value)]


def _join_check(name: str, parts: Parts) -> Check:
    """Build a check from the parts into which `_split_rubric` took it apart."""
    kind = parts[RubricPart("check", name)]
    if isinstance(kind, Check):
        return kind
    own = {part.key: value for part, value in parts.items() if part.area == "param" and part.name == name}
    threshold, negate = own.pop("threshold"), own.pop("negate")
    params = {key: value for key, value in own.items() if value is not None and key not in SETS}
    # A list without order was taken apart into its items; those that this state holds make the list.
    for key in SETS & own.keys():
        params[key] = [part.item for part, held in parts.items() if held and part[:3] == ("item", name, key)]
    return Check(name, kind, {"kind": kind, **params}, threshold, negate)


def _join_scoring(parts: Parts, held: Sequence[str]) -> Scoring:
    # The gate and the weight of an absent check have no effect.
    return Scoring(
        combine=Combine(parts[RubricPart("scoring", "combine")]),
        weights={name: parts[RubricPart("weight", name)] for name in held},
        required=frozenset(name for name in held if parts[RubricPart("required", name)]),
        missing=parts[RubricPart("scoring", "missing")],
        errors=parts[RubricPart("scoring", "errors")],
    )


def _list_weights(versions: Sequence[Rubric], names: Sequence[CheckNames]) -> list[dict[RubricPart, Fraction]]:
    """Return the weights of each version, on the scale of the version before where they are a multiple of it."""
    rows: list[dict[RubricPart, Fraction]] = []
    for version, named in zip(versions, names, strict=True):
        row = {RubricPart("weight", name): version.scoring.weights.get(id_, Fraction(1)) for id_, name in named.items()}
        factor = _find_common_factor(rows[-1], row) if rows else Fraction(1)
        rows.append({part: weight / factor for part, weight in row.items()})
    return rows


def _find_common_factor(old: Mapping[RubricPart, Fraction], new: Mapping[RubricPart, Fraction]) -> Fraction:
    """Return the common factor of the new weights over the old ones, of checks in both versions; 1 without one."""
    both = [(old[part], new[part]) for part in old.keys() & new.keys()]
    factors = {after / before for before, after in both if before}
    # Weights were rescaled only if all of them have one factor, and zeros stayed zeros.
    if len(factors) != 1 or any(bool(before) != bool(after) for before, after in both):
        return Fraction(1)
    return factors.pop()


def _fill_gaps(part: RubricPart, values: Sequence[Any]) -> tuple[Any, ...]:
    """Return a part's values by version; an absent check gets the weight and the gate of the nearest version."""
    if part.area == "param" and part.key in SETS:
        return ((),) * len(values)  # its items say what changed
    if part.area not in {"weight", "required"} or None not in values:
        return tuple(values)
    # An absent check has no weight: take that of the version before, and at the start that of the version after.
    filled = list(values)
    for index in range(1, len(filled)):
        filled[index] = filled[index - 1] if filled[index] is None else filled[index]
    first = next(value for value in filled if value is not None)
    return tuple(first if value is None else value for value in filled)
