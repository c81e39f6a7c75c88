"""Major verdicts on realistic edits are real, and none of their claims is wrong; `make fuzz` prints the long table."""

from __future__ import annotations

import pytest

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
