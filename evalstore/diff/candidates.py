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


def build_candidates(change: Change) -> Iterator[str]:
    """Yield texts to try, the shortest first: what the changed check looks for, beside what the others want or ban."""
    before, after = change.states
    checks: dict[str, list[CheckState]] = {}
    for check in (*before.checks, *after.checks):
        checks.setdefault(check.token, []).append(check)
    mine = checks.pop(change.token, [])
    changed = _list_expected_outputs(change) or _list_sample_texts(mine)
    others = list(checks.values())[:_CHECKS]
    json = _list_json_outputs(mine, [states[-1] for states in checks.values()])
    plenty = [_join_texts((*map(_find_passing_text, (states[-1] for states in checks.values())), *json[:1]))]
    parts = [*(_list_sample_texts(states)[:_OPTIONS] for states in others), ["", *json], changed]
    together = islice(product(*map(_drop_long_texts, parts)), _BUILT)
    built = (*(_join_texts((*plenty, part)) for part in changed), *map(_join_texts, together))
    short = sorted((text for text in dict.fromkeys(built) if len(text) <= LONGEST_TEXT), key=len)[:_TRIED]
    yield from short
    yield from sorted(set(built[: len(changed)]) - set(short), key=lambda text: (len(text), text))


def _drop_long_texts(parts: list[str]) -> list[str]:
    return [part for part in parts if len(part) <= LONGEST_TEXT]


def _list_expected_outputs(change: Change) -> list[str]:
    """Return what a decider expects to move, or what the diff of another artifact shows."""
    if change.imported_diff:
        return [finding.witness.output for finding in change.imported_diff.findings if finding.witness]
    return list(change.decision.outputs) if change.decision else []


def _list_json_outputs(mine: list[CheckState], others: list[CheckState]) -> list[str]:
    """Return JSON for the first check that reads it, unless that is the changed one: an output has room for no more."""
    from evalstore.diff.deciders.schema_edits import list_outputs
    from evalstore.schema_inclusion import find_instances

    asks = [check for check in (*mine, *others) if check.params.get("schema") is not None]
    if not asks or asks[0] in mine or len(text := write_canonical(asks[0].params["schema"])) > _SCHEMA:
        return []
    return [
        output for value in find_instances(text) for output in reversed(list_outputs(value, asks[0].params["extract"]))
    ]


def _join_texts(parts: Iterable[str]) -> str:
    return "\n\n".join(filter(None, parts))


def _list_sample_texts(states: list[CheckState]) -> list[str]:
    wanted = chain([""], _list_exchanged_phrases(states), *map(_yield_sample_texts, states))
    return list(dict.fromkeys(islice(wanted, _PARTS)))


def _list_exchanged_phrases(states: list[CheckState]) -> list[str]:
    lists = [set(check.params.get("values", ())) for check in states]
    return sorted(set.symmetric_difference(*lists)) if len(lists) == 2 else []  # noqa: PLR2004  # old and new


def _find_passing_text(check: CheckState) -> str:
    return next(_yield_sample_texts(check), "") if check.negate is KINDS[check.kind].bans else ""


def _yield_sample_texts(check: CheckState) -> Iterator[str]:
    return KINDS[check.kind].sample_texts(check.params)
