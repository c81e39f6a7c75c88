"""Builds the JSON Schema of the reply that an endpoint is asked for."""

from __future__ import annotations

from typing import Any

from evalstore.checks.reply_values import NOT_APPLICABLE
from evalstore.documents import convert_fraction
from evalstore.model import Judge, ScoreType

_IDLE = "n/a"  # of `NOT_APPLICABLE`, the one that a judge is told to use
# Where a reply's words are looked for, in order.
WORD_KEYS = (
    "rationale",
    "reason",
    "reasoning",
    "explanation",
)


def build_reply_schema(judge: Judge, *, may_be_idle: bool = False) -> dict[str, Any]:
    """Return the `response_format` of a request for JSON: first the judge's words, then the answer.

    The keys are those that the judge's `reads` names. `may_be_idle`: it also allows the answer that
    the question does not apply.
    """
    values: dict[str, Any]
    if judge.score_type is ScoreType.CONTINUOUS:
        least, most = convert_fraction(judge.least), convert_fraction(judge.most)
        answer, values = "score", {"type": "number", "minimum": least, "maximum": most}
    elif judge.score_type is ScoreType.LEVELS:
        answer, values = "level", {"type": "string", "enum": list(judge.levels or {})}
    else:
        answer, values = "verdict", {"type": "string", "enum": ["pass", "fail"]}
    if may_be_idle and answer == "score":
        values["type"] = [values["type"], "null"]
    elif may_be_idle:
        # A level may have that name; null is not a level.
        has_name = NOT_APPLICABLE.isdisjoint(map(str.lower, values["enum"]))
        values["type"] = values["type"] if has_name else [values["type"], "null"]
        values["enum"].append(_IDLE if has_name else None)
    words, verdict = WORD_KEYS[0], {}
    if judge.reads is not None:
        words = judge.reads.words or words
        # Next to a score, a verdict decides with it.
        if answer == "score" and judge.reads.verdict is not None:
            verdict = {judge.reads.verdict: {"type": "boolean"}}
        answer = getattr(judge.reads, answer) or answer
    properties = {words: {"type": "string"}, **verdict, answer: values}
    schema = {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }
    return {
        "type": "json_schema",
        "json_schema": {"name": "judgement", "strict": True, "schema": schema},
    }
