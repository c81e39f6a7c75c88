"""Results of promptfoo, versions 1 to 3, as one JSON document or as JSONL, a result at a time.

A result names its question by the `id` in its test's metadata or variables; else by `testIdx`, its row in promptfoo's
table. Its model is its provider as promptfoo shows it, the label or else the id. An output that is no text is written
as JSON, save tool calls. What the judges of promptfoo said is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

from evalstore.documents import JsonStream
from evalstore.errors import LoadError, Place
from evalstore.files import open_user_file
from evalstore.runs.imports.entry import OutputEntry, Series, first_line, id_as_text, make_entry
from evalstore.runs.imports.promptfoo_response import response_output
from evalstore.runs.record_fields import get_mapping
from evalstore.runs.run_files import read_json_objects

RESULTS_KEY = "results"
RESULT_KEYS = frozenset(
    {"testCase", "vars", "testIdx", "promptIdx", "prompt", "promptId", "provider", "response", "error"}
)
_OWN = frozenset({"provider", "prompt", "vars", "testCase", "response", "success", "gradingResult", "namedScores"})
_OWN_BELOW = [frozenset(f"{at}[].{key}" for key in _OWN) for at in (RESULTS_KEY, f"{RESULTS_KEY}.{RESULTS_KEY}")]
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
        yield result_entry(result, Place(str(path), line))


def result_entry(result: Mapping[str, Any], place: Place) -> OutputEntry:
    """Return one result as an entry; without an output, where the provider failed or gave none."""
    response = result.get("response")
    failed = get_mapping(result, "response").get("error")
    output = None if failed else response_output(response, place)
    series = Series(_provider_name(result.get("provider")), _prompt_name(result))
    missing = first_line(failed or result.get("error"), "the provider gave no output")
    return make_entry(series, _question_id(result, place), place.line or 0, output or missing)


def _read_result_list(stream: JsonStream) -> Iterator[OutputEntry]:
    for _ in stream.iterate_items():
        place = stream.locate()
        yield result_entry(stream.read_fields(RESULT_KEYS), place)


def _question_id(result: Mapping[str, Any], place: Place) -> str:
    test = result.get("testCase")
    holders = (get_mapping(test, "metadata"), get_mapping(result, "vars"), get_mapping(test, "vars"))
    candidates = (*(holder.get("id") for holder in holders), result.get("testIdx"))
    found = next((id_ for id_ in map(id_as_text, candidates) if id_ is not None), None)
    if found is None:
        raise LoadError(
            "this result does not say which question it answers: it has no `id` in its test's metadata or variables",
            place=place,
            hint="give each test of promptfoo an `id` in its `metadata`; newer versions also write `testIdx`",
        )
    return found


def _provider_name(provider: Any) -> str | None:
    found = provider if isinstance(provider, str) else None
    if isinstance(provider, dict):
        found = provider.get("label") or provider.get("id")
    return found if isinstance(found, str) and found else None


def _prompt_name(result: Mapping[str, Any]) -> str | None:
    """Return what names a prompt whatever its variables are; `raw` has them filled in."""
    prompt = get_mapping(result, "prompt")
    names = (prompt.get("label"), prompt.get("display"), result.get("promptId"), result.get("promptIdx"))
    return next((name for name in map(id_as_text, names) if name), None)
