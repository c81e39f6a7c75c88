"""What the checks of two runs reach when they are graded again: artifacts as the runs recorded them, kept replies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evalstore.audits.grader import Grader
from evalstore.audits.rulers import VersionFinder
from evalstore.audits.stored import StoredRun
from evalstore.documents import read_row
from evalstore.errors import RefusedError
from evalstore.judging import JudgeSession
from evalstore.model import Artifact, PinType, parse_ref
from evalstore.runs import Run, UsedArtifact

_STEADY = frozenset({PinType.EXACT, PinType.REVISION})


@dataclass(frozen=True, slots=True)
class RunArtifactLoader:
    """Loads what checks refer to: as recorded where a run recorded it, else as the store has it."""

    rulers: VersionFinder
    recorded: tuple[UsedArtifact, ...]

    def __call__(self, ref: str) -> Artifact:
        """Return the artifact; a reference that was not the same thing in both runs is refused."""
        wanted = parse_ref(ref)
        alike = [pinned for pinned in self.recorded if pinned.ref == ref]
        if not alike and wanted.type not in _STEADY:
            alike = [pinned for pinned in self.recorded if parse_ref(pinned.ref).name == wanted.name]
        if len({pinned.digest for pinned in alike}) > 1:
            several = " and ".join(sorted(pinned.ref for pinned in alike))
            raise RefusedError(
                f"{ref} floats, and the runs used {several} for it, so its share cannot be told from the rubric's",
                hint="pin it in the rubric, and score the outputs again",
            )
        return self.rulers.locate(alike[0]).resolved.artifact if alike else self.rulers.store.load(ref)


def grader_of(a: StoredRun, b: StoredRun, rulers: VersionFinder, panel: JudgeSession) -> Grader:
    """Return what grades the outputs of two runs again, having learned what they recorded of judged checks."""
    load = RunArtifactLoader(rulers, (*a.run.judges, *b.run.judges, *a.run.rubrics, *b.run.rubrics))
    grader = Grader(load, panel, model_of(a.run, b.run), strict=rulers.store.strict)
    grader.learn(a)
    grader.learn(b)
    return grader


def model_of(a: Run, b: Run) -> Mapping[str, Any]:
    """Return what both runs said of the judges' model; two that said different things cannot be told apart."""
    said = {run.harness["judge_model"] for run in (a, b) if "judge_model" in run.harness}
    if len(said) > 1:
        raise RefusedError(
            f"the runs asked their judges by different models, {' and '.join(sorted(said))}",
            hint="name the model in the judge (`model:`), release it, and score both outputs again",
        )
    model: Mapping[str, Any] = read_row(said.pop().encode(), "the run's judge_model", 0) if said else {}
    return model
