"""Brings an artifact's mapping to its normal spelling, so that equal artifacts become equal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalstore.diff.changes.dataset import read_question_set
from evalstore.diff.kinds import KINDS
from evalstore.diff.plain_data import make_plain
from evalstore.diff.rubric_state import CheckState, RubricState, read_rubric_state
from evalstore.documents import convert_fraction

_JUDGE_DEFAULTS: Mapping[str, Any] = {
    "template": "",
    "variables": [],
    "score_type": None,
    "scale": {"min": 0, "max": 1},
}
_FIRST_KEYS = ("id", "version", "title", "kind", "input")


def normalize_artifact(value: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return an artifact's mapping in its normal spelling; None if it cannot be read.

    The order of keys, checks, questions and sets is fixed, and defaults are written out.
    """
    data = make_plain(value)
    # The keys show the kind, as in `ComparedDocument`.
    if "checks" in data:
        state = read_rubric_state(data)
        return (
            None
            if state is None
            else _order_keys(_drop_keys(data, "checks", "scoring")) | _normalise_rubric(state)
        )
    if "template" in data:
        return _order_keys(_drop_keys(data, *_JUDGE_DEFAULTS)) | {
            key: data.get(key, default) for key, default in _JUDGE_DEFAULTS.items()
        }
    questions = read_question_set(data) if "questions" in data or "rows" in data else None
    if questions is None:
        return None
    rows = {
        id_: _order_keys(_drop_keys(questions.fill_row(id_), "id")) for id_ in sorted(questions.own)
    }
    return _order_keys(_drop_keys(data, "questions")) | ({"questions": rows} if rows else {})


def _normalise_rubric(state: RubricState) -> dict[str, Any]:
    ordered = sorted(state.checks, key=lambda check: check.id)
    checks = {check.id: _normalise_check(check) for check in ordered}
    scoring = {
        "combine": str(state.combine),
        "threshold": convert_fraction(state.threshold),
        "missing": state.missing,
        "errors": state.errors,
        "verdict": str(state.verdict),
        **state.extras,
    }
    return {"checks": checks, "scoring": scoring}


def _normalise_check(check: CheckState) -> dict[str, Any]:
    params: dict[str, Any] = {}
    for name, value in sorted(check.params.items()):
        is_set = KINDS[check.kind].params[name].is_set and isinstance(value, list)
        if value is not None:
            params[name] = sorted(value) if is_set else value
    return {
        "kind": check.kind,
        **params,
        **({} if check.threshold is None else {"threshold": convert_fraction(check.threshold)}),
        "negate": check.negate,
        "weight": convert_fraction(check.weight),
        "required": check.is_required,
        **_order_keys(dict(check.extras)),
    }


def _drop_keys(value: dict[str, Any], *known: str) -> dict[str, Any]:
    return {key: item for key, item in value.items() if key not in known}


def _order_keys(value: dict[str, Any]) -> dict[str, Any]:
    rank = {key: number for number, key in enumerate(_FIRST_KEYS)}
    return dict(sorted(value.items(), key=lambda pair: (rank.get(pair[0], len(rank)), pair[0])))
