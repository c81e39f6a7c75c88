r"""Bounds the steps that a backtracking engine takes with a pattern, for texts of some length.

A *thread* is one way in which the engine has reached a part of the pattern. Part by part, the walk
keeps how many threads can be at one place of a text at most, how many there are at all places
together, and what a thread has read last: `\w+` entered after a blank has one place in a word to
begin at, `\w+` at the start of a search has as many as the word is long. A repeated part through
which one text leads in two ways, `(a|aa)*`, is bounded in short texts only.

In a known text, no more threads pass an atom than there are characters that it matches, and a loop
reads no further than the longest stretch of such characters: a line for `.*`, a word for `\w+`. So
most texts of a length take far fewer steps than the worst one.

A step is some 30 nanoseconds. Characters that two parts share are looked for in a sample
(`atoms.are_disjoint`): a bound decides whether a text is searched, never what is found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import chain, combinations, product
from math import inf
from typing import NamedTuple

from evalstore.languages.limits import PATTERNS
from evalstore.languages.patterns.atoms import are_disjoint, find_matched
from evalstore.languages.patterns.syntax_tree import (
    Alternation,
    Anchor,
    AnchorKind,
    Atom,
    Atomic,
    BackReference,
    CharClass,
    Chars,
    Concatenation,
    Conditional,
    Group,
    Lookahead,
    Lookaround,
    Lookbehind,
    RegexTree,
    Repetition,
    can_be_empty,
    get_children,
    iterate_tree,
    replace_children,
)

_EDGE, _START = Anchor(AnchorKind.WORD_EDGE), Anchor(AnchorKind.TEXT_START)
_WORD, _NO_WORD = CharClass(r"\w", ""), CharClass(r"\W", "")

Atoms = frozenset[Atom]
# What follows a part: the next part, and what follows that one. None is an end after which anything
# may follow.
_Rest = tuple[RegexTree, "_Rest"] | None
# The end of what is searched: nothing is tried after it.
_MATCH: _Rest = (Alternation(()), None)


class _Threads(NamedTuple):
    """Threads at a part: most at one place, most in total, and what is before (None if unknown)."""

    at_one: int
    total: int
    last: frozenset[Atom | Anchor] | None


class _Text:
    """A text of known length, perhaps with known content."""

    def __init__(self, length: int, content: str | None = None) -> None:
        self.length, self._content = length, content
        self._counts = Counter(content or "")
        self._runs: dict[Atoms, int] = {}

    def count_chars(self, atom: Atom) -> int:
        """Return how many characters an atom matches at most."""
        if self._content is None:
            return self.length
        return sum(self._counts[char] for char in find_matched(self._counts, [atom]))

    def measure_run(self, atoms: Atoms) -> int:
        """Return how many consecutive characters at most some atom matches."""
        if self._content is None:
            return self.length
        if atoms not in self._runs:
            matched = find_matched(self._counts, atoms)
            marked = self._content.translate(
                {ord(char): "x" if char in matched else " " for char in self._counts}
            )
            self._runs[atoms] = max(map(len, marked.split()), default=0)
        return self._runs[atoms]


class _UnboundedError(Exception):
    """One text leads through a repeated part in more and more ways."""


class WorkBound:
    """The bound of a pattern in a mode: search, match, fullmatch, or findall for its captures."""

    def __init__(self, tree: RegexTree, mode: str) -> None:
        self._tree, self._mode = tree, mode

    def count_steps(self, length: int) -> float:
        """Return the most steps that a text of some length takes; infinite if there is no bound."""
        return self._count_steps(_Text(length))

    def count_steps_in(self, text: str) -> float:
        """Return the most steps that a text with such stretches takes; infinite without a bound."""
        return self._count_steps(_Text(len(text), text))

    def find_longest(self, steps: int, longest: int) -> int:
        """Return the greatest length, up to `longest`, at which no text takes too many steps."""
        low, high = 0, longest
        while low < high:
            # The longest first: it is the answer for most patterns.
            middle = high if low == 0 and high == longest else (low + high + 1) // 2
            low, high = (middle, high) if self.count_steps(middle) <= steps else (low, middle - 1)
        return low

    def _count_steps(self, text: _Text) -> float:
        start = _Threads(1, 1, frozenset({_START}))
        if self._mode in {"search", "findall"}:
            # After an empty match, the search for matches continues at the same place.
            tries = 2 if self._mode == "findall" and can_be_empty(self._tree) else 1
            start = _Threads(tries, tries * (text.length + 1), None)
        counts = [inf]
        with suppress(_UnboundedError):
            counts.append(_count_walk(self._tree, start, text, self._groups))
        if self._mode != "fullmatch":
            with suppress(_UnboundedError):
                counts.append(self._count_until_match(start, text))
        return min(counts)

    def _count_until_match(self, start: _Threads, text: _Text) -> int:
        """Return the steps if optional parts end a pattern: the first way is the match."""
        needed, optional = _split_end(self._tree)
        before = _count_walk(needed, start, text, self._groups)
        if self._mode == "findall" and all(map(_is_run, optional)):
            # All matches together read the text once.
            return before + (len(optional) + 1) * start.total
        matches = start.total if self._mode == "findall" else 1
        # Each can be passed without reading, so nothing leads back into an earlier one.
        return before + sum(
            _count_walk(part, _Threads(1, matches, None), text, self._groups) for part in optional
        )

    @cached_property
    def _groups(self) -> dict[int, RegexTree]:
        groups = [node for node in iterate_tree(self._tree) if isinstance(node, Group)]
        seen = Counter(group.number for group in groups)
        return {group.number: group.body for group in groups if seen[group.number] == 1}


def _count_walk(tree: RegexTree, start: _Threads, text: _Text, groups: dict[int, RegexTree]) -> int:
    walk = _Walk(start.total, text, groups)
    walk.follow(tree, start, None)
    return walk.steps


class _Walk:
    """One walk through a tree for a text, or for all texts of one length; `steps` is its count."""

    def __init__(self, steps: int, text: _Text, groups: dict[int, RegexTree]) -> None:
        self.steps, self._text, self._length, self._groups = steps, text, text.length, groups

    def follow(self, tree: RegexTree, came: _Threads, rest: _Rest) -> _Threads:
        """Return the threads after a part, given those that reach it; `rest` is what follows it."""
        if isinstance(tree, Concatenation):
            for part, after in _list_rests(tree.parts, rest):
                came = self.follow(part, came, after)
            return came
        if isinstance(tree, Repetition):
            return self._follow_repetition(tree, came, rest)
        if isinstance(tree, Alternation | Conditional):
            return self._follow_alternatives(get_children(tree), came, rest)
        if isinstance(tree, Group):
            return self.follow(tree.body, came, rest)
        self.steps += came.total
        if isinstance(tree, Atom):
            total = min(came.total, came.at_one * (self._text.count_chars(tree) + 1))
            return came._replace(total=total, last=frozenset({tree}))
        if isinstance(tree, Anchor):
            return _pass_anchor(tree, came)
        if isinstance(tree, BackReference):
            width = self._measure(tree)
            self.steps += came.total * width
            return _Threads(min(came.at_one * (width + 1), came.total), came.total, None)
        if isinstance(tree, Atomic):
            found = self.follow(tree.body, came, _MATCH)
            return _Threads(min(found.at_one, came.total), min(found.total, came.total), found.last)
        self.steps += came.total * self._count_inner(tree)
        return came

    def _follow_alternatives(
        self, parts: Sequence[RegexTree], came: _Threads, rest: _Rest
    ) -> _Threads:
        self.steps += came.total * len(parts)
        found = [self.follow(part, came, rest) for part in parts]
        totals = [one.total for one in found]
        total = max(totals, default=0) if self._is_choice(parts, rest) else sum(totals)
        return _Threads(min(sum(one.at_one for one in found), total), total, _join_last(found))

    def _follow_repetition(self, tree: Repetition, came: _Threads, rest: _Rest) -> _Threads:
        if tree.most == 0:
            return came
        again: _Rest = (Repetition(tree.body, 0, None), rest)
        if not can_be_empty(tree.body) and self._has_one_way(tree.body, again):
            return self._follow_loop(tree, came, rest)
        # Beyond the least rounds, the engine ends a loop with one that reads nothing.
        most = tree.least + self._measure(tree) + 1
        most = most if tree.most is None else min(most, tree.most)
        if most > PATTERNS.rounds or self.steps > PATTERNS.steps:
            raise _UnboundedError
        rounds = [came]
        for _ in range(most):
            rounds.append(self.follow(tree.body, rounds[-1], again))
        done = rounds[tree.least :]
        total = sum(one.total for one in done)
        return _Threads(min(sum(one.at_one for one in done), total), total, _join_last(done))

    def _follow_loop(self, tree: Repetition, came: _Threads, rest: _Rest) -> _Threads:
        """Return the threads after a loop whose rounds one text leads through in one way."""
        reach = self._measure(tree)
        # From one place the loop reaches each place once, so a place has one thread for each where
        # the loop began.
        begins = 1 if _is_separated(came.last, _list_atoms(tree)) else reach + 1
        at_one = min(came.at_one * begins, came.total)
        total = min(at_one * (self._length + 1), came.total * (reach + 1))
        self.steps += total * sum(map(self._count_tries, iterate_tree(tree)))
        is_left_once = tree.least == tree.most or _exclude_each_other(
            self._find_first((tree.body, None)), self._find_first(rest)
        )
        after = self._find_last(tree.body)
        last = after if tree.least else _join_last([came, came._replace(last=after)])
        return _Threads(at_one, min(came.total, total) if is_left_once else total, last)

    def _count_tries(self, tree: RegexTree) -> int:
        """Return the steps of one part of a loop at one place; a group adds none to its body."""
        if isinstance(tree, Group):
            return 0
        if isinstance(tree, BackReference):
            return 1 + self._measure(tree)
        return 1 + self._count_inner(tree) if isinstance(tree, Lookaround) else 1

    def _count_inner(self, tree: Lookahead | Lookbehind) -> int:
        # In look-behind, a body is read from its end to its beginning.
        body = _turn_round(tree.body) if isinstance(tree, Lookbehind) else tree.body
        return _count_walk(body, _Threads(1, 1, None), self._text, self._groups)

    def _measure(self, tree: RegexTree) -> int:
        """Return how many characters a part reads at most."""
        if isinstance(tree, Atom):
            return 1
        if isinstance(tree, Repetition):
            rounds = self._length if tree.most is None else tree.most
            return min(rounds * self._measure(tree.body), self._measure_run(tree))
        if isinstance(tree, BackReference):
            body = self._groups.get(tree.number)
            return self._length if body is None else self._measure(body)
        if isinstance(tree, Anchor | Lookaround):
            return 0
        widths = list(map(self._measure, get_children(tree)))
        return min(
            sum(widths) if isinstance(tree, Concatenation) else max(widths, default=0), self._length
        )

    def _measure_run(self, tree: Repetition) -> int:
        """Return how many characters in a row the text has at most that a loop can read."""
        if any(isinstance(node, BackReference) for node in iterate_tree(tree)):
            return self._length
        return self._text.measure_run(_list_atoms(tree))

    def _has_one_way(self, tree: RegexTree, rest: _Rest) -> bool:
        """Whether one text leads in one way through a part from one place, given what follows."""
        if isinstance(tree, Concatenation):
            return all(
                self._has_one_way(part, after) for part, after in _list_rests(tree.parts, rest)
            )
        if isinstance(tree, Alternation):
            return self._is_choice(tree.parts, rest) and all(
                self._has_one_way(part, rest) for part in tree.parts
            )
        if isinstance(tree, Repetition):
            if can_be_empty(tree.body) or not self._has_one_way(
                tree.body, (Repetition(tree.body, 0, None), rest)
            ):
                return False
            body, following = self._find_first((tree.body, None)), self._find_first(rest)
            return tree.least == tree.most or _exclude_each_other(body, following)
        if isinstance(tree, Group | Conditional):
            return all(self._has_one_way(part, rest) for part in get_children(tree))
        return True

    def _is_choice(self, parts: Sequence[RegexTree], rest: _Rest) -> bool:
        """Whether at every place at most one of several parts can match."""
        if len(parts) > PATTERNS.alternatives:
            return False
        starts = [_spell_start(part) or [self._find_first((part, rest))] for part in parts]
        return all(any(map(_exclude_each_other, *pair)) for pair in combinations(starts, 2))

    def _find_first(self, rest: _Rest) -> Atoms | None:
        """Return the atoms that what follows begins with; None if it may be empty or unknown."""
        found: Atoms = frozenset()
        for _ in range(PATTERNS.parts_ahead):
            if rest is None:
                return None
            part, rest = rest
            first = self._find_first_of(part)
            if first is None or len(found | first) > PATTERNS.first_atoms:
                return None
            found |= first
            if not can_be_empty(part):
                return found
        return None

    def _find_first_of(self, tree: RegexTree) -> Atoms | None:
        if isinstance(tree, Atom):
            return frozenset({tree})
        if isinstance(tree, Anchor):
            return frozenset()
        if isinstance(tree, Lookaround | Conditional | BackReference):
            return None
        parts = get_children(tree)
        if isinstance(tree, Concatenation):
            filled = next(
                (index for index, part in enumerate(parts) if not can_be_empty(part)), len(parts)
            )
            parts = parts[: filled + 1]
        return _unite([self._find_first_of(part) for part in parts])

    def _find_last(self, tree: RegexTree) -> Atoms | None:
        """Return the atoms one of which a part reads last; None if that is not known."""
        if isinstance(tree, Atom):
            return frozenset({tree})
        if isinstance(tree, Lookaround | Conditional | BackReference | Anchor) or can_be_empty(
            tree
        ):
            return None
        parts = get_children(tree)
        if isinstance(tree, Concatenation):
            return next(
                (self._find_last(part) for part in parts[::-1] if not isinstance(part, Anchor)),
                None,
            )
        return _unite([self._find_last(part) for part in parts])


def _turn_round(tree: RegexTree) -> RegexTree:
    """Return the tree of the same texts read from the end to the beginning."""
    turned = replace_children(tree, _turn_round)
    return Concatenation(turned.parts[::-1]) if isinstance(turned, Concatenation) else turned


def _list_rests(parts: Sequence[RegexTree], rest: _Rest) -> list[tuple[RegexTree, _Rest]]:
    """Return each part with what follows it."""
    behind = [rest]
    for part in parts[::-1]:
        behind.append((part, behind[-1]))
    return list(zip(parts, behind[-2::-1], strict=True))


def _pass_anchor(anchor: Anchor, came: _Threads) -> _Threads:
    if anchor.kind is AnchorKind.TEXT_START:
        return _Threads(came.at_one, came.at_one, frozenset({_START}))
    if anchor.kind is AnchorKind.LINE_START:
        return came._replace(last=frozenset({Chars("\n")}))
    return came._replace(last=frozenset({_EDGE})) if anchor == _EDGE else came


def _is_separated(last: frozenset[Atom | Anchor] | None, loop: Atoms) -> bool:
    """Whether a loop after such characters can begin at only one of the places that it reads."""
    if last is None:
        return False
    edges: frozenset[Atom | Anchor] = frozenset({_EDGE, _START})
    if _EDGE in last and not any(
        _exclude_each_other(loop, frozenset({one})) for one in (_WORD, _NO_WORD)
    ):
        return False
    return _exclude_each_other(
        loop, frozenset(one for one in last - edges if isinstance(one, Atom))
    )


def _spell_start(tree: RegexTree) -> list[Atoms | None]:
    """Return the atoms that every match of a part begins with, one after the other."""
    if isinstance(tree, Atom):
        return [frozenset({tree})]
    parts: Sequence[RegexTree] = tree.parts if isinstance(tree, Concatenation) else ()
    ends = next(
        (index for index, part in enumerate(parts) if not isinstance(part, Atom)), len(parts)
    )
    return [frozenset({part}) for part in parts[:ends] if isinstance(part, Atom)]


def _split_end(tree: RegexTree) -> tuple[RegexTree, tuple[RegexTree, ...]]:
    """Return what a match needs of a pattern, and the parts after it that it can do without."""
    if isinstance(tree, Group):
        return _split_end(tree.body)
    if _is_optional(tree):
        return Concatenation(()), (tree,)
    if isinstance(tree, Repetition) and tree.most is None:
        return replace(tree, most=tree.least), (replace(tree, least=0),)
    if isinstance(tree, Alternation):
        ends = [_split_end(part) for part in tree.parts]
        return Alternation(tuple(needed for needed, _ in ends)), tuple(
            chain.from_iterable(more for _, more in ends)
        )
    if not isinstance(tree, Concatenation):
        return tree, ()
    needed, optional = _split_end(tree.parts[-1])
    if needed != Concatenation(()):
        return Concatenation((*tree.parts[:-1], needed)), optional
    before, more = _split_end(Concatenation(tree.parts[:-1]))
    return before, (*more, *optional)


def _is_optional(tree: RegexTree) -> bool:
    """Whether a part can always be passed without reading anything."""
    if isinstance(tree, Concatenation | Alternation):
        return (all if isinstance(tree, Concatenation) else any)(map(_is_optional, tree.parts))
    return (
        tree.least == 0
        if isinstance(tree, Repetition)
        else isinstance(tree, Group) and _is_optional(tree.body)
    )


def _is_run(tree: RegexTree) -> bool:
    return isinstance(tree, Repetition) and isinstance(tree.body, Atom)


def _list_atoms(tree: RegexTree) -> Atoms:
    return frozenset(node for node in iterate_tree(tree) if isinstance(node, Atom))


def _unite(found: Sequence[Atoms | None]) -> Atoms | None:
    return None if None in found else frozenset().union(*(one for one in found if one is not None))


def _join_last(found: Sequence[_Threads]) -> frozenset[Atom | Anchor] | None:
    known = [one.last for one in found if one.last is not None]
    return frozenset().union(*known) if len(known) == len(found) else None


@lru_cache(maxsize=4096)
def _exclude_each_other(one: Atoms | None, other: Atoms | None) -> bool:
    """Whether no character is in both."""
    return (
        one is not None
        and other is not None
        and all(are_disjoint(*pair) for pair in product(one, other))
    )
