"""A sample: one output together with the question that it answers; a check reads nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from evalstore.model.dataset import Question
from evalstore.model.outcome import Output
from evalstore.model.tools import ToolCall, read_call


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
