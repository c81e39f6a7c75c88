"""Searches a text for a regular pattern with an automaton of our own: first its look-arounds, one by one, then itself.

A look-ahead is decided for all places of a text at once by reading it backward, a look-behind by reading it forward;
what holds at a place is then one more thing that the pattern may ask there, as an anchor does. So the work is a
multiple of the text's length, however look-arounds are nested.
"""

from __future__ import annotations

from dataclasses import dataclass

from evalstore.patterns.position_automaton import PositionAutomaton
from evalstore.patterns.syntax_tree import (
    ANY_TEXT,
    Anchor,
    AnchorKind,
    Concatenation,
    Group,
    Lookahead,
    Lookaround,
    Lookbehind,
    RegexTree,
    replace_children,
)


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
