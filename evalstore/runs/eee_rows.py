"""Reads one row of Every Eval Ever, of any published version, as a stored output; opens no file.

A row is read by its shape: `output.raw` as a text or a list with one text, a transcript as
`messages` or `interactions`, or the `response` of a sample embedded in an old aggregate. Any other
shape is refused, never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from evalstore.documents import read_row, write_row
from evalstore.errors import LoadError, Place
from evalstore.model import Output, OutputEnd
from evalstore.model.measures import NO_MEASURES, Measures, read_measure, read_measures
from evalstore.model.outcome import read_output_end
from evalstore.runs.eee_versions import find_row_doubt
from evalstore.runs.imports.entry import read_asked, read_id
from evalstore.runs.record_fields import get_mapping
from evalstore.runs.tool_calls import ToolCalls, collect_calls, read_calls
from evalstore.runs.values import StoredOutput
from evalstore.text import find_nearest, make_excerpt

Turns = Sequence[Mapping[str, Any]]
_PLAIN_KEYS = 2  # in a line with only an id and an output
_SAMPLE = re.compile("[0-9]{1,9}", re.ASCII)
OUTPUT_SHAPES = (
    'a line must be {"id": "…", "output": "…", "input"?: "…", "sample"?: 0}, or a row of Every '
    "Eval Ever with its "
    "`sample_id`"
)


def read_eee_output(row: Mapping[str, Any], place: Place) -> StoredOutput | None:
    """Return what one row records; None when its model gave no output."""
    id_, model, output = (
        read_sample_id(row, place),
        row.get("model_id"),
        read_eee_answer(row, place),
    )
    if output is None:
        return None
    if output.measures == NO_MEASURES:
        output = output._replace(measures=_read_format_measures(row))
    return StoredOutput(
        id=id_,
        output=output,
        line=place.line or 0,
        model=model if isinstance(model, str) else None,
        from_eee_row=True,
        doubt=find_row_doubt(row),
        sample=read_eee_sample(row),
        asked=list_asked(row),
    )


def list_asked(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what was asked: as evalstore recorded it, else the row's input (mapping or text)."""
    kept = get_mapping(row, "metadata").get("evalstore_asked")
    input_ = row.get("input")
    asked = read_asked(
        kept or (input_.get("raw") if isinstance(input_, dict) and "raw" in input_ else input_)
    )
    return (asked,) if asked else ()


def read_eee_answer(row: Mapping[str, Any], place: Place) -> Output | None:
    """Return the output of a row of Every Eval Ever; None if the model gave none."""
    turns = _transcript(row, place)
    text = _raw_output(row, place) if turns is None else _final_answer(row, turns, place)
    if text is None:
        return None
    calls = _eee_calls(row, turns or (), place)
    return Output(text, calls, _read_eee_end(row), _read_own_measures(row, place))


def _read_own_measures(row: Mapping[str, Any], place: Place) -> Measures:
    """Return the numbers that evalstore kept because a check reads them."""
    exact = get_mapping(row, "metadata").get("evalstore_measures")
    if not isinstance(exact, str):
        return NO_MEASURES
    found = read_row(exact.encode(), place.file, place.line or 0)
    return read_measures(found) if isinstance(found, dict) else NO_MEASURES


def _read_format_measures(row: Mapping[str, Any]) -> Measures:
    """Return the numbers that have a place in the format itself; costs have none."""
    used, spent = get_mapping(row, "token_usage"), get_mapping(row, "performance")
    return Measures(
        latency_ms=read_measure(spent.get("latency_ms")),
        input_tokens=read_measure(used.get("input_tokens")),
        output_tokens=read_measure(used.get("output_tokens")),
    )


def read_eee_sample(row: Mapping[str, Any]) -> int:
    """Return the sample's number if evalstore wrote the row; the format has no place for it."""
    sample = get_mapping(row, "metadata").get("evalstore_sample")
    return int(sample) if isinstance(sample, str) and _SAMPLE.fullmatch(sample) else 0


def _read_eee_end(row: Mapping[str, Any]) -> OutputEnd | None:
    """Return why the output ended early if evalstore wrote the row.

    The format has no place for it.
    """
    end = get_mapping(row, "metadata").get("evalstore_output_end")
    return None if end is None else next((one for one in OutputEnd if one == end), None)


def read_sample_id(row: Mapping[str, Any], place: Place) -> str:
    """Return the question that a row of Every Eval Ever names; `LoadError` if it names none."""
    id_ = row.get("sample_id")
    # Some rows labelled 0.2.0 number their samples.
    if isinstance(id_, str | int) and not isinstance(id_, bool):
        return str(id_)
    near = find_nearest("sample_id", row.keys() - {"sample_id"})
    wrong = "its `sample_id` is not text" if "sample_id" in row else "it has no `sample_id`"
    label = (
        f", labelled {make_excerpt(str(row['schema_version']), 60)},"
        if "schema_version" in row
        else ""
    )
    hint = (
        f"it has `{make_excerpt(near, 60)}`, which no version has"
        if near and near.startswith("sample")
        else None
    )
    raise LoadError(
        f"this row of Every Eval Ever{label} cannot be read: {wrong}", place=place, hint=hint
    )


