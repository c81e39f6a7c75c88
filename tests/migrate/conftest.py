"""Legacy files for the tests of migration, and the model of the grader that they were written for."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def legacy() -> ModuleType:
    """The executable model of the legacy grader."""
    spec = spec_from_file_location("legacy_grader", HERE / "legacy_grader.py")
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def suite(tmp_path: Path) -> Callable[..., Path]:
    """Write a legacy suite of some cases: `suite({"must_contain_any": [...]}, …, name="forms")`."""

    def write(*cases: Any, name: str = "forms", **root: Any) -> Path:
        full = [{"id": n, "prompt": f"Question {n}?", **case} for n, case in enumerate(cases, start=1)]
        path = tmp_path / "legacy" / name / "evals.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"skill_name": name, "evals": full} | root, indent=2), encoding="utf-8")
        return path

    return write
