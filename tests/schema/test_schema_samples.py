"""Real rubrics and datasets, written for ai_eval, are valid."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Read = Callable[[str], dict[str, Any]]
Check = Callable[[dict[str, Any], Any], list[str]]

SAMPLES = Path(__file__).parents[3] / "shared" / "samples" / "ai_eval"


@pytest.mark.parametrize(("pattern", "schema"), [("*.rubric.*.yaml", "rubric"), ("*.dataset.yaml", "dataset")])
def test_real_files_are_valid(
    pattern: str, schema: str, schema_of: Read, document: Callable[[Path], Any], complaints: Check
) -> None:
    if not SAMPLES.is_dir():
        pytest.skip("the samples are not beside this checkout (../shared/samples/ai_eval)")
    paths = sorted(SAMPLES.glob(pattern))
    assert paths
    assert {path.name: complaints(schema_of(schema), document(path)) for path in paths} == {p.name: [] for p in paths}
