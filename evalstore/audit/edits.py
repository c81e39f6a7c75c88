"""The versions of one rubric as edits that can be made one without the other, and the hybrid rubrics in between; pure.

A rubric falls into parts: each check, its weight, whether it is required, and how checks combine. Parts that differ
between the first and the last version are edits; an edit has a step for every version that changed it. Any choice of
steps gives a hybrid that can be graded: a check that comes or goes takes its weight and its gate along, a renamed check
is the same part under its first name, and weights that were only rescaled did not change. The threshold of the rubric
is no part, because no score depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

from evalstore.audit.shapley import State
from evalstore.documents import canonical
from evalstore.model import Check, Combine, Rubric, Scoring, is_cosmetic


class Part(NamedTuple):
    """One part of a rubric: `check`, `weight` or `required` of a check, or a key of `scoring`."""

    area: str
    name: str


SWAP = Part("rubric", "")
_KEYS = ("combine", "missing", "errors")
Parts = Mapping[Part, Any]
Names = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Edit:
    """What changed and when: the parts before and after each step, and the numbers of those steps (from 0)."""

    part: Part
    states: tuple[Parts, ...]
    steps: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Hybrid:
    """A rubric in between: which variants of checks it holds, and how they combine."""

    variants: tuple[int, ...]
    scoring: Scoring


@dataclass(frozen=True, slots=True)
class Track:
    """The way from one rubric to another: every variant of a check on it, the parts that stay, and the edits."""

    variants: tuple[Check, ...]
    fixed: Parts
    edits: tuple[Edit, ...]
    names: tuple[Names, ...]

    @property
    def levels(self) -> State:
        """How many steps each edit has."""
        return tuple(len(edit.steps) for edit in self.edits)

    def hybrid(self, state: State) -> Hybrid:
        """Return the rubric in which each edit has gone as far as `state` says."""
        parts = dict(self.fixed)
        for edit, level in zip(self.edits, state, strict=True):
            parts |= edit.states[level]
        held = {part.name: index for part, index in parts.items() if part.area == "check" and index is not None}
        return Hybrid(tuple(held.values()), _scoring(parts, held))


def track(versions: Sequence[Rubric]) -> Track:
    """Return the way through the versions of one rubric, the first and the last included."""
    names = tuple(_names(versions))
    variants, rows = _rows(versions, names)
    columns = {part: _filled(part, [row.get(part) for row in rows]) for row in rows for part in row}
    changed = {part: values for part, values in columns.items() if values[0] != values[-1]}
    return Track(
        variants=variants,
        fixed={part: values[-1] for part, values in columns.items() if part not in changed},
        edits=tuple(_edit(part, values) for part, values in sorted(changed.items())),
        names=names,
    )


def swap(old: Rubric, new: Rubric) -> Track:
    """Return the way from one rubric to another one with nothing in between: a single edit."""
    names = tuple({check.id: check.id for check in rubric.checks} for rubric in (old, new))
    variants, (before, after) = _rows((old, new), names)
    gone = {part: None for part in before if part not in after}
    return Track(variants, {}, (Edit(SWAP, (before, {**gone, **after}), (0,)),), names)


def _scoring(parts: Parts, held: Mapping[str, int]) -> Scoring:
    # A gate or a weight of a check that is not there is void.
    return Scoring(
        combine=Combine(parts[Part("scoring", "combine")]),
        weights={name: parts[Part("weight", name)] for name in held},
        required=frozenset(name for name in held if parts[Part("required", name)]),
        missing=parts[Part("scoring", "missing")],
        errors=parts[Part("scoring", "errors")],
    )


def _rows(versions: Sequence[Rubric], names: Sequence[Names]) -> tuple[tuple[Check, ...], list[dict[Part, Any]]]:
    """Return every variant of a check, and for each version its parts; a check stands there as its variant's number."""
    variants: dict[str, Check] = {}
    rows = [_parts(version, named, variants) for version, named in zip(versions, names, strict=True)]
    weights = _weights(versions, names)
    return tuple(variants.values()), [{**row, **own} for row, own in zip(rows, weights, strict=True)]


