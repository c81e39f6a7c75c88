"""An artifact in its one spelling: every default written out, names in place of positions, sets in one order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalstore.diff.changes.dataset import read_question_set
from evalstore.diff.kinds import KINDS
from evalstore.diff.plain import plain
from evalstore.diff.state import CheckState, RubricState, read_rubric
from evalstore.documents import convert_fraction

_JUDGE: Mapping[str, Any] = {"template": "", "variables": [], "score_type": None, "scale": {"min": 0, "max": 1}}
_FIRST = ("id", "version", "title", "kind", "input")


def normal(value: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return an artifact's mapping in its one spelling; None where its kind or its parts cannot be read.

    What two spellings of one ruler share is the same: key order, the order of checks, questions and sets, defaults.
    """
    whole = plain(value)
    if "checks" in whole:
        state = read_rubric(whole)
        return None if state is None else _ordered(_rest(whole, "checks", "scoring")) | _rubric(state)
    if "template" in whole:
        return _ordered(_rest(whole, *_JUDGE)) | {key: whole.get(key, default) for key, default in _JUDGE.items()}
    questions = read_question_set(whole) if "questions" in whole or "rows" in whole else None
    if questions is None:
        return None
    rows = {id_: _ordered(_rest(dict(row), "id")) for id_, row in sorted(questions.rows.items())}
    return _ordered(_rest(whole, "questions")) | ({"questions": rows} if rows else {})


def _rubric(state: RubricState) -> dict[str, Any]:
    checks = {check.id: _check(check) for check in sorted(state.checks, key=lambda check: check.id)}
    scoring = {
        "combine": str(state.combine),
        "threshold": convert_fraction(state.threshold),
        "missing": state.missing,
        "errors": state.errors,
        **state.rest,
    }
    return {"checks": checks, "scoring": scoring}


def _check(check: CheckState) -> dict[str, Any]:
    params = {
        name: sorted(value) if KINDS[check.kind].params[name].is_set and value is not None else value
        for name, value in sorted(check.params.items())
        if value is not None
    }
    return {
        "kind": check.kind,
        **params,
        **({} if check.threshold is None else {"threshold": convert_fraction(check.threshold)}),
        "negate": check.negate,
        "weight": convert_fraction(check.weight),
        "required": check.gated,
        **_ordered(dict(check.loose)),
    }


def _rest(value: dict[str, Any], *known: str) -> dict[str, Any]:
    return {key: item for key, item in value.items() if key not in known}


def _ordered(value: dict[str, Any]) -> dict[str, Any]:
    rank = {key: number for number, key in enumerate(_FIRST)}
    return dict(sorted(value.items(), key=lambda pair: (rank.get(pair[0], len(rank)), pair[0])))
