"""Real rubrics and datasets, written for ai_eval, are valid."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.shared_data import list_shared

Read = Callable[[str], dict[str, Any]]
Check = Callable[[dict[str, Any], Any], list[str]]


@pytest.mark.parametrize(("pattern", "schema"), [("*.rubric.*.yaml", "rubric"), ("*.dataset.yaml", "dataset")])
def test_real_files_are_valid(
    pattern: str, schema: str, schema_of: Read, document: Callable[[Path], Any], complaints: Check
) -> None:
    paths = list_shared(f"samples/ai_eval/{pattern}")
    assert {path.name: complaints(schema_of(schema), document(path)) for path in paths} == {p.name: [] for p in paths}
