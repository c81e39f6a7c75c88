"""Reads the body that an endpoint answered into a reply, whatever its shape; pure."""

from __future__ import annotations

import json
from typing import Any

from evalstore.judging.trouble import FailureEffect, Trouble
from evalstore.model import Reply
from evalstore.text import excerpt

REFUSED = "refusal"  # `finish` of a model that answered that it would not
_SILENT = {"length", "content_filter", REFUSED}  # a model may end so without having said a word
_NAME_LIMIT = 200


def read_answer(body: bytes) -> Reply | Trouble:
    """Return the reply in a chat completion; any other body is a trouble that may pass."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return _odd("what is not JSON", body)
    try:
        return _reply(found, found["choices"][0])
    except (AttributeError, IndexError, KeyError, TypeError):
        return _odd("what is no chat completion", body)


def _reply(found: Any, choice: Any) -> Reply | Trouble:
    message, finish = choice["message"], _name(choice.get("finish_reason"))
    text, refusal = _text(message.get("content")), message.get("refusal")
    if not text and isinstance(refusal, str) and refusal:
        text, finish = refusal, REFUSED
    if text is None and finish not in _SILENT:
        return Trouble("the endpoint answers without a text", FailureEffect.AGAIN)
    return Reply(text=_whole(text or ""), served=_name(found.get("model")), finish=finish)


def _text(content: Any) -> str | None:
    """Return the text of a content, which some endpoints give in parts beside what the model thought."""
    if isinstance(content, list):
        parts = [part["text"] for part in content if part.get("type") == "text"]
        content = "".join(parts) if parts else None
    if content is None or isinstance(content, str):
        return content
    raise TypeError


def _name(value: Any) -> str:
    return _whole(value[:_NAME_LIMIT]) if isinstance(value, str) else ""


def _whole(text: str) -> str:
    """Replace the half of a character that is left where a reply was cut: no file takes it."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _odd(what: str, body: bytes) -> Trouble:
    said = excerpt(" ".join(body[:500].decode("utf-8", "replace").split()), 80)
    return Trouble(f"the endpoint answers {what}: {said}" if said else "the endpoint answers nothing", FailureEffect.AGAIN)
