"""Guesses what a file is that holds no outputs in a known format, for the hint of its refusal; pure."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from evalstore.runs.imports.containers import ARCHIVE, ARRAY, OTHER, TABLE, UTF_16

# Keys that must all be there, and what the file then is.
_GUESSES = (
    ({"doc_id", "filtered_resps"}, "samples of lm-evaluation-harness"),
    ({"custom_id", "response"}, "the output of a batch of OpenAI's API"),
    ({"testCases", "metricsScores"}, "a test run of DeepEval"),
    ({"testRunData"}, "a test run of DeepEval"),
    ({"id", "questions"}, "a dataset, which holds the questions"),
    ({"evalId", "config"}, "an evaluation of promptfoo without any result"),
    (
        {"id", "messages"},
        "conversations; convert their last messages: jq -c '{id, output: .messages[-1].content}'",
    ),
    ({"messages"}, "conversations without ids"),
)
# What others call an id, and an output.
_IDS = ("id", "question_id", "qid", "case_id", "task_id", "test_id", "key", "name", "index")
_OUTPUTS = (
    "output",
    "response",
    "answer",
    "completion",
    "generation",
    "prediction",
    "generated_text",
    "text",
    "content",
)
_GUESSED_KINDS = {
    ARRAY: "one JSON array; convert it to lines: jq -c '.[]'",
    ARCHIVE: "another kind of archive",
    UTF_16: "text in UTF-16; save it as UTF-8",
    TABLE: "Parquet; rename the file so that it ends in .parquet",
}


def guess_source(kind: str, names: AbstractSet[str]) -> str:
    """Return what the file looks like, for a hint; empty when nothing matches."""
    guess = _GUESSED_KINDS.get(kind) or next(
        (guess for keys, guess in _GUESSES if keys <= names), ""
    )
    return guess or _guess_names(kind, names)


def _guess_names(kind: str, names: AbstractSet[str]) -> str:
    """Return what a row is whose id or output has another name; empty for a row that has neither."""
    id_, output = (
        next((name for name in known if name in names), None) for known in (_IDS, _OUTPUTS)
    )
    if id_ is None or output is None:
        return ""
    if kind == OTHER:
        return "a table; convert each row to a line of JSON"
    return f"rows with other key names; convert them: jq -c '{{id: .{id_}, output: .{output}}}'"
