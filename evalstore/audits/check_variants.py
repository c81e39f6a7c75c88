"""Variants of a check as the cells of an audit grade it, and those that hold one item alone, to see whether it hits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from evalstore.audits.rubric_edits import Edit, encode_check
from evalstore.checks.phrases import Phrase, read_phrase
from evalstore.model import Check

# What decides whether an item of a list hits; other parameters would fail by themselves.
_PROBED_PARAMS = frozenset({"kind", "case_sensitive", "dialect"})


@dataclass(frozen=True, slots=True)
class CheckVariant:
    """One check as some cells grade it, and its content as one text."""

    check: Check
    content: str


@dataclass(frozen=True, slots=True)
class ItemProbe:
    """One item that an edit adds or removes, and checks that hold it alone: one for each idea of what a hit is.

    `phrases` are what these checks look for, None of one that is no phrase.
    """

    bit: int
    key: str
    adds: bool
    variants: tuple[CheckVariant, ...]
    phrases: tuple[Phrase | None, ...]


def build_probe(bit: int, edit: Edit, bases: Sequence[Check]) -> ItemProbe:
    """Return the checks that hold one item and nothing else that could fail, with each setting that says what hits."""
    key, item = edit.part.key, edit.part.item
    found: dict[str, CheckVariant] = {}
    for base in bases:
        kept = {name: value for name, value in base.params.items() if name in _PROBED_PARAMS}
        probe = Check(base.id, base.kind, {**kept, key: [item]}, Fraction(1))
        content = encode_check(probe)
        found[content] = CheckVariant(probe, content)
    variants = tuple(found.values())
    phrases = tuple(read_phrase(one.check.kind, item, one.check.params) for one in variants)
    return ItemProbe(bit, key, bool(edit.after[edit.part]), variants, phrases)
