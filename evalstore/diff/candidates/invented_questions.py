"""Invents questions with the keys that a rubric's checks read, and fills the checks from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice, product
from typing import Any

from evalstore.diff.change import Change
from evalstore.diff.kinds import KINDS, UnreadableError, find_plain_kind, read_params
from evalstore.diff.limits import CANDIDATES
from evalstore.diff.question_rubrics import fill_check
from evalstore.diff.rubric_state import CheckState, RubricState
from evalstore.documents import Pointer
from evalstore.model import Grade
from evalstore.model.question_params import list_question_values

Row = Mapping[str, Any]

# What a question may say, the most useful first: with several facts, scores between 0 and 1 are
# possible, and two tools have an order.
_FACTS = tuple(
    [f"fact {number}" for number in range(1, count + 1)] for count in (2, 1, 3, 5, 4, 10)
)

_TOOLS = tuple(["search", "fetch", "read", "write", "list"][:count] for count in (2, 1, 3, 5))

_BY_PART: Mapping[Pointer, tuple[Any, ...]] = {
    ("expected", "format"): ({"format": "json"}, {"format": "text"}),
    ("expected",): ("7", ["7", "8"]),
    ("expected_facts",): _FACTS,
    ("expected_tools",): _TOOLS,
}

# The same for a parameter whose value is read from a key that the check names.
_BY_PARAM: Mapping[str, tuple[Any, ...]] = {
    "values": _FACTS,
    "facts": _FACTS,
    "targets": (["7"], ["7", "8"]),
    "tools": tuple([{"name": name} for name in names] for names in _TOOLS),
    "forbidden": (["delete"],),
    "pattern": ("fact",),
    "required_sections": (["Summary"],),
    "forbidden_patterns": (["TODO"],),
    "schema": ({"type": "object", "required": ["answer"]},),
    **dict.fromkeys(
        ("min_matches", "min_headings", "min_code_blocks", "min_paragraphs", "max_heading_level"),
        (1, 2),
    ),
    **dict.fromkeys(("min_chars", "max_chars"), (20, 40)),
}


def build_questions(change: Change) -> Iterator[tuple[Row, Change]]:
    """Yield questions with the keys that a rubric's checks read, each with the change it leads to.

    For a key that the changed check reads, every possible value is tried; for others, the first.
    """
    checks = [check for state in change.states for check in state.checks]
    options = {key: values for check in checks for key, values in _list_options(check).items()}
    own = {key for check in checks if check.token == change.token for key in _list_options(check)}
    tried = product(*(values if key in own else values[:1] for key, values in options.items()))
    for values in islice(tried, CANDIDATES.questions if options else 0):
        row = {"id": "invented", "input": "A question.", **dict(zip(options, values, strict=True))}
        filled = _fill_states(change.states, row)
        if filled is not None:
            yield row, replace(change, before=filled[0], after=filled[1])


def _list_options(check: CheckState) -> dict[str, tuple[Any, ...]]:
    """Return what a question may say under each key that a check reads.

    Nothing for a check that asks a judge, because its score is assumed.
    """
    if KINDS[check.kind].asks_judges(check.params):
        return {}
    if values := list_question_values(check.to_check().params):
        known = {value.key: _BY_PARAM.get(str(value.pointer[0]), ()) for value in values}
        return known if all(known.values()) else {}
    parts = KINDS[check.kind].question_parts(check.params)
    return {str(part[0]): _BY_PART[part] for part in parts if part in _BY_PART}


def _fill_states(
    states: tuple[RubricState, RubricState], row: Row
) -> tuple[RubricState, RubricState] | None:
    """Return both rubrics for one question; None if a check cannot read a value from it."""
    try:
        return _fill_state(states[0], row), _fill_state(states[1], row)
    except UnreadableError:
        return None


def _fill_state(state: RubricState, row: Row) -> RubricState:
    return replace(state, checks=tuple(_fill_check(check, row) for check in state.checks))


def _fill_check(check: CheckState, row: Row) -> CheckState:
    if not _list_options(check):
        return check
    kind = find_plain_kind(check.kind)
    filled = fill_check({**check.to_check().params, "kind": kind}, row)
    if isinstance(filled, Grade):
        raise UnreadableError(filled.reason)
    return replace(check, kind=kind, params=read_params(kind, filled))
