"""Changes of the facts that a fact_match check lists; their order alone is none."""

from __future__ import annotations

from collections.abc import Iterator

from evalstore.diff.change import Change
from evalstore.diff.changes.walk import Walk, with_param

_NAME = "facts"


def fact_changes(walk: Walk, token: str) -> Iterator[Change]:
    """Yield the edit of a check's `facts`."""
    old, new = (side[token].params[_NAME] for side in (walk.here, walk.goal))
    turned = old is not None and new is not None and sorted(old) == sorted(new)
    done = with_param(walk.here[token], _NAME, new)
    yield walk.edit_check("list-reordered" if turned else "fact-changed", _NAME, done, old=old, new=new)
