"""The aggregate JSON of a run: its parts, where its rows lie, and the samples that the first aggregates hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

from evalstore.documents import JsonStream
from evalstore.errors import LoadError
from evalstore.files import open_user_file
from evalstore.runs.kept import encode_name
from evalstore.runs.shape import within
from evalstore.text import make_excerpt

_EMBEDDED = "detailed_evaluation_results_per_samples"
_PLAIN = re.compile(r"[^/\\\x00]+\.jsonl")


def read_aggregate(path: Path) -> dict[str, Any]:
    """Read an aggregate; the samples that it holds are passed over and stand as an empty list."""
    record: dict[str, Any] = {}
    with open_user_file(path) as file:
        stream = JsonStream(file, str(path))
        for key in stream.iterate_members():
            if key in record:
                raise LoadError(f"the key '{make_excerpt(key, 60)}' stands twice in one object", place=stream.locate())
            if key == _EMBEDDED and stream.peek() == "[":
                stream.skip()
                record[key] = []
            else:
                record[key] = stream.read()
        stream.expect_end()
    return record


def find_rows_file(record: Mapping[str, Any], path: Path) -> Path:
    """Return where the rows of an aggregate are: a file beside it, or `path` itself when it holds them.

    evalstore's own aggregates name their file; those of others name a path elsewhere, of which the last part counts.
    """
    if isinstance(record.get(_EMBEDDED), list):
        return path
    details = within(record.get("eval_library"), "additional_details")
    if "evalstore_samples" in details:
        return path.with_name(_checked_name(details["evalstore_samples"]))
    usual = path.with_name(f"{path.stem}_samples.jsonl")
    named = within(record, "detailed_evaluation_results").get("file_path")
    name = PurePosixPath(named).name if isinstance(named, str) else ""
    beside = [path.with_name(one) for one in dict.fromkeys([name, encode_name(name)])] if _PLAIN.fullmatch(name) else []
    return next(filter(file_exists, [*beside, usual]), usual)


def file_exists(path: Path) -> bool:
    """Whether a file that an aggregate names is there; a name that no system has is not."""
    with suppress(OSError):
        return path.is_file()
    return False


def read_embedded_samples(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield (line, sample) for every sample that an aggregate holds, streamed, with the model of them all."""
    model = within(read_aggregate(path), "model_info").get("id")
    with open_user_file(path) as file:
        stream = JsonStream(file, str(path))
        for key in stream.iterate_members():
            if key != _EMBEDDED or stream.peek() != "[":
                stream.skip()
                continue
            for _ in stream.iterate_items():
                place, sample = stream.locate(), stream.read()
                if not isinstance(sample, dict):
                    raise LoadError("a sample is one JSON object", place=place)
                yield place.line or 0, {"model_id": model, **sample}


def _checked_name(name: Any) -> str:
    if not isinstance(name, str) or not _PLAIN.fullmatch(name):
        raise ValueError(f"'{make_excerpt(str(name))}' is no file beside it")
    return name
