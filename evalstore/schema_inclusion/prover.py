"""Proves that all values of a set meet a schema; never says so where that is not so, and often does not know.

A constraint is entailed where the set has the same one; where its values are finitely many and each meets it; where the
types that it concerns cannot be; where the rule for its keyword proves it; or where all cases of a choice prove it.

Example: is every value of `narrow` one of `wide`? A choice is about all types, so the rule of `exclusiveMinimum` finds
no lower bound; but the one value of the first case is above 3, and the lower bound of the integers of the second is 7.

>>> from evalstore.schema_inclusion.constraints import NUMBERS, intersect_schemas
>>> narrow, wide = {"anyOf": [{"const": 4}, {"type": ["integer"], "minimum": 7}]}, {"exclusiveMinimum": 3}
>>> prover, values = Prover(SharedBudget(1_000)), intersect_schemas([narrow])
>>> [constraint.text for constraint in (*values.constraints, *list_constraints(wide))]
['anyOf [{"const":4},{"minimum":7,"type":["integer"]}]', 'exclusiveMinimum 3']
>>> sorted(prover.find_types(values) & NUMBERS), numbers.find_lower_bound(values, "integer")
(['fraction', 'integer'], None)
>>> first, second = _split_branches(values, values.constraints[0])
>>> prover.list_values(first), prover.list_values(second), prover.find_types(second)
([4], None, frozenset({'integer'}))
>>> numbers.find_lower_bound(second, "integer")
Bound(value=Fraction(7, 1), is_open=False)
>>> prover.entails_schema(values, wide), prover.entails_schema(intersect_schemas([wide]), narrow)
(True, False)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from evalstore.budget import SharedBudget
from evalstore.schema_inclusion import arrays, numbers, objects, strings
from evalstore.schema_inclusion.constraints import (
    TYPES,
    Constraint,
    ValueSet,
    deny_schemas,
    list_constraints,
    make_choice_constraint,
    make_type_constraint,
)
from evalstore.schema_inclusion.evaluation import combine_answers, evaluate_constraint, find_type
from evalstore.schema_inclusion.normalization import NormalSchema
from evalstore.schema_inclusion.proof import Answer
from evalstore.schema_inclusion.strings import prove_pattern_inclusion

_CHOICE_NAMES = frozenset({"anyOf", "oneOf"})
_FINITE_TYPES: Mapping[str, list[Any]] = {"null": [None], "boolean": [False, True]}

Rule = Callable[["Prover", ValueSet, Any], bool]


@dataclass(slots=True)
class Prover:
    """One proof: its steps, and what it has found out about each set of values, by the name of the question."""

    budget: SharedBudget
    results: dict[tuple[str, frozenset[str]], Any] = field(default_factory=dict)

    def spend(self, steps: int = 1) -> None:
        """Take steps; raises `OutOfStepsError` when they are used up."""
        self.budget.spend(steps)

    def remember(self, name: str, value_set: ValueSet, compute: Callable[[ValueSet], Answer]) -> Answer:
        """Return what `compute` says of a set of values, which is called for the first time only."""
        key = (name, value_set.texts)
        if key not in self.results:
            self.spend(1 + len(value_set.texts) // 4)
            self.results[key] = compute(value_set)
        return self.results[key]  # type: ignore[no-any-return]  # put there above

    def implies_pattern(self, narrow: str, wide: str) -> bool:
        """Whether every text in which one pattern is found is proved to be one in which another is."""
        inclusion = prove_pattern_inclusion(narrow, wide)
        self.spend(inclusion.steps)
        return inclusion.is_proved

    def entails_schema(self, narrow: ValueSet, wide: NormalSchema) -> bool:
        """Whether every value of `narrow` is proved to meet `wide`."""
        self.spend()
        if wide is True or self.is_empty(narrow):
            return True
        return all(self.entails_constraint(narrow, constraint) for constraint in list_constraints(wide))

    def entails_constraint(self, narrow: ValueSet, constraint: Constraint) -> bool:
        """Whether every value of `narrow` is proved to meet one constraint."""
        if narrow.has_constraint(constraint):
            return True
        return self.remember(constraint.text, narrow, lambda value_set: self._prove_constraint(value_set, constraint))

    def find_types(self, value_set: ValueSet) -> frozenset[str]:
        """Return the types that the values can have; a set with more types is no error."""
        return self.remember("types", value_set, self._compute_types)

    def list_values(self, value_set: ValueSet) -> list[Any] | None:
        """Return a finite list that holds every value of a set; None where it is not known to be finite."""
        return self.remember("values", value_set, self._compute_values)

    def is_empty(self, value_set: ValueSet) -> bool:
        """Whether a set is proved to have no value."""
        return self.remember("empty", value_set, self._compute_emptiness)

    def _prove_constraint(self, narrow: ValueSet, constraint: Constraint) -> bool:
        # From the surest question to the dearest.
        values = self.list_values(narrow)
        if values is not None:
            self.spend(len(values))
            return all(evaluate_constraint(constraint, value) is True for value in values)
        if constraint.types_concerned.isdisjoint(self.find_types(narrow)):
            return True
        rule = _RULES.get(constraint.name)
        return rule is not None and (rule(self, narrow, constraint.value) or self._prove_by_cases(narrow, constraint))

    def _compute_types(self, value_set: ValueSet) -> frozenset[str]:
        # A value of a type that no constraint of a denied schema concerns meets that schema: it is not in the set.
        denied = (list_constraints(schema) for schema in value_set.get_all("not"))
        concerned = (frozenset().union(*(one.types_concerned for one in constraints)) for constraints in denied)
        types = TYPES.intersection(*value_set.get_all("type"), *concerned)
        for narrow_types in _TYPE_NARROWERS:
            types = narrow_types(self, value_set, types)
        return types

    def _compute_values(self, value_set: ValueSet) -> list[Any] | None:
        listed = value_set.get_all("enum")
        types = self.find_types(value_set)
        if listed:
            found = list(min(listed, key=len).values())
        elif types <= _FINITE_TYPES.keys():
            found = [value for type_ in sorted(types) for value in _FINITE_TYPES[type_]]
        else:
            return None
        self.spend(len(found) * len(value_set.constraints))
        return [value for value in found if find_type(value) in types and _may_hold(value_set, value)]

    def _compute_emptiness(self, value_set: ValueSet) -> bool:
        if any(constraint.name == "nothing" for constraint in value_set.constraints):
            return True
        if not self.find_types(value_set) or self.list_values(value_set) == []:
            return True
        for constraint in value_set.constraints:
            if constraint.name == "not" and self.entails_schema(value_set.replace(constraint), constraint.value):
                return True
            if constraint.name in _CHOICE_NAMES and all(map(self.is_empty, _split_branches(value_set, constraint))):
                return True
        return False

    def _prove_by_cases(self, narrow: ValueSet, constraint: Constraint) -> bool:
        cases = self._split_cases(narrow, constraint)
        return bool(cases) and all(self.is_empty(case) or self.entails_constraint(case, constraint) for case in cases)

    def _split_cases(self, narrow: ValueSet, constraint: Constraint) -> list[ValueSet]:
        choice = next((one for one in narrow.constraints if one.name in _CHOICE_NAMES), None)
        # A choice of the narrow side is split; the types of a value are a choice, too.
        if choice:
            return _split_branches(narrow, choice)
        types = self.find_types(narrow)
        is_split = constraint.name in {"anyOf", "not"} and len(types) > 1
        return [narrow.narrow(make_type_constraint({type_})) for type_ in sorted(types)] if is_split else []


def _may_hold(value_set: ValueSet, value: Any) -> bool:
    return combine_answers(evaluate_constraint(one, value) for one in value_set.constraints) is not False


def _split_branches(value_set: ValueSet, choice: Constraint) -> list[ValueSet]:
    return [
        value_set.replace(choice, *list_constraints(branch), *(deny_schemas(others) if choice.name == "oneOf" else ()))
        for branch, others in _take_each(choice.value)
    ]


def _take_each(branches: list[NormalSchema]) -> Iterator[tuple[NormalSchema, list[NormalSchema]]]:
    for index, branch in enumerate(branches):
        yield branch, [*branches[:index], *branches[index + 1 :]]


def _prove_any_of(prover: Prover, narrow: ValueSet, branches: list[NormalSchema]) -> bool:
    prover.spend(len(branches) // 8)
    if any(map(narrow.has_all_of, branches)) or any(prover.entails_schema(narrow, branch) for branch in branches):
        return True
    # What meets none of the others must meet the one that is left.
    cases = ((narrow.narrow(*deny_schemas(others)), branch) for branch, others in _take_each(branches))
    return any(prover.entails_schema(case, branch) for case, branch in cases)


def _prove_one_of(prover: Prover, narrow: ValueSet, branches: list[NormalSchema]) -> bool:
    if not prover.entails_constraint(narrow, make_choice_constraint(branches)):
        return False
    pairs = ((*list_constraints(one), *list_constraints(other)) for one, other in combinations(branches, 2))
    return all(prover.is_empty(narrow.narrow(*pair)) for pair in pairs)


def _prove_denial(prover: Prover, narrow: ValueSet, schema: NormalSchema) -> bool:
    return prover.is_empty(narrow.narrow(*list_constraints(schema)))


# In this order: each is handed the types that those before it have left.
_TYPE_NARROWERS = (numbers.narrow_types, strings.narrow_types, arrays.narrow_types, objects.narrow_types)

# Any other constraint is entailed only by the same one. What no rule proves may still hold case by case.
_RULES: Mapping[str, Rule] = {
    "type": lambda prover, narrow, types: prover.find_types(narrow) <= types,
    "enum": lambda _, __, ___: False,
    "nothing": lambda _, __, ___: False,
    "anyOf": _prove_any_of,
    "oneOf": _prove_one_of,
    "not": _prove_denial,
    **numbers.RULES,
    **strings.RULES,
    **arrays.RULES,
    **objects.RULES,
}
