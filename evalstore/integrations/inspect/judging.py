"""Asks judges through Inspect's models: chooses the model of a call and turns its output into a reply."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

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
from inspect_ai.util import LimitExceededError

from evalstore.model import JudgeCall, JudgeReply
from evalstore.scoring.judging.response import SAMPLING
from evalstore.text import make_excerpt

GRADER_ROLE = "grader"

# A model of Inspect, or one for each model name in the store's files; None means the role, which also answers what
# names no model.
InspectJudge = str | Model | Mapping[str, str | Model] | None

_FINISH = MappingProxyType({"max_tokens": "length", "model_length": "length"})


async def ask_inspect_model(call: JudgeCall, judge: InspectJudge) -> JudgeReply:
    """Ask the model of a call; returns a reply with a `problem` when none answers, raises at a limit of Inspect.

    A store's files never choose the model: an id in them is only compared with the model that the task names.
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
    """Return the model that answers for the name `named` in the store's files, or the reason why none does."""
    if isinstance(judge, Mapping):
        if named in judge:
            return get_model(judge[named])
        judge = None
    if judge is None and GRADER_ROLE not in model_roles():
        return f"no model answers as the judge: name one with judge=…, or bind the role (--model-role {GRADER_ROLE}=…)"
    model = get_model(role=GRADER_ROLE) if judge is None else get_model(judge)
    if named not in {GRADER_ROLE, model.name, str(model)}:
        shown = make_excerpt(named, 60)
        return f"the judge is to be {shown!r}, not {model}: judge={{{shown!r}: …}} says which model of Inspect that is"
    return model


def _list_messages(call: JudgeCall) -> list[ChatMessage]:
    system = call.model.get("system")
    return [*([ChatMessageSystem(content=system)] if system else []), ChatMessageUser(content=call.prompt)]


def _make_config(call: JudgeCall) -> GenerateConfig:
    options = {name: call.model[name] for name in SAMPLING if name in call.model}
    if "response_format" in call.model:
        form = call.model["response_format"]["json_schema"]
        options["response_schema"] = {"name": form["name"], "json_schema": form["schema"], "strict": form["strict"]}
    if "extra" in call.model:
        options["extra_body"] = dict(call.model["extra"])
    # A further sample is another answer, not the first one again out of a cache.
    return GenerateConfig.model_validate({**options, "cache": False if call.sample else None})


def _read_reply(output: ModelOutput, model: str) -> JudgeReply:
    if output.error:
        return JudgeReply(problem=f"{model}: {make_excerpt(output.error)}")
    finish = "" if output.empty else output.stop_reason
    return JudgeReply(output.completion, served=output.model or model, finish=_FINISH.get(finish, finish))
