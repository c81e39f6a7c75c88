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
from evalstore.runs.imports.entry import Entry, Series, brief, entry, named
from evalstore.runs.imports.promptfoo_response import output_of
from evalstore.runs.lines import read_objects
from evalstore.runs.shape import within

ROWS = "results"
WANTED = frozenset({"testCase", "vars", "testIdx", "promptIdx", "prompt", "promptId", "provider", "response", "error"})
_OWN = frozenset({"provider", "prompt", "vars", "testCase", "response", "success", "gradingResult", "namedScores"})
_OWN_BELOW = [frozenset(f"{at}[].{key}" for key in _OWN) for at in (ROWS, f"{ROWS}.{ROWS}")]
_ENOUGH = 4


def fits(names: AbstractSet[str]) -> bool:
    """Whether a document with these keys (`results.results[].vars`: of its first result) holds results."""
    return any(len(names & own) >= _ENOUGH for own in _OWN_BELOW)


def fits_row(names: AbstractSet[str]) -> bool:
    """Whether an object with these keys is a result."""
    return len(names & _OWN) >= _ENOUGH


def read(path: Path) -> Iterator[Entry]:
    """Yield the results of a document in its order."""
    with open_user_file(path) as file:
        stream = JsonStream(file, str(path))
        for key in stream.iterate_members():
            if key != ROWS:
                stream.skip()
            elif stream.peek() == "[":
                yield from _results(stream)
            else:
                for inner in stream.iterate_members():
                    if inner == ROWS:
                        yield from _results(stream)
                    else:
                        stream.skip()
        stream.expect_end()


def read_lines(path: Path) -> Iterator[Entry]:
    """Yield the results of a JSONL file in its order."""
    for line, result in read_objects(path):
        yield entry_of(result, Place(str(path), line))


def entry_of(result: Mapping[str, Any], place: Place) -> Entry:
    """Return one result as an entry; without an output, where the provider failed or gave none."""
    response = result.get("response")
    failed = within(result, "response").get("error")
    output = None if failed else output_of(response, place)
    series = Series(_provider(result.get("provider")), _prompt(result))
    missing = brief(failed or result.get("error"), "the provider gave no output")
    return entry(series, _id(result, place), place.line or 0, output or missing)


def _results(stream: JsonStream) -> Iterator[Entry]:
    for _ in stream.iterate_items():
        place = stream.locate()
        yield entry_of(stream.read_fields(WANTED), place)


def _id(result: Mapping[str, Any], place: Place) -> str:
    test = result.get("testCase")
    holders = (within(test, "metadata"), within(result, "vars"), within(test, "vars"))
    candidates = (*(holder.get("id") for holder in holders), result.get("testIdx"))
    found = next((id_ for id_ in map(named, candidates) if id_ is not None), None)
    if found is None:
        raise LoadError(
            "this result does not say which question it answers: it has no `id` in its test's metadata or variables",
            place=place,
            hint="give each test of promptfoo an `id` in its `metadata`; newer versions also write `testIdx`",
        )
    return found


def _provider(provider: Any) -> str | None:
    found = provider if isinstance(provider, str) else None
    if isinstance(provider, dict):
        found = provider.get("label") or provider.get("id")
    return found if isinstance(found, str) and found else None


def _prompt(result: Mapping[str, Any]) -> str | None:
    """Return what names a prompt whatever its variables are; `raw` has them filled in."""
    prompt = within(result, "prompt")
    names = (prompt.get("label"), prompt.get("display"), result.get("promptId"), result.get("promptIdx"))
    return next((name for name in map(named, names) if name), None)
