"""The scorer: grades a state of Inspect by a rubric of a store; judges are asked through Inspect in between."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ParamSpec, TypeVar

from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import RunVar
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState
from inspect_ai.util import collect

from evalstore.integrations.inspect.judging import InspectJudge, ask_inspect_model
from evalstore.integrations.inspect.samples import (
    RubricCache,
    locate_store,
    make_score,
    make_unscored,
    pass_rate,
    read_output,
    read_question,
)
from evalstore.integrations.rubric_scorer import Ruler
from evalstore.model import JudgeCall, JudgeReply, RubricResult, Sample
from evalstore.store import ArtifactStore

_P = ParamSpec("_P")
_T = TypeVar("_T")
_one_at_a_time: RunVar[CapacityLimiter] = RunVar("evalstore_turn")


def rubric_scorer(
    ref: str | None = None, store: ArtifactStore | Path | str = ".", *, judge: InspectJudge = None
) -> Scorer:
    """Grade by the rubric `ref`, or by the one that a sample's metadata names as `rubric_ref`; reports mean and passes.

    `store` is the folder of the store; a task file's relative path is relative to it. Judges are answered by `judge`,
    a model of Inspect or a mapping from the names that the store knows models by; without one by the role `grader` (of
    several its first model); with neither they are unscored. Raises `EvalstoreError` for a rubric that is not there.
    """
    return _make_scorer(ref, locate_store(store), judge=judge)


@scorer(metrics=[mean(), stderr(), pass_rate()], name="rubric_scorer")
def _make_scorer(ref: str | None = None, store: str = ".", *, judge: InspectJudge = None) -> Scorer:
    rulers = RubricCache(Path(store).absolute())  # tasks change the working folder while they run
    if ref is not None:
        rulers.load_rubric(ref)

    async def score(state: TaskState, target: Target) -> Score:
        question, output = read_question(state, target), read_output(state)
        named = ref or question.rubric_ref
        if not isinstance(named, str):
            return make_unscored(
                "scoring_failed", "the sample names no rubric: give the scorer one, or metadata rubric_ref"
            )
        if output is None:
            return make_unscored("no_response", "there is no output to grade")
        ready = await _run_alone(rulers.load_rubric, named)
        result, asked = await _grade_with_judges(ready, Sample(output, question), judge)
        return make_score(result, output, rubric=ready.pin, judges=ready.judges, asked=asked)

    return score


async def _grade_with_judges(ready: Ruler, sample: Sample, judge: InspectJudge) -> tuple[RubricResult, bool]:
    """Grade, ask the missing calls, grade again; returns whether any judge was asked. Checks themselves never wait."""
    replies: Mapping[str, JudgeReply] = {}
    while True:
        result, missing = await _run_alone(ready.grade, sample, replies)
        if not missing:
            return result, bool(replies)
        replies = {**replies, **await _ask_missing(missing, judge)}


async def _ask_missing(missing: Mapping[str, JudgeCall], judge: InspectJudge) -> Mapping[str, JudgeReply]:
    answers = await collect(*(ask_inspect_model(call, judge) for call in missing.values()))
    return dict(zip(missing, answers, strict=True))


async def _run_alone(function: Callable[_P, _T], *args: _P.args, **_: _P.kwargs) -> _T:
    """Run a computation in a thread beside the event loop, one at a time: stores and parsers are not thread-safe."""
    limiter = _one_at_a_time.get(None)
    if limiter is None:
        _one_at_a_time.set(limiter := CapacityLimiter(1))
    return await to_thread.run_sync(function, *args, limiter=limiter)
