"""evalstore inside Inspect AI: a scorer that grades by a store's rubric, and datasets as samples.

Needs the extra `evalstore[inspect]`. In a task:

    Task(dataset_samples("dataset/x@1.0.0", store="."), solver=generate(),
    scorer=rubric_scorer(store="."))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import ParamSpec, TypeVar

from evalstore.about import suggest_install

try:
    # It is imported once, here, so that a single message covers all of it.
    import inspect_ai  # noqa: F401
except ModuleNotFoundError as missing:
    if missing.name != "inspect_ai":
        raise
    raise ModuleNotFoundError(
        f"Inspect AI is not installed, and this is for use within it: {suggest_install('inspect')}",
        name="inspect_ai",
    ) from None

from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import RunVar
from inspect_ai.model import (
    ChatMessage,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelOutput,
    get_model,
    model_roles,
)
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState
from inspect_ai.util import LimitExceededError, collect

from evalstore.integrations.inspect.samples import (
    GRADER_ROLE,
    RubricCache,
    dataset_samples,
    locate_store,
    make_score,
    make_unscored,
    pass_rate,
    read_output,
    read_question,
)
from evalstore.integrations.rubric_scorer import ReleasedRubric
from evalstore.model import JudgeCall, JudgeReply, RubricResult, Sample
from evalstore.scoring.judging.request import SAMPLING
from evalstore.store import OpenedStore
from evalstore.text import make_excerpt

__all__ = ["dataset_samples", "pass_rate", "rubric_scorer"]

# An Inspect model, or one for each model name in the store's files; None means the role, which also
# answers if no model is named.
InspectJudge = str | Model | Mapping[str, str | Model] | None

_PROMPT_ROLES = MappingProxyType({"user": ChatMessageUser, "system": ChatMessageSystem})
_FINISH = MappingProxyType({"max_tokens": "length", "model_length": "length"})
_P = ParamSpec("_P")
_T = TypeVar("_T")
_one_at_a_time: RunVar[CapacityLimiter] = RunVar("evalstore_turn")


async def ask_inspect_model(call: JudgeCall, judge: InspectJudge) -> JudgeReply:
    """Ask the model of a call.

    Returns a reply with a `problem` if no model answers. Raises at a limit set in Inspect. A
    store's files never choose the model: an id in them is only compared with the model that the
    task names.
    """
    model = _choose_model(str(call.model.get("id", GRADER_ROLE)), judge)
    if isinstance(model, str):
        return JudgeReply(problem=model)
    try:
        output = await model.generate(_list_messages(call), config=_make_config(call))
    except LimitExceededError:
        raise
    except Exception as error:  # noqa: BLE001  # each provider fails in its own classes
        return JudgeReply(problem=f"{model}: {type(error).__name__}: {make_excerpt(str(error))}")
    return _read_reply(output, str(model))


def _choose_model(named: str, judge: InspectJudge) -> Model | str:
    """Return the model that answers for the name `named` in the store's files, or why none does."""
    if isinstance(judge, Mapping):
        if named in judge:
            return get_model(judge[named])
        judge = None
    if judge is None and GRADER_ROLE not in model_roles():
        return (
            "no model answers as the judge: name one with judge=…, or bind the role (--model-role "
            f"{GRADER_ROLE}=…)"
        )
    model = get_model(role=GRADER_ROLE) if judge is None else get_model(judge)
    if named not in {GRADER_ROLE, model.name, str(model)}:
        shown = make_excerpt(named, 60)
        return (
            f"the judge is to be {shown!r}, not {model}: judge={{{shown!r}: …}} says which model "
            "of Inspect that is"
        )
    return model


def _list_messages(call: JudgeCall) -> list[ChatMessage]:
    system = call.model.get("system")
    return [
        *([ChatMessageSystem(content=system)] if system else []),
        _PROMPT_ROLES[str(call.model.get("role", "user"))](content=call.prompt),
    ]


def _make_config(call: JudgeCall) -> GenerateConfig:
    options = {name: call.model[name] for name in SAMPLING if name in call.model}
    if "response_format" in call.model:
        form = call.model["response_format"]["json_schema"]
        options["response_schema"] = {
            "name": form["name"],
            "json_schema": form["schema"],
            "strict": form["strict"],
        }
    if "extra" in call.model:
        options["extra_body"] = dict(call.model["extra"])
    # A further sample must be another answer, not the first one again from a cache.
    return GenerateConfig.model_validate({**options, "cache": False if call.sample else None})


def _read_reply(output: ModelOutput, model: str) -> JudgeReply:
    if output.error:
        return JudgeReply(problem=f"{model}: {make_excerpt(output.error)}")
    finish = "" if output.empty else output.stop_reason
    return JudgeReply(
        output.completion, served=output.model or model, finish=_FINISH.get(finish, finish)
    )


def rubric_scorer(
    ref: str | None = None, store: OpenedStore | Path | str = ".", *, judge: InspectJudge = None
) -> Scorer:
    """Grade by the rubric `ref`, or by a sample's own `rubric_ref`.

    The latter is in the sample's metadata. The scorer reports the mean and the share of passes.
    `store` is the folder of the store; a relative path is relative to the task file. Judges are
    answered by `judge`, an Inspect model or a mapping from the names by which the store knows
    models; without it, by the role `grader` (if there are several, by its first model); with
    neither, they are unscored. Raises `EvalstoreError` for a missing rubric.
    """
    return _make_scorer(ref, locate_store(store), judge=judge)


@scorer(metrics=[mean(), stderr(), pass_rate()], name="rubric_scorer")
def _make_scorer(ref: str | None = None, store: str = ".", *, judge: InspectJudge = None) -> Scorer:
    rubrics = RubricCache(Path(store).absolute())  # tasks change the working folder while they run
    if ref is not None:
        rubrics.load_rubric(ref)

    async def score(state: TaskState, target: Target) -> Score:
        question, output = read_question(state, target), read_output(state)
        named = ref or question.rubric_ref
        if not isinstance(named, str):
            return make_unscored(
                "scoring_failed",
                "the sample names no rubric: give the scorer one, or metadata rubric_ref",
            )
        if output is None:
            return make_unscored("no_response", "there is no output to grade")
        ready = await _run_alone(rubrics.load_rubric, named)
        result, asked = await _grade_with_judges(ready, Sample(output, question), judge)
        return make_score(result, output, rubric=ready.pin, judges=ready.judges, asked=asked)

    return score


async def _grade_with_judges(
    ready: ReleasedRubric, sample: Sample, judge: InspectJudge
) -> tuple[RubricResult, bool]:
    """Grade, ask the missing calls and grade again.

    Returns the result, and whether any judge was asked. Checks themselves never wait.
    """
    replies: Mapping[str, JudgeReply] = {}
    while True:
        result, missing = await _run_alone(ready.grade, sample, replies)
        if not missing:
            return result, bool(replies)
        replies = {**replies, **await _ask_missing(missing, judge)}


async def _ask_missing(
    missing: Mapping[str, JudgeCall], judge: InspectJudge
) -> Mapping[str, JudgeReply]:
    answers = await collect(*(ask_inspect_model(call, judge) for call in missing.values()))
    return dict(zip(missing, answers, strict=True))


async def _run_alone(function: Callable[_P, _T], *args: _P.args, **_: _P.kwargs) -> _T:
    """Run a computation in a thread next to the event loop, one at a time.

    Stores and parsers are not thread-safe.
    """
    limiter = _one_at_a_time.get(None)
    if limiter is None:
        _one_at_a_time.set(limiter := CapacityLimiter(1))
    return await to_thread.run_sync(function, *args, limiter=limiter)
