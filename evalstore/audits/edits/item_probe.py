"""Builds checks that contain a single item of a list; pure.

They show which outputs the item hits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from evalstore.audits.check_matching import EncodedCheck
from evalstore.audits.edits.rubric_edits import Edit
from evalstore.checks import find_check_kind
from evalstore.checks.phrases import Phrase
from evalstore.model import Check

# What decides whether an item of a list hits; other parameters would fail for reasons of their own.
_PROBED_PARAMS = frozenset(
    {"kind", "case_sensitive", "dialect", "mode", "tolerance", "relative", "on", "on_nothing"}
)


@dataclass(frozen=True, slots=True)
class ItemProbe:
    """One item that an edit adds or removes, and checks that contain it alone.

    There is a check for each idea of what a hit is. `phrases` are what these checks look for, None
    for one that is not a phrase.
    """

    bit: int
    key: str
    adds: bool
    variants: tuple[EncodedCheck, ...]
    phrases: tuple[Phrase | None, ...]


def build_probe(bit: int, edit: Edit, bases: Sequence[Check]) -> ItemProbe:
    """Return checks that contain one item and nothing else that can fail.

    There is one for each setting that decides what hits.
    """
    key, item = edit.part.key, edit.part.item
    found: dict[str, EncodedCheck] = {}
    for base in bases:
        kept = {name: value for name, value in base.params.items() if name in _PROBED_PARAMS}
        probe = EncodedCheck.from_check(
            Check(base.id, base.kind, {**kept, key: [item]}, Fraction(1))
        )
        found[probe.content] = probe
    variants = tuple(found.values())
    phrases = tuple(
        find_check_kind(one.check.kind).read_phrase(item, one.check.params) for one in variants
    )
    return ItemProbe(bit, key, bool(edit.after), variants, phrases)