def _parts(rubric: Rubric, names: Names, variants: dict[str, Check]) -> dict[Part, Any]:
    parts: dict[Part, Any] = {Part("scoring", key): getattr(rubric.scoring, key) for key in _KEYS}
    for check in rubric.checks:
        name = names[check.id]
        content = canonical([name, content_of(check)])
        variants.setdefault(content, replace(check, id=name))
        parts[Part("check", name)] = list(variants).index(content)
        parts[Part("required", name)] = check.id in rubric.scoring.required
    return parts


def content_of(check: Check) -> str:
    """Return what a check demands as one text, whatever its id, title and layout."""
    return canonical({key: value for key, value in check.params.items() if key != "id" and not is_cosmetic(key)})


def _names(versions: Sequence[Rubric]) -> Iterator[Names]:
    """Yield for each version its checks' ids as the names that they keep along the way."""
    before: Names = {check.id: check.id for check in versions[0].checks}
    yield before
    for old, new in pairwise(versions):
        now = {after: before[earlier] for earlier, after in _pairs(old.checks, new.checks)}
        for check in new.checks:
            if check.id not in now:
                now[check.id] = _fresh(check.id, {*before.values(), *now.values()})
        yield now
        before = now


def _pairs(old: Sequence[Check], new: Sequence[Check]) -> Iterator[tuple[str, str]]:
    """Yield the ids of the checks that are the same in both; ids that come from the order say less than the content."""
    before, after = list(old), list(new)
    for alike in _ALIKE:
        for check in tuple(before):
            if (twin := next((other for other in after if alike(check, other)), None)) is not None:
                before.remove(check)
                after.remove(twin)
                yield check.id, twin.id


def _equal(old: Check, new: Check) -> bool:
    return content_of(old) == content_of(new)


def _same(old: Check, new: Check) -> bool:
    return old.id == new.id


_ALIKE: tuple[Callable[[Check, Check], bool], ...] = (
    lambda old, new: _same(old, new) and _equal(old, new),
    lambda old, new: "id" not in old.params and "id" not in new.params and _equal(old, new),
    _same,
    _equal,
)


def _fresh(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "'"
    return name


def _weights(versions: Sequence[Rubric], names: Sequence[Names]) -> list[dict[Part, Fraction]]:
    """Return each version's weights, on the scale of the version before where they are its multiple."""
    rows: list[dict[Part, Fraction]] = []
    for version, named in zip(versions, names, strict=True):
        row = {Part("weight", name): version.scoring.weights.get(id_, Fraction(1)) for id_, name in named.items()}
        factor = _factor(rows[-1], row) if rows else Fraction(1)
        rows.append({part: weight / factor for part, weight in row.items()})
    return rows


def _factor(old: Mapping[Part, Fraction], new: Mapping[Part, Fraction]) -> Fraction:
    """Return the factor that takes the weights of the checks in both versions to the new ones; 1 when there is none."""
    both = [(old[part], new[part]) for part in old.keys() & new.keys()]
    factors = {after / before for before, after in both if before}
    if len(factors) != 1 or any(bool(before) != bool(after) for before, after in both):
        return Fraction(1)
    return factors.pop()


def _filled(part: Part, values: Sequence[Any]) -> tuple[Any, ...]:
    """Return a part's values by version; the weight and the gate of an absent check are what they were or will be."""
    if part.area == "check" or None not in values:
        return tuple(values)
    filled = list(values)
    for index in range(1, len(filled)):
        filled[index] = filled[index - 1] if filled[index] is None else filled[index]
    first = next(value for value in filled if value is not None)
    return tuple(first if value is None else value for value in filled)


def _edit(part: Part, values: Sequence[Any]) -> Edit:
    steps = tuple(step for step, (old, new) in enumerate(pairwise(values)) if old != new)
    return Edit(part, ({part: values[0]}, *({part: values[step + 1]} for step in steps)), steps)
