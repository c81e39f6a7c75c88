"""Logs of Inspect AI as an archive (`.eval`), streamed sample by sample.

The package `inspect_ai` is not asked to read them: it unpacks without bounds (130 KB have filled 4 GB), takes twenty
times as long (11 s for 2,000 samples), and brings 79 packages. What a sample holds is the same in both forms of a log,
and only the unpacking of Zstandard needs a package.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

from evalstore.documents import JsonStream
from evalstore.errors import LoadError, Place
from evalstore.runs.imports.archive import Archive, open_archive
from evalstore.runs.imports.entry import OutputEntry
from evalstore.runs.imports.inspect_json import model_name
from evalstore.runs.imports.inspect_sample import SAMPLE_KEYS, check_version, sample_entry

# The second holds in a log that was not finished.
_HEADERS = ("header.json", "_journal/start.json")
_SAMPLE = re.compile(r"samples/.+_epoch_[0-9]+\.json", re.DOTALL | re.ASCII)
_CHUNKED = re.compile(r"samples/.+_epoch_[0-9]+/sample\.json", re.DOTALL | re.ASCII)


def is_log_archive(names: AbstractSet[str]) -> bool:
    """Whether an archive with these members is a log."""
    return not names.isdisjoint(_HEADERS)


def read_log_archive(path: Path) -> Iterator[OutputEntry]:
    """Yield the samples of a log in the order of its archive."""
    with open_archive(path) as archive:
        model, seen = _read_model(archive), set[tuple[str, str | None]]()
        for number, name in enumerate(filter(_SAMPLE.fullmatch, _unchunked_members(archive)), 1):
            entry = sample_entry(_read_sample(archive, name), model, archive.place_of(name), number)
            key = entry.output.id, entry.series.epoch
            if key in seen:
                raise LoadError("this sample stands twice in the log", place=archive.place_of(name))
            seen.add(key)
            yield entry


def _unchunked_members(archive: Archive) -> list[str]:
    if chunked := next(filter(_CHUNKED.fullmatch, archive.members), None):
        raise LoadError(
            "this sample is stored in pieces, which evalstore does not read",
            place=archive.place_of(chunked),
            hint="`inspect log convert --to json` writes it in one",
        )
    return list(archive.members)


def _read_sample(archive: Archive, name: str) -> dict[str, Any]:
    with archive.open_member(name) as member:
        stream = JsonStream(member, archive.place_of(name).file)
        sample = stream.read_fields(SAMPLE_KEYS)
        stream.expect_end()
    return sample


def _read_model(archive: Archive) -> str | None:
    header = next(filter(archive.members.__contains__, _HEADERS))
    with archive.open_member(header) as member:
        stream, model = JsonStream(member, archive.place_of(header).file), None
        for key in stream.iterate_members():
            if key == "version":
                check_version(stream.read(), Place(archive.name))
            elif key == "eval" and stream.peek() == "{":
                model = model_name(stream.read_fields({"model"}))
            else:
                stream.skip()
        stream.expect_end()
    return model
