"""Artifacts whose texts several processes write are those of one, in the same bytes, also where one of them is killed."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from evalstore import workers

CASES = Path(__file__).resolve().parents[1] / "cases" / "migrations"
SHORT = ("ai_best_practices/legacy_dialect",)
ALL = sorted(path.relative_to(CASES).parent.as_posix() for path in CASES.glob("*/*/legacy"))

pytestmark = pytest.mark.heavy


class HereExecutor(Executor):
    """Does at once what it is given, with all that goes there and comes back as bytes; loses workers as often as asked."""

    def __init__(self, losses: int) -> None:
        self.losses, self.count = losses, 0

    def submit(self, function: Callable[..., Any], /, *args: Any, **_: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.count += 1
        if self.losses:
            self.losses -= 1
            future.set_exception(BrokenExecutor())
            return future
        try:
            future.set_result(pickle.loads(pickle.dumps(function(*pickle.loads(pickle.dumps(args))))))  # noqa: S301
        except Exception as error:
            future.set_exception(error)
        return future


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> HereExecutor:
    executor = HereExecutor(0)

    @contextmanager
    def open_here() -> Iterator[Executor]:
        yield executor

    monkeypatch.setattr(workers, "open_processes", lambda _: open_here)
    return executor


def migrate_both(cli: Callable[..., Any], case: str, folder: Path) -> tuple[Any, Any]:
    """Migrate a case with one job and with two into stores of one name; return the answers and all files."""
    found = []
    for jobs in ("1", "2"):
        root = folder / jobs / "store"
        root.mkdir(parents=True)
        ran = cli("migrate", CASES / case / "legacy", "--jobs", jobs, "--format", "json", cwd=root)
        files = {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}
        found.append((ran, files))
    return found[0], found[1]


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=() if case in SHORT else pytest.mark.slow) for case in ALL], ids=str
)
def test_two_jobs_write_what_one_does(case: str, cli: Callable[..., Any], here: HereExecutor, tmp_path: Path) -> None:
    one, two = migrate_both(cli, case, tmp_path)
    assert one == two
    assert here.count or not any(path.suffix == ".yaml" for path in two[1])


def test_a_lost_worker_is_told_and_costs_nothing_else(
    cli: Callable[..., Any], here: HereExecutor, tmp_path: Path
) -> None:
    here.losses = 1
    (one, files), (two, same_files) = migrate_both(cli, SHORT[0], tmp_path)
    assert (one.code, one.out, files) == (two.code, two.out, same_files)
    assert two.err.count("warning: a worker process was killed") == 1
    here.losses = 1000
    root = tmp_path / "store"
    root.mkdir()
    ran = cli("migrate", CASES / SHORT[0] / "legacy", "--jobs", "2", cwd=root)
    assert (ran.code, "killed 3 times in a row" in ran.err, list(root.rglob("*.yaml"))) == (3, True, [])


@pytest.mark.process
@pytest.mark.slow
def test_two_processes_write_what_one_does(cli: Callable[..., Any], tmp_path: Path) -> None:
    one, two = migrate_both(cli, SHORT[0], tmp_path)
    assert one == two
