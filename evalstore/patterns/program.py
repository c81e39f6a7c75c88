"""Turns a tree into the instructions of a backtracking matcher, as an engine of the usual kind has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, auto
from typing import Any, NamedTuple

from evalstore.patterns.syntax_tree import (
    Alternation,
    Anchor,
    Atom,
    Atomic,
    BackReference,
    Concatenation,
    Conditional,
    Group,
    Lookahead,
    Lookbehind,
    RegexTree,
    Repetition,
    get_children,
    iterate_tree,
)
from evalstore.patterns.unsupported import UndecidedError

_SIZE_LIMIT = 20_000


class Operation(IntEnum):
    """What an instruction does; behind it, what its argument is."""

    READ = auto()  # the mask of an atom: the next letter is one of it
    AT = auto()  # the kind of an anchor
    SPLIT = auto()  # two instructions: the first is tried before the second
    JUMP = auto()  # an instruction
    MARK = auto()  # a slot: this place is kept in it
    LOOK = auto()  # a program, and whether it should match here
    ATOMIC = auto()  # a program: its first match here is the only one
    AGAIN = auto()  # a group's number and whether letters are folded: what it holds comes again
    TEST = auto()  # a group's number and an instruction for when it holds nothing
    MATCH = auto()  # none


class Instruction(NamedTuple):
    """One step of a program."""

    operation: Operation
    argument: Any = None


@dataclass(frozen=True, slots=True)
class Program:
    """Instructions that read a text in one direction: `step` is 1 forward and -1 backward."""

    step: int
    code: list[Instruction] = field(default_factory=list)


@dataclass(slots=True)
class ProgramWriter:
    """Writes programs for a tree without empty loops; `masks` has the bit of each atom.

    Of what a thread keeps, slot 2n is where group n begins and 2n + 1 where it ends.
    """

    masks: Mapping[Atom, int]
    _size: int = 0

    def write(self, tree: RegexTree, step: int) -> Program:
        """Return the program of a tree; raises `UndecidedError` for one that is too large."""
        program = Program(step)
        self._add(program, tree)
        self._append(program, Operation.MATCH)
        return program

    def _append(self, program: Program, operation: Operation, argument: Any = None) -> int:
        self._size += 1
        if self._size > _SIZE_LIMIT:
            raise UndecidedError("it is too long")
        program.code.append(Instruction(operation, argument))
        return len(program.code) - 1

    def _add(self, program: Program, tree: RegexTree) -> None:
        if isinstance(tree, Atom):
            self._append(program, Operation.READ, self.masks[tree])
        elif isinstance(tree, Anchor):
            self._append(program, Operation.AT, tree.kind)
        elif isinstance(tree, Concatenation):
            for part in tree.parts[:: program.step]:
                self._add(program, part)
        elif isinstance(tree, Alternation):
            self._add_alternation(program, tree)
        elif isinstance(tree, Repetition):
            self._add_repetition(program, tree)
        elif isinstance(tree, Group):
            first, last = (2 * tree.number, 2 * tree.number + 1)[:: program.step]
            self._append(program, Operation.MARK, first)
            self._add(program, tree.body)
            self._append(program, Operation.MARK, last)
        elif isinstance(tree, Lookahead | Lookbehind):
            inner = self.write(tree.body, 1 if isinstance(tree, Lookahead) else -1)
            self._append(program, Operation.LOOK, (inner, tree.positive))
        elif isinstance(tree, Atomic):
            self._append(program, Operation.ATOMIC, self.write(tree.body, program.step))
        elif isinstance(tree, BackReference):
            self._append(program, Operation.AGAIN, (tree.number, tree.folds))
        else:
            self._add_conditional(program, tree)

    def _add_alternation(self, program: Program, tree: Alternation) -> None:
        ends = []
        for part in tree.parts[:-1]:
            split = self._append(program, Operation.SPLIT)
            self._add(program, part)
            ends.append(self._append(program, Operation.JUMP))
            self._set(program, split, (split + 1, len(program.code)))
        self._add(program, tree.parts[-1])
        for end in ends:
            self._set(program, end, len(program.code))

    def _add_repetition(self, program: Program, tree: Repetition) -> None:
        for _ in range(tree.least):
            self._add(program, tree.body)
        if tree.most is None:
            self._add_loop(program, tree)
            return
        # One inside the other: a part that does not match leaves out all that follow it.
        splits = []
        for _ in range(tree.most - tree.least):
            splits.append(self._append(program, Operation.SPLIT))
            self._add(program, tree.body)
        for split in splits:
            self._set(program, split, self._order(tree, split + 1, len(program.code)))

    def _add_loop(self, program: Program, tree: Repetition) -> None:
        split = self._append(program, Operation.SPLIT)
        self._add(program, tree.body)
        self._append(program, Operation.JUMP, split)
        self._set(program, split, self._order(tree, split + 1, len(program.code)))

    def _add_conditional(self, program: Program, tree: Conditional) -> None:
        test = self._append(program, Operation.TEST)
        self._add(program, tree.yes)
        end = self._append(program, Operation.JUMP)
        self._set(program, test, (tree.number, len(program.code)))
        self._add(program, tree.no)
        self._set(program, end, len(program.code))

    @staticmethod
    def _order(tree: Repetition, more: int, enough: int) -> tuple[int, int]:
        return (enough, more) if tree.lazy else (more, enough)

    @staticmethod
    def _set(program: Program, index: int, argument: Any) -> None:
        program.code[index] = program.code[index]._replace(argument=argument)


def can_be_empty(tree: RegexTree) -> bool:
    """Whether a tree may match without reading a letter."""
    if isinstance(tree, Atom):
        return False
    if isinstance(tree, Repetition):
        return tree.least == 0 or can_be_empty(tree.body)
    if isinstance(tree, Concatenation):
        return all(map(can_be_empty, tree.parts))
    if isinstance(tree, Alternation | Conditional):
        return any(map(can_be_empty, get_children(tree)))
    return can_be_empty(tree.body) if isinstance(tree, Group | Atomic) else True


def has_empty_loop(tree: RegexTree) -> bool:
    """Whether a part that can be empty is repeated without end."""
    loops = (node for node in iterate_tree(tree) if isinstance(node, Repetition) and node.most is None)
    return any(can_be_empty(loop.body) for loop in loops)


def has_group_dependency(tree: RegexTree) -> bool:
    """Whether what a pattern matches depends on what a group of it holds."""
    return any(isinstance(node, BackReference | Conditional) for node in iterate_tree(tree))
