"""Reads samples of lm-evaluation-harness (`samples_TASK_TIME.jsonl`).

A line has a document and a filter. The output is the first response. If likelihoods were asked for,
it is the likeliest continuation, or the only one if the model itself would have written it; else
there is none. The score is that of the first of the line's `metrics`. Several filters make several
configurations in one file. Tried with lm_eval 0.4.13.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from evalstore.documents import write_row
from evalstore.errors import Place
from evalstore.model import Output
from evalstore.runs.imports.entry import (
    OutputEntry,
    RecordedGrade,
    Series,
    describe_unexpected_shape,
    make_entry,
    read_id,
)
from evalstore.runs.imports.grades import make_check, make_grade, read_score

_OWN = frozenset(
    {
        *("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"),
        *("doc_hash", "prompt_hash", "target_hash", "sample_len", "name", "task_name"),
    }
)
_NO_FILTER = "none"
_NO_RESPONSE = "the model gave no text, and of likelihoods no answer"


def is_sample(names: AbstractSet[str]) -> bool:
    """Whether a row with these keys is a logged sample."""
    return {"doc_id", "resps"} <= names or {"doc_id", "filtered_resps"} <= names


def read_row(row: Mapping[str, Any], place: Place, _: int) -> OutputEntry:
    """Return one sample."""
    id_ = read_id(row.get("doc_id"))
    if id_ is None:
        raise describe_unexpected_shape("the `doc_id` of this sample", place)
    asked = list(_list_arguments(row.get("arguments")))
    filter_ = read_id(row.get("filter"))
    series = Series(configuration=None if filter_ == _NO_FILTER else filter_)
    text = _read_answer(row, asked)
    answer = Output(text) if text is not None else _NO_RESPONSE
    question = (asked[0][0],) if asked and asked[0][0] else ()
    return make_entry(series, id_, place.line or 0, answer, question, grade=_read_grade(row))


def _list_arguments(arguments: Any) -> Iterator[tuple[str, str]]:
    """Yield the prompt and the continuation of each request."""
    several = [*arguments.values()] if isinstance(arguments, dict) else arguments
    for one in several if isinstance(several, list) else ():
        parts = [*one.values()] if isinstance(one, dict) else one
        if not isinstance(parts, list):
            parts = [parts]
        texts = [part if isinstance(part, str) else "" for part in [*parts, "", ""][:2]]
        yield texts[0], texts[1]


def _read_answer(row: Mapping[str, Any], asked: list[tuple[str, str]]) -> str | None:
    first = [_unwrap(one) for one in row.get("resps") or row.get("filtered_resps") or ()]
    if first and isinstance(first[0], str):
        # A request for the likelihood of a whole text has no answer.
        is_likelihood = len(asked) == 1 and not asked[0][1] and read_score(first[0]) is not None
        return None if is_likelihood and _asks_for_likelihood(row) else first[0]
    if len(first) == 1 and len(asked) == 1:
        return asked[0][1] if _is_greedy(first[0]) else None
    likelihoods = [read_score(one[0]) if isinstance(one, list) and one else None for one in first]
    # Some metrics also ask for each choice without the question, to normalize its likelihood.
    bare = {number for number, one in enumerate(asked) if not one[0]}
    skipped = bare if len(bare) < len(asked) else set()
    numbered = [(value, number) for number, value in enumerate(likelihoods) if value is not None]
    known = [pair for pair in numbered if pair[1] not in skipped]
    if not known:
        return None
    number = max(known, key=lambda pair: (pair[0], -pair[1]))[1]
    if number >= len(asked):
        return str(number)
    prompt, continuation = asked[number]
    # If the choices are in the prompts, all continuations are the same.
    is_in_prompt = len({one[1] for one in asked}) == 1 and len(asked) > 1
    return (prompt if is_in_prompt else continuation) or str(number)


def _asks_for_likelihood(row: Mapping[str, Any]) -> bool:
    """Whether a request is only a text; a request for an answer also has settings."""
    arguments = row.get("arguments")
    several = arguments.values() if isinstance(arguments, dict) else arguments
    return all(len(one) == 1 for one in several or () if isinstance(one, dict | list))


def _is_greedy(response: Any) -> bool:
    """Whether the log marks the continuation as what the model would have written itself."""
    return isinstance(response, list) and response[1:] in (["True"], [True])


def _unwrap(response: Any) -> Any:
    """Return the first response to a request: a text, or a likelihood and whether it is greedy."""
    if not isinstance(response, list) or not response:
        return response
    first = response[0]
    is_likelihood = isinstance(first, str) and response[1:] in (["True"], ["False"])
    return first if isinstance(first, list | str) and not is_likelihood else response


def _read_grade(row: Mapping[str, Any]) -> RecordedGrade | None:
    named = row.get("metrics")
    names = named if isinstance(named, list) else [key for key in row if key not in _OWN]
    texts = [name for name in names if isinstance(name, str)]
    plain = [name for name in texts if not isinstance(row.get(name), dict | list)]
    checks = [make_check(name, read_score(row.get(name)), engine="lm_eval") for name in plain]
    if not checks:
        return None
    score = next((check.score for check in checks if check.score is not None), None)
    reference = row.get("target")
    if not isinstance(reference, str):
        reference = None if reference is None else write_row(reference).removesuffix("\n")
    return make_grade(score, None, checks, reference=(reference,) if reference else ())
