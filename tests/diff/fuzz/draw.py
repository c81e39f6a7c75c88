"""Draws a pair by its number: an artifact, a few edits of it, and what both sides refer to; the same on every machine."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from random import Random

from tests.diff.fuzz import datasets, judges, patterns, rubrics
from tests.diff.fuzz.inlining import inlined, likened
from tests.diff.fuzz.pair import Pair, Value
from tests.diff.fuzz.suites import draw_suite

_TRIES = 6
_TURNED = 0.2  # so often the edit is taken back

Edit = Callable[[Random, Value, Mapping[str, Value]], None]


def randomness(seed: int, index: int) -> Random:
    """Return what pair number `index` under a seed is drawn from."""
    return Random(f"{seed} {index}")  # noqa: S311  # not for secrets


def draw(random: Random) -> Pair:
    """Return two sides of one artifact, the second edited, or now and then unrelated."""
    how = random.random()
    if how < 0.1:
        return _judges(random)
    if how < 0.13:
        return _taken_apart(random)
    if how < 0.18:
        return draw_suite(random).pair
    if how < 0.23:
        return draw_datasets(random)
    if how < 0.33:
        return _patterns(random)
    edit, old = rubrics.edit, rubrics.rubric(random)
    refs = _refs(random, old)
    if how > 0.97:
        return Pair(old, (new := rubrics.rubric(random, "r", random.choice("ccn"))), refs or _refs(random, new))
    new = copy.deepcopy(old)
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        _really(new, lambda: edit(random, new, refs))
    sides = (new, old) if random.random() < _TURNED else (old, new)
    return Pair(*sides, refs or _refs(random, new))


def draw_datasets(random: Random) -> Pair:
    """Return two sides of one dataset, whose questions, defaults and rubrics share what is read in all ways there are."""
    old = datasets.dataset(random)
    refs = _refs(random, old)
    refs = datasets.take_values(random, refs) if random.random() < 0.9 else refs
    new = copy.deepcopy(old)
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        _really(new, lambda: datasets.edit(random, new, refs))
    refs = refs or _refs(random, new)
    return Pair(new, old, refs) if random.random() < _TURNED else Pair(old, new, refs)


def _really(value: Value, edit: Callable[[], None]) -> None:
    """Edit until something is another, or it is time to give up."""
    before = copy.deepcopy(value)
    for _ in range(_TRIES):
        edit()
        if value != before:
            return


def another(random: Random, pair: Pair) -> Value:
    """Return the new side, edited once more."""
    edit = _judge_edit if "template" in pair.new else datasets.edit if "questions" in pair.new else rubrics.edit
    again = copy.deepcopy(pair.new)
    _really(again, lambda: edit(random, again, pair.refs))
    return again


def _judge_edit(random: Random, value: Value, _: Mapping[str, Value]) -> None:
    judges.edit(random, value)


def _taken_apart(random: Random) -> Pair:
    """Return a rubric with a composite, and the same with its checks instead, or the other way round."""
    inner, old = rubrics.rubric(random, "inner", "i", inner=True), rubrics.rubric(random)
    likened(random, old, inner)
    refs = {**_refs(random, old), "rubric/inner@1.0.0": inner}
    new = copy.deepcopy(old)
    inlined(random, new, refs)
    return Pair(new, old, refs) if random.random() < _TURNED else Pair(old, new, refs)


def _judges(random: Random) -> Pair:
    old = judges.judge(random)
    return Pair(old, _next(random, old, "1.1.0"))


def _next(random: Random, old: Value, version: str) -> Value:
    new = copy.deepcopy(old)
    for _ in range(random.choice([1, 1, 2])):
        _really(new, lambda: judges.edit(random, new))
    return {**new, "version": version}


def _patterns(random: Random) -> Pair:
    """Return a rubric of one pattern, and the pattern said otherwise, or nearly the same."""
    check = {"id": "c0", "kind": "regex", **patterns.params(random)}
    old: Value = {
        "id": "r",
        "version": "1.0.0",
        "checks": [check],
        "scoring": {"combine": random.choice(["all_pass", "min"])},
    }
    new = copy.deepcopy(old)
    if random.random() < 0.6:
        check["pattern"], new["checks"][0]["pattern"] = patterns.draw_alike(random)
    else:
        for _ in range(random.choice([1, 1, 2])):
            _really(new, lambda: patterns.edit(random, new["checks"][0]))
    return Pair(new, old) if random.random() < _TURNED else Pair(old, new)


def _refs(random: Random, value: Value) -> dict[str, Value]:
    """Return the artifacts that can be referred to, where something is."""
    if "_ref'" not in repr(value):
        return {}
    judge, inner = judges.judge(random), rubrics.rubric(random, "inner", inner=True)
    after = copy.deepcopy(inner)
    for _ in range(random.choice([0, 1, 1, 2])):
        rubrics.edit(random, after, {})
    # No bump releases a rubric with one id twice, and with a reference to one nothing can be run at all.
    ids = [check["id"] for check in after["checks"] if "id" in check]
    if len({*ids}) < len(ids):
        after = inner
    return {
        "judge/j@1.0.0": judge,
        "judge/j@1.1.0": _next(random, judge, "1.1.0") if random.random() < 0.8 else {**judge, "version": "1.1.0"},
        "judge/k@1.0.0": judges.judge(random, "k"),
        "rubric/inner@1.0.0": inner,
        "rubric/inner@1.1.0": {**after, "version": "1.1.0"},
        "rubric/else@1.0.0": rubrics.rubric(random, "else", inner=True),
    }
