"""The shapes that tell the versions of Every Eval Ever apart, as tables: who has them, since or until when.

Only what the published schemas settle stands here. A null counts as an absent value, because the format's own
converters write nulls where its schemas have none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

Record = Mapping[str, Any]

VERSIONS = ("0.0.1", "0.1.0", "0.2.0", "0.2.1", "0.2.2", "0.2.3", "0.3.0")
_KEYS = frozenset({
    "schema_version", "evaluation_id", "model_id", "evaluation_name", "evaluation_result_id", "sample_id",
    "sample_hash", "interaction_type", "input", "output", "messages", "interactions", "answer_attribution",
    "evaluation", "token_usage", "performance", "error", "metadata",
})  # fmt: skip


class Trait(NamedTuple):
    """A shape in words, whether a record has it, and the first and last version that has it (first None: none has)."""

    words: str
    holds: Callable[[Record], bool]
    first: str | None = VERSIONS[0]
    last: str = VERSIONS[-1]

    @property
    def span(self) -> tuple[str, ...]:
        """The versions that have it."""
        return () if self.first is None else VERSIONS[VERSIONS.index(self.first) : VERSIONS.index(self.last) + 1]

    @property
    def when(self) -> str:
        """The versions that have it, in words."""
        if not self.span:
            return "in no version"
        if self.first == VERSIONS[0]:
            return f"up to {self.last}"
        return f"only in {self.first}" if self.first == self.last else f"since {self.first}"


def _has(key: str) -> Callable[[Record], bool]:
    return lambda record: record.get(key) is not None


def _is(type_: type, part: str, key: str) -> Callable[[Record], bool]:
    return lambda record: isinstance(inner := record.get(part), dict) and isinstance(inner.get(key), type_)


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    return (item for item in value if isinstance(item, dict)) if isinstance(value, list) else iter(())


def _typed(values: Any) -> bool:
    return isinstance(values, dict) and not all(isinstance(value, str) for value in values.values())


def _typed_arguments(row: Record) -> bool:
    turns = _objects(row.get("messages") or row.get("interactions"))
    return any(_typed(call.get("arguments")) for turn in turns for call in _objects(turn.get("tool_calls")))


def _spoken(row: Record) -> bool:
    # Until 0.2.0 a row may have keys of its own, and so `messages` beside its output.
    return row.get("messages") is not None and row.get("output") is None and row.get("interactions") is None


def _without_score(row: Record) -> bool:
    grade = row.get("evaluation", row.get("metrics"))
    return isinstance(grade, dict) and grade.get("score") is None


def _without_deployment(record: Record) -> bool:
    model = record.get("model_info")
    details = model.get("additional_details") if isinstance(model, dict) else None
    return not isinstance(details, dict) or "deployment_type" not in details


def _results(record: Record, part: str) -> Iterator[Any]:
    return (result.get(part) for result in _objects(record.get("evaluation_results")))


def _textual_score(record: Record) -> bool:
    return any(isinstance(details, str) for details in _results(record, "score_details"))


def _textual_bound(record: Record) -> bool:
    metrics = (metric for metric in _results(record, "metric_config") if isinstance(metric, dict))
    return any(isinstance(metric.get(bound), str) for metric in metrics for bound in ("min_score", "max_score"))


ROW_TRAITS = (
    Trait("it has no score", _without_score, first=None),
    Trait("it has `metrics` for `evaluation`", lambda row: "metrics" in row and "evaluation" not in row, last="0.0.1"),
    Trait("its transcript is `interactions`", _has("interactions"), last="0.2.1"),
    Trait("its transcript is `messages`", _spoken, first="0.2.1"),
    Trait("its `output.raw` is one text", _is(str, "output", "raw"), last="0.2.0"),
    Trait("its `output.raw` is a list", _is(list, "output", "raw"), first="0.2.0"),
    Trait("its `input.reference` is one text", _is(str, "input", "reference"), last="0.2.0"),
    Trait("its `input.reference` is a list", _is(list, "input", "reference"), first="0.2.0"),
    Trait("its `sample_id` is a number", lambda row: isinstance(row.get("sample_id"), int), "0.2.0", "0.2.0"),
    Trait("its `evaluation.score` is true or false", _is(bool, "evaluation", "score"), last="0.2.0"),
    Trait("its `metadata` holds more than texts", lambda row: _typed(row.get("metadata")), last="0.2.0"),
    Trait("the arguments of a tool call are more than texts", _typed_arguments, last="0.2.0"),
    Trait("it has keys of its own", lambda row: not _KEYS.issuperset(row), last="0.2.0"),
)

AGGREGATE_TRAITS = (
    Trait("a score of it is a text", _textual_score, last="0.0.1"),
    Trait("it has an `evaluation_source`", _has("evaluation_source"), last="0.0.1"),
    Trait("its `source_data` stands at the root", _has("source_data"), last="0.1.0"),
    Trait("it holds its samples itself", _has("detailed_evaluation_results_per_samples"), last="0.1.0"),
    Trait("it has `detailed_evaluation_results`", _has("detailed_evaluation_results"), first="0.2.0"),
    Trait("it has no `eval_library`", lambda record: record.get("eval_library") is None, last="0.2.0"),
    Trait("it has an `eval_library`", _has("eval_library"), first="0.2.1"),
    Trait("its model has no `deployment_type`", _without_deployment, last="0.2.2"),
    Trait("a bound of its scores is a text", _textual_bound, first="0.2.3"),
)
