"""Reads texts letter by letter: from a statement about the rest to the statement about the rest after it.

Look-ahead makes "and" and "not" of statements, so one state is a whole statement (an alternating automaton). A place
asks what stands before and behind it: as much of a letter is kept as a place can ask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from evalstore.regex_inclusion.alphabet import NEWLINE, NOTHING, WORD, Beside
from evalstore.regex_inclusion.state_graph import Graph, Op
from evalstore.regex_inclusion.syntax_tree import Place

# A node by its number; a number below 0 stands for "not" of a statement that its owner keeps.
Clause = frozenset[int]
Formula = frozenset[Clause]

FALSE: Formula = frozenset()
TRUE: Formula = frozenset({frozenset()})


def literal(number: int) -> Formula:
    """Return the statement of one node."""
    return frozenset({frozenset({number})})


_Moment = tuple[int, Beside, Beside]
# Whether a place is one, by what stands before it and behind it: no bit says that it is not.
_IS_AT: Mapping[Place, Callable[[Beside, Beside], int]] = {
    Place.TEXT_START: lambda before, _: before & NOTHING,
    Place.LINE_START: lambda before, _: before & (NOTHING | NEWLINE),
    Place.TEXT_END: lambda _, behind: behind & NOTHING,
    Place.LINE_END: lambda _, behind: behind & (NOTHING | NEWLINE),
    Place.WORD_EDGE: lambda before, behind: (before ^ behind) & WORD,
    Place.NO_WORD_EDGE: lambda before, behind: ~(before ^ behind) & WORD,
}


@dataclass(slots=True)
class Automaton:
    """The graph at work; keeps what it has found."""

    graph: Graph
    _negated: list[Formula] = field(default_factory=list)
    _numbers: dict[Formula, int] = field(default_factory=dict)
    _opened: dict[_Moment, Formula] = field(default_factory=dict)
    _asked: dict[Formula, frozenset[int]] = field(default_factory=dict)
    _read: dict[tuple[Formula, int], Formula] = field(default_factory=dict)

    def open(self, state: Formula, before: Beside, behind: Beside) -> Formula:
        """Return a state as a statement of CHAR nodes, at a place between two letters."""
        parts = [self._clause(clause, before, behind) for clause in state]
        return self._simple(clause for part in parts for clause in part)

    def accepts(self, state: Formula, before: Beside) -> bool:
        """Whether the text may end here."""
        return self.open(state, before, NOTHING) == TRUE

    def read(self, opened: Formula, letter: int) -> Formula:
        """Return the state after a letter."""
        key = (opened, letter)
        if key not in self._read:
            self.graph.budget.spend(1 + len(opened))
            parts = [self._read_clause(clause, letter) for clause in opened]
            self._read[key] = self._smallest(clause for part in parts for clause in part)
        return self._read[key]

    def telling(self, letters: int, opened: Iterable[Formula]) -> Iterator[int]:
        """Yield one letter of each sort that some statements tell apart."""
        groups = [letters]
        for mask in frozenset().union(*map(self._masks, opened)):
            self.graph.budget.spend(1 + len(groups) // 8)
            groups = [part for group in groups for part in (group & mask, group & ~mask) if part]
        return ((group & -group).bit_length() - 1 for group in groups)

    def _masks(self, opened: Formula) -> frozenset[int]:
        """Return the letters that each node of a statement asks for."""
        if opened not in self._asked:
            self.graph.budget.spend(len(opened))
            numbers = frozenset().union(*opened)
            masks = (self._masks(self._negated[~number]) for number in numbers if number < 0)
            plain = frozenset(self.graph.nodes[number].arg for number in numbers if number >= 0)
            self._asked[opened] = plain.union(*masks)
        return self._asked[opened]

    def _clause(self, clause: frozenset[int], before: Beside, behind: Beside) -> Formula:
        result = TRUE
        for number in clause:
            result = self._both(result, self._number(number, before, behind))
        return result

    def _number(self, number: int, before: Beside, behind: Beside) -> Formula:
        key = (number, before, behind)
        if key not in self._opened:
            self._opened[key] = (
                self._node(number, before, behind, frozenset())
                if number >= 0
                else self._not(self.open(self._negated[~number], before, behind))
            )
        return self._opened[key]

    def _node(self, start: int, before: Beside, behind: Beside, within: frozenset[int]) -> Formula:
        """Follow all ways from a node up to the next letter; a way that returns to a look-ahead says nothing new."""
        waiting, seen, found = [start], {start}, []
        while waiting:
            number = waiting.pop()
            op, arg, follow = self.graph.nodes[number]
            self.graph.budget.spend()
            if op is Op.ALL:
                return TRUE
            if op is Op.CHAR and not behind & NOTHING:
                found.append(frozenset({number}))
            elif op in {Op.AHEAD, Op.NOT_AHEAD} and number not in within:
                found += self._ahead(number, before, behind, within | {number})
            elif op is Op.ANY_OF or (op is Op.AT and _IS_AT[arg](before, behind)):
                fresh = [one for one in follow if one not in seen]
                seen.update(fresh)
                waiting += fresh
        return self._simple(found)

    def _ahead(self, number: int, before: Beside, behind: Beside, within: frozenset[int]) -> Formula:
        op, _, (ahead, follow) = self.graph.nodes[number]
        condition = self._number(ahead, before, behind)
        condition = self._not(condition) if op is Op.NOT_AHEAD else condition
        if condition == FALSE:
            return FALSE
        return self._both(condition, self._node(follow, before, behind, within))

    def _not(self, statement: Formula) -> Formula:
        if statement in {TRUE, FALSE}:
            return FALSE if statement == TRUE else TRUE
        if statement not in self._numbers:
            self._numbers[statement] = ~len(self._negated)
            self._negated.append(statement)
        return literal(self._numbers[statement])

    def _read_clause(self, clause: frozenset[int], letter: int) -> Formula:
        result = TRUE
        for number in clause:
            if number < 0:
                result = self._both(result, self._not(self.read(self._negated[~number], letter)))
                continue
            _, mask, (follow,) = self.graph.nodes[number]
            if not mask >> letter & 1:
                return FALSE
            if self.graph.nodes[follow].op is not Op.ALL:
                result = self._both(result, literal(follow))
        return result

    def _both(self, one: Formula, other: Formula) -> Formula:
        if TRUE in {one, other}:
            return other if one == TRUE else one
        self.graph.budget.spend(len(one) * len(other))
        return self._smallest(left | right for left in one for right in other)

    def _smallest(self, clauses: Iterable[Clause]) -> Formula:
        found = frozenset(clauses)
        self.graph.budget.spend(len(found))
        if frozenset() in found:
            return TRUE
        longer = [clause for clause in found if len(clause) > 1]
        self.graph.budget.spend(len(longer) * len(found) // 8)
        return found - {clause for clause in longer if any(other < clause for other in found)} if longer else found

    def _simple(self, clauses: Iterable[Clause]) -> Formula:
        found = self._smallest(clauses)
        return found if len(found) == 1 else self._highest(found)

    def _highest(self, statement: Formula) -> Formula:
        """Leave out what a node of the same family and a higher rank matches too."""
        best: dict[int, tuple[int, int]] = {}
        for clause in statement:
            if len(clause) == 1 and (number := min(clause)) >= 0:
                family, rank = self.graph.kin[number]
                best[family] = max(best.get(family, (-1, -1)), (rank, number))
        kept = {number for _, number in best.values()}
        return frozenset(
            clause for clause in statement if len(clause) > 1 or min(clause) < 0 or not clause.isdisjoint(kept)
        )
