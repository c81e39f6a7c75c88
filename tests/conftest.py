"""Real git in a sealed room: no user settings, a home of its own, and a clock that ticks by hand."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"

# A test that samples draws the same every time; `make fuzz` looks where nobody has looked yet.
settings.register_profile("again", derandomize=True, database=None, deadline=None)
settings.register_profile("anew", database=None, deadline=None, print_blob=True)
settings.load_profile("again")


@dataclass(frozen=True)
class Ran:
    """What a command answered."""

    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def sealed(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path_factory.mktemp("home")
    for name in [key for key in os.environ if key.startswith(("GIT_", "EVALSTORE_", "OPENAI_"))]:
        monkeypatch.delenv(name)
    (home / ".gitconfig").write_text(
        "[user]\n\tname = Ada Tester\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n"
    )
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)


@pytest.fixture
def git(tmp_path: Path) -> Callable[..., str]:
    """Run git in the repository `tmp_path/repo` (made on first use); every commit is a minute after the last."""
    repo = tmp_path / "repo"
    minute = iter(range(10**6))

    def run(*argv: str, cwd: Path | None = None, stdin: str | None = None) -> str:
        if not repo.exists():
            repo.mkdir()
            subprocess.run(["git", "init", "-q", str(repo)], check=True)
        stamp = f"{1_760_000_000 + 60 * next(minute)} +0000"
        env = {**os.environ, "GIT_AUTHOR_DATE": stamp, "GIT_COMMITTER_DATE": stamp}
        done = subprocess.run(
            ["git", *argv], cwd=cwd or repo, env=env, input=stdin, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run


@pytest.fixture
def cli() -> Callable[..., Ran]:
    """Run the real command in a process of its own."""

    def run(*argv: str | Path, cwd: Path | None = None, stdin: str | None = None, **env: str) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "evalstore", *map(str, argv)],
            cwd=cwd,
            env={**os.environ, **env},
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return Ran(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real samples and measured verdicts, when it lies beside the project."""
    if not SHARED.is_dir():
        pytest.skip("no folder of shared samples beside the project")
    return SHARED


@pytest.fixture
def judge_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A real endpoint on this machine that answers judges, or misbehaves as told: see tests/judging/server.py."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with _module("judging/server.py").serving() as server:
        yield server


def _module(path: str) -> ModuleType:
    """Load a module of the tests, which are no packages."""
    name = "tests." + path.replace("/", ".")
    if name not in sys.modules:
        spec = spec_from_file_location(name, Path(__file__).parent / path)
        assert spec
        assert spec.loader
        sys.modules[name] = module_from_spec(spec)  # where dataclasses look for their module
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]
