"""One line of stored outputs, in the shapes that people have them in, as a value; opens no file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalstore.documents import read_row
from evalstore.errors import LoadError, Place
from evalstore.model import Output
from evalstore.runs.calls import Calls, recorded_calls, told_calls
from evalstore.runs.values import Recorded

_SHAPES = 'a line is {"id": "…", "output": "…"}, or a row of Every Eval Ever with its `sample_id`'


def recorded_of(row: Mapping[str, Any], place: Place) -> Recorded | None:
    """Return what one line records; None when its model gave no output."""
    if "sample_id" in row:
        return _from_instance(row, place)
    for key in ("id", "output"):
        if not isinstance(row.get(key), str):
            wrong = f"its `{key}` is no text" if key in row else f"it has no `{key}`"
            raise LoadError(f"this line is no output: {wrong}", place=place, hint=_SHAPES)
    return Recorded(row["id"], Output(row["output"], recorded_calls(row.get("tool_calls"), place)), place.line or 0)


def _from_instance(row: Mapping[str, Any], place: Place) -> Recorded | None:
    id_, model = row["sample_id"], row.get("model_id")
    # Some rows labelled 0.2.0 number their samples.
    if not isinstance(id_, str | int) or isinstance(id_, bool):
        raise LoadError("its `sample_id` is no text", place=place)
    messages = _messages(row, place)
    text = _raw(row.get("output"), place) if messages is None else _last_answer(messages)
    if text is None:
        return None
    output = Output(text, _calls(row, messages or (), place))
    return Recorded(str(id_), output, place.line or 0, model if isinstance(model, str) else None)


def _messages(row: Mapping[str, Any], place: Place) -> list[dict[str, Any]] | None:
    messages = row.get("messages", row.get("interactions"))
    if messages is None:
        return None
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise LoadError("its `messages` are no list of messages", place=place)
    return messages


def _raw(output: Any, place: Place) -> str | None:
    raw = output.get("raw") if isinstance(output, dict) else output
    texts = raw if isinstance(raw, list) else [raw]
    if len(texts) > 1:
        raise LoadError(f"{len(texts)} outputs in one row", place=place, hint="evalstore grades one output a row")
    if not texts or texts[0] is None:
        return None
    if not isinstance(texts[0], str):
        raise LoadError("its `output.raw` is no text", place=place)
    return texts[0]


def _last_answer(messages: Sequence[Mapping[str, Any]]) -> str | None:
    answers = (message.get("content") for message in reversed(messages) if message.get("role") == "assistant")
    return next((answer for answer in answers if isinstance(answer, str)), None)


def _calls(row: Mapping[str, Any], messages: Sequence[Mapping[str, Any]], place: Place) -> Calls | None:
    metadata = row.get("metadata")
    exact = metadata.get("evalstore_tool_calls") if isinstance(metadata, dict) else None
    if not isinstance(exact, str):
        return told_calls(messages, place)
    return recorded_calls(read_row(exact.encode(), place.file, place.line or 0), place)
