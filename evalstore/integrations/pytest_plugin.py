"""evalstore within pytest: the fixture `ruler`, and runs of what it graded.

    def test_answer(ruler):
        ruler("rubric/tone@1.2").check(answer("How?"), question="q1")

Imports the rest of evalstore when a test asks for it: pytest loads this module wherever evalstore is installed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from evalstore.integrations.pytest_grading import PytestGrader, PytestRuler

_GRADED = "evalstore_graded"  # what a worker of pytest-xdist hands to the one who started it
_GRADER = pytest.StashKey["PytestGrader"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of evalstore."""
    group = parser.getgroup("evalstore")
    group.addoption("--evalstore-store", metavar="DIR", help="The store of the rubrics; default: where pytest starts.")
    group.addoption("--evalstore-dataset", metavar="REF", help="The dataset whose questions the tests answer.")
    group.addoption("--evalstore-run", metavar="DIR", help="Score what the tests graded, and keep it there as a run.")


def pytest_configure(config: pytest.Config) -> None:
    """Refuse a run that no dataset would explain."""
    if config.getoption("--evalstore-run") and not config.getoption("--evalstore-dataset"):
        raise pytest.UsageError("--evalstore-run needs the questions that are answered: --evalstore-dataset REF")


@pytest.fixture
def ruler(request: pytest.FixtureRequest) -> Callable[[str], PytestRuler]:
    """Return a function that finds a rubric of the store by its reference, to check outputs with."""
    from evalstore.integrations.pytest_grading import PytestRuler

    grader = _open_grader(request.config)
    return lambda rubric: PytestRuler(rubric, grader)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:  # noqa: ARG001  # the hook's signature
    """Take over what a worker graded."""
    if graded := getattr(node, "workeroutput", {}).get(_GRADED):
        _open_grader(node.config).graded.update(graded)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand what a worker graded to the one who started it."""
    if hasattr(session.config, "workeroutput") and _GRADER in session.config.stash:
        session.config.workeroutput[_GRADED] = session.config.stash[_GRADER].graded


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Score the outputs that were graded, and name the run."""
    folder, dataset = config.getoption("--evalstore-run"), config.getoption("--evalstore-dataset")
    if not folder or hasattr(config, "workeroutput"):
        return
    from evalstore.errors import EvalstoreError
    from evalstore.integrations.pytest_grading import write_run

    terminalreporter.section("evalstore")
    try:
        terminalreporter.line(write_run(_open_grader(config), dataset, Path(folder)))
    except EvalstoreError as error:
        terminalreporter.line(f"no run was written: {error}")


def _open_grader(config: pytest.Config) -> PytestGrader:
    from evalstore.integrations.pytest_grading import PytestGrader

    if _GRADER not in config.stash:
        folder = config.getoption("--evalstore-store") or config.invocation_params.dir
        config.stash[_GRADER] = PytestGrader(Path(folder).absolute(), config.getoption("--evalstore-dataset"))
    return config.stash[_GRADER]
