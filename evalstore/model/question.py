"""A question of a dataset, a sample (one output with its question), and tool calls as chat APIs record them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from evalstore.documents import compute_digest, read_row
from evalstore.errors import LoadError
from evalstore.model.outcome import Output


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call; `args` is None where the recorded arguments are no mapping."""

    name: str
    args: Mapping[str, Any] | None


# Without slots, which cached properties cannot be kept in.
@dataclass(frozen=True)
class Sample:
    """One output and its question, if there is one."""

    output: Output
    question: Question | None = None

    @property
    def text(self) -> str:
        """The output's text."""
        return self.output.text

    @cached_property
    def lowercase_text(self) -> str:
        """The output's text in lower case, computed once for all checks."""
        return self.output.text.lower()

    @cached_property
    def tool_calls(self) -> tuple[ToolCall, ...] | None:
        """The output's tool calls in order; None where none were recorded."""
        calls = self.output.tool_calls
        return None if calls is None else tuple(read_call(call) for call in calls)


def read_call(call: Mapping[str, Any]) -> ToolCall:
    """Read `{name, args}` or `{name, arguments}`, also within `function`; null and blank text are no arguments."""
    args = read_call_args(call)
    args = _parse_args(args) if isinstance(args, str) else args
    args = {} if args is None else args
    return ToolCall(read_call_name(call), args if isinstance(args, Mapping) else None)


def read_call_name(call: Mapping[str, Any]) -> str:
    """Return the name of the tool that was called; empty when there is none."""
    name = _find_function(call).get("name")
    return name if isinstance(name, str) else ""


def read_call_args(call: Mapping[str, Any]) -> Any:
    """Return the arguments as written: a mapping, its JSON text, or None without any."""
    function = _find_function(call)
    return function.get("args", function.get("arguments"))


def _find_function(call: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the part with name and arguments; chat APIs keep it one level deeper."""
    inner = call.get("function")
    return inner if isinstance(inner, Mapping) else call


def _parse_args(text: str) -> Any:
    if not text.strip():
        return None
    try:
        return read_row(text.encode("utf-8", "surrogatepass"), "arguments", 1)
    except LoadError:  # not JSON: it stays a text
        return text


# What the model saw; an edit of it moves a score through the outputs. And what else a grader may read.
INPUT_KEYS = ("input", "messages")
REFERENCE_KEYS = ("criteria", "context", "expected", "also_valid", "expected_facts", "expected_tools")
_DEFAULTS = ("rubric_ref", "bundle")
_DIGEST_OF_NOTHING = compute_digest({})


# Without slots, as above.
@dataclass(frozen=True)
class Question:
    """One row: its id, its input, and the whole mapping as written with the defaults filled in.

    Digests are computed when they are asked for.
    """

    id: str
    input: str
    row: Mapping[str, Any]

    @property
    def rubric_ref(self) -> str | None:
        """The reference of the rubric that grades this question."""
        ref: str | None = self.row.get("rubric_ref")
        return ref

    @cached_property
    def input_digest(self) -> str:
        """SHA-256 over what the model saw."""
        return self._digest(INPUT_KEYS)

    @cached_property
    def reference_digest(self) -> str:
        """SHA-256 over what else a grader may read."""
        return self._digest(REFERENCE_KEYS)

    def _digest(self, keys: tuple[str, ...]) -> str:
        row = self.row
        if row.keys().isdisjoint(keys):
            return _DIGEST_OF_NOTHING
        return compute_digest({key: row[key] for key in keys if key in row})


def iterate_questions(value: Mapping[str, Any], rows: Iterable[Mapping[str, Any]] | None = None) -> Iterator[Question]:
    """Yield the questions of a dataset's mapping, or of `rows` read from the file beside it."""
    defaults = {key: item for key, item in value.get("defaults", {}).items() if key in _DEFAULTS}
    # A row's own keys win over the defaults of the dataset.
    for row in value.get("questions", ()) if rows is None else rows:
        yield Question(row["id"], row["input"], {**defaults, **row})
