"""Takes the pins out of the references of checks, and puts those of one side back in; pure.

A rubric that pins another version of a judge or of an inner rubric is not edited by that: what moved is the artifact
that it refers to. So rubrics are compared without pins, and a hybrid is graded with the pins of the side that it mixes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from evalstore.model import Check, Rubric, find_check_pins


def remove_rubric_pins(rubric: Rubric) -> Rubric:
    """Return the rubric with the names of what its checks refer to, without pins."""
    return replace(rubric, checks=tuple(remove_check_pins(check) for check in rubric.checks))


def remove_check_pins(check: Check) -> Check:
    """Return a check without pins; the second reference to one judge is `judge/<id>#2`, and so on."""
    slots = iter(list_slots(check))
    return replace_pins(check, lambda _: next(slots)[0])


def list_slots(check: Check) -> Iterator[tuple[str, str]]:
    """Yield for each reference of a check its name without the pin (numbered where it repeats) and its text."""
    seen: Counter[str] = Counter()
    for _, ref in find_check_pins((), check.params):
        name = ref.partition("@")[0]
        seen[name] += 1
        yield (name if seen[name] == 1 else f"{name}#{seen[name]}"), ref


def insert_check_pins(check: Check, tokens: Mapping[str, str]) -> Check:
    """Return a check without pins as one with `tokens`, by the names of its references."""
    return replace_pins(check, lambda name: tokens.get(name, name))


def replace_pins(check: Check, change: Callable[[str], str]) -> Check:
    """Return the check with `change` applied to each of its references, in their order."""
    if not any(find_check_pins((), check.params)):
        return check
    params: dict[str, Any] = dict(check.params)
    for key in ("judge_prompt_ref", "rubric_ref"):
        if isinstance(params.get(key), str):
            params[key] = change(params[key])
    jury = params.get("jury")
    if isinstance(jury, dict) and isinstance(jury.get("members"), list):
        params["jury"] = {**jury, "members": [_replace_member(member, change) for member in jury["members"]]}
    return replace(check, params=params)


def _replace_member(member: Any, change: Callable[[str], str]) -> Any:
    if isinstance(member, dict) and isinstance(member.get("judge_prompt_ref"), str):
        return {**member, "judge_prompt_ref": change(member["judge_prompt_ref"])}
    return member
