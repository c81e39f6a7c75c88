"""Every command once in a separate process: it answers as it does within the tests' process, where `cli` runs it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalstore.cli.main import COMMANDS

STYLE = "rubric/answer_style"
RUNS = ("runs/model_a/web_answers-1.0.0-model_a.json", "runs/model_b/web_answers-2.0.0-model_b.json")

# Over the store of the demo with one changed file; that story itself runs the commands that succeed as processes.
CASES = [
    (["init", "new"], 0),
    (["demo", "."], 3),
    (["migrate", "legacy/drupal-forms/evals.json", "--dry-run"], 0),
    (["export", "--to", "ai_best_practices", "--out", "back"], 0),
    (["validate", "--strict"], 1),
    (["list"], 0),
    (["show", f"{STYLE}@1.0"], 0),
    (["resolve"], 2),
    (["log", "judge/nobody"], 3),
    (["diff", f"{STYLE}@1.0.0", f"{STYLE}@2.0.0"], 0),
    (["status", "--check"], 1),
    (["impact", "judge/accuracy"], 0),
    (["accept", "0000000000000000", "--reason", "x"], 3),
    (["bump"], 2),
    (["lock", "--check"], 1),
    (["verify"], 0),
    (["gate", "--base", "HEAD"], 1),
    (["score", "dataset/web_answers@9.9.9", "outputs/model_a.jsonl"], 3),
    (["judge"], 2),
    (["explain", "check-added"], 0),
    (["new", "rubric", "x"], 0),
    (["audit", *RUNS], 0),
    (["blame", STYLE], 0),
    (["history", "rubric/none", "--run", RUNS[0]], 3),
    (["comparable"], 2),
    (["site"], 2),
]


# The short suite starts one command that writes, one that reads, and one that ends with each other code.
SHORT = {"init", "status", "bump", "log"}


@pytest.mark.parametrize(
    ("argv", "code"),
    [pytest.param(*case, marks=() if case[0][0] in SHORT else pytest.mark.slow, id=case[0][0]) for case in CASES],
)
def test_a_process_answers_as_the_function_does(
    argv: list[str], code: int, demo: Any, cli: Callable, cli_process: Callable, tmp_path: Path
) -> None:
    def answer(run: Callable) -> Any:
        store = Path(shutil.copytree(demo.folder, tmp_path / "store", symlinks=True))
        path = store / "rubrics/answer_style.yaml"
        path.write_text(path.read_text("utf-8").replace("which means", "which is why"), "utf-8")
        ran = run(*argv, cwd=store)
        shutil.rmtree(store)
        return ran

    ran = answer(cli_process)
    assert ran.code == code, ran.err
    assert answer(cli) == ran


def test_no_command_is_left_out() -> None:
    assert {argv[0] for argv, _ in CASES} == set(COMMANDS)


@pytest.mark.process
@pytest.mark.parametrize("limit", [140_000])  # kB: the sentence itself took more than was left
def test_too_little_memory_is_no_bug(tmp_path: Path, limit: int) -> None:
    case = '{"id": 1, "prompt": "?", "must_contain_any": ["a"]}'
    (tmp_path / "evals.json").write_text(f'{{"skill_name": "a", "evals": [{", ".join([case] * 400_000)}]}}')
    argv = [sys.executable, "-m", "evalstore", "migrate", "evals.json", "--into", "store", "--dry-run"]
    script = f'ulimit -v {limit}; exec "$@"'
    command = ["sh", "-c", script, "sh", *argv]
    try:
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    except subprocess.TimeoutExpired:
        pytest.skip("Python 3.11 itself has no end where it cannot even hold the number of a line")
    assert done.returncode == 3, done.stderr
    assert "error: out of memory\nhint: free some" in done.stderr


@pytest.mark.process
def test_no_memory_to_say_so_is_said_all_the_same() -> None:
    """The error that says so fails, too: what is left is encoded beforehand."""
    script = (
        "from evalstore import __main__\nfrom evalstore.cli import context, main, process\n"
        "def fail(*_):\n    raise MemoryError\n"
        "main._run_click = context.CommandSettings.print_error = fail\n__main__.run()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("error: out of memory\nhint: free some, raise the limit")
