"""What other programs write is read as they mean it: each is run, pinned, and its own words are compared with ours.

`make sockets` installs them in `.venv/bridges` and `.venv/node`, and runs these tests; `make test` leaves them out. A
script of `bridges/` prints what its program says of each output, by the files that the program wrote.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evalstore.model import Verdict
from evalstore.runs import GradedRow
from evalstore.runs.run_view import RowChoice, view_run

ROOT = Path(__file__).resolve().parents[2]
PYTHON, NODE = ROOT / ".venv/bridges/bin/python", ROOT / ".venv/node/node_modules/.bin"
SCRIPTS = sorted(Path(__file__).with_name("bridges").glob("*.py"))
QUIET = {
    "DEEPEVAL_RESULTS_FOLDER": "found",
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "EVALS_SEQUENTIAL": "1",
    "HF_HUB_OFFLINE": "1",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "OPENAI_API_KEY": "none",
    "PROMPTFOO_DISABLE_TELEMETRY": "1",
    "PROMPTFOO_DISABLE_UPDATE": "1",
    "PROMPTFOO_FAILED_TEST_EXIT_CODE": "0",
}
VERDICTS = {None: Verdict.UNSCORED, True: Verdict.PASS, False: Verdict.FAIL}
TEXTS = ("please wait", "hello there", "HELLO", '{"a": 1}', "10", "=1+1", "Elbe\nand Rhine")

pytestmark = [pytest.mark.process, pytest.mark.slow]


def run(argv: list[str | Path], folder: Path) -> str:
    """Run a program in a folder of its own, and return what it printed; it must end well."""
    own = {"HOME": str(folder), "PROMPTFOO_CONFIG_DIR": str(folder / "promptfoo")}
    done = subprocess.run(
        argv, cwd=folder, capture_output=True, text=True, check=False, env={**os.environ, **QUIET, **own}
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def read(path: Path) -> dict[tuple[str, int], GradedRow]:
    return {(row.id, row.sample): row for row in view_run(path, RowChoice()).rows}


def list_differences(found: dict[tuple[str, int], GradedRow], own: list[dict[str, Any]]) -> Iterator[str]:
    for one in own:
        row = found.get((one["id"], one.get("sample", 0)))
        if row is None:
            yield f"{one['id']} is not there"
            continue
        if one["output"] is not None and row.output.text != one["output"]:
            yield f"{one['id']}: the output is {row.output.text!r} for {one['output']!r}"
        if "passed" in one and row.verdict is not VERDICTS[one["passed"]]:
            yield f"{one['id']}: {row.verdict} for {one['passed']}"
        checks = {check.id: check.score for check in row.checks}
        for name, score in one["checks"].items():
            given = checks.get(name, "no such check")
            if given != score and (
                score is None or isinstance(given, str) or given is None or abs(given - score) > 1e-9
            ):
                yield f"{one['id']}, {name}: {given} for {score}"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_what_a_program_says_of_its_outputs_is_what_we_read(script: Path, tmp_path: Path) -> None:
    if not PYTHON.exists():
        pytest.skip("the programs are not installed: make sockets")
    own = json.loads(run([PYTHON, script], tmp_path).splitlines()[-1])
    for pattern, said in own.items():
        (path,) = tmp_path.glob(pattern)
        assert list(list_differences(read(path), said)) == []
        assert len(read(path)) == sum(one["output"] is not None or bool(one["checks"]) for one in said)


def draw_checks(kinds: list[dict[str, Any]], number: int) -> list[dict[str, Any]]:
    """Return some checks, the same for the same number, a fifth of them of another weight."""
    draw = random.Random(number)  # noqa: S311  # the same cases every time
    chosen = draw.sample(kinds, draw.randint(1, 4))
    return [{**kind, **({"weight": 2} if draw.random() < 0.2 else {})} for kind in chosen]


def test_promptfoo_writes_one_result_in_four_formats(tmp_path: Path) -> None:
    if not (NODE / "promptfoo").exists():
        pytest.skip("promptfoo is not installed: make sockets")
    kinds = [{"type": kind, "value": "hello"} for kind in ("contains", "icontains", "equals", "not-contains")]
    kinds += [{"type": "is-json"}, {"type": "javascript", "value": "Math.min(1, output.length / 20)"}]
    kinds += [{"type": "contains-any", "value": ["x", "l"], "metric": "letters"}]
    tests = [
        {"vars": {"text": TEXTS[n % 7], "n": n}, "assert": draw_checks(kinds, n)}
        | ({"threshold": 0.5, "description": "half"} if n % 5 else {})
        for n in range(75)
    ]
    config = {"prompts": ["{{text}}", "Say: {{text}}"], "providers": ["echo"], "tests": tests}
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
    files = [f"found.{form}" for form in ("json", "jsonl", "yaml", "csv")]
    argv = [NODE / "promptfoo", "eval", "-c", "promptfooconfig.json", "--no-cache"]
    run([*argv, *(word for name in files for word in ("-o", name))], tmp_path)
    results = json.loads((tmp_path / files[0]).read_text())["results"]["results"]
    own = [
        {
            "id": f"{one['testIdx']}/{one['prompt']['label']}",
            "output": one["response"]["output"],
            "passed": one["success"],
            "checks": {},
        }
        for one in results
    ]
    scores = {one["id"]: result["score"] for one, result in zip(own, results, strict=True)}
    assert len(own) == 150
    for name in files:
        found = read(tmp_path / name)
        assert list(list_differences(found, own)) == []
        near = 0.00501 if name.endswith("csv") else 1e-9  # a table rounds to two places
        assert [id_ for (id_, _), row in found.items() if abs(float(row.score or 0) - scores[id_]) > near] == []
        if not name.endswith("csv"):
            parts = {
                one["id"]: [part["pass"] for part in result["gradingResult"]["componentResults"]]
                for one, result in zip(own, results, strict=True)
            }
            ours = {id_: [check.verdict is Verdict.PASS for check in row.checks] for (id_, _), row in found.items()}
            assert ours == parts


TARGETS = """\
targets:
  - {name: echo, provider: cli, command: "cat {PROMPT_FILE} > {OUTPUT_FILE}"}
