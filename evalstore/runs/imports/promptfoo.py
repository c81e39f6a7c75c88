"""Reads results of promptfoo, versions 1 to 3, as one JSON document or as JSON Lines, one result at a time.

A result names its question by the `id` in its test's metadata or variables; else by `testIdx`, its
row in promptfoo's table. Its model is its provider as promptfoo shows it: the label, else the id.
Calls that were performed stand in `metadata.toolCalls`; calls that a model only requested are its
output, in the words of its API: a message or a list of calls (OpenAI), or a list of parts (Google).
Any other output that is not text is written as JSON. What the graders of promptfoo said is not
read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

from evalstore.documents import JsonStream
from evalstore.errors import LoadError, Place
from evalstore.files import open_user_file
from evalstore.runs.imports.entry import (
    OutputEntry,
    Series,
    make_entry,
    make_unread_entry,
    read_asked,
    read_id,
    shorten_reason,
)
from evalstore.runs.imports.promptfoo_response import read_response_output
from evalstore.runs.record_fields import get_mapping
from evalstore.runs.run_files import read_json_objects

RESULTS_KEY = "results"
RESULT_KEYS = frozenset(
    {
        "testCase",
        "vars",
        "testIdx",
        "promptIdx",
        "prompt",
        "promptId",
        "provider",
        "response",
        "error",
    }
)
_OWN = frozenset(
    {
        "provider",
        "prompt",
        "vars",
        "testCase",
        "response",
        "success",
        "gradingResult",
        "namedScores",
    }
)
_OWN_BELOW = [
    frozenset(f"{at}[].{key}" for key in _OWN)
    for at in (RESULTS_KEY, f"{RESULTS_KEY}.{RESULTS_KEY}")
]
_ENOUGH = 4


def is_result_file(names: AbstractSet[str]) -> bool:
    """Whether a document with these keys (`results.results[].vars`: of its first result) holds results."""
    return any(len(names & own) >= _ENOUGH for own in _OWN_BELOW)


def is_result_row(names: AbstractSet[str]) -> bool:
    """Whether an object with these keys is a result."""
    return len(names & _OWN) >= _ENOUGH


def read_results(path: Path) -> Iterator[OutputEntry]:
    """Yield the results of a document in its order."""
    with open_user_file(path) as file:
        stream = JsonStream(file, str(path))
        for key in stream.iterate_members():
            if key != RESULTS_KEY:
                stream.skip()
            elif stream.peek() == "[":
                yield from _read_result_list(stream)
            else:
                for inner in stream.iterate_members():
                    if inner == RESULTS_KEY:
                        yield from _read_result_list(stream)
                    else:
                        stream.skip()
        stream.expect_end()


def read_result_lines(path: Path) -> Iterator[OutputEntry]:
    """Yield the results of a JSONL file in its order."""
    for line, result in read_json_objects(path):
        yield _read_entry(result, Place(str(path), line))


def read_result_entry(result: Mapping[str, Any], place: Place) -> OutputEntry:
    """Return one result as an entry; without an output, where the provider failed or gave none."""
    response = result.get("response")
    failed = get_mapping(result, "response").get("error")
    output = None if failed else read_response_output(response, place)
    series = Series(_provider_name(result.get("provider")), _prompt_name(result))
    missing = shorten_reason(failed or result.get("error"), "the provider gave no output")
    id_ = _question_id(result, place)
    return make_entry(series, id_, place.line or 0, output or missing, _list_asked(result))


def _read_result_list(stream: JsonStream) -> Iterator[OutputEntry]:
    for _ in stream.iterate_items():
        place = stream.locate()
        yield _read_entry(stream.read_fields(RESULT_KEYS), place)


def _read_entry(result: Mapping[str, Any], place: Place) -> OutputEntry:
    """Return one result as an entry; one of another shape does not keep the others from being read."""
    try:
        return read_result_entry(result, place)
    except LoadError as error:
        return make_unread_entry(error, _find_id(result))


def _question_id(result: Mapping[str, Any], place: Place) -> str:
    found = _find_id(result)
    if found is None:
        raise LoadError(
            "this result does not say which question it answers: it has no `id` in its test's metadata or variables",
            place=place,
            hint="give each test of promptfoo an `id` in its `metadata`; newer versions also write `testIdx`",
        )
    return found


def _find_id(result: Mapping[str, Any]) -> str | None:
    test = result.get("testCase")
    holders = (
        get_mapping(test, "metadata"),
        get_mapping(result, "vars"),
        get_mapping(test, "vars"),
    )
    candidates = (*(holder.get("id") for holder in holders), result.get("testIdx"))
    return next((id_ for id_ in map(read_id, candidates) if id_ is not None), None)


def _list_asked(result: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the prompt as it was sent, and the variables that its template took, of which one is the question."""
    prompt = result.get("prompt")
    sent = read_asked(prompt.get("raw") if isinstance(prompt, dict) else prompt)
    test = result.get("testCase")
    given = {**get_mapping(test, "vars"), **get_mapping(result, "vars")}
    texts = (read_asked(value) for name, value in given.items() if name != "id")
    return tuple(dict.fromkeys(filter(None, (sent, *texts))))


def _provider_name(provider: Any) -> str | None:
    found = provider if isinstance(provider, str) else None
    if isinstance(provider, dict):
        found = provider.get("label") or provider.get("id")
    return found if isinstance(found, str) and found else None


def _prompt_name(result: Mapping[str, Any]) -> str | None:
    """Return what names a prompt whatever its variables are; `raw` has them filled in."""
    prompt = get_mapping(result, "prompt")
    names = (
        prompt.get("label"),
        prompt.get("display"),
        result.get("promptId"),
        result.get("promptIdx"),
    )
    return next((name for name in map(read_id, names) if name), None)
