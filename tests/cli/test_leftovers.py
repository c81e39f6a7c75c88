"""A command that is killed leaves nothing that `git add .` takes, and nothing that stops the same command."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.rows import thin

pytestmark = pytest.mark.chaos

Cli = Callable[..., Any]
# Kills itself just before its n-th change on disk, or where something new is to be written.
DRIVER = """
import os, signal, sys
left = iter(range(int(sys.argv.pop(1))))
CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.truncate"}
def watch(event, args):
    if event in CHANGES or (event == "open" and isinstance(args[2], int) and args[2] & os.O_CREAT):
        if next(left, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(watch)
from evalstore.cli.main import main
main()
"""
MISSPELT = 'id: tone\nversion: "1.0.0"\nchecks:\n  - {kind: must_not_contain, valuess: [simply]}\nscoring: {combine: all_pass}\n'
COMMANDS = {
    "fix": ["validate", "--fix"],
    "init": ["init", ".", "--ci", "github", "--merge-driver"],
    "site": ["site", "public"],
    "export": ["export", "--to", "ai_best_practices", "--out", "back"],
    "new": ["new", "rubric", "fresh"],
    "score": ["score", "dataset/a@worktree", "outputs.jsonl", "--out", "runs", "--worktree"],
}


def list_taken(store: Path) -> list[str]:
    ran = subprocess.run(["git", "add", "-A", "-n", "."], cwd=store, capture_output=True, text=True, check=True)
    return [line for line in ran.stdout.splitlines() if ".tmp" in line or ".lock" in line.replace("evalstore.lock", "")]


@pytest.mark.parametrize("name", thin(COMMANDS, 3))
def test_nothing_that_a_killed_command_leaves_is_committed(
    name: str, cli: Cli, tmp_path: Path, samples: Callable[[int], int]
) -> None:
    origin = tmp_path / "origin"
    assert cli("init", origin).code == 0
    (origin / "evals.json").write_text(
        '{"skill_name": "a", "evals": [{"id": 1, "prompt": "?", "must_contain_any": ["a"]}]}'
    )
    (origin / "outputs.jsonl").write_text('{"id": "B01", "output": "a"}\n')
    assert cli("-C", origin, "migrate", "evals.json").code == 0
    (origin / "rubrics/tone.yaml").write_text(MISSPELT if name == "fix" else MISSPELT.replace("valuess", "values"))
    died, at, every = 0, 0, samples(40) == 40
    while True:
        store = tmp_path / f"store{at}"
        shutil.copytree(origin, store)
        argv = [sys.executable, "-c", DRIVER, str(at), *COMMANDS[name]]
        ended = subprocess.run(argv, cwd=store, capture_output=True, check=False)
        assert list_taken(store) == []
        again = cli(*COMMANDS[name], cwd=store)
        assert again.code in ({0, 3} if name == "new" else {0, 1}), again.err
        assert [path for path in store.rglob("*.tmp/**/*") if path.is_file()] == []
        if ended.returncode == 0:
            break
        died, at = died + 1, at + (1 if every else 5 + at // 2)
    assert died > 1


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_a_killed_init_leaves_no_lock_of_the_config(cli: Cli, tmp_path: Path) -> None:
    assert cli("init", ".", cwd=tmp_path).code == 0
    argv = [sys.executable, "-m", "evalstore", "init", "--merge-driver"]
    inject = ["-f", "-o", "/dev/null", "-e", "trace=chmod", "-e", "inject=chmod:signal=SIGKILL:when=1"]
    subprocess.run(["strace", *inject, *argv], cwd=tmp_path, capture_output=True, check=False)
    assert (tmp_path / ".git/config.lock").exists()
    again = cli("init", "--merge-driver", cwd=tmp_path)
    assert (again.code, again.err) == (0, "")
    assert not (tmp_path / ".git/config.lock").exists()
    assert "evalstore git-driver merge" in (tmp_path / ".git/config").read_text()


def test_a_lock_of_somebody_else_stays(cli: Cli, tmp_path: Path) -> None:
    assert cli("init", ".", "--merge-driver", cwd=tmp_path).code == 0
    (tmp_path / ".git/config.lock").write_text("")
    again = cli("init", "--diff-driver", cwd=tmp_path)
    assert again.code == 3
    assert "another git process has a lock" in again.err
    assert (tmp_path / ".git/config.lock").exists()
