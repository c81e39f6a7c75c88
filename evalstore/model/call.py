"""One question to a judge's model, and its reply: values with a key, so that no question is paid for twice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evalstore.documents import compute_digest


@dataclass(frozen=True, slots=True)
class JudgeCall:
    """One question to a model: `judge` is the artifact that asks; everything else decides the reply.

    `model` is `{id, temperature?, …}` merged from the check, the judge and the run; `sample` counts from 0.
    """

    judge: str
    prompt: str
    model: Mapping[str, Any] = field(default_factory=dict)
    sample: int = 0

    @property
    def key(self) -> str:
        """SHA-256 over the rendered prompt, the model with its parameters, and the sample."""
        return compute_digest({"prompt": self.prompt, "model": dict(self.model), "sample": self.sample})


@dataclass(frozen=True, slots=True)
class JudgeReply:
    """What a model answered; with a `problem`, why there is no answer to read, in words.

    `served` is the model that the endpoint says has answered, `finish` why it stopped (`stop`, `length`, …).
    """

    text: str = ""
    served: str = ""
    finish: str = ""
    problem: str = ""
