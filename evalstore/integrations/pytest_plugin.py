"""evalstore within pytest: the fixture `rubric`, and runs of what it graded.

    def test_answer(rubric):
        rubric("rubric/tone@1.2").check(answer("How?"), question="q1")

Imports the rest of evalstore when a test asks for it: pytest loads this module wherever evalstore
is installed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from evalstore.errors import EvalstoreError
from evalstore.integrations.rubric_scorer import Graded, RubricScorer, scorer
from evalstore.scoring import ScoringOptions, open_job
from evalstore.scoring.judging import Judges
from evalstore.store import ArtifactStore

_GRADED = "evalstore_graded"  # what a pytest-xdist worker passes to the process that started it
_GRADER = pytest.StashKey["PytestGrader"]()


@dataclass(slots=True)
class PytestGrader:
    """Grades the outputs of one session by the rubrics of one store.

    `graded` has by question the line of its last answer, as `evalstore score` reads it: a test that
    is run again answers its question again.
    """

    store: Path
    dataset: str | None
    graded: dict[str, str] = field(default_factory=dict)
    _scorers: dict[str, RubricScorer] = field(default_factory=dict)

    def grade(
        self,
        rubric: str,
        output: str,
        *,
        question: str | None,
        tool_calls: Iterable[Mapping[str, Any]] | None,
        keys: Mapping[str, Any],
    ) -> Graded:
        """Grade one output, under a question of the dataset if one is named."""
        row = dict(self._find_question(question)) if question is not None else {}
        calls = None if tool_calls is None else list(tool_calls)
        if question is not None:
            line = {
                "id": question,
                "output": output,
                **({} if calls is None else {"tool_calls": calls}),
            }
            self.graded[question] = json.dumps(line)
        return self._find_scorer(rubric).grade(output, {**row, **keys}, calls)

    def _find_scorer(self, rubric: str) -> RubricScorer:
        """Return the scorer of a reference.

        A misspelt reference fails the test with one line that names the nearest.
        """
        if rubric in self._scorers:
            return self._scorers[rubric]
        try:
            self._scorers[rubric] = scorer(rubric, store=self.store)
        except EvalstoreError as error:
            reason = f"{error}; {error.hint}" if error.hint else str(error)
        else:
            return self._scorers[rubric]
        pytest.fail(reason, pytrace=False)

    def _find_question(self, id_: str) -> Mapping[str, Any]:
        if self.dataset is None:
            pytest.fail("a question needs its dataset: --evalstore-dataset REF", pytrace=False)
        with ArtifactStore.open(self.store) as store:
            found = next((one.row for one in store.questions(self.dataset) if one.id == id_), None)
        if found is None:
            pytest.fail(f"{self.dataset} has no question {id_!r}", pytrace=False)
        return found


@dataclass(frozen=True, slots=True)
class PytestRubric:
    """One rubric within a test."""

    rubric: str
    session: PytestGrader

    def grade(
        self,
        output: str,
        *,
        question: str | None = None,
        tool_calls: Iterable[Mapping[str, Any]] | None = None,
        **keys: Any,
    ) -> Graded:
        """Grade one output.

        `question` is an id in the dataset; otherwise `keys` are a question's keys.
        """
        return self.session.grade(
            self.rubric, output, question=question, tool_calls=tool_calls, keys=keys
        )

    def check(self, output: str, **keys: Any) -> Graded:
        """Fail the test unless the output passes and every check was graded.

        The failure has the rubric's reasons.
        """
        __tracebackhide__ = True
        graded = self.grade(output, **keys)
        if not graded.surely_passed:
            gap = "" if graded.is_complete else "not every check could be graded: "
            pytest.fail(f"{graded.ref}: {gap}{graded.reason}")
        return graded


def write_run(grader: PytestGrader, dataset: str, folder: Path) -> str:
    """Score what was graded under `dataset`, and keep it in `folder`.

    Returns in words where the run is.
    """
    if not grader.graded:
        return "no test graded an answer to a question, so no run was written"
    with TemporaryDirectory() as made, ArtifactStore.open(grader.store) as store:
        outputs = Path(made) / "pytest.jsonl"
        outputs.write_text("".join(f"{line}\n" for line in grader.graded.values()), "utf-8")
        options = ScoringOptions(at=datetime.now(UTC), judges=Judges(offline=True))
        with open_job(dataset, outputs, store, options) as job:
            run = job.write_run(folder.absolute())
    return f"run {run.path}" + (f", which has no score: {run.ungraded}" if run.is_withheld else "")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of evalstore."""
    group = parser.getgroup("evalstore")
    group.addoption(
        "--evalstore-store",
        metavar="DIR",
        help="The store of the rubrics; default: where pytest starts.",
    )
    group.addoption(
        "--evalstore-dataset", metavar="REF", help="The dataset whose questions the tests answer."
    )
    group.addoption(
        "--evalstore-run",
        metavar="DIR",
        help="Score what the tests graded, and keep it there as a run.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Refuse a run that no dataset would explain."""
    if config.getoption("--evalstore-run") and not config.getoption("--evalstore-dataset"):
        raise pytest.UsageError(
            "--evalstore-run needs the questions that are answered: --evalstore-dataset REF"
        )


@pytest.fixture
def rubric(request: pytest.FixtureRequest) -> Callable[[str], PytestRubric]:
    """Return a function that finds a rubric of the store by its reference.

    The rubric then checks outputs.
    """
    grader = _open_grader(request.config)
    return lambda rubric: PytestRubric(rubric, grader)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:  # noqa: ARG001  # the hook's signature
    """Take over what a worker graded."""
    if graded := getattr(node, "workeroutput", {}).get(_GRADED):
        _open_grader(node.config).graded.update(graded)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Pass what a worker graded to the process that started it."""
    if hasattr(session.config, "workeroutput") and _GRADER in session.config.stash:
        session.config.workeroutput[_GRADED] = session.config.stash[_GRADER].graded


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Score the outputs that were graded, and name the run."""
    folder, dataset = config.getoption("--evalstore-run"), config.getoption("--evalstore-dataset")
    if not folder or hasattr(config, "workeroutput"):
        return
    from evalstore.errors import EvalstoreError

    terminalreporter.section("evalstore")
    try:
        terminalreporter.line(write_run(_open_grader(config), dataset, Path(folder)))
    except EvalstoreError as error:
        terminalreporter.line(f"no run was written: {error}")


def _open_grader(config: pytest.Config) -> PytestGrader:

    if _GRADER not in config.stash:
        folder = config.getoption("--evalstore-store") or config.invocation_params.dir
        config.stash[_GRADER] = PytestGrader(
            Path(folder).absolute(), config.getoption("--evalstore-dataset")
        )
    return config.stash[_GRADER]
