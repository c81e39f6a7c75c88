"""A backtracking engine that counts its steps, to hold the bound of the work of one against."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from evalstore.budget import OutOfStepsError
from evalstore.languages.patterns.anchors import HOLDS_AT, LAST, NEWLINE, NOTHING, WORD, Neighbour
from evalstore.languages.patterns.atoms import build_reader
from evalstore.languages.patterns.syntax_tree import (
    Alternation,
    Anchor,
    AnchorKind,
    Atom,
    Atomic,
    BackReference,
    CharClass,
    Concatenation,
    Conditional,
    Group,
    Lookahead,
    Lookbehind,
    RegexTree,
    Repetition,
)

Held = Mapping[int, str]
# What follows a part: told where it ends and what the groups hold, it says whether the whole matches.
Then = Callable[[int, Held], bool]


class CountingEngine:
    """One text; a step is a part of a pattern that is tried at a place, but for what is tried behind a place."""

    def __init__(self, text: str, limit: int) -> None:
        self.text, self.limit, self.steps = text, limit, 0

    def run(self, tree: RegexTree, mode: str) -> int:
        """Return the steps of a search in a mode; raises `OutOfStepsError` beyond the limit."""
        start, ends = 0, list[int]()
        while start <= len(self.text):
            ends.clear()
            wanted = len(self.text) if mode == "fullmatch" else None
            found = self.match(tree, start, {}, lambda end, _: wanted in {None, end} and not ends.append(end))  # noqa: B023
            if mode in {"match", "fullmatch"} or (mode == "search" and found):
                break
            start = max(ends[0], start + 1) if found else start + 1
        return self.steps

    def match(self, tree: RegexTree, at: int, held: Held, then: Then) -> bool:
        """Whether a part, and then what follows it, matches from a place on."""
        self.steps += 1
        if self.steps > self.limit:
            raise OutOfStepsError
        if isinstance(tree, Atom):
            return at < len(self.text) and build_reader(tree)(self.text[at]) and then(at + 1, held)
        if isinstance(tree, Anchor):
            assert isinstance(tree.kind, AnchorKind)
            return bool(HOLDS_AT[tree.kind](self.look(at - 1), self.look(at))) and then(at, held)
        if isinstance(tree, Concatenation):
            return self.match_parts(tree.parts, at, held, then)
        if isinstance(tree, Alternation):
            return any(self.match(part, at, held, then) for part in tree.parts)
        if isinstance(tree, Repetition):
            return self.match_rounds(tree, 0, at, held, then)
        if isinstance(tree, Group):
            return self.match(tree.body, at, held, lambda end, now: then(end, {**now, tree.number: self.text[at:end]}))
        if isinstance(tree, BackReference):
            again = held.get(tree.number)
            return again is not None and self.text.startswith(again, at) and then(at + len(again), held)
        if isinstance(tree, Conditional):
            return self.match(tree.yes if tree.number in held else tree.no, at, held, then)
        if isinstance(tree, Lookbehind):
            steps = self.steps
            found = any(self.match(tree.body, start, held, lambda end, _: end == at) for start in range(at + 1))
            self.steps = steps
            return found is tree.positive and then(at, held)
        first: list[tuple[int, Held]] = []
        found = self.match(tree.body, at, held, lambda end, now: not first.append((end, now)))
        if isinstance(tree, Lookahead):
            return found is tree.positive and then(at, held)
        assert isinstance(tree, Atomic)
        return found and then(*first[0])

    def match_parts(self, parts: tuple[RegexTree, ...], at: int, held: Held, then: Then) -> bool:
        if not parts:
            return then(at, held)
        return self.match(parts[0], at, held, lambda end, now: self.match_parts(parts[1:], end, now, then))

    def match_rounds(self, tree: Repetition, count: int, at: int, held: Held, then: Then) -> bool:
        def again(end: int, now: Held) -> bool:
            return (end > at or count < tree.least) and self.match_rounds(tree, count + 1, end, now, then)

        tries: list[Callable[[], bool]] = []
        if tree.most is None or count < tree.most:
            tries.append(lambda: self.match(tree.body, at, held, again))
        if count >= tree.least:
            tries.append(lambda: then(at, held))
        return any(attempt() for attempt in (tries[::-1] if tree.lazy else tries))

    def look(self, place: int) -> Neighbour:
        if not 0 <= place < len(self.text):
            return NOTHING
        is_last = place == len(self.text) - 1
        newline = (NEWLINE | is_last * LAST) if self.text[place] == "\n" else 0
        return newline | build_reader(CharClass(r"\w", ""))(self.text[place]) * WORD
