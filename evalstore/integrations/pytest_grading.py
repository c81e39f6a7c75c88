"""Grades outputs within one session of pytest, and scores them as a run at its end."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from evalstore.integrations.rubric_scorer import Graded, RubricScorer, scorer
from evalstore.scoring import score
from evalstore.store import ArtifactStore


@dataclass(slots=True)
class PytestGrader:
    """Grades the outputs of one session by the rubrics of one store.

    `graded` has by question the line of the last answer to it, as `evalstore score` reads it: a test that is run again
    answers its question again.
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
        """Grade one output, under the question of the dataset where one is named."""
        row = dict(self._find_question(question)) if question is not None else {}
        calls = None if tool_calls is None else list(tool_calls)
        if question is not None:
            line = {"id": question, "output": output, **({} if calls is None else {"tool_calls": calls})}
            self.graded[question] = json.dumps(line)
        if rubric not in self._scorers:
            self._scorers[rubric] = scorer(rubric, store=self.store)
        return self._scorers[rubric](output, tool_calls=calls, **{**row, **keys})

    def _find_question(self, id_: str) -> Mapping[str, Any]:
        if self.dataset is None:
            raise pytest.UsageError("a question needs its dataset: --evalstore-dataset REF")
        with ArtifactStore.open(self.store) as store:
            found = next((one.row for one in store.questions(self.dataset) if one.id == id_), None)
        if found is None:
            raise pytest.UsageError(f"{self.dataset} has no question {id_!r}")
        return found


@dataclass(frozen=True, slots=True)
class PytestRuler:
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
        """Grade one output; `question` is an id of the dataset, else `keys` are those of one (`input`, `expected`)."""
        return self.session.grade(self.rubric, output, question=question, tool_calls=tool_calls, keys=keys)

    def check(self, output: str, **keys: Any) -> Graded:
        """Fail the test, with the reasons of the rubric, unless the output passes and every check could be graded."""
        __tracebackhide__ = True
        graded = self.grade(output, **keys)
        if not graded.surely_passed:
            gap = "" if graded.is_complete else "not every check could be graded: "
            pytest.fail(f"{graded.ref}: {gap}{graded.reason}")
        return graded


def write_run(grader: PytestGrader, dataset: str, folder: Path) -> str:
    """Score what was graded under `dataset`, keep it in `folder`, and return in words where the run is."""
    if not grader.graded:
        return "no test graded an answer to a question, so no run was written"
    with TemporaryDirectory() as made, ArtifactStore.open(grader.store) as store:
        outputs = Path(made) / "pytest.jsonl"
        outputs.write_text("".join(f"{line}\n" for line in grader.graded.values()), "utf-8")
        run = score(dataset, outputs, store=store, out=folder.absolute(), at=datetime.now(UTC))
    return f"run {run.path}"
