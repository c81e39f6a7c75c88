"""Changes within one check, parameter by parameter; a parameter that no row names is unclassified."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from evalstore.diff.change import Change
from evalstore.diff.changes.judged import model_changes, variable_changes
from evalstore.diff.changes.jury import jury_changes
from evalstore.diff.changes.languages import kind_decided, pattern_changes
from evalstore.diff.changes.schemas import schema_changes
from evalstore.diff.changes.tools import tool_changes
from evalstore.diff.changes.walk import Walk, with_param
from evalstore.diff.pair import content
from evalstore.diff.plain import same
from evalstore.diff.state import CheckState

# (kind, parameter) -> the rule of a change of the whole parameter.
WHOLE = {
    ("must_contain_any", "min_matches"): "contain-min-matches-changed",
    ("must_contain_any", "case_sensitive"): "match-case-changed",
    ("must_not_contain", "case_sensitive"): "match-case-changed",
    ("fact_match", "case_sensitive"): "match-case-changed",
    ("fact_match", "facts"): "fact-changed",
    ("regex", "pattern"): "regex-pattern-changed",
    ("regex", "flags"): "regex-flags-changed",
    ("regex", "mode"): "regex-mode-changed",
    ("json_schema", "schema"): "json-schema-changed",
    ("json_schema", "expected_fields"): "json-schema-changed",
    ("json_schema", "extract"): "check-target-changed",
    ("php_lint", "on_no_code"): "php-lint-options-changed",
    ("markdown_structure", "dialect"): "check-engine-changed",
    ("markdown_structure", "no_h1"): "markdown-requirement-changed",
    ("markdown_structure", "min_headings"): "markdown-bound-changed",
    ("markdown_structure", "max_heading_level"): "markdown-bound-changed",
    ("markdown_structure", "min_code_blocks"): "markdown-bound-changed",
    ("markdown_structure", "min_paragraphs"): "markdown-bound-changed",
    ("format", "format"): "format-changed",
    ("format", "min_chars"): "format-changed",
    ("format", "max_chars"): "format-changed",
    ("tool_usage", "tools"): "tool-required-changed",
    ("tool_usage", "forbidden"): "tool-constraint-changed",
    ("tool_usage", "mode"): "tool-order-mode-changed",
    ("tool_usage", "partial"): "check-partial-credit-changed",
    ("llm_judge", "judge_prompt_ref"): "judge-ref-changed",
    ("llm_judge", "samples"): "judge-sampling-changed",
    ("fact_match", "judge_prompt_ref"): "judge-ref-changed",
    ("composite", "rubric_ref"): "composite-ref-changed",
}
# (kind, parameter) -> the rules of an item added and removed.
LISTS = {
    ("must_contain_any", "values"): ("contain-phrase-added", "contain-phrase-removed"),
    ("must_not_contain", "values"): ("ban-phrase-added", "ban-phrase-removed"),
    ("markdown_structure", "required_sections"): ("markdown-requirement-changed", "markdown-requirement-changed"),
    ("markdown_structure", "forbidden_patterns"): ("markdown-requirement-changed", "markdown-requirement-changed"),
    ("tool_usage", "forbidden"): ("tool-constraint-changed", "tool-constraint-changed"),
}


def _fact_changes(walk: Walk, token: str) -> Iterator[Change]:
    old, new = (side[token].params["facts"] for side in (walk.here, walk.goal))
    turned = old is not None and new is not None and sorted(old) == sorted(new)
    done = with_param(walk.here[token], "facts", new)
    yield walk.edit_check("list-reordered" if turned else "fact-changed", "facts", done, old=old, new=new)


# (kind, parameter) -> what reads its changes itself.
DECIDED: Mapping[tuple[str, str], Callable[[Walk, str], Iterator[Change]]] = {
    ("json_schema", "schema"): schema_changes,
    ("json_schema", "expected_fields"): schema_changes,
    ("regex", "pattern"): pattern_changes,
    ("regex", "flags"): pattern_changes,
    ("regex", "mode"): pattern_changes,
    ("llm_judge", "variables"): variable_changes,
    ("llm_judge", "model"): model_changes,
    ("llm_judge", "judge_prompt_ref"): jury_changes,
    ("llm_judge", "jury"): jury_changes,
    ("tool_usage", "tools"): tool_changes,
    ("fact_match", "facts"): _fact_changes,
}
# How much each mode asks for.
_MODES = ("any_order", "in_order", "exact")
# When a parameter changes before the others, and else after them. Phrases are compared where that proves most: without
# case, and with one match as the minimum; tools in the mode that asks for less, and without partial credit; a format
# while there is a limit, which is something to grade.
_FIRST: Mapping[str, Callable[[Any, Any], bool]] = {
    "case_sensitive": lambda old, _: bool(old),
    "min_matches": lambda _, new: bool(new == 1),
    "min_chars": lambda old, _: old is None,
    "max_chars": lambda old, _: old is None,
    "partial": lambda old, _: bool(old),
    "mode": lambda old, new: _MODES.index(old) > _MODES.index(new),
}
# More items than this are not compared one by one.
_ITEMS = 100
_REWORDED = frozenset({"must_contain_any", "must_not_contain"})


def check_changes(walk: Walk, token: str) -> Iterator[Change]:
    """Yield the edits that give one check the kind, parameters and notes of its goal; not its bar, weight and gate."""
    check, goal = walk.here[token], walk.goal[token]
    if check.kind != goal.kind:
        done = replace(goal, weight=check.weight, gated=check.gated)
        told = [content(check), content(done)]
        change = walk.edit_check("check-kind-changed", "kind", done, old=check.kind, new=goal.kind, more=told)
        yield kind_decided(walk, change)
        return
    for name in sorted(check.params, key=lambda name: _turn(check, goal, name)):
        if not same(check.params[name], goal.params[name]):
            yield from _param_changes(walk, token, name)
    check = walk.here[token]
    if check.negate is not goal.negate:
        done = replace(check, negate=goal.negate)
        yield walk.edit_check("check-negate-changed", "negate", done, old=check.negate, new=goal.negate)
    check = walk.here[token]
    yield from walk.notes(token, (check.loose, goal.loose))
    walk.settle(replace(check, loose=goal.loose))


def _turn(check: CheckState, goal: CheckState, name: str) -> int:
    if name not in _FIRST or (check.kind, name) in DECIDED:
        return 0
    return -1 if _FIRST[name](check.params[name], goal.params[name]) else 1


def _param_changes(walk: Walk, token: str, name: str) -> Iterator[Change]:
    check, goal = walk.here[token], walk.goal[token]
    if (goal.kind, name) in DECIDED:
        yield from DECIDED[goal.kind, name](walk, token)
        return
    if (goal.kind, name) in LISTS:
        yield from _list_changes(walk, token, name)
        walk.settle(with_param(walk.here[token], name, goal.params[name]))
        return
    rule = WHOLE.get((goal.kind, name), "unclassified-change")
    done = with_param(check, name, goal.params[name])
    yield walk.edit_check(rule, name, done, old=check.params[name], new=goal.params[name])


def _list_changes(walk: Walk, token: str, name: str) -> Iterator[Change]:
    goal = walk.goal[token]
    old, new = list(walk.here[token].params[name]), list(goal.params[name])
    more, less = list((Counter(new) - Counter(old)).elements()), list((Counter(old) - Counter(new)).elements())
    if len(more) + len(less) > _ITEMS:
        done = with_param(walk.here[token], name, new)
        yield walk.edit_check("unclassified-change", name, done, old=old, new=new)
        return
    one_for_one = len(more) == len(less) == 1 and more[0] not in old and less[0] not in new
    if one_for_one and goal.kind in _REWORDED:
        done = with_param(walk.here[token], name, [more[0] if item == less[0] else item for item in old])
        at = ((name, old.index(less[0])), (name, new.index(more[0])))
        yield walk.edit_check("phrase-reworded", name, done, old=less[0], new=more[0], at=at)
    else:
        yield from _items_added(walk, token, name, more)
        yield from _items_removed(walk, token, name, less)
    if _order(old, new) != _order(new, old):
        done = with_param(walk.here[token], name, new)
        yield walk.edit_check("list-reordered", name, done, old=old, new=new)


def _items_added(walk: Walk, token: str, name: str, items: list[str]) -> Iterator[Change]:
    # What is added comes before what is removed: then lists that are equal are proved equal, whatever was exchanged.
    goal = walk.goal[token]
    for item in items:
        check = walk.here[token]
        done = with_param(check, name, [*check.params[name], item])
        at = (None, (name, _last(goal.params[name], item)))
        yield walk.edit_check(LISTS[goal.kind, name][0], name, done, new=item, at=at)


def _items_removed(walk: Walk, token: str, name: str, items: list[str]) -> Iterator[Change]:
    first = walk.here[token].params[name]
    for item in items:
        check = walk.here[token]
        left = list(check.params[name])
        left.remove(item)
        at = ((name, _last(first, item)), None)
        yield walk.edit_check(LISTS[check.kind, name][1], name, with_param(check, name, left), old=item, at=at)


def _order(mine: list[str], theirs: list[str]) -> list[str]:
    common = set(theirs)
    return [item for item in dict.fromkeys(mine) if item in common]


def _last(items: list[str], item: str) -> int:
    return len(items) - 1 - items[::-1].index(item)
