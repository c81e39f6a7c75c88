"""Matches what no automaton can, way by way, in counted steps: the same on every machine.

A thread is at an instruction and at a place of the text, with what the groups hold; a split leaves its second way on a
stack. The first thread that gets through is the match, as in every backtracking engine. Where no part depends on what a
group holds, a thread that comes where one was before is dropped: that one did not get through (RE2 and Go do so for
short texts).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from evalstore.budget import SharedBudget
from evalstore.patterns.letters import LetterTable, build_reader
from evalstore.patterns.places import HOLDS_AT, NOTHING, Neighbour
from evalstore.patterns.program import Operation, Program, ProgramWriter, has_empty_loop, has_group_dependency
from evalstore.patterns.syntax_tree import FoldedChar, Group, RegexTree, iterate_tree
from evalstore.patterns.unsupported import UndecidedError

# Characters that are compared with what a group holds in one step.
_COMPARED = 8


class Match(NamedTuple):
    """Where a match begins and ends, and the places that each slot holds, -1 for none."""

    start: int
    end: int
    slots: tuple[int, ...]


class Backtracker:
    """A compiled pattern; raises `UndecidedError` for one that is too large, or that engines differ in.

    These are the loops with a body that can be empty: when such a loop ends is left to each engine, and what a group
    holds after it, too.
    """

    def __init__(self, tree: RegexTree) -> None:
        if has_empty_loop(tree):
            raise UndecidedError("a part that can be empty is repeated without end")
        self._table = LetterTable(tree)
        groups = max((node.number for node in iterate_tree(tree) if isinstance(node, Group)), default=0)
        self._program = ProgramWriter(self._table.masks).write(tree, 1)
        self._slots = (-1,) * (2 * groups + 2)
        self._keeps_track = not has_group_dependency(tree)

    def is_found(self, text: str, mode: str, steps: int) -> bool:
        """Whether the text has a match in a mode; raises `OutOfStepsError` where that takes more steps."""
        run, end = self._start_run(text, steps), len(text) if mode == "fullmatch" else -1
        starts = range(len(text) + 1) if mode == "search" else (0,)
        return any(run.find_match(self._program, (0, start, self._slots), end=end) for start in starts)

    def list_captures(self, text: str, steps: int) -> list[str]:
        """Return what the first group holds in each match, in order, "" where it took no part; errors as above."""
        places = (match.slots[2:4] for match in self._list_matches(self._start_run(text, steps), len(text)))
        return [text[first:last] if min(first, last) >= 0 else "" for first, last in places]

    def _list_matches(self, run: _Run, length: int) -> Iterator[Match]:
        start, not_at = 0, -1
        while start <= length:
            match = run.find_match(self._program, (0, start, self._slots), not_at=not_at)
            if match is None:
                start, not_at = start + 1, -1
                continue
            yield match
            run.seen.clear()
            # After an empty match the next may begin at the same place, but has to read something.
            start, not_at = match.end, match.end if match.end == match.start else -1

    def _start_run(self, text: str, steps: int) -> _Run:
        budget = SharedBudget(steps)
        budget.spend(len(text))
        letters = [self._table.letters[number] for number in self._table.spell(text, backward=False)]
        neighbours = [NOTHING, *(letter.neighbour for letter in letters), NOTHING]
        return _Run(text, [letter.atoms for letter in letters], neighbours, budget, self._keeps_track)


_Thread = tuple[int, int, tuple[int, ...]]


@dataclass(slots=True)
class _Run:
    """One text under one pattern: the atoms that match each letter, and what stands beside each place."""

    text: str
    atoms: list[int]
    neighbours: list[Neighbour]
    budget: SharedBudget
    keeps_track: bool
    seen: set[tuple[int, int]] = field(default_factory=set)

    def find_match(self, program: Program, thread: _Thread, *, end: int = -1, not_at: int = -1) -> Match | None:
        """Return the first match of the whole pattern, if it ends at `end` (-1: anywhere), and not at `not_at`."""
        for found in self._list_ends(program, thread, self.seen):
            if found.end != not_at and end in {-1, found.end}:
                return found
        return None

    def _list_ends(self, program: Program, thread: _Thread, seen: set[tuple[int, int]]) -> Iterator[Match]:
        """Yield where the threads get through, in the order of the tries."""
        waiting = [thread]
        while waiting:
            at, place, slots = waiting.pop()
            while True:
                self.budget.spend()
                if self.keeps_track:
                    if (at, place) in seen:
                        break
                    seen.add((at, place))
                operation, argument = program.code[at]
                if operation is Operation.MATCH:
                    yield Match(thread[1], place, slots)
                    break
                if operation is Operation.SPLIT:
                    waiting.append((argument[1], place, slots))
                    at = argument[0]
                    continue
                following = self._take_step(operation, argument, (at, place, slots), program.step)
                if following is None:
                    break
                at, place, slots = following

    def _take_step(self, operation: Operation, argument: Any, thread: _Thread, step: int) -> _Thread | None:
        at, place, slots = thread
        if operation is Operation.READ:
            index = place if step > 0 else place - 1
            holds = 0 <= index < len(self.atoms) and self.atoms[index] & argument
            return (at + 1, place + step, slots) if holds else None
        if operation is Operation.JUMP:
            return argument, place, slots
        if operation is Operation.MARK:
            return at + 1, place, (*slots[:argument], place, *slots[argument + 1 :])
        if operation is Operation.AT:
            holds = HOLDS_AT[argument](self.neighbours[place], self.neighbours[place + 1])
            return (at + 1, place, slots) if holds else None
        if operation is Operation.TEST:
            number, otherwise = argument
            return (at + 1 if _holds_group(slots, number) else otherwise), place, slots
        if operation is Operation.AGAIN:
            return self._read_again(argument, thread, step)
        return self._run_within(operation, argument, thread)

    def _run_within(self, operation: Operation, argument: Any, thread: _Thread) -> _Thread | None:
        at, place, slots = thread
        program, positive = argument if operation is Operation.LOOK else (argument, True)
        found = next(self._list_ends(program, (0, place, slots), set()), None)
        if found is None or not positive:
            return (at + 1, place, slots) if found is None and not positive else None
        return at + 1, place if operation is Operation.LOOK else found.end, found.slots

    def _read_again(self, argument: tuple[int, bool], thread: _Thread, step: int) -> _Thread | None:
        number, folds = argument
        at, place, slots = thread
        if not _holds_group(slots, number):
            return None
        held = self.text[slots[2 * number] : slots[2 * number + 1]]
        self.budget.spend(len(held) // _COMPARED)
        first = place if step > 0 else place - len(held)
        here = self.text[first : first + len(held)] if first >= 0 else ""
        if len(here) != len(held) or not (here == held or (folds and all(map(_are_alike, held, here)))):
            return None
        return at + 1, place + step * len(held), slots


def _holds_group(slots: tuple[int, ...], number: int) -> bool:
    return slots[2 * number] >= 0 and slots[2 * number + 1] >= 0


@lru_cache(maxsize=4096)
def _are_alike(one: str, other: str) -> bool:
    return one == other or build_reader(FoldedChar(one))(other)
