"""Writes the request of a call."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from evalstore.model import JudgeCall

# Sampling parameters, which have the same name in a model and in a request.
SAMPLING = (
    "temperature",
    "top_p",
    "max_tokens",
    "seed",
)


def build_body(call: JudgeCall) -> dict[str, Any]:
    """Return the body of a request: the model, its messages, and the call's parameters for it."""
    model = {key: _to_plain_numbers(value) for key, value in call.model.items()}
    system = [{"role": "system", "content": model["system"]}] if "system" in model else []
    messages = [*system, {"role": model.get("role", "user"), "content": call.prompt}]
    parameters = {name: model[name] for name in (*SAMPLING, "response_format") if name in model}
    # `extra` is sent unchanged, but it cannot replace the model or the messages.
    return {**parameters, **model.get("extra", {}), "model": model["id"], "messages": messages}


def _to_plain_numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _to_plain_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_to_plain_numbers(item) for item in value]
    return float(value) if isinstance(value, Decimal) else value
