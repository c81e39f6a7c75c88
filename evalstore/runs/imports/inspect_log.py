"""Reads logs of Inspect AI, as an archive (`.eval`) or as one JSON document, as a stream of samples.

The package `inspect_ai` is not used: it unpacks without bounds (130 KB have filled 4 GB), takes
twenty times as long (11 s for 2,000 samples), and brings 79 packages. Both forms of a log hold the
same samples.

Only a sample's id, epoch, input, messages, output, error and invalidation are read: never its
scores, which may be NaN, nor its events. The output is what Inspect's own scorers grade: the
completion of `output`, else the last message of the assistant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

from evalstore.documents import JsonStream
from evalstore.errors import LoadError, Place
from evalstore.files import open_user_file
from evalstore.runs.imports.entry import OutputEntry
from evalstore.runs.imports.inspect_archive import Archive, open_archive
from evalstore.runs.imports.inspect_sample import check_version, read_entry
from evalstore.text import make_excerpt

_SAMPLE_KEYS = frozenset({"id", "epoch", "input", "messages", "output", "error", "invalidation"})
_STATUS_LENGTH = 40  # characters of a status that no version of Inspect has
SAMPLES_KEY = "samples"
_WHOLE = "success"
_UNFINISHED = "started"
# The second holds in a log that was not finished.
_HEADERS = ("header.json", "_journal/start.json")
_SAMPLE = re.compile(r"samples/.+_epoch_[0-9]+\.json", re.DOTALL | re.ASCII)
_CHUNKED = re.compile(r"samples/.+_epoch_[0-9]+/sample\.json", re.DOTALL | re.ASCII)


def is_json_log(names: AbstractSet[str]) -> bool:
    """Whether a document with these keys is a log."""
    return "eval" in names and not names.isdisjoint({"plan", "status", SAMPLES_KEY})


def read_json_log(path: Path) -> Iterator[OutputEntry]:
    """Yield the samples of a log in its order."""
    with open_user_file(path) as file:
        stream, model = JsonStream(file, str(path)), None
        for key in stream.iterate_members():
            if key == "version":
                check_version(stream.read(), stream.locate())
            elif key == "eval" and stream.peek() == "{":
                model = read_model_name(stream.read_fields({"model"}))
            elif key == SAMPLES_KEY and stream.peek() == "[":
                for _ in stream.iterate_items():
                    place = stream.locate()
                    yield read_entry(
                        stream.read_fields(_SAMPLE_KEYS), model, place, place.line or 0
                    )
            else:
                stream.skip()
        stream.expect_end()


def read_model_name(spec: dict[str, Any]) -> str | None:
    """Return the model that a log names in its `eval`."""
    return spec["model"] if isinstance(spec.get("model"), str) else None


def read_json_status(path: Path) -> str:
    """Return what ended a log before its end: `cancelled`, `error`, or `started` for one that was never finished."""
    with open_user_file(path) as file:
        stream = JsonStream(file, str(path))
        for key in stream.iterate_members():
            if key == "status":
                return _name_status(stream.read())
            stream.skip()
    return ""


def read_archive_status(path: Path) -> str:
    """Return the same of an archive, whose header is written at the end."""
    with open_archive(path) as archive:
        if _HEADERS[0] not in archive.members:
            return _UNFINISHED
        with archive.open_member(_HEADERS[0]) as stream:
            return _name_status(stream.read_fields({"status"}).get("status"))


def _name_status(status: Any) -> str:
    return (
        make_excerpt(status, _STATUS_LENGTH) if isinstance(status, str) and status != _WHOLE else ""
    )


def is_log_archive(names: AbstractSet[str]) -> bool:
    """Whether an archive with these members is a log."""
    return not names.isdisjoint(_HEADERS)


def read_log_archive(path: Path) -> Iterator[OutputEntry]:
    """Yield the samples of a log in the order of its archive."""
    with open_archive(path) as archive:
        model, seen = _read_model(archive), set[tuple[str, str | None]]()
        for number, name in enumerate(
            filter(_SAMPLE.fullmatch, _require_whole_samples(archive)), 1
        ):
            entry = read_entry(_read_sample(archive, name), model, archive.place_of(name), number)
            key = entry.output.id, entry.series.epoch
            if entry.is_read and key in seen:
                raise LoadError("the log has this sample twice", place=archive.place_of(name))
            seen.add(key)
            yield entry


def _require_whole_samples(archive: Archive) -> list[str]:
    if chunked := next(filter(_CHUNKED.fullmatch, archive.members), None):
        raise LoadError(
            "this sample is stored in pieces, which evalstore does not read",
            place=archive.place_of(chunked),
            hint="convert it: inspect log convert --to json",
        )
    return list(archive.members)


def _read_sample(archive: Archive, name: str) -> dict[str, Any]:
    with archive.open_member(name) as stream:
        sample = stream.read_fields(_SAMPLE_KEYS)
        stream.expect_end()
    return sample


def _read_model(archive: Archive) -> str | None:
    header = next(filter(archive.members.__contains__, _HEADERS))
    model = None
    with archive.open_member(header) as stream:
        for key in stream.iterate_members():
            if key == "version":
                check_version(stream.read(), Place(archive.name))
            elif key == "eval" and stream.peek() == "{":
                model = read_model_name(stream.read_fields({"model"}))
            else:
                stream.skip()
        stream.expect_end()
    return model
