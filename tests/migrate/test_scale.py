"""Many files and large ones: memory follows the largest, and a second run only reads."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from evalstore.documents import write_legacy_yaml
from evalstore.migration import FileState, export, migrate
from tests.rows import mark_slow

Suite = Callable[..., Path]
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def forms(suite: Suite, tmp_path: Path) -> Path:
    """A store with one migrated suite, and the suite."""
    source = suite({"must_contain_any": ["a"]}, {})
    migrate([source], into=tmp_path)
    return source


def test_a_second_run_writes_no_yaml(forms: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> str:
        raise AssertionError

    monkeypatch.setattr("evalstore.migration.planned_writes.write_yaml", never)
    report = migrate([forms], into=tmp_path)
    assert (report.written, len(report.files)) == ((), 3)


def test_a_file_that_says_the_same_stays_as_somebody_wrote_it(forms: Path, tmp_path: Path) -> None:
    dataset = tmp_path / "datasets/forms.yaml"
    dataset.write_text("# ours\n" + dataset.read_text("utf-8").replace("id: forms", '"id":   forms'), encoding="utf-8")
    before = dataset.read_bytes()
    report = migrate([forms], into=tmp_path)
    assert {file.state for file in report.files} == {FileState.UNCHANGED}
    assert dataset.read_bytes() == before


PEAK = r"""
import re, sys
from evalstore.migration import migrate
migrate(sys.argv[2:], into=sys.argv[1])
print(re.search(r"VmHWM:\s*([0-9]+)", open("/proc/self/status").read())[1])
"""


@pytest.mark.process
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells how much memory a process took")
def test_memory_follows_the_largest_file(suite: Suite, tmp_path: Path) -> None:
    def peak(into: str, folders: list[Path]) -> float:
        command = [sys.executable, "-c", PEAK, str(tmp_path / into), *map(str, folders)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
        return int(done.stdout) / 1024

    case = {"must_contain_any": ["a"], "expected_output": "word " * 20_000}
    paths = [suite(*[case] * 5, name=f"suite_{number}").parent for number in range(24)]  # half a megabyte each
    assert peak("many", paths) - peak("few", paths[:2]) < 4


TEXT = "word " * 400
ROWS = [
    {
        "schema_version": "legal_eval_v1",
        "dataset": "ours",
        "id": f"q{number}",
        "task_type": "reference_qa",
        "prompt": TEXT,
        "reference_answers": [TEXT],
    }
    for number in range(320)
]
TESTS = [
    {"id": f"c{number}", "input": TEXT, "criteria": "?", "assertions": [{"type": "contains", "value": TEXT}]}
    for number in range(190)
]


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("file", "format_", "text", "size"),
    [
        ("rows.jsonl", "legal_eval_v1", lambda: "".join(json.dumps(row) + "\n" for row in ROWS), 1_300_000),
        mark_slow(
            ("large.eval.yaml", "agentevals", lambda: write_legacy_yaml({"name": "large", "tests": TESTS}), 750_000)
        ),
    ],
    ids=["lines", "yaml"],
)
def test_a_large_file_is_no_problem(
    tmp_path: Path, file: str, format_: str, text: Callable[[], str], size: int
) -> None:
    source, store = tmp_path / file, tmp_path / "store"
    source.write_text(text(), encoding="utf-8")
    assert source.stat().st_size > size
    start = time.process_time()
    report = migrate([source], into=store)
    assert len(report.entries) == (len(ROWS) if "rows" in file else len(TESTS))
    assert list(store.glob("datasets/*.jsonl"))
    assert migrate([source], into=store).written == ()
    assert len(export(to=format_, store=store).files) == 1
    assert time.process_time() - start < 20
