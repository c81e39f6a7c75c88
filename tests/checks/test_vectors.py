"""Every measured verdict of the legacy grader, each vector's case turned into rubric checks by hand."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest

from evalstore.checks import evaluate
from evalstore.model import Verdict
from tests.shared_data import SHARED, WHERE

_FILE = SHARED / "vectors/legacy_grader_vectors.json"
_NONE = pytest.param(None, marks=pytest.mark.skip(f"there is no {_FILE.name} {WHERE}"), id="none")
VECTORS = json.loads(_FILE.read_text("utf-8"))["vectors"] if _FILE.is_file() else [_NONE]
KEYS = {
    "must_contain_any": "must_contain_any",
    "must_not_contain": "must_not_contain",
    "php_lint": "check_php_lint",
    "markdown_structure": "check_markdown_structure",
}


def _check(kind: str, value: Any) -> dict[str, Any] | None:
    """Return the check that says what the legacy grader does with `value`, or None where it checks nothing."""
    if not value:
        return None
    if kind == "php_lint":
        return {"kind": kind, "dialect": "legacy"}
    if kind == "markdown_structure":
        sections = list(value.get("required_sections", []))  # a text is read as its characters
        return {"kind": kind, "dialect": "lines", **value, "required_sections": sections}
    return {"kind": kind, "values": list(value), "case_sensitive": False}


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector and vector["name"])
def test_verdicts_agree_with_the_legacy_grader(vector: dict[str, Any]) -> None:
    if "error" in vector:
        pytest.skip(f"{vector['name']}: the legacy grader raised {vector['error']}, so a migration refuses the value")
    if "check_php_lint" in vector["case"] and shutil.which("php") is None:
        pytest.skip("no php here")
    checks = [check for kind, key in KEYS.items() if (check := _check(kind, vector["case"].get(key)))]
    expected = vector["outcome"]
    if not checks:
        assert expected["passed"]
        return
    result = evaluate({"checks": checks, "scoring": {"combine": "all_pass"}}, vector["response"])
    verdicts = {check.kind: check.verdict is Verdict.PASS for check in result.checks}
    assert verdicts == {kind: expected[kind] for kind in verdicts}
    assert all(expected[kind] for kind in KEYS if kind not in verdicts)
    assert (result.verdict is Verdict.PASS) == expected["passed"]
