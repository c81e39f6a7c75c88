"""Limits and demands on an output: which of them another demand, or the nature of text, already implies."""

from __future__ import annotations

from evalstore.diff.change import Change, Proof, name_decider
from evalstore.diff.kinds import KINDS, Limit
from evalstore.diff.rubric_state import CheckState
from evalstore.text import make_excerpt

_MARKDOWN = "markdown_structure"


@name_decider("not_binding")
def prove_not_binding(change: Change) -> Proof | None:
    """Prove that the old and the new bound let the same outputs through."""
    limit = find_limit(change)
    if limit is None:
        return None
    before, after = change.checks
    if limit.of(before.params) != limit.of(after.params) or before.may_miss is not after.may_miss:
        return None
    return Proof("the bound does not bind: what it asks for holds anyway, before and after")


def find_limit(change: Change) -> Limit | None:
    """Return the limit that the changed parameter of a check is; None for any other parameter."""
    return KINDS[change.checks[1].kind].params[change.name].limit


@name_decider("demand_implied")
def prove_demand_implied(change: Change) -> Proof | None:
    """Prove that an added or removed demand of `markdown_structure` follows from the others."""
    if change.checks[1].kind != _MARKDOWN:
        return None  # what implies what is known of its lists only
    shorter, longer = sorted(change.checks, key=lambda check: _count_demands(check, change.name))
    if change.name == "no_h1":
        idle = shorter.params["max_heading_level"] < 1
        return Proof("no heading is allowed at all") if idle else None
    item = change.item
    others = list(longer.params[change.name])
    others.remove(item)
    part = next((other for other in others if _implies_demand(change.name, other, item)), None)
    return None if part is None else Proof(f"{make_excerpt(part, 60)!r}, also listed, implies it")


def _count_demands(check: CheckState, name: str) -> int:
    value = check.params[name]
    return int(value) if isinstance(value, bool) else len(value)


def _implies_demand(name: str, other: str, item: str) -> bool:
    # A heading that holds the longer text holds the shorter one; a text without the shorter lacks the longer.
    return item.lower() in other.lower() if name == "required_sections" else other in item
