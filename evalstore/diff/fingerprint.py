"""Names an edit by what it is, not by where it stands, so that it keeps its name while the file around it changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from evalstore.diff.change import Change
from evalstore.diff.findings import DiffFinding
from evalstore.documents import Pointer, canonical, digest
from evalstore.model import list_check_ids

_LENGTH = 16
_NAME_KEYS = ("id", "name", "judge_prompt_ref")
_QUESTION_KEYS = frozenset({"questions", "rows"})


def fingerprint_edit(rule: str, artifact: str, change: Change, values: tuple[Any, Any]) -> str:
    """Return the print of one edit: rule, artifact, place on both sides by names, and all that it changes."""
    pointers = (change.old_pointer, change.new_pointer)
    places = [_name_steps(value, pointer, change.words) for value, pointer in zip(values, pointers, strict=True)]
    return _digest_facts([rule, artifact, *places, *map(canonical, (change.old, change.new, change.discriminator))])


def cover_children(finding: DiffFinding) -> DiffFinding:
    """Return the finding with a print that also stands for all that it brings along."""
    if not finding.children:
        return finding
    prints = [child.fingerprint for child in finding.children]
    return replace(finding, fingerprint=_digest_facts([finding.fingerprint, *prints]))


def number_duplicates(findings: Iterable[DiffFinding]) -> tuple[DiffFinding, ...]:
    """Return the findings with a print each: the same edit made twice has two."""
    seen: Counter[str] = Counter()
    numbered = []
    for finding in findings:
        before = seen[finding.fingerprint]
        seen[finding.fingerprint] += 1
        print_ = _digest_facts([finding.fingerprint, str(before)]) if before else finding.fingerprint
        numbered.append(replace(finding, fingerprint=print_))
    return tuple(numbered)


def _digest_facts(facts: list[Any]) -> str:
    return digest(facts)[:_LENGTH]


def _name_steps(value: Any, pointer: Pointer | None, words: Mapping[str, str]) -> list[str] | None:
    if pointer is None:
        return None
    steps = []
    for at, step in enumerate(pointer):
        owner = words.get("question") if at == 1 and pointer[0] in _QUESTION_KEYS else None
        steps.append(owner or (_name_item(value, step, pointer[at - 1]) if isinstance(step, int) else step))
        value = _get_child(value, step)
    return steps


def _get_child(value: Any, step: str | int) -> Any:
    if isinstance(value, dict):
        return value.get(step)
    return value[step] if isinstance(value, list) and isinstance(step, int) and step < len(value) else None


def _name_item(items: Any, index: int, key: str | int) -> str:
    item = _get_child(items, index)
    if isinstance(item, dict):
        if key == "checks":
            return list_check_ids(items)[index]
        return next((canonical([name, item[name]]) for name in _NAME_KEYS if name in item), str(index))
    # An item that is no mapping is its own name: where in the list it stands is another edit.
    return str(index) if item is None or isinstance(item, list) else canonical(item)
