r"""Runs a regular pattern over a text letter by letter: a state is the set of places in it that a match may be at.

Each character of the pattern is a position (Glushkov 1961), and a set of them is an integer, a bit each. Sets are made
when a text first leads there, and kept (lazy determinization, Thompson 1968), so that an ordinary letter costs two
looks into a table. When too many are kept they are forgotten, and a letter costs one look for eight positions: the work
for a text is at most its length times the positions, whatever the text and whatever was read before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import NamedTuple

from evalstore.budget import SharedBudget
from evalstore.languages.limits import PATTERNS
from evalstore.languages.patterns.letters import LetterTable
from evalstore.languages.patterns.pattern_graph import NodeKind, PatternGraph
from evalstore.languages.patterns.syntax_tree import (
    ANY_TEXT,
    HOLDS_AT,
    NOTHING,
    Anchor,
    AnchorKind,
    Concatenation,
    Group,
    Lookahead,
    Lookaround,
    Lookbehind,
    Neighbour,
    RegexTree,
    replace_children,
)

# Letters are numbers; what look-arounds found at the place before a letter stands in the bits above.
_LETTER_BITS = 24


class PlaceCondition(NamedTuple):
    """What stands to both sides of a place, and which look-arounds hold there, a bit each."""

    left: Neighbour
    right: Neighbour
    found: int


class _State(dict[int, "_State"]):
    """A set of positions after a letter, with the states that further letters lead to."""

    __slots__ = ("accepted", "automaton", "bytes", "left")

    def __init__(self, automaton: PositionAutomaton, positions: int, left: Neighbour, *, accepted: bool) -> None:
        super().__init__()
        self.automaton, self.left, self.accepted = automaton, left, accepted
        self.bytes = positions.to_bytes(automaton.size // 8 + 1, "little")

    def __missing__(self, letter: int) -> _State:
        return self.automaton.read_letter(self, letter)


class _EightPositions(dict[int, int]):
    """What eight positions lead to at one kind of place, by which of them are in a set."""

    __slots__ = ("automaton", "condition", "first")

    def __init__(self, automaton: PositionAutomaton, index: int, condition: PlaceCondition) -> None:
        super().__init__()
        self.automaton, self.first, self.condition = automaton, 8 * index, condition

    def __missing__(self, byte: int) -> int:
        self[byte] = result = reduce(
            or_,
            (self.automaton.close(self.first + bit, self.condition) for bit in range(8) if byte >> bit & 1),
        )
        return result


class _DecidedError(Exception):
    """A match was found, or none can be any more."""

    def __init__(self, *, found: bool) -> None:
        self.found = found


class PositionAutomaton:
    """A tree of characters, anchors and repeats at work; anchors with a number ask what a look-around found.

    `backward` reads texts, and was given a tree, from the end to the beginning; `lists_places` makes it one for
    `list_places`, and else it is one for `is_found`. Raises `UndecidedError` for a tree that is of no regular
    language, and `OutOfStepsError` for one that is too large.
    """

    def __init__(self, tree: RegexTree, *, backward: bool = False, lists_places: bool = False) -> None:
        self._table = LetterTable(tree)
        graph = PatternGraph(self._table.masks, SharedBudget(PATTERNS.graph_steps))
        self._start = graph.add_tree(tree, graph.any_rest)
        self._backward, self._lists_places = backward, lists_places
        self._nodes = graph.nodes
        # The bits of a set: a position each, then that the pattern is matched, then that nothing was read yet.
        self._chars = [number for number, node in enumerate(graph.nodes) if node.kind is NodeKind.CHAR]
        self._bits = {number: 1 << index for index, number in enumerate(self._chars)}
        self._accept = 1 << len(self._chars)
        self._positions_of: dict[int, int] = {}
        self._followers: dict[PlaceCondition, list[_EightPositions]] = {}
        self._states: dict[tuple[int, Neighbour, bool], _State] = {}
        self._kept = 0

    @property
    def size(self) -> int:
        """How many positions there are: a letter costs about as many steps at most."""
        return len(self._chars) + 1

    def is_found(self, text: str, found: Sequence[int] = ()) -> bool:
        """Whether a match begins where the text does; `found` says which look-arounds hold at each place, as bits."""
        state = self._find_state(self._accept << 1, NOTHING)
        try:
            for letter in self._spell(text, found):
                state = state[letter]
        except _DecidedError as decided:
            return decided.found
        return self._can_end(state, found)

    def list_places(self, text: str, found: Sequence[int] = ()) -> list[bool]:
        """Return for each place of a text, in its order, whether a match that begins anywhere before may end there.

        Backward, "before" is "after" and "end" is "begin".
        """
        state, places = self._find_state(self._accept << 1, NOTHING), []
        for letter in self._spell(text, found):
            state = state[letter]
            places.append(state.accepted)
        places.append(self._can_end(state, found))
        return places[::-1] if self._backward else places

    def read_letter(self, state: _State, letter: int) -> _State:
        """Return the state after one more letter, and keep it; `_DecidedError` where the rest changes nothing."""
        read = self._table.letters[letter & (1 << _LETTER_BITS) - 1]
        following = self._follow(state, read.neighbour, letter >> _LETTER_BITS)
        accepted, positions = bool(following & self._accept), following & self._list_positions(read.atoms)
        if not self._lists_places and (accepted or not positions):
            raise _DecidedError(found=accepted)
        if self._kept >= PATTERNS.transitions:
            self._forget()
        self._kept += 1
        state[letter] = reached = self._find_state(positions, read.neighbour, accepted=accepted)
        return reached

    def _spell(self, text: str, found: Sequence[int]) -> Iterator[int]:
        letters = self._table.spell(text, backward=self._backward)
        if not found:
            return letters
        # Of the places, the one that is met before each letter.
        return (letter | bits << _LETTER_BITS for letter, bits in zip(letters, self._order(found), strict=False))

    def _order(self, found: Sequence[int]) -> Sequence[int]:
        return found[::-1] if self._backward else found

    def _can_end(self, state: _State, found: Sequence[int]) -> bool:
        return bool(self._follow(state, NOTHING, self._order(found)[-1] if found else 0) & self._accept)

    def _find_state(self, positions: int, left: Neighbour, *, accepted: bool = False) -> _State:
        key = (positions, left, accepted)
        if key not in self._states:
            self._states[key] = _State(self, positions, left, accepted=accepted)
        return self._states[key]

    def _forget(self) -> None:
        for state in self._states.values():
            state.clear()
        self._states.clear()
        for tables in self._followers.values():
            for followers in tables:
                followers.clear()
        self._kept = 0

    def _list_positions(self, atoms: int) -> int:
        """Return the positions of which a letter is, by the atoms that match it."""
        if atoms not in self._positions_of:
            here = (bit for number, bit in self._bits.items() if self._nodes[number].argument & atoms)
            self._positions_of[atoms] = sum(here)
        return self._positions_of[atoms]

    def _follow(self, state: _State, read_next: Neighbour, found: int) -> int:
        """Return the positions that a set leads to at a place, and whether the pattern is matched there."""
        sides = (read_next, state.left) if self._backward else (state.left, read_next)
        condition = PlaceCondition(*sides, found)
        if condition not in self._followers:
            count = self.size // 8 + 1
            self._followers[condition] = [_EightPositions(self, index, condition) for index in range(count)]
        result = 0
        for followers, byte in zip(self._followers[condition], state.bytes, strict=True):
            if byte:
                result |= followers[byte]
        return result

    def close(self, position: int, condition: PlaceCondition) -> int:
        """Return what one position leads to without a letter."""
        chars = self._chars
        start = self._nodes[chars[position]].successors[0] if position < len(chars) else self._start
        waiting, seen, result = [start], {start}, 0
        while waiting:
            number = waiting.pop()
            kind, argument, successors = self._nodes[number]
            if kind is NodeKind.ALL:
                result |= self._accept
            elif kind is NodeKind.CHAR:
                result |= self._bits[number]
            elif kind is NodeKind.ANY_OF or _holds(argument, condition):
                fresh = [successor for successor in successors if successor not in seen]
                seen.update(fresh)
                waiting += fresh
        return result


def _holds(anchor: AnchorKind | int, condition: PlaceCondition) -> int:
    if isinstance(anchor, AnchorKind):
        return HOLDS_AT[anchor](condition.left, condition.right)
    return condition.found >> anchor & 1


@dataclass(frozen=True, slots=True)
class RegularMatcher:
    """A pattern with each of its look-arounds, the inner ones first; `positive` says what each one wants."""

    lookarounds: tuple[tuple[PositionAutomaton, bool], ...]
    pattern: PositionAutomaton

    @property
    def size(self) -> int:
        """How many positions there are: the steps for a letter, at most."""
        return self.pattern.size + sum(automaton.size for automaton, _ in self.lookarounds)

    def is_found(self, text: str) -> bool:
        """Whether the text has a match, in the mode that it was built for."""
        found = [0] * (len(text) + 1) if self.lookarounds else []
        for index, (automaton, positive) in enumerate(self.lookarounds):
            places = automaton.list_places(text, found if index else ())
            found = [bits | (place is positive) << index for bits, place in zip(found, places, strict=True)]
        return self.pattern.is_found(text, found)


def build_regular_matcher(tree: RegexTree, mode: str) -> RegularMatcher:
    """Return the matcher of a pattern in a mode: search, match or fullmatch.

    Raises `UndecidedError` for a tree that is of no regular language, and `OutOfStepsError` for one that is too large.
    """
    lookarounds: list[Lookaround] = []
    body = _number_lookarounds(tree, lookarounds)
    wanted = {
        "search": (ANY_TEXT, body),
        "match": (body,),
        "fullmatch": (body, Anchor(AnchorKind.TEXT_END)),
    }
    return RegularMatcher(
        tuple((_build_lookaround(one), one.positive) for one in lookarounds),
        PositionAutomaton(Concatenation(wanted[mode])),
    )


def _build_lookaround(one: Lookaround) -> PositionAutomaton:
    is_ahead = isinstance(one, Lookahead)
    body = _turn_round(one.body) if is_ahead else one.body
    return PositionAutomaton(Concatenation((ANY_TEXT, body)), backward=is_ahead, lists_places=True)


def _number_lookarounds(tree: RegexTree, found: list[Lookaround]) -> RegexTree:
    """Return a tree with an anchor in place of each look-around, which is added to `found` behind those within it."""
    if isinstance(tree, Group):
        return _number_lookarounds(tree.body, found)
    changed = replace_children(tree, lambda child: _number_lookarounds(child, found))
    if not isinstance(changed, Lookahead | Lookbehind):
        return changed
    if changed not in found:
        found.append(changed)
    return Anchor(found.index(changed))


def _turn_round(tree: RegexTree) -> RegexTree:
    """Return the tree of the same texts read from the end to the beginning."""
    turned = replace_children(tree, _turn_round)
    return Concatenation(turned.parts[::-1]) if isinstance(turned, Concatenation) else turned
