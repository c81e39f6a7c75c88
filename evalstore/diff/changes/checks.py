"""Changes within one check, parameter by parameter; one whose kind names no rule for it is unclassified."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from evalstore.diff.change import Change
from evalstore.diff.changes.languages import compare_kinds
from evalstore.diff.changes.walk import EditScript, with_param
from evalstore.diff.kinds import KINDS
from evalstore.diff.pair import canonicalise_demand
from evalstore.diff.plain import is_same
from evalstore.diff.state import CheckState

# More items than this are not compared one by one.
_ITEMS = 100


def find_check_changes(walk: EditScript, token: str) -> Iterator[Change]:
    """Yield the edits that give one check the kind, parameters and notes of its goal; not its bar, weight and gate."""
    check, goal = walk.current[token], walk.goal[token]
    if check.kind != goal.kind:
        done = replace(goal, weight=check.weight, gated=check.is_gate)
        told = [canonicalise_demand(check), canonicalise_demand(done)]
        change = walk.edit_check("check-kind-changed", "kind", done, old=check.kind, new=goal.kind, discriminator=told)
        yield compare_kinds(walk, change)
        return
    for name in sorted(check.params, key=lambda name: _turn(check, goal, name)):
        if not is_same(check.params[name], goal.params[name]):
            yield from _param_changes(walk, token, name)
    check = walk.current[token]
    if check.negate is not goal.negate:
        done = replace(check, negate=goal.negate)
        yield walk.edit_check("check-negate-changed", "negate", done, old=check.negate, new=goal.negate)
    check = walk.current[token]
    yield from walk.edit_extra_keys(token, (check.extras, goal.extras))
    walk.adopt_check(replace(check, loose=goal.extras))


def _turn(check: CheckState, goal: CheckState, name: str) -> int:
    comes_first = KINDS[check.kind].params[name].comes_first
    if comes_first is None:
        return 0
    return -1 if comes_first(check.params[name], goal.params[name]) else 1


def _param_changes(walk: EditScript, token: str, name: str) -> Iterator[Change]:
    check, goal = walk.current[token], walk.goal[token]
    param = KINDS[goal.kind].params[name]
    if param.edits:
        yield from param.edits(walk, token)
        return
    if param.items:
        yield from _list_changes(walk, token, name)
        walk.adopt_check(with_param(walk.current[token], name, goal.params[name]))
        return
    done = with_param(check, name, goal.params[name])
    rule = param.rule or "unclassified-change"
    yield walk.edit_check(rule, name, done, old=check.params[name], new=goal.params[name])


def _list_changes(walk: EditScript, token: str, name: str) -> Iterator[Change]:
    goal = walk.goal[token]
    param = KINDS[goal.kind].params[name]
    old, new = list(walk.current[token].params[name]), list(goal.params[name])
    more, less = list((Counter(new) - Counter(old)).elements()), list((Counter(old) - Counter(new)).elements())
    if len(more) + len(less) > _ITEMS:
        done = with_param(walk.current[token], name, new)
        yield walk.edit_check("unclassified-change", name, done, old=old, new=new)
        return
    one_for_one = len(more) == len(less) == 1 and more[0] not in old and less[0] not in new
    if one_for_one and param.rewording:
        done = with_param(walk.current[token], name, [more[0] if item == less[0] else item for item in old])
        at = ((name, old.index(less[0])), (name, new.index(more[0])))
        yield walk.edit_check(param.rewording, name, done, old=less[0], new=more[0], at=at)
    else:
        added, removed = param.items or ("unclassified-change", "unclassified-change")
        yield from _items_added(walk, token, (name, added), more)
        yield from _items_removed(walk, token, (name, removed), less)
    if _order(old, new) != _order(new, old):
        done = with_param(walk.current[token], name, new)
        yield walk.edit_check("list-reordered", name, done, old=old, new=new)


def _items_added(walk: EditScript, token: str, of: tuple[str, str], items: list[str]) -> Iterator[Change]:
    # What is added comes before what is removed: then lists that are equal are proved equal, whatever was exchanged.
    goal, (name, rule) = walk.goal[token], of
    for item in items:
        check = walk.current[token]
        done = with_param(check, name, [*check.params[name], item])
        at = (None, (name, _last(goal.params[name], item)))
        yield walk.edit_check(rule, name, done, new=item, at=at)


def _items_removed(walk: EditScript, token: str, of: tuple[str, str], items: list[str]) -> Iterator[Change]:
    name, rule = of
    first = walk.current[token].params[name]
    for item in items:
        check = walk.current[token]
        left = list(check.params[name])
        left.remove(item)
        at = ((name, _last(first, item)), None)
        yield walk.edit_check(rule, name, with_param(check, name, left), old=item, at=at)


def _order(mine: list[str], theirs: list[str]) -> list[str]:
    common = set(theirs)
    return [item for item in dict.fromkeys(mine) if item in common]


def _last(items: list[str], item: str) -> int:
    return len(items) - 1 - items[::-1].index(item)
