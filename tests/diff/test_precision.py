"""Major verdicts on realistic edits are real, and none of their claims is wrong; `make fuzz` prints the long table."""

from __future__ import annotations

import pytest

from evalstore.checks import evaluate
from evalstore.diff import Witness, compare
from tests.diff.fuzz.pair import Value
from tests.diff.fuzz.precision import SETS, format_table, measure

SEED = 20261123


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_majors_on_realistic_edits_are_real(name: str) -> None:
    results = measure(name, SEED, 5)
    moving = [one for one in results if one.moving]
    assert [one.wrong for one in results if one.wrong] == []
    assert sum(one.real for one in moving) / len(moving) > 0.8
    table = "\n".join(format_table(name, results))
    assert all(f"\n{category} " in table for category in SETS[name])


_JSON = {"id": "j", "kind": "format", "format": "json", "max_chars": 60}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ([_JSON, {"id": "a", "kind": "must_contain_any", "values": ["b"]}], [_JSON, {"id": "a", "kind": "must_contain_any", "values": ["c"]}]),
        ([_JSON], [{**_JSON, "max_chars": 400}]),
        (
            [{"id": "m", "kind": "markdown_structure", "required_sections": ["Risks"], "no_h1": True}],
            [{"id": "m", "kind": "markdown_structure", "required_sections": ["Risks"], "no_h1": True, "dialect": "lines"}],
        ),
    ],
)  # fmt: skip
def test_an_output_of_json_or_of_another_dialect_shows_an_edit(old: list[Value], new: list[Value]) -> None:
    sides = [{"id": "r", "version": "1.0.0", "checks": checks, "scoring": {"combine": "min"}} for checks in (old, new)]
    (finding,) = compare(*sides).findings
    assert isinstance(finding.witness, Witness)
    assert [evaluate(side, finding.witness.output).score for side in sides] == [
        finding.witness.old_score,
        finding.witness.new_score,
    ]
