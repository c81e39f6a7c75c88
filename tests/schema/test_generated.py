"""The rubric's schema is what the generator writes, and holds exactly the kinds there are."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.schema.generate import main

HERE = Path(__file__).parent
SCHEMA = HERE.parents[1] / "schema"
KINDS = sorted(path.name.removesuffix(".schema.json") for path in SCHEMA.glob("checks/*.schema.json"))


def generate(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the generator as `make fresh` does, and return how it ends."""
    words = [str(argument) for argument in arguments]
    try:
        return subprocess.CompletedProcess(words, main(words), stderr="")
    except SystemExit as end:
        return subprocess.CompletedProcess(words, 1, stderr=str(end))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return shutil.copytree(SCHEMA, tmp_path / "schema")


def test_it_is_fresh() -> None:
    assert (done := generate("--check")).returncode == 0, done.stderr


def test_a_stale_or_missing_file_is_noticed_and_written_anew(folder: Path) -> None:
    target = folder / "rubric.schema.json"
    fresh = target.read_text(encoding="utf-8")
    target.write_text(fresh.replace("all_pass", "all"), encoding="utf-8")
    assert generate("--check", folder).returncode == 1
    target.unlink()
    assert generate("--check", folder).returncode == 1
    assert generate(folder).returncode == 0
    assert target.read_text(encoding="utf-8") == fresh


def test_a_new_kind_is_one_new_file(folder: Path) -> None:
    schema = json.loads((folder / "checks" / "php_lint.schema.json").read_text(encoding="utf-8"))
    schema["properties"]["kind"]["const"] = "css_lint"
    (folder / "checks" / "css_lint.schema.json").write_text(json.dumps(schema), encoding="utf-8")
    assert generate(folder).returncode == 0
    rubric = json.loads((folder / "rubric.schema.json").read_text(encoding="utf-8"))
    assert "css_lint" in rubric["$defs"]["check"]["properties"]["kind"]["enum"]


def test_one_name_has_one_meaning(folder: Path) -> None:
    path = folder / "checks" / "regex.schema.json"
    path.write_text(path.read_text(encoding="utf-8").replace("1 - score", "-score"), encoding="utf-8")
    done = generate(folder)
    assert (done.returncode, "$defs/check_negate has two meanings" in done.stderr) == (1, True)


def test_the_rubric_knows_the_kinds_that_there_are(schema_of: Callable[[str], dict[str, Any]]) -> None:
    check = schema_of("rubric")["$defs"]["check"]
    assert check["properties"]["kind"]["enum"] == KINDS
    assert [branch["if"]["properties"]["kind"]["const"] for branch in check["allOf"]] == KINDS
    assert [branch["then"]["$ref"] for branch in check["allOf"]] == [f"#/$defs/{kind}" for kind in KINDS]
