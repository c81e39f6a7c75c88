"""`migrate` of suites of the oldest format, beside ruamel.yaml emitting the artifacts that are written."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path

from measuring import Measured, git, measure_interpreter, ours, run

WORDS = [
    "entity",
    "field",
    "cache",
    "tag",
    "config",
    "hook",
    "route",
    "service",
    "plugin",
    "block",
    "view",
    "node",
]
PEER = r"""
import io, sys
from pathlib import Path
from ruamel.yaml import YAML
from evalstore.documents import read_yaml
values = [read_yaml(path.read_bytes(), path.name).value for path in Path(sys.argv[1]).rglob("*.yaml")]
for value in values if sys.argv[2:] else ():
    YAML(typ="rt", pure=True).dump(value, io.StringIO())
"""


def measure_budgets(folder: Path, *, quick: bool) -> Iterator[Measured]:
    """Yield the lines of this budget."""
    count, dice = 50 if quick else 300, random.Random(1)  # noqa: S311  # the same dice every time
    for number in range(count):
        path = folder / f"legacy/module_{number}/evals.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(_make_suite(number, dice), indent=2), encoding="utf-8")
    git(folder / "store", "init", "-q")
    run(ours(folder / "store", "init"))
    seconds = run(ours(folder / "store", "migrate", str(folder / "legacy")))
    emitting, reading = (
        run([sys.executable, "-c", PEER, str(folder / "store"), *more]) for more in (["emit"], [])
    )
    beside = emitting - reading + measure_interpreter()
    yield Measured(
        f"migrate, {count:,} suites", seconds, 3 * beside, f"3 × ruamel emitting, {beside:.2f} s"
    )


def _make_suite(number: int, dice: random.Random) -> dict[str, object]:
    def words(count: int) -> str:
        return " ".join(dice.choices(WORDS, k=count))

    cases = [
        {
            "id": index,
            "prompt": words(40),
            "expected_output": words(60),
            "expectations": [words(8), words(8)],
            "must_contain_any": [f"{words(1)}{dice.randrange(10**6)}" for _ in range(4)],
            "must_not_contain": [],
            "check_php_lint": dice.choice([True, False, False]),
        }
        for index in range(1, 7 + number % 2)
    ]
    return {"skill_name": f"module_{number}", "skill_file": "SKILL.md", "evals": cases}
