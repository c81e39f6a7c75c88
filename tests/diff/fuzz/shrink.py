"""Makes a counterexample small: leaves out part after part, on one side or both, as long as the same claim breaks."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tests.diff.fuzz.claims import hold
from tests.diff.fuzz.pair import Drawn, Pair

_TRIES = 1500
_SIDES: tuple[tuple[str, ...], ...] = (("old", "new"), ("old",), ("new",), ("refs",))
_KEPT = frozenset({"id", "version", "kind", "input"})

Path = tuple[Any, ...]
Broken = tuple[str, str, Drawn]


def shrink(pair: Pair, broken: Broken) -> tuple[Pair, Broken]:
    """Return a pair of which nothing can be left out so that the claim still breaks, and what it then says."""
    left = _TRIES
    smaller: tuple[Pair, Broken] | None = pair, broken
    while smaller:
        pair, broken = smaller
        smaller = None
        for candidate, drawn in _smaller(pair, broken[2]):
            left -= 1
            if left < 0:
                return pair, broken
            found = next(
                (one for one in hold(candidate, lambda _, drawn=drawn: [drawn]).broken if one[0] == broken[0]), None
            )
            if found:
                smaller = candidate, (found[0], found[1], drawn)
                break
    return pair, broken


def _smaller(pair: Pair, drawn: Drawn) -> Iterator[tuple[Pair, Drawn]]:
    if pair.refs:
        used = repr([pair.old, pair.new, drawn])
        if unused := [ref for ref in pair.refs if ref not in used]:
            yield replace(pair, refs={ref: value for ref, value in pair.refs.items() if ref not in unused}), drawn
    whole = {"old": pair.old, "new": pair.new, "refs": dict(pair.refs)}
    for sides in _SIDES:
        for path in _paths(whole[sides[0]]):
            less = _without(whole, sides, path)
            if less is not None:
                yield Pair(**less), drawn
    for name, nothing in (("question", None), ("calls", None), ("text", "")):
        if getattr(drawn, name) != nothing:
            yield pair, replace(drawn, **{name: nothing})
    for key in (set(drawn.question) - _KEPT) if drawn.question else ():
        yield pair, replace(drawn, question={name: item for name, item in drawn.question.items() if name != key})
    for at in range(len(drawn.text)):
        yield pair, replace(drawn, text=drawn.text[:at] + drawn.text[at + 1 :])


def _paths(value: Any, at: Path = ()) -> Iterator[Path]:
    """Yield the ways to all parts, the large ones first."""
    inside = list(value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ())
    yield from ((*at, key) for key, _ in inside if key not in _KEPT)
    for key, item in inside:
        yield from _paths(item, (*at, key))


def _without(whole: dict[str, Any], sides: tuple[str, ...], path: Path) -> dict[str, Any] | None:
    less = {**whole, **{side: copy.deepcopy(whole[side]) for side in sides}}
    for side in sides:
        place: Any = less[side]
        for step in path[:-1]:
            inside = step in place if isinstance(place, dict) else isinstance(place, list) and isinstance(step, int)
            if not inside or (isinstance(place, list) and step >= len(place)):
                return None
            place = place[step]
        if not (
            path[-1] in place if isinstance(place, dict) else isinstance(place, list) and path[-1] in range(len(place))
        ):
            return None
        del place[path[-1]]
    return less
