"""Tells the published versions of Every Eval Ever apart by shape, and finds wrong version labels.

The tables contain only what the published schemas decide. A null counts as absent, because the
format's own converters write nulls that its schemas do not allow.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, product
from typing import Any, NamedTuple

from evalstore.text import make_excerpt

Record = Mapping[str, Any]

PUBLISHED_VERSIONS = ("0.0.1", "0.1.0", "0.2.0", "0.2.1", "0.2.2", "0.2.3", "0.3.0")
_KEY_WORDS = (
    "schema_version evaluation_id model_id evaluation_name evaluation_result_id sample_id "
    "sample_hash interaction_type input output messages interactions answer_attribution "
    "evaluation token_usage performance error metadata"
)
_KEYS = frozenset(_KEY_WORDS.split())
# The keys of a row that the published schemas from 0.2.0 to 0.3.0 all require.
_REQUIRED = (
    "schema_version",
    "evaluation_id",
    "model_id",
    "evaluation_name",
    "sample_id",
    "interaction_type",
    "input",
    "answer_attribution",
    "evaluation",
)
# Required keys of a mapping, or of each mapping in a list; a dot leads into a nested one.
_REQUIRED_INSIDE = {
    "input": ("raw", "reference"),
    "evaluation": ("score", "is_correct"),
    "token_usage": ("input_tokens", "output_tokens", "total_tokens"),
    "answer_attribution": (
        *("turn_idx", "source", "extracted_value", "extraction_method", "is_terminal"),
    ),
    "interactions": ("turn_idx", "role"),
    "messages": ("turn_idx", "role"),
    "interactions.tool_calls": ("id", "name"),
    "messages.tool_calls": ("id", "name"),
}
# By the type of a row: it has one of these keys; the conversation has two names.
_CONVERSATION = ("interactions", "messages")
_REQUIRED_BY_TYPE = {
    "single_turn": ("output",),
    "multi_turn": _CONVERSATION,
    "agentic": _CONVERSATION,
}
# Labels occur with and without the prefix, and drafts of the format left out the patch number.
_LABEL = re.compile(r"(?:instance_level_eval_)?v?([0-9]\.[0-9])(\.[0-9])?", re.ASCII)


class VersionTrait(NamedTuple):
    """A shape in words, a test for it, and the first and last version that has it.

    If `first` is None, no version has it.
    """

    words: str
    holds: Callable[[Record], bool]
    first: str | None = PUBLISHED_VERSIONS[0]
    last: str = PUBLISHED_VERSIONS[-1]

    @property
    def span(self) -> tuple[str, ...]:
        """The versions that have it."""
        return (
            ()
            if self.first is None
            else PUBLISHED_VERSIONS[
                PUBLISHED_VERSIONS.index(self.first) : PUBLISHED_VERSIONS.index(self.last) + 1
            ]
        )

    @property
    def when(self) -> str:
        """The versions that have it, in words."""
        if not self.span:
            return "in no version"
        if self.first == PUBLISHED_VERSIONS[0]:
            return f"up to {self.last}"
        return f"only in {self.first}" if self.first == self.last else f"since {self.first}"


def _has_key(key: str) -> Callable[[Record], bool]:
    return lambda record: record.get(key) is not None


def _holds_type(type_: type, part: str, key: str) -> Callable[[Record], bool]:
    return lambda record: (
        isinstance(inner := record.get(part), dict) and isinstance(inner.get(key), type_)
    )


def _only_objects(value: Any) -> Iterator[dict[str, Any]]:
    return (
        (item for item in value if isinstance(item, dict)) if isinstance(value, list) else iter(())
    )


def _has_non_text_values(values: Any) -> bool:
    return isinstance(values, dict) and not all(isinstance(value, str) for value in values.values())


def _has_non_text_arguments(row: Record) -> bool:
    turns = _only_objects(row.get("messages") or row.get("interactions"))
    calls = chain.from_iterable(_only_objects(turn.get("tool_calls")) for turn in turns)
    return any(_has_non_text_values(call.get("arguments")) for call in calls)


def _has_only_messages(row: Record) -> bool:
    # Until 0.2.0 a row may have extra keys, so it may have `messages` beside its output.
    return (
        row.get("messages") is not None
        and row.get("output") is None
        and row.get("interactions") is None
    )


def _lacks_score(row: Record) -> bool:
    grade = row.get("evaluation", row.get("metrics"))
    return isinstance(grade, dict) and grade.get("score") is None


def _lacks_deployment_type(record: Record) -> bool:
    model = record.get("model_info")
    details = model.get("additional_details") if isinstance(model, dict) else None
    return not isinstance(details, dict) or "deployment_type" not in details


def _result_parts(record: Record, part: str) -> Iterator[Any]:
    return (result.get(part) for result in _only_objects(record.get("evaluation_results")))


def _has_text_score(record: Record) -> bool:
    return any(isinstance(details, str) for details in _result_parts(record, "score_details"))


def _has_text_bound(record: Record) -> bool:
    metrics = [*_only_objects([*_result_parts(record, "metric_config")])]
    bounds = product(metrics, ("min_score", "max_score"))
    return any(isinstance(metric.get(bound), str) for metric, bound in bounds)


ROW_TRAITS = (
    VersionTrait("it has no score", _lacks_score, first=None),
    VersionTrait(
        "it has `metrics` for `evaluation`",
        lambda row: "metrics" in row and "evaluation" not in row,
        last="0.0.1",
    ),
    VersionTrait("its transcript is `interactions`", _has_key("interactions"), last="0.2.1"),
    VersionTrait("its transcript is `messages`", _has_only_messages, first="0.2.1"),
    VersionTrait("its `output.raw` is one text", _holds_type(str, "output", "raw"), last="0.2.0"),
    VersionTrait("its `output.raw` is a list", _holds_type(list, "output", "raw"), first="0.2.0"),
    VersionTrait(
        "its `input.reference` is one text", _holds_type(str, "input", "reference"), last="0.2.0"
    ),
    VersionTrait(
        "its `input.reference` is a list", _holds_type(list, "input", "reference"), first="0.2.0"
    ),
    VersionTrait(
        "its `sample_id` is a number",
        lambda row: isinstance(row.get("sample_id"), int),
        "0.2.0",
        "0.2.0",
    ),
    VersionTrait(
        "its `evaluation.score` is true or false",
        _holds_type(bool, "evaluation", "score"),
        last="0.2.0",
    ),
    VersionTrait(
        "its `metadata` holds more than texts",
        lambda row: _has_non_text_values(row.get("metadata")),
        last="0.2.0",
    ),
    VersionTrait(
        "the arguments of a tool call are more than texts", _has_non_text_arguments, last="0.2.0"
    ),
    VersionTrait("it has extra keys", lambda row: not _KEYS.issuperset(row), last="0.2.0"),
)

AGGREGATE_TRAITS = (
    VersionTrait("a score of it is a text", _has_text_score, last="0.0.1"),
    VersionTrait("it has an `evaluation_source`", _has_key("evaluation_source"), last="0.0.1"),
    VersionTrait("its `source_data` is at the root", _has_key("source_data"), last="0.1.0"),
    VersionTrait(
        "it holds its samples itself",
        _has_key("detailed_evaluation_results_per_samples"),
        last="0.1.0",
    ),
    VersionTrait(
        "it has `detailed_evaluation_results`",
        _has_key("detailed_evaluation_results"),
        first="0.2.0",
    ),
    VersionTrait(
        "it has no `eval_library`", lambda record: record.get("eval_library") is None, last="0.2.0"
    ),
    VersionTrait("it has an `eval_library`", _has_key("eval_library"), first="0.2.1"),
    VersionTrait("its model has no `deployment_type`", _lacks_deployment_type, last="0.2.2"),
    VersionTrait("a bound of its scores is a text", _has_text_bound, first="0.2.3"),
)


@lru_cache(maxsize=32)
def parse_label(label: str) -> str | None:
    """Return the version that a label names, in any spelling; None for an unpublished one."""
    found = _LABEL.fullmatch(label)
    version = f"{found[1]}{found[2] or '.0'}" if found else None
    return version if version in PUBLISHED_VERSIONS else None


def find_row_doubt(row: Record) -> str:
    """Say where a row contradicts its label; empty if it does not, or has no label."""
    return _find_doubt(row, _FOREIGN_TO_ROWS)


def find_row_gaps(row: Record) -> str:
    """Say which keys a row lacks that every published schema of rows requires.

    Rows before 0.2.0 have no schema, so the result for a row of their form is empty.
    """
    if "metrics" in row or "response" in row:
        return ""
    gaps = [key for key in _REQUIRED if key not in row]
    for path, keys in _REQUIRED_INSIDE.items():
        holders = [part for part in _list_parts(row, path.split(".")) if isinstance(part, dict)]
        gaps += [f"{path}.{key}" for key in keys if any(key not in part for part in holders)]
    one_of = _REQUIRED_BY_TYPE.get(str(row.get("interaction_type")), ())
    gaps += [" or ".join(one_of)] if one_of and not row.keys() & {*one_of} else []
    return f"it lacks {', '.join(gaps)}, which every published schema requires" if gaps else ""


def _list_parts(value: Any, steps: Sequence[str]) -> list[Any]:
    """Return the values at a path of keys, entering every item of the lists on the way."""
    items = value if isinstance(value, list) else [value]
    if not steps:
        return items
    holders = [item for item in items if isinstance(item, dict)]
    inner = (_list_parts(item.get(steps[0]), steps[1:]) for item in holders)
    return [*chain.from_iterable(inner)]


def find_aggregate_doubt(record: Record) -> str:
    """Say where an aggregate contradicts its label; empty if it does not."""
    return _find_doubt(record, _FOREIGN_TO_AGGREGATES)


def _find_doubt(record: Record, foreign: Mapping[str, tuple[VersionTrait, ...]]) -> str:
    label = record.get("schema_version")
    if label is None:
        return ""
    version = parse_label(label) if isinstance(label, str) else None
    if version is None:
        return f"labelled {make_excerpt(str(label), 60)}, which was never published"
    found = next((trait for trait in foreign[version] if trait.holds(record)), None)
    return f"labelled {label}, but {found.words}, as {found.when}" if found else ""


def _traits_outside_version(
    traits: tuple[VersionTrait, ...],
) -> Mapping[str, tuple[VersionTrait, ...]]:
    """Return for each version the traits that its records cannot have."""
    foreign = {}
    for version in PUBLISHED_VERSIONS:
        foreign[version] = tuple(trait for trait in traits if version not in trait.span)
    return foreign


_FOREIGN_TO_ROWS = _traits_outside_version(ROW_TRAITS)
_FOREIGN_TO_AGGREGATES = _traits_outside_version(AGGREGATE_TRAITS)
