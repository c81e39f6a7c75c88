"""A domain: the set of JSON values that meet some clauses, of which its texts are the name."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from evalstore.diff.deciders.json_schema.clauses import Clause, clauses
from evalstore.diff.deciders.json_schema.view import View


@dataclass(slots=True, eq=False)
class Domain:
    """The values that meet all clauses."""

    clauses: tuple[Clause, ...]
    texts: frozenset[str] = field(init=False)
    _by_name: dict[str, list[Any]] = field(init=False)

    def __post_init__(self) -> None:
        self.texts = frozenset(clause.text for clause in self.clauses)
        self._by_name = {}
        for clause in self.clauses:
            self._by_name.setdefault(clause.name, []).append(clause.value)

    def all(self, name: str) -> list[Any]:
        """Return the values of the clauses of one name."""
        return self._by_name.get(name, [])

    def any(self, names: AbstractSet[str]) -> bool:
        """Whether a clause has one of these names."""
        return not names.isdisjoint(self._by_name)

    def has(self, demand: Clause) -> bool:
        """Whether one of the clauses is this demand."""
        return demand.text in self.texts

    def states(self, view: View) -> bool:
        """Whether each demand of a view is one of the clauses."""
        return all(map(self.has, clauses(view)))

    def but(self, gone: Clause | None, *more: Clause) -> Domain:
        """Return the domain of the same clauses without one, and with others."""
        return Domain((*(clause for clause in self.clauses if clause is not gone), *more))


def domain(views: Iterable[View]) -> Domain:
    """Return the values that meet all views."""
    return Domain(tuple(clause for view in views for clause in clauses(view)))
