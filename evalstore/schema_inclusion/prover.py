"""Proves that all values of one domain meet a view; never says so where that is not so, and often does not know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from evalstore.budget import SharedBudget
from evalstore.schema_inclusion import arrays, numbers, objects, strings
from evalstore.schema_inclusion.constraints import TYPES, Clause, Domain, clauses, typed
from evalstore.schema_inclusion.evaluation import every, meets, type_of
from evalstore.schema_inclusion.normalization import View
from evalstore.schema_inclusion.strings import compare_patterns

_CHOICES = frozenset({"anyOf", "oneOf"})
_SINGLE: Mapping[str, list[Any]] = {"null": [None], "boolean": [False, True]}

Rule = Callable[["Prover", Domain, Any], bool]
Answer = TypeVar("Answer")


@dataclass(slots=True)
class Prover:
    """One proof: the steps that it has left of its own and of all proofs, and what it found out of each domain."""

    budget: SharedBudget
    known: dict[tuple[str, frozenset[str]], Any] = field(default_factory=dict)

    def spend(self, steps: int = 1) -> None:
        """Take steps; raises `OutOfStepsError` when they are used up."""
        self.budget.spend(steps)

    def once(self, name: str, some: Domain, find: Callable[[Domain], Answer]) -> Answer:
        """Return what `find` says of a domain, asked for the first time only."""
        key = (name, some.texts)
        if key not in self.known:
            self.spend(1 + len(some.texts) // 4)
            self.known[key] = find(some)
        return self.known[key]  # type: ignore[no-any-return]  # put there above

    def implies(self, narrow: str, wide: str) -> bool:
        """Whether every text in which one pattern is found is proved to be one in which another is."""
        compared = compare_patterns(narrow, wide)
        self.spend(compared.steps)
        return compared.within

    def within(self, narrow: Domain, wide: View) -> bool:
        """Whether every value of `narrow` is proved to meet `wide`."""
        self.spend()
        if wide is True or self.empty(narrow):
            return True
        return all(self.meets(narrow, clause) for clause in clauses(wide))

    def meets(self, narrow: Domain, demand: Clause) -> bool:
        """Whether every value of `narrow` is proved to meet one demand."""
        return narrow.has(demand) or self.once(demand.text, narrow, lambda some: self._meets(some, demand))

    def types(self, some: Domain) -> frozenset[str]:
        """Return the types that values of a domain can have."""
        return self.once("types", some, self._types)

    def values(self, some: Domain) -> list[Any] | None:
        """Return a finite list that holds every value of a domain; None where it is not known to be finite."""
        return self.once("values", some, self._values)

    def empty(self, some: Domain) -> bool:
        """Whether a domain is proved to have no value."""
        return self.once("empty", some, self._empty)

    def _meets(self, narrow: Domain, demand: Clause) -> bool:
        values = self.values(narrow)
        if values is not None:
            self.spend(len(values))
            return all(meets(demand, value) is True for value in values)
        if demand.about.isdisjoint(self.types(narrow)):
            return True
        rule = _RULES.get(demand.name)
        return rule is not None and (rule(self, narrow, demand.value) or self._by_cases(narrow, demand))

    def _types(self, some: Domain) -> frozenset[str]:
        # A value of which a denied view says nothing meets that view.
        denied = (frozenset().union(*(one.about for one in clauses(view))) for view in some.all("not"))
        types = TYPES.intersection(*some.all("type"), *denied)
        for room in _ROOMS:
            types = room(self, some, types)
        return types

    def _values(self, some: Domain) -> list[Any] | None:
        listed = some.all("enum")
        types = self.types(some)
        if listed:
            found = list(min(listed, key=len).values())
        elif types <= _SINGLE.keys():
            found = [value for type_ in sorted(types) for value in _SINGLE[type_]]
        else:
            return None
        self.spend(len(found) * len(some.clauses))
        kept = (value for value in found if type_of(value) in types)
        return [value for value in kept if every(meets(clause, value) for clause in some.clauses) is not False]

    def _empty(self, some: Domain) -> bool:
        if any(clause.name == "nothing" for clause in some.clauses) or not self.types(some) or self.values(some) == []:
            return True
        for clause in some.clauses:
            if clause.name == "not" and self.within(some.but(clause), clause.value):
                return True
            if clause.name in _CHOICES and all(map(self.empty, _branches(some, clause))):
                return True
        return False

    def _by_cases(self, narrow: Domain, demand: Clause) -> bool:
        cases = self._cases(narrow, demand)
        return bool(cases) and all(self.empty(case) or self.meets(case, demand) for case in cases)

    def _cases(self, narrow: Domain, demand: Clause) -> list[Domain]:
        choice = next((clause for clause in narrow.clauses if clause.name in _CHOICES), None)
        if choice:
            return _branches(narrow, choice)
        types = self.types(narrow)
        apart = demand.name in {"anyOf", "not"} and len(types) > 1
        return [narrow.but(None, typed({type_})) for type_ in sorted(types)] if apart else []


def _branches(some: Domain, choice: Clause) -> list[Domain]:
    return [some.but(choice, *clauses(branch)) for branch in choice.value]


def _any_of(prover: Prover, narrow: Domain, branches: list[View]) -> bool:
    prover.spend(len(branches) // 8)
    return any(map(narrow.states, branches)) or any(prover.within(narrow, branch) for branch in branches)


def _not(prover: Prover, narrow: Domain, view: View) -> bool:
    return prover.empty(narrow.but(None, *clauses(view)))


_ROOMS = (numbers.types, strings.types, arrays.types, objects.types)

# Any other demand is met only where the same one stands on the other side. What no rule proves may hold case by case.
_RULES: Mapping[str, Rule] = {
    "type": lambda prover, narrow, types: prover.types(narrow) <= types,
    "enum": lambda _, __, ___: False,
    "nothing": lambda _, __, ___: False,
    "anyOf": _any_of,
    "not": _not,
    **numbers.RULES,
    **strings.RULES,
    **arrays.RULES,
    **objects.RULES,
}
