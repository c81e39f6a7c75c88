"""What a file may be that is none of the shapes of outputs: a guess by the names in it, and only where it is honest."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from evalstore.runs.imports.head import ARCHIVE, ARRAY, UTF_16

# The names that all have to be there, and what then stands before us.
_GUESSES = (
    ({"doc_id", "filtered_resps"}, "samples of lm-evaluation-harness"),
    ({"custom_id", "response"}, "the output of a batch of OpenAI's API"),
    ({"testCases", "metricsScores"}, "a test run of DeepEval"),
    ({"testRunData"}, "a test run of DeepEval"),
    ({"id", "questions"}, "a dataset, which holds the questions"),
    ({"evalId", "config"}, "an evaluation of promptfoo without any result"),
    ({"messages"}, "conversations without ids"),
)
_KINDS = {
    ARRAY: "one JSON array; `jq -c '.[]'` makes lines of it",
    ARCHIVE: "an archive of something else",
    UTF_16: "a text in UTF-16; save it as UTF-8",
}


def guess_source(kind: str, names: AbstractSet[str]) -> str:
    """Return what the file looks like; empty when there is no telling."""
    return _KINDS.get(kind) or next((guess for keys, guess in _GUESSES if keys <= names), "")
