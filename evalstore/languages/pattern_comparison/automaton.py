r"""Reads texts letter by letter: from what the rest must meet to what must hold after a letter.

Look-ahead makes "and" and "not" of statements about the rest, so a state is a formula of them (an
alternating automaton), and reading a letter is taking a derivative (Brzozowski 1964). An anchor
asks what is before and after it, so what an anchor can ask about the last letter is remembered.
Equal formulas are one state, so there are finitely many.

Example: `ab?` beside `ab*`, each to match the whole text. There are four letters, and the graph has
eight nodes: 4 (the old one) and 7 ask for an `a`, then 3 and 5 for "a `b` or the end"; after that
`b`, 1 is the end, and 5 is 5 again.

>>> from evalstore.budget import SharedBudget
>>> from evalstore.languages.patterns import alphabet
>>> from evalstore.languages.pattern_comparison import compare, languages
>>> expressions = (languages.Expression(pattern, mode="fullmatch") for pattern in ("ab?", "ab*"))
>>> trees = [languages.build_pattern_language(expression) for expression in expressions]
>>> letters = alphabet.build_alphabet(trees, SharedBudget(1_000))
>>> letters.examples
['a', 'b', 'c', '\n']
>>> graph = PatternGraph(letters.masks, SharedBudget(1_000))
>>> starts = [make_literal(graph.add_tree(tree, graph.any_rest)) for tree in trees]
>>> automaton, states, before = AlternatingAutomaton(graph), starts, NOTHING
>>> for letter in (0, 1, 1):
...     states = [
...         automaton.read_letter(automaton.expand(state, before, 0), letter) for state in states
...     ]
...     before = 0
...     accepted = [automaton.can_end(state, before) for state in states]
...     print(
...         letters.examples[letter],
...         [[sorted(part) for part in state] for state in states],
...         accepted,
...     )
a [[[3]], [[5]]] [True, True]
b [[[1]], [[5]]] [True, True]
b [[], [[5]]] [False, True]
>>> compare.compare_languages(*trees, SharedBudget(1_000)).only_new
'abb'
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from evalstore.languages.patterns.anchors import HOLDS_AT, NOTHING, Neighbour
from evalstore.languages.patterns.pattern_graph import NodeKind, PatternGraph

# A literal is a node by its number; one below 0 negates a formula that the automaton keeps
# (`_denied[~number]`).
Conjunction = frozenset[int]
# An "or" of "and"s of literals: the disjunctive normal form.
Formula = frozenset[Conjunction]

FALSE: Formula = frozenset()
TRUE: Formula = frozenset({frozenset()})

_LiteralPlace = tuple[int, Neighbour, Neighbour]


def make_literal(number: int) -> Formula:
    """Return the formula of one node: the rest of the text matches from it."""
    return frozenset({frozenset({number})})


@dataclass(slots=True)
class AlternatingAutomaton:
    """The graph at work: its states are formulas, and results are kept.

    Its steps are those of the graph.
    """

    graph: PatternGraph
    _denied: list[Formula] = field(default_factory=list)
    _denial_numbers: dict[Formula, int] = field(default_factory=dict)
    _expanded: dict[_LiteralPlace, Formula] = field(default_factory=dict)
    _masks_asked: dict[Formula, frozenset[int]] = field(default_factory=dict)
    _successors: dict[tuple[Formula, int], Formula] = field(default_factory=dict)

    def expand(self, formula: Formula, before: Neighbour, after: Neighbour) -> Formula:
        """Return a formula of CHAR nodes alone for a place between two letters.

        Anchors and look-ahead are decided.
        """
        parts = [self._expand_conjunction(conjunction, before, after) for conjunction in formula]
        return self._simplify(conjunction for part in parts for conjunction in part)

    def can_end(self, formula: Formula, before: Neighbour) -> bool:
        """Whether the text may end after a letter of the kind `before`."""
        return self.expand(formula, before, NOTHING) == TRUE

    def read_letter(self, expanded: Formula, letter: int) -> Formula:
        """Return what the rest after a letter must meet: the derivative of an expanded formula."""
        key = (expanded, letter)
        if key not in self._successors:
            self.graph.budget.spend(1 + len(expanded))
            parts = [self._read_conjunction(conjunction, letter) for conjunction in expanded]
            self._successors[key] = self._drop_subsumed(
                conjunction for part in parts for conjunction in part
            )
        return self._successors[key]

    def group_letters(self, letters: int, expanded: Iterable[Formula]) -> list[int]:
        """Return the groups of letters in a mask that some expanded formulas read alike."""
        # Partition refinement: each mask splits the groups that it cuts.
        groups = [letters]
        for mask in frozenset().union(*map(self._collect_masks, expanded)):
            self.graph.budget.spend(1 + len(groups) // 8)
            groups = [part for group in groups for part in (group & mask, group & ~mask) if part]
        return groups

    def _collect_masks(self, expanded: Formula) -> frozenset[int]:
        """Return the masks of letters that the nodes of a formula ask for, also beneath a "not"."""
        if expanded not in self._masks_asked:
            self.graph.budget.spend(len(expanded))
            numbers = frozenset().union(*expanded)
            masks = (self._collect_masks(self._denied[~number]) for number in numbers if number < 0)
            plain = frozenset(
                self.graph.nodes[number].argument for number in numbers if number >= 0
            )
            self._masks_asked[expanded] = plain.union(*masks)
        return self._masks_asked[expanded]

    def _expand_conjunction(
        self, conjunction: Conjunction, before: Neighbour, after: Neighbour
    ) -> Formula:
        result = TRUE
        for number in conjunction:
            result = self._conjoin(result, self._expand_literal(number, before, after))
        return result

    def _expand_literal(self, number: int, before: Neighbour, after: Neighbour) -> Formula:
        key = (number, before, after)
        if key not in self._expanded:
            self._expanded[key] = (
                self._expand_node(number, before, after, frozenset())
                if number >= 0
                else self._negate(self.expand(self._denied[~number], before, after))
            )
        return self._expanded[key]

    def _expand_node(
        self, start: int, before: Neighbour, after: Neighbour, within: frozenset[int]
    ) -> Formula:
        """Follow all paths from a node up to the next letter.

        A path that returns to a look-ahead adds nothing.
        """
        waiting, seen, found = [start], {start}, []
        while waiting:
            number = waiting.pop()
            kind, argument, successors = self.graph.nodes[number]
            self.graph.budget.spend()
            if kind is NodeKind.ALL:
                return TRUE
            # At the end of the text no letter follows, so a CHAR node matches nothing there.
            if kind is NodeKind.CHAR and not after & NOTHING:
                found.append(frozenset({number}))
            elif kind in {NodeKind.AHEAD, NodeKind.NOT_AHEAD} and number not in within:
                found += self._expand_lookahead(number, before, after, within | {number})
            elif kind is NodeKind.ANY_OF or (
                kind is NodeKind.AT and HOLDS_AT[argument](before, after)
            ):
                fresh = [successor for successor in successors if successor not in seen]
                seen.update(fresh)
                waiting += fresh
        return self._simplify(found)

    def _expand_lookahead(
        self, number: int, before: Neighbour, after: Neighbour, within: frozenset[int]
    ) -> Formula:
        kind, _, (ahead, following) = self.graph.nodes[number]
        condition = self._expand_literal(ahead, before, after)
        condition = self._negate(condition) if kind is NodeKind.NOT_AHEAD else condition
        if condition == FALSE:
            return FALSE
        return self._conjoin(condition, self._expand_node(following, before, after, within))

    def _negate(self, formula: Formula) -> Formula:
        # Written out, the "not" of a formula can be exponentially longer, so it gets a name and is
        # expanded when a letter is read.
        if formula in {TRUE, FALSE}:
            return FALSE if formula == TRUE else TRUE
        if formula not in self._denial_numbers:
            self._denial_numbers[formula] = ~len(self._denied)
            self._denied.append(formula)
        return make_literal(self._denial_numbers[formula])

    def _read_conjunction(self, conjunction: Conjunction, letter: int) -> Formula:
        result = TRUE
        for number in conjunction:
            if number < 0:
                result = self._conjoin(
                    result, self._negate(self.read_letter(self._denied[~number], letter))
                )
                continue
            _, mask, (following,) = self.graph.nodes[number]
            if not mask >> letter & 1:
                return FALSE
            if self.graph.nodes[following].kind is not NodeKind.ALL:
                result = self._conjoin(result, make_literal(following))
        return result

    def _conjoin(self, left: Formula, right: Formula) -> Formula:
        if TRUE in {left, right}:
            return right if left == TRUE else left
        self.graph.budget.spend(len(left) * len(right))
        return self._drop_subsumed(one | other for one in left for other in right)

    def _drop_subsumed(self, conjunctions: Iterable[Conjunction]) -> Formula:
        """Leave out conjunctions that ask for everything another does: a or (a and b) is a."""
        found = frozenset(conjunctions)
        self.graph.budget.spend(len(found))
        if frozenset() in found:
            return TRUE
        longer = [conjunction for conjunction in found if len(conjunction) > 1]
        if not longer:
            return found
        self.graph.budget.spend(len(longer) * len(found) // 8)
        return found - {
            conjunction for conjunction in longer if any(other < conjunction for other in found)
        }

    def _simplify(self, conjunctions: Iterable[Conjunction]) -> Formula:
        found = self._drop_subsumed(conjunctions)
        return found if len(found) == 1 else self._keep_highest_rungs(found)

    def _keep_highest_rungs(self, formula: Formula) -> Formula:
        """Leave out what a node of higher rank on the same ladder matches, too."""
        best: dict[int, tuple[int, int]] = {}
        rungs = [one for one in formula if len(one) == 1 and min(one) >= 0]
        for (number,) in rungs:
            family, rank = self.graph.rungs[number]
            best[family] = max(best.get(family, (-1, -1)), (rank, number))
        best_numbers = {number for _, number in best.values()}
        return formula.difference(rung for rung in rungs if rung.isdisjoint(best_numbers))
