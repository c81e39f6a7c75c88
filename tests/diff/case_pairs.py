"""The pairs of `tests/cases/diff`, each compared once for all tests of a process."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from evalstore.diff import Detail, Diff, compare
from evalstore.diff.rubric_state import RubricState
from evalstore.documents import read_yaml
from evalstore.errors import RefError
from evalstore.model import Artifact, Rubric, parse_ref

CASES = Path(__file__).parents[1] / "cases" / "diff"
NAMES = sorted(path.name for path in CASES.iterdir())


@cache
def read(path: Path) -> Any:
    """Return the value of a file of YAML."""
    return read_yaml(path.read_bytes(), path.name).value


def make_rubric(state: RubricState) -> Rubric:
    """Return the rubric that scoring runs; the ids of checks are their tokens."""
    return Rubric("", "", tuple(check.to_check() for check in state.checks), state.to_scoring())


@cache
def difference(name: str, *, back: bool = False, detail: Detail = Detail.WITNESSES) -> Diff:
    """Compare the two sides of a case, there or back, with what its folder has of the artifacts they name."""

    def load(ref: str) -> Artifact:
        path = CASES / name / "refs" / f"{ref}.yaml"
        if not path.exists():
            raise RefError(f"{ref} is not there")
        document = read_yaml(path.read_bytes(), path.name)
        return Artifact(parse_ref(ref).kind, document.value["id"], document.value["version"], document)

    sides = [read(CASES / name / f"{side}.yaml") for side in ("old", "new")]
    return compare(*(sides[::-1] if back else sides), load=load, detail=detail)
