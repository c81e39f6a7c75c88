"""Builds texts that may move a rubric, from what its checks look for, ban and demand; plays none of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice, product

from evalstore.diff.change import Change
from evalstore.diff.kinds import KINDS, LONGEST_TEXT
from evalstore.diff.rubric_state import CheckState
from evalstore.documents import write_canonical

_TRIED = 400
_OPTIONS = 6  # of every check beside the changed one
_PARTS = 48
_CHECKS = 16
_BUILT = 4096
_SCHEMA = 8_000


def candidates(change: Change) -> Iterator[str]:
    """Yield texts to try, the shortest first: what the changed check looks for, beside what the others want or ban."""
    before, after = change.states
    checks: dict[str, list[CheckState]] = {}
    for check in (*before.checks, *after.checks):
        checks.setdefault(check.token, []).append(check)
    mine = checks.pop(change.token, [])
    changed = _told(change) or _parts(mine)
    others = list(checks.values())[:_CHECKS]
    json = _json(mine, [states[-1] for states in checks.values()])
    plenty = [_joined((*map(_passing, (states[-1] for states in checks.values())), *json[:1]))]
    parts = [*(_parts(states)[:_OPTIONS] for states in others), ["", *json], changed]
    together = islice(product(*map(_shorter, parts)), _BUILT)
    built = (*(_joined((*plenty, part)) for part in changed), *map(_joined, together))
    short = sorted((text for text in dict.fromkeys(built) if len(text) <= LONGEST_TEXT), key=len)[:_TRIED]
    yield from short
    yield from sorted(set(built[: len(changed)]) - set(short), key=lambda text: (len(text), text))


def _shorter(parts: list[str]) -> list[str]:
    return [part for part in parts if len(part) <= LONGEST_TEXT]


def _told(change: Change) -> list[str]:
    """Return what a decider expects to move, or what the diff of another artifact shows."""
    if change.imported_diff:
        return [finding.witness.output for finding in change.imported_diff.findings if finding.witness]
    return list(change.decision.outputs) if change.decision else []


def _json(mine: list[CheckState], others: list[CheckState]) -> list[str]:
    """Return JSON for the first check that reads it, unless that is the changed one: an output has room for no more."""
    from evalstore.diff.deciders.schema_edits import list_outputs
    from evalstore.schema_inclusion import find_instances

    asks = [check for check in (*mine, *others) if check.params.get("schema") is not None]
    if not asks or asks[0] in mine or len(text := write_canonical(asks[0].params["schema"])) > _SCHEMA:
        return []
    return [
        output for value in find_instances(text) for output in reversed(list_outputs(value, asks[0].params["extract"]))
    ]


def _joined(parts: Iterable[str]) -> str:
    return "\n\n".join(filter(None, parts))


def _parts(states: list[CheckState]) -> list[str]:
    wanted = chain([""], _difference(states), *map(_wanted, states))
    return list(dict.fromkeys(islice(wanted, _PARTS)))


def _difference(states: list[CheckState]) -> list[str]:
    lists = [set(check.params.get("values", ())) for check in states]
    return sorted(set.symmetric_difference(*lists)) if len(lists) == 2 else []  # noqa: PLR2004  # old and new


def _passing(check: CheckState) -> str:
    return next(_wanted(check), "") if check.negate is KINDS[check.kind].bans else ""


def _wanted(check: CheckState) -> Iterator[str]:
    return KINDS[check.kind].sample_texts(check.params)
