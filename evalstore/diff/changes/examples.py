"""Finds the edit of an artifact's examples, with the number added, removed or changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evalstore.diff.change import Change
from evalstore.diff.changes.edit_script import (
    build_key_change,
)
from evalstore.diff.plain_data import is_same
from evalstore.model.example import EXAMPLES, read_examples


def find_example_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    """Yield the edit of the examples: how many are added, removed, or have another expectation."""
    if is_same(old.get(EXAMPLES), new.get(EXAMPLES)):
        return
    before, after = (
        {example.key: example for example in read_examples(side)} for side in (old, new)
    )
    both = before.keys() & after.keys()
    counts = {
        "added": len(after.keys() - both),
        "removed": len(before.keys() - both),
        "with another expectation": sum(
            before[key].expected != after[key].expected for key in both
        ),
    }
    words = (
        ", ".join(f"{count} {word}" for word, count in counts.items() if count)
        or "other words, or another order"
    )
    yield build_key_change("examples-changed", EXAMPLES, (old, new)).with_words(counts=words)