"""


def test_what_agentv_grades_is_what_its_migrated_suite_grades(cli: Callable[..., Any], tmp_path: Path) -> None:
    if not (NODE / "agentv").exists():
        pytest.skip("agentv is not installed: make sockets")
    words = {"contains": "hello", "icontains": "Hello", "equals": "10", "starts-with": "please", "ends-with": "e"}
    kinds: list[dict[str, Any]] = [{"type": kind, "value": value} for kind, value in words.items()]
    kinds += [{"type": "is-json"}, {"type": "contains", "value": "z", "negate": True}]
    kinds += [{"type": "contains-any", "value": ["Elbe", "x"]}, {"type": "contains-all", "value": ["e", "r"]}]
    tests = [
        {"id": f"t{n}", "criteria": "none", "input": TEXTS[n % 7], "assertions": draw_checks(kinds, n)}
        for n in range(150)
    ]
    (tmp_path / ".agentv").mkdir()
    (tmp_path / ".agentv/targets.yaml").write_text(TARGETS)
    suite = tmp_path / "bridge.eval.yaml"
    suite.write_text(json.dumps({"name": "bridge", "execution": {"target": "echo"}, "tests": tests}))
    subprocess.run(
        [NODE / "agentv", "eval", suite.name, "--workers", "4"], cwd=tmp_path, capture_output=True, check=False
    )
    (index,) = tmp_path.rglob("index.jsonl")
    results = [json.loads(line) for line in index.read_text().splitlines()]
    own = [
        {
            "id": one["test_id"],
            "output": (index.parent / one["output_path"]).read_text(),
            "passed": one["execution_status"] == "ok",
            "checks": {},
        }
        for one in results
    ]
    scores = {one["test_id"]: one["score"] for one in results}
    store = tmp_path / "store"
    store.mkdir()
    assert cli("init", cwd=store).code == 0
    assert cli("migrate", suite, cwd=store).code == 0
    scored = cli("score", "dataset/bridge", index, "--worktree=all", "--format", "json", cwd=store)
    assert scored.code == 0, scored.err
    for found in (read(index), read(store / json.loads(scored.out)["run"])):
        assert len(found) == 150
        assert list(list_differences(found, own)) == []
        assert [id_ for (id_, _), row in found.items() if abs(float(row.score or 0) - scores[id_]) > 1e-6] == []
