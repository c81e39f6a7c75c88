"""Rubrics as rewards for reinforcement learning.

The functions have the signatures that TRL and verifiers call.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalstore.integrations.rubric_scorer import Graded, scorer
from evalstore.scoring.judging import Judges
from evalstore.store import OpenedStore

Message = Mapping[str, Any]
# A text, or the messages of a conversation.
Completion = str | Sequence[Message]


def make_trl_reward(
    rubric: str, *, store: OpenedStore | Path | str = ".", judges: Judges | None = None
) -> Callable[..., list[float | None]]:
    """Return a reward function for `GRPOTrainer(reward_funcs=…)`.

    It gives each completion a score in [0, 1]. Dataset columns that a check reads are the
    question's keys, row by row: `expected`, …, and whatever else the rubric takes from the
    question. A completion that not every check could grade gets None, which TRL leaves out of the
    reward.
    """
    grade = scorer(rubric, store=store, judges=judges)
    keys = sorted(grade.released.question_keys)

    def rubric_reward(
        prompts: Sequence[Completion], completions: Sequence[Completion], **columns: Any
    ) -> list[float | None]:
        known = {key: columns[key] for key in keys if key in columns}

        def reward(place: int, prompt: Completion, completion: Completion) -> float | None:
            question = {"input": _read_text(prompt)}
            question |= {key: values[place] for key, values in known.items()}
            return _read_reward(grade.grade(_read_text(completion), question))

        pairs = enumerate(zip(prompts, completions, strict=True))
        return [reward(place, *pair) for place, pair in pairs]

    rubric_reward.__name__ = rubric.partition("@")[0].replace("/", "_")  # the name in TRL's logs
    return rubric_reward


def make_verifiers_reward(
    rubric: str, *, store: OpenedStore | Path | str = ".", judges: Judges | None = None
) -> Callable[..., Awaitable[float | dict[str, float]]]:
    """Return a reward for verifiers (0.4 and later), for `rewards: {name: {fn: "module:name"}}`.

    It grades the last reply of a trace. The task's prompt is the input, its `answer` the expected
    answer; its other fields are the question's keys, if a check reads one of that name. What not
    every check could grade has no reward.
    """
    grade = scorer(rubric, store=store, judges=judges)
    keys = sorted(grade.released.question_keys)

    async def rubric_reward(task: Any, trace: Any) -> float | dict[str, float]:
        question = {key: found for key in keys if (found := getattr(task, key, None)) is not None}
        if (answer := getattr(task, "answer", None)) not in {None, ""}:
            question.setdefault("expected", answer)
        asked = {"input": getattr(task, "prompt_text", "")}
        reward = _read_reward(grade.grade(trace.last_reply, {**asked, **question}))
        return {} if reward is None else reward

    rubric_reward.__name__ = rubric.partition("@")[0].replace("/", "_")
    return rubric_reward


def _read_text(completion: Completion) -> str:
    """Return a text, or that of the last message."""
    if isinstance(completion, str):
        return completion
    content = completion[-1].get("content") if completion else ""
    return content if isinstance(content, str) else ""


def _read_reward(graded: Graded) -> float | None:
    """Return the score, or None if a check failed to grade.

    A reply that breaks a judge must earn nothing.
    """
    return float(graded.score) if graded.score is not None and graded.is_complete else None
