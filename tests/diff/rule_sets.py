"""The golden verdicts of every rule set: what it says of every pair of fixtures, in `tests/cases/rule_sets/<set>.json`.

`python -m tests.diff.rule_sets` writes the file of the newest set; with `--check` it writes nothing, and exits with 1
where a verdict of any set is another one. The file of an older set is never written: its pairs keep their verdicts.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from evalstore.diff import ComparisonSettings, compare
from evalstore.diff.settings import RULE_SETS
from evalstore.documents import read_yaml
from evalstore.errors import RefError
from evalstore.model import Artifact, parse_ref

CASES = Path(__file__).parents[1] / "cases"
FOLDERS = (CASES / "diff", CASES / "counterexamples")
SCHEMA_PAIRS = Path(__file__).with_name("schema_pairs.yaml")
GOLDEN = CASES / "rule_sets"

# Rule, level, direction, direction of the verdict, certainty.
Verdict = list[str]
Verdicts = dict[str, list[Verdict]]


@dataclass(frozen=True)
class FixturePair:
    """Two documents that are compared, and the folder of what they refer to."""

    old: Any
    new: Any
    refs: Path | None = None

    def load(self, ref: str) -> Artifact:
        """Return what a reference names in the folder; raises `RefError` where it is not there."""
        if self.refs is None or not (path := self.refs / f"{ref}.yaml").exists():
            raise RefError(f"{ref} is not there")
        document = read_yaml(path.read_bytes(), path.name)
        return Artifact(parse_ref(ref).kind, document.value["id"], document.value["version"], document)


def list_names() -> list[str]:
    """Return the names of all pairs: a folder of cases, or a pair of schemas, each there and back."""
    folders = [f"{root.name}/{path.name}" for root in FOLDERS for path in sorted(root.iterdir())]
    names = [*folders, *(f"schemas/{title}" for title in _schema_pairs())]
    return [f"{name}{back}" for name in names for back in ("", " back")]


def judge_pair(name: str, rule_set: int) -> list[Verdict]:
    """Return what a rule set says of one pair, in the order of the findings."""
    pair = _read_pair(name.removesuffix(" back"))
    sides = (pair.new, pair.old) if name.endswith(" back") else (pair.old, pair.new)
    diff = compare(*sides, load=pair.load, settings=ComparisonSettings(rule_set=rule_set))
    return [
        [finding.rule, *map(str, (finding.level, finding.direction, finding.verdict_direction, finding.certainty))]
        for finding in diff.findings
    ]


@cache
def read_golden(rule_set: int) -> Mapping[str, list[Verdict]]:
    """Return the verdicts that are kept of a rule set; none where it has no file."""
    path = GOLDEN / f"{rule_set}.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def find_stale(rule_set: int, every: int = 1) -> Iterator[str]:
    """Yield a sentence for each pair, or every n-th, that a rule set does not judge as its file says."""
    golden = read_golden(rule_set)
    # A pair that was added after a set is not recorded for that set.
    for name in list(list_names() if rule_set == RULE_SETS[-1] else golden)[::every]:
        if golden.get(name) != judge_pair(name, rule_set):
            yield f"rule set {rule_set} judges {name} otherwise"


@cache
def _schema_pairs() -> Mapping[str, tuple[Any, Any]]:
    return {title: (old, new) for title, old, new, *_ in read_yaml(SCHEMA_PAIRS.read_bytes(), SCHEMA_PAIRS.name).value}


def _read_pair(name: str) -> FixturePair:
    root, _, rest = name.partition("/")
    if root == "schemas":
        return FixturePair(*map(_ask_for, _schema_pairs()[rest]))
    folder = CASES / root / rest
    sides = (read_yaml((folder / f"{side}.yaml").read_bytes(), side).value for side in ("old", "new"))
    return FixturePair(*sides, folder / "refs")


def _ask_for(schema: Any) -> Any:
    check = {"id": "answer", "kind": "json_schema", "schema": schema}
    return {"id": "r", "version": "1.0.0", "checks": [check], "scoring": {"combine": "all_pass"}}


def _render(verdicts: Verdicts) -> str:
    lines = (f"  {json.dumps(name, ensure_ascii=False)}: {json.dumps(found)}" for name, found in verdicts.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main(arguments: list[str]) -> int:
    """Write the newest set's verdicts, or with `--check` say which verdicts are others (1) or that none is (0)."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a verdict is another one")
    if parser.parse_args(arguments).check:
        stale = [line for rule_set in RULE_SETS for line in find_stale(rule_set)]
        sys.stderr.writelines(f"{line}\n" for line in stale)
        return int(bool(stale))
    newest = RULE_SETS[-1]
    verdicts = {name: judge_pair(name, newest) for name in list_names()}
    GOLDEN.mkdir(exist_ok=True)
    (GOLDEN / f"{newest}.json").write_text(_render(verdicts), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
