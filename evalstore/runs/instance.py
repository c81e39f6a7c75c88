"""One row of Every Eval Ever, of any version, as a recorded output; opens no file.

Read by its shape: `output.raw` as a text or a list of one, a transcript as `messages` or `interactions`, the `response`
of the samples that the first aggregates held themselves. Nothing is guessed: what has no such shape is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalstore.documents import read_row
from evalstore.errors import LoadError, Place
from evalstore.model import Output
from evalstore.runs.calls import ToolCalls, read_calls, calls_of_messages
from evalstore.runs.labels import find_row_doubt
from evalstore.runs.values import StoredOutput
from evalstore.text import make_excerpt, find_nearest

Turns = Sequence[Mapping[str, Any]]


def read_eee_output(row: Mapping[str, Any], place: Place) -> StoredOutput | None:
    """Return what one row records; None when its model gave no output."""
    id_, model = _sample_id(row, place), row.get("model_id")
    turns = _transcript(row, place)
    text = _raw_output(row, place) if turns is None else _final_answer(row, turns, place)
    if text is None:
        return None
    return StoredOutput(
        id=id_,
        output=Output(text, _eee_calls(row, turns or (), place)),
        line=place.line or 0,
        model=model if isinstance(model, str) else None,
        from_eee_row=True,
        doubt=find_row_doubt(row),
    )


def _sample_id(row: Mapping[str, Any], place: Place) -> str:
    id_ = row.get("sample_id")
    # Some rows labelled 0.2.0 number their samples.
    if isinstance(id_, str | int) and not isinstance(id_, bool):
        return str(id_)
    near = find_nearest("sample_id", row.keys() - {"sample_id"})
    wrong = "its `sample_id` is no text" if "sample_id" in row else "it has no `sample_id`"
    label = f", labelled {make_excerpt(str(row['schema_version']), 60)}," if "schema_version" in row else ""
    hint = f"it has `{make_excerpt(near, 60)}`, which no version has" if near and near.startswith("sample") else None
    raise LoadError(f"this row of Every Eval Ever{label} cannot be read: {wrong}", place=place, hint=hint)


def _transcript(row: Mapping[str, Any], place: Place) -> Turns | None:
    turns = row.get("messages")
    turns = row.get("interactions") if turns is None else turns
    if turns is None:
        return None
    if not isinstance(turns, list) or not all(isinstance(turn, dict) for turn in turns):
        raise LoadError("its `messages` are no list of messages", place=place)
    return turns


def _raw_output(row: Mapping[str, Any], place: Place) -> str | None:
    output = row.get("output", row.get("response"))
    if isinstance(output, dict):
        if "raw" not in output:
            others = make_excerpt(", ".join(output), 60)
            raise LoadError("its `output` has no `raw`", place=place, hint=f"it has {others}" if others else None)
        output = output["raw"]
    texts = output if isinstance(output, list) else [output]
    if len(texts) > 1:
        raise LoadError(f"{len(texts)} outputs in one row", place=place, hint="evalstore grades one output a row")
    if not texts or texts[0] is None:
        return None
    if not isinstance(texts[0], str):
        raise LoadError("its `output.raw` is no text", place=place)
    return texts[0]


def _final_answer(row: Mapping[str, Any], turns: Turns, place: Place) -> str | None:
    """Return what the assistant said where the row says that the answer stands, else what it said last."""
    spoken_turns = [turn for turn in turns if turn.get("role") == "assistant" and turn.get("content") is not None]
    if not all(isinstance(turn["content"], str) for turn in spoken_turns):
        raise LoadError("the `content` of a message is no text", place=place)
    final = _final_turn(row.get("answer_attribution"))
    final_turns = [turn for turn in spoken_turns if final is not None and turn.get("turn_idx") == final]
    return next((turn["content"] for turn in reversed(final_turns or spoken_turns)), None)


def _final_turn(attribution: Any) -> Any:
    """Return the number of the turn that holds the final answer; None where none is named."""
    several = attribution if isinstance(attribution, list) else []
    final = [item for item in several if isinstance(item, dict) and item.get("is_terminal") is True]
    return final[-1].get("turn_idx") if final else None


def _eee_calls(row: Mapping[str, Any], turns: Turns, place: Place) -> ToolCalls | None:
    metadata = row.get("metadata")
    exact = metadata.get("evalstore_tool_calls") if isinstance(metadata, dict) else None
    if not isinstance(exact, str):
        return calls_of_messages(turns, place)
    return read_calls(read_row(exact.encode(), place.file, place.line or 0), place)
