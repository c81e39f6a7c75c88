"""Splits the change of a rubric into edits, and builds the hybrids; pure.

Each edit can be made without the others.

A rubric has parts: each parameter of a check (for an unordered list, each item), its weight,
whether it is required, how checks combine, and the threshold, which moves only verdicts. Parts that
differ between the two versions are edits. Any set of them (an integer whose bits are their numbers)
gives a hybrid that can be graded: a check that is added or removed, or changes its kind, is one
part and takes its weight and its gate along; a renamed check stays the same check; weights that
were only rescaled did not change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NamedTuple

from evalstore.audits.check_matching import CHECK_KEYS, CheckNames, name_checks
from evalstore.checks import find_check_kind
from evalstore.model import Check, Combine, Rubric, Scoring, is_cosmetic
from evalstore.model.question_params import list_question_values

_SCORING_KEYS = ("combine", "missing", "errors", "threshold", "verdict")
_GRADING_AREAS = frozenset({"check", "param", "list", "item"})


class RubricPart(NamedTuple):
    """One part of a rubric.

    `area` is check, param, list, item, weight or required (of check `name`), or scoring.
    """

    area: str
    name: str
    key: str = ""
    item: str = ""


Parts = dict[RubricPart, Any]


class Edit(NamedTuple):
    """One edit: a part, and its values before and after."""

    part: RubricPart
    before: Any
    after: Any

    @property
    def check(self) -> str:
        """The name of the check that it belongs to; empty if it is about the whole rubric."""
        return "" if self.part.area == "scoring" else self.part.name


@dataclass(frozen=True, slots=True)
class RubricEdits:
    """What leads from one rubric to another: the parts that stay, and the edits.

    `names` are the names of the checks in both.
    """

    fixed: Parts
    edits: tuple[Edit, ...]
    names: tuple[CheckNames, CheckNames]
    _fixed: dict[str, Parts] = field(default_factory=dict, compare=False)
    _numbers: dict[str, list[int]] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        # By check, because a dataset needs the variants of each check far more often than a whole
        # hybrid.
        for part, value in self.fixed.items():
            self._fixed.setdefault(_find_graded_check(part), {})[part] = value
        for number, edit in enumerate(self.edits):
            self._numbers.setdefault(_find_graded_check(edit.part), []).append(number)

    @property
    def all_edits(self) -> int:
        """All edits, as a set."""
        return (1 << len(self.edits)) - 1

    @property
    def check_names(self) -> list[str]:
        """The names of all checks that any hybrid has."""
        parts = (*self.fixed, *(edit.part for edit in self.edits))
        return list(dict.fromkeys(part.name for part in parts if part.area == "check"))

    def build_check(self, name: str, held: int) -> Check | None:
        """Return one check of the hybrid with the edits `held` made.

        Returns None if the check is absent.
        """
        parts = self._build_parts(name, held)
        return None if parts.get(RubricPart("check", name)) is None else _join_check(name, parts)

    def build_scoring(self, held: int) -> Scoring:
        """Return how the hybrid combines its checks."""
        return _join_scoring(self._build_parts("", held))

    def list_grading_edits(self, name: str) -> Sequence[int]:
        """Return the numbers of the edits that change how one check grades."""
        return self._numbers.get(name, [])

    def _build_parts(self, name: str, held: int) -> Parts:
        """Return the parts of one check, or of the scoring, in a hybrid."""
        parts = dict(self._fixed.get(name, {}))
        for number in self.list_grading_edits(name):
            edit = self.edits[number]
            parts[edit.part] = edit.after if held >> number & 1 else edit.before
        return parts


def _find_graded_check(part: RubricPart) -> str:
    """Return the name of the check whose grading a part changes; empty for scoring."""
    return part.name if part.area in _GRADING_AREAS else ""


def find_edits(old: Rubric, new: Rubric) -> RubricEdits:
    """Return the edits from one version of a rubric to another."""
    names = name_checks(old, new)
    apart = _find_separable_checks((old, new), names)
    before, after = (_split_rubric(*one, apart) for one in ((old, names[0]), (new, names[1])))
    weights = _list_weights(old, names[0]), _list_weights(new, names[1])
    factor = _find_common_factor(*weights)
    before |= weights[0]
    after |= {part: weight / factor for part, weight in weights[1].items()}
    # A column has one part at both ends; an absent check gets the weight and gate of the other end.
    columns = {
        part: _fill_gaps(part, before.get(part), after.get(part)) for part in {**before, **after}
    }
    changed = {part: ends for part, ends in columns.items() if ends[0] != ends[1]}
    fixed = {part: ends[1] for part, ends in columns.items() if part not in changed}
    edits = tuple(Edit(part, *ends) for part, ends in sorted(changed.items()))
    return RubricEdits(fixed, edits, names)


def _find_separable_checks(
    versions: Sequence[Rubric], names: Sequence[CheckNames]
) -> frozenset[str]:
    """Return the names of the checks that can be taken apart.

    Both versions have them with the same kind, and the kind allows it. If a list comes from the
    question, so do its items.
    """
    kinds: list[set[tuple[str, str]]] = []
    for version, named in zip(versions, names, strict=True):
        free = (one for one in version.checks if find_check_kind(one.kind).has_free_params)
        own = (one for one in free if not list_question_values(one.params))
        kinds.append({(named[one.id], one.kind) for one in own})
    return frozenset(name for name, _ in set.intersection(*kinds))


def _split_rubric(rubric: Rubric, names: CheckNames, apart: frozenset[str]) -> Parts:
    """Return the parts of a version.

    Checks in `apart` are split by parameter, others are one part.
    """
    parts: Parts = {
        RubricPart("scoring", key): getattr(rubric.scoring, key) for key in _SCORING_KEYS
    }
    for check in rubric.checks:
        name = names[check.id]
        # Cosmetic keys score nothing, so changing one is not an edit.
        own = [key for key in check.params if key not in CHECK_KEYS and not is_cosmetic(key)]
        bare = {key: check.params[key] for key in own}
        parts[RubricPart("required", name)] = check.id in rubric.scoring.required
        parts[RubricPart("check", name)] = (
            check.kind if name in apart else replace(check, id=name, params=bare)
        )
        if name in apart:
            parts[RubricPart("param", name, "threshold")] = check.threshold
            parts[RubricPart("param", name, "negate")] = check.negate
            item_lists = find_check_kind(check.kind).item_lists
            for key, param in bare.items():
                if key in item_lists:
                    parts[RubricPart("list", name, key)] = ()
                    parts |= {RubricPart("item", name, key, item): True for item in param}
                else:
                    parts[RubricPart("param", name, key)] = param
    return parts


def _join_check(name: str, parts: Parts) -> Check:
    """Build a check from the parts into which `_split_rubric` took it apart."""
    kind = parts[RubricPart("check", name)]
    if isinstance(kind, Check):
        return kind
    own = {part.key: value for part, value in parts.items() if part.area == "param"}
    threshold, negate = own.pop("threshold"), own.pop("negate")
    params = {key: value for key, value in own.items() if value is not None}
    # An unordered list was split into its items; those in this state make up the list.
    for key in [part.key for part in parts if part.area == "list"]:
        params[key] = [
            part.item for part, held in parts.items() if held and part[:3] == ("item", name, key)
        ]
    return Check(name, kind, {"kind": kind, **params}, threshold, negate)


def _join_scoring(parts: Parts) -> Scoring:
    # The gate and the weight of an absent check have no effect.
    given = ((part.name, value) for part, value in parts.items() if part.area == "weight")
    weights = {name: value for name, value in given if value is not None}
    return Scoring(
        combine=Combine(parts[RubricPart("scoring", "combine")]),
        weights=weights,
        required=frozenset(
            part.name for part, value in parts.items() if part.area == "required" and value
        ),
        missing=parts[RubricPart("scoring", "missing")],
        errors=parts[RubricPart("scoring", "errors")],
        threshold=parts[RubricPart("scoring", "threshold")],
        verdict=parts[RubricPart("scoring", "verdict")],
    )


def _list_weights(rubric: Rubric, names: CheckNames) -> dict[RubricPart, Fraction]:
    weights = rubric.scoring.weights
    return {
        RubricPart("weight", name): weights.get(id_, Fraction(1)) for id_, name in names.items()
    }


def _find_common_factor(
    old: Mapping[RubricPart, Fraction], new: Mapping[RubricPart, Fraction]
) -> Fraction:
    """Return the common factor of new weights over old ones, for checks in both.

    1 if there is none.
    """
    both = [(old[part], new[part]) for part in old.keys() & new.keys()]
    factors = {after / before for before, after in both if before}
    # Weights were rescaled only if all of them have the same factor and zeros stayed zeros.
    if len(factors) != 1 or any(bool(before) != bool(after) for before, after in both):
        return Fraction(1)
    return factors.pop()


def _fill_gaps(part: RubricPart, old: Any, new: Any) -> tuple[Any, Any]:
    """Return a part's values at both ends.

    An absent check gets the weight and gate of the other end.
    """
    if part.area in {"weight", "required"}:
        return (new if old is None else old), (old if new is None else new)
    if part.area == "list":
        return (), ()  # its items say what changed
    return old, new
