"""Looks for the nearest edit that says much the same and needs a smaller bump; each was compared before it is named."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from evalstore.diff.findings import Diff, DiffFinding, Suggestion
from evalstore.diff.plain_data import make_plain
from evalstore.model import Combine, list_check_ids
from evalstore.model.artifact import RENAMED_FROM
from evalstore.model.refs import ID_LENGTH
from evalstore.versions import Bump

Value = dict[str, Any]
# Compares the old side with another new one, under the settings of the comparison that was made.
CandidateComparer = Callable[[Mapping[str, Any]], Diff]
_CHECKS = "checks"
_ADDED, _ID_RULES, _RENAMED = "check-added", ("rubric-id-changed", "judge-id-changed"), "check-renamed"


def find_suggestion(
    old: Mapping[str, Any], new: Mapping[str, Any], diff: Diff, compare: CandidateComparer
) -> Suggestion | None:
    """Return an edit like this one that needs less, in place of all findings of the highest level; None: none is known.

    `old` and `new` are the documents of `diff`. One finding that has to stay keeps the level.
    """
    highest = [finding for finding in diff.findings if finding.level is diff.required_bump]
    if diff.required_bump < Bump.MINOR:
        return None
    candidate, before = copy.deepcopy(make_plain(new)), make_plain(old)
    words = []
    for finding in highest:
        step = next(_list_steps(before, candidate, finding), None)
        if step is None:
            return None
        words.append(step)
    level = compare(candidate).required_bump
    if not level < diff.required_bump:
        return None
    return Suggestion(level, tuple(filter(None, words)), candidate)


def _list_steps(old: Value, value: Value, finding: DiffFinding) -> Iterator[str]:
    """Make an edit of `value` in place of that of a finding, and yield it in words; nothing where none is known."""
    if finding.rule in _ID_RULES and isinstance(old.get("id"), str):
        value[RENAMED_FROM] = old["id"]
        yield f"say that it is {old['id']} under another id: {RENAMED_FROM}: {old['id']}"
    elif _CHECKS in old and _CHECKS in value:
        yield from _edit_check(old, value, finding)


def _edit_check(old: Value, value: Value, finding: DiffFinding) -> Iterator[str]:
    step = finding.pointer.split("/")
    if len(step) < 3 or step[1] != _CHECKS or not step[2].isdigit():  # noqa: PLR2004  # "", checks, the place
        return
    before, after = (dict(zip(list_check_ids(side[_CHECKS]), side[_CHECKS], strict=True)) for side in (old, value))
    names = [*after]
    if int(step[2]) >= len(names):
        return
    id_ = names[int(step[2])]
    weighs = value["scoring"].get("combine") == Combine.WEIGHTED_AVG and "id" in after[id_]
    if finding.rule == _RENAMED and isinstance(finding.before, str):
        after[id_].update(id=finding.before)
        after[id_].setdefault("description", id_)
        yield f"keep the check id {finding.before}, and put {id_} in its description"
    elif finding.rule == _ADDED and weighs:
        value["scoring"].setdefault("weights", {})[id_] = 0
        yield f"give {id_} weight 0: it is shown but does not count, until the next major version"
    elif id_ in before and before[id_] == after[id_]:
        yield ""  # an earlier step took the whole check back
    elif weighs and id_ in before:
        next_id = _find_free_id(id_, names)
        value[_CHECKS].append({**after[id_], "id": next_id})
        value[_CHECKS][names.index(id_)] = before[id_]
        value["scoring"].setdefault("weights", {})[next_id] = 0
        yield f"keep {id_} as it was, and add the new form as {next_id} with weight 0, which only advises"


def _find_free_id(id_: str, taken: list[str]) -> str:
    number = 2
    while (name := f"{id_[: ID_LENGTH - 6]}_{number}") in taken:
        number += 1
    return name