def _transcript(row: Mapping[str, Any], place: Place) -> Turns | None:
    turns = row.get("messages")
    turns = row.get("interactions") if turns is None else turns
    if turns is None:
        return None
    if not isinstance(turns, list) or not all(isinstance(turn, dict) for turn in turns):
        raise LoadError("its `messages` are not a list of messages", place=place)
    return turns


def _raw_output(row: Mapping[str, Any], place: Place) -> str | None:
    output = row.get("output", row.get("response"))
    if isinstance(output, dict):
        if "raw" not in output:
            others = make_excerpt(", ".join(output), 60)
            raise LoadError(
                "its `output` has no `raw`",
                place=place,
                hint=f"it has {others}" if others else None,
            )
        output = output["raw"]
    texts = output if isinstance(output, list) else [output]
    if len(texts) > 1:
        raise LoadError(
            f"{len(texts)} outputs in one row", place=place, hint="write one output per row"
        )
    if not texts or texts[0] is None:
        return None
    return _write_output(texts[0])


def _final_answer(row: Mapping[str, Any], turns: Turns, place: Place) -> str | None:
    """Return the assistant's text in the turn that the row names as its answer, else its last."""
    assistant = [turn for turn in turns if turn.get("role") == "assistant"]
    spoken_turns = [turn for turn in assistant if turn.get("content") is not None]
    if not all(isinstance(turn["content"], str) for turn in spoken_turns):
        raise LoadError("the `content` of a message is not text", place=place)
    final = _final_turn(row.get("answer_attribution"))
    if final is not None:
        final_turns = [turn for turn in spoken_turns if turn.get("turn_idx") == final]
        spoken_turns = final_turns or spoken_turns
    return spoken_turns[-1]["content"] if spoken_turns else None


def _final_turn(attribution: Any) -> Any:
    """Return the number of the turn with the final answer; None if none is named."""
    several = attribution if isinstance(attribution, list) else []
    final = [item for item in several if isinstance(item, dict) and item.get("is_terminal") is True]
    return final[-1].get("turn_idx") if final else None


def _eee_calls(row: Mapping[str, Any], turns: Turns, place: Place) -> ToolCalls | None:
    exact = get_mapping(row, "metadata").get("evalstore_tool_calls")
    if not isinstance(exact, str):
        return collect_calls(turns, place)
    return read_calls(read_row(exact.encode(), place.file, place.line or 0), place)


def read_stored_output(row: Mapping[str, Any], place: Place) -> StoredOutput | None:
    """Return what one line records; None when its model gave no output."""
    if is_eee_row(row):
        return read_eee_output(row, place)
    id_ = read_id(row.get("id"))
    if id_ is None or "output" not in row:
        wrong = "it has no `output`" if id_ is not None else _explain_id(row)
        raise LoadError(f"this line is not an output: {wrong}", place=place, hint=OUTPUT_SHAPES)
    if row["output"] is None:
        return None
    if len(row) == _PLAIN_KEYS:
        return StoredOutput(id_, Output(_write_output(row["output"])), place.line or 0)
    end, asked = read_output_end(row.get("finish_reason")), read_asked(row.get("input"))
    calls, measures = read_calls(row.get("tool_calls"), place), read_measures(row)
    output = Output(_write_output(row["output"]), calls, end, measures)
    sample = _read_sample(row.get("sample", 0), place)
    return StoredOutput(
        id_, output, place.line or 0, sample=sample, asked=(asked,) if asked else ()
    )


def _explain_id(row: Mapping[str, Any]) -> str:
    if "id" in row:
        return "its `id` is neither text nor a whole number"
    any_id = "; any will do where --match input joins by the input"
    return f"it has no `id`{any_id if read_asked(row.get('input')) else ''}"


def _write_output(output: Any) -> str:
    """Return an output as text; an object, a list or a number becomes JSON."""
    return output if isinstance(output, str) else write_row(output).removesuffix("\n")


def find_output_key(row: Mapping[str, Any], place: Place) -> tuple[str, int] | None:
    """Return the question and the sample of a line's output; None if the model gave none."""
    output, id_ = row.get("output"), row.get("sample_id")
    raw = output.get("raw") if isinstance(output, dict) else None
    # A shortcut for most rows, which have one plain text.
    is_plain = isinstance(raw, list) and len(raw) == 1 and isinstance(raw[0], str)
    if (
        is_plain
        and isinstance(id_, str)
        and row.get("messages") is None
        and row.get("interactions") is None
    ):
        return id_, read_eee_sample(row)
    found = read_stored_output(row, place)
    return (found.id, found.sample) if found else None


def _read_sample(value: Any, place: Place) -> int:
    if type(value) is int and 0 <= value < 10**9:
        return value
    raise LoadError(
        "its `sample` is not a whole number",
        place=place,
        hint="number the answers to one question 0, 1, 2, …",
    )


def is_eee_row(row: Mapping[str, Any]) -> bool:
    """Whether a row has the shape of Every Eval Ever, not of evalstore's plain outputs."""
    return "sample_id" in row or "schema_version" in row
