"""What is called patch or minor moves nothing, and directions hold: the contract of scoring, written a second time."""

from __future__ import annotations

import copy
import importlib.util
from fractions import Fraction
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from evalstore import compare

_SPEC = importlib.util.spec_from_file_location("contract", Path(__file__).with_name("test_scoring.py"))
assert _SPEC
assert _SPEC.loader
contract = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(contract)

Rubric = dict[str, Any]
ROWS: tuple[Rubric, ...] = ({}, {"expected": {"format": "json"}}, {"expected": {"format": "text"}})
SHARED = ["", "a", "B", "AΣ", "ς", "# a", "{}", "ab", "K", "[1]", "# a\n## B\n```\na\n```\n", "a B ab # Σ ς é K"]


SCORING = ("combine", "weights", "required", "threshold", "missing", "errors")
# What stays even where the other rubric's check lacks it.
NEEDED = frozenset({"kind", "id", "values", "pattern"})


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Rubric, Rubric]:
    """A rubric and one that differs from it in a few places."""
    old, other = draw(contract.rubrics()), draw(contract.rubrics())
    new = copy.deepcopy(old)
    for edit in draw(st.lists(st.sampled_from(EDITS), min_size=1, max_size=2)):
        edit(new, other, draw)
    new["checks"] = list({check["id"]: check for check in new["checks"]}.values())
    ids = {check["id"] for check in new["checks"]} & {check["id"] for check in old["checks"]}
    for scoring in (old["scoring"], new["scoring"]):
        scoring["weights"] = {id_: weight for id_, weight in scoring.get("weights", {}).items() if id_ in ids}
        scoring["required"] = [id_ for id_ in scoring.get("required", []) if id_ in ids]
    return old, new


def edit_scoring(new: Rubric, other: Rubric, draw: st.DrawFn) -> None:
    for key in draw(st.lists(st.sampled_from(SCORING), max_size=2)):
        if key in other["scoring"]:
            new["scoring"][key] = other["scoring"][key]
        elif key != "combine":
            new["scoring"].pop(key, None)


def edit_parameter(new: Rubric, other: Rubric, draw: st.DrawFn) -> None:
    twins = [(one, two) for one in new["checks"] for two in other["checks"] if one["kind"] == two["kind"]]
    for one, two in twins[:1]:
        key = draw(st.sampled_from(sorted({*one, *two})))
        if key in two:
            one[key] = two[key]
        elif key not in NEEDED:
            del one[key]


def edit_bar(new: Rubric, other: Rubric, draw: st.DrawFn) -> None:
    one = draw(st.sampled_from(new["checks"]))
    one |= draw(st.fixed_dictionaries({}, optional={"negate": st.booleans(), "threshold": contract.NUMBERS}))


def drop_check(new: Rubric, other: Rubric, draw: st.DrawFn) -> None:
    del new["checks"][1:2]


def add_check(new: Rubric, other: Rubric, draw: st.DrawFn) -> None:
    new["checks"].append({**other["checks"][0], "id": "z"})


def turn_round(new: Rubric, other: Rubric, draw: st.DrawFn) -> None:
    new["checks"].reverse()


def add_phrases(new: Rubric, other: Rubric, draw: st.DrawFn) -> None:
    for one in new["checks"]:
        if "values" in one:
            one["values"] = draw(st.permutations([*one["values"], *draw(contract.PHRASES)]))


EDITS = (edit_scoring, edit_parameter, edit_bar, drop_check, add_check, turn_round, add_phrases)


def answers(rubric: Rubric, text: str, row: Rubric, calls: list[Rubric] | None = None) -> tuple[Fraction | None, str]:
    _, score, verdict = contract.model(rubric, text, row, calls)
    return score, verdict


def places(answer: tuple[Fraction | None, str]) -> tuple[Fraction | None, int | None]:
    return answer[0], {"fail": 0, "pass": 1}.get(answer[1])


@settings(max_examples=400)
@given(pairs(), st.lists(contract.TEXTS, max_size=4))
def test_what_is_no_major_change_moves_nothing_and_directions_hold(
    pair: tuple[Rubric, Rubric], texts: list[str]
) -> None:
    old, new = pair
    found = compare(old, new)
    directions = [
        {str(finding.direction) for finding in found.findings},
        {str(finding.verdict_direction) for finding in found.findings},
    ]
    for text in (*texts, *SHARED):
        for row in ROWS:
            before, after = answers(old, text, row), answers(new, text, row)
            if str(found.required_bump) != "major":
                assert before == after, (text, row)
            for one, two, ways in zip(places(before), places(after), directions, strict=True):
                if one is not None and two is not None and "either" not in ways:
                    assert two <= one or "looser" in ways, (text, row)
                    assert two >= one or "stricter" in ways, (text, row)


@settings(max_examples=100)
@given(pairs())
def test_a_witness_moves_as_it_says(pair: tuple[Rubric, Rubric]) -> None:
    old, new = pair
    found = compare(old, new)
    # The witness of one of several edits speaks of that edit alone.
    for one in (found.total, *(found.findings if len(found.findings) == 1 else ())):
        witness = one.witness
        if witness and "```php" not in witness.output:  # the contract written a second time lints no PHP
            said = (witness.old_score, str(witness.old_verdict)), (witness.new_score, str(witness.new_verdict))
            calls = None if witness.tool_calls is None else [dict(call) for call in witness.tool_calls]
            row = dict(witness.question or {})
            assert said == tuple(answers(side, witness.output, row, calls) for side in (old, new))
            assert said[0] != said[1]


@given(contract.rubrics())
@settings(max_examples=50)
def test_nothing_differs_from_itself(rubric: Rubric) -> None:
    found = compare(rubric, copy.deepcopy(rubric))
    assert (found.findings, str(found.required_bump)) == ((), "none")
