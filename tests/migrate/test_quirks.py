"""Every quirk of legacy files that was met has a case folder named by its number: quirk_d07_… or quirk_o07_…."""

from __future__ import annotations

import re
from pathlib import Path

CASES = Path(__file__).resolve().parents[1] / "cases/migrations"
ALL = {f"d{number:02}" for number in range(1, 22)} | {f"o{number:02}" for number in range(1, 31)}
# To be met yet: whoever adds a folder takes its number away here, until there is none.
MISSING: set[str] = set()


def test_each_number_has_a_case() -> None:
    names = [path.name for path in CASES.glob("*/quirk_*")]
    odd = [name for name in names if not re.fullmatch(r"quirk_[do]\d\d_[a-z0-9_]+", name)]
    assert odd == []
    found = {name.split("_")[1] for name in names}
    assert ALL - found == MISSING
    assert found <= ALL
