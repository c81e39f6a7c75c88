"""Reads logs of Inspect AI, an archive (`.eval`) or a JSON document, as a stream of samples.

The package `inspect_ai` is not used: it unpacks without bounds (130 KB have filled 4 GB), takes
twenty times as long (11 s for 2,000 samples), and brings 79 packages. Both forms of a log have the
same samples.

Read from a sample are its id, epoch, input, messages, output, target, scores, error and
invalidation, but no events. A score that is NaN counts as none. The output is what Inspect's own
scorers grade: the completion of `output`, else the last message of the assistant.

If a log mentions no tool and no call, its entries record no calls (None, not an empty list):
messages without calls do not prove that none were made elsewhere. So the text of the log is first
searched up to the first mention of a tool.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

from evalstore.documents import JsonStream
from evalstore.errors import LoadError, Place
from evalstore.files import BLOCK
from evalstore.runs.imports.entry import (
    FileFacts,
    MissingOutput,
    OutputEntry,
    RecordedMean,
    read_id,
)
from evalstore.runs.imports.grades import read_score
from evalstore.runs.imports.inspect_archive import Archive, open_archive
from evalstore.runs.imports.inspect_sample import check_version, read_entry
from evalstore.runs.imports.row_item import read_item
from evalstore.runs.packed import open_unpacked
from evalstore.runs.record_fields import get_mapping
from evalstore.text import make_excerpt

_SAMPLE_KEYS = frozenset(
    {"id", "epoch", "input", "messages", "output", "target", "scores", "error", "invalidation"}
)
_FACTS = frozenset({"eval", "status", "results"})
_MEANS = ("accuracy", "mean")  # the metrics that are a mean of the scores
_STATUS_LENGTH = 40  # characters shown of an unknown status
SAMPLES_KEY = "samples"
_WHOLE = "success"
_UNFINISHED = "started"
# The second is the header of an unfinished log.
_HEADERS = ("header.json", "_journal/start.json")
_SAMPLE = re.compile(r"samples/.+_epoch_[0-9]+\.json", re.DOTALL | re.ASCII)
_CHUNKED = re.compile(r"samples/.+_epoch_[0-9]+/sample\.json", re.DOTALL | re.ASCII)


# A call, its answer, or a tool offered to the model. JSON inside a text has its quotes escaped.
_TOOL = re.compile(
    rb'"tool_calls"\s*:\s*\[\s*\{|"role"\s*:\s*"tool"|"tools"\s*:\s*\[\s*\{|'
    rb'"solver"\s*:\s*"[^"\\]{0,80}tool'
)
_OVERLAP = 256  # bytes: longer than any mention, so that none is missed between two blocks


def is_json_log(names: AbstractSet[str]) -> bool:
    """Whether a document with these keys is a log."""
    return "eval" in names and not names.isdisjoint({"plan", "status", SAMPLES_KEY})


def read_json_log(path: Path) -> Iterator[OutputEntry]:
    """Yield the samples of a log in order."""
    has_record = _has_tools(path)
    with open_unpacked(path) as file:
        stream, model = JsonStream(file, str(path)), None
        for key in stream.iterate_members():
            if key == "version":
                check_version(stream.read(), stream.locate())
            elif key == "eval" and stream.peek() == "{":
                model = read_model_name(stream.read_fields({"model"}))
            elif key == SAMPLES_KEY and stream.peek() == "[":
                for _ in stream.iterate_items():
                    place = stream.locate()
                    item = read_item(stream, _SAMPLE_KEYS)
                    entry = read_entry(item, model, place, place.line or 0)
                    yield entry if has_record else _forget_calls(entry)
            else:
                stream.skip()
        stream.expect_end()


def _has_tools(path: Path) -> bool:
    with open_unpacked(path) as file:
        return _mentions_tool(iter(lambda: file.read(BLOCK), b""))


def _mentions_tool(blocks: Iterable[bytes]) -> bool:
    """Whether the text of a log, in blocks, mentions a tool or a call of one."""
    rest = b""
    for block in blocks:
        if _TOOL.search(rest + block):
            return True
        rest = (rest + block)[-_OVERLAP:]
    return False


def _forget_calls(entry: OutputEntry) -> OutputEntry:
    """Return an entry with its calls as not recorded, in place of an empty list."""
    if isinstance(entry.output, MissingOutput):
        return entry
    answer = entry.output.output._replace(tool_calls=None)
    return entry._replace(output=entry.output._replace(output=answer))


def read_model_name(spec: dict[str, Any]) -> str | None:
    """Return the model that a log names in its `eval`."""
    return spec["model"] if isinstance(spec.get("model"), str) else None


def read_json_facts(path: Path) -> FileFacts:
    """Return what a log says about itself; the status of an unfinished log is `started`."""
    with open_unpacked(path) as file:
        return _make_facts(_read_fact_fields(JsonStream(file, str(path))))


def _read_fact_fields(stream: JsonStream) -> dict[str, Any]:
    found = {}
    for key in stream.iterate_members():
        if key in _FACTS:
            found[key] = stream.read_lenient()
        else:
            stream.skip()
    return found


def read_archive_facts(path: Path) -> FileFacts:
    """Return what an archive says about itself; its header is written last."""
    with open_archive(path) as archive:
        if _HEADERS[0] not in archive.members:
            return FileFacts(status=_UNFINISHED)
        with archive.open_member(_HEADERS[0]) as stream:
            found = _read_fact_fields(stream)
    return _make_facts(found)


def _make_facts(found: dict[str, Any]) -> FileFacts:
    spec = get_mapping(found, "eval")
    return FileFacts(
        read_id(spec.get("task")) or "",
        read_model_name(dict(spec)) or "",
        read_id(spec.get("created")) or "",
        _name_status(found.get("status")),
        tuple(_list_claims(get_mapping(found, "results").get("scores"))),
    )


def _list_claims(scores: Any) -> Iterator[RecordedMean]:
    """Yield the means that a log states for its scorers, except those over reduced epochs."""
    for one in scores if isinstance(scores, list) else ():
        if not isinstance(one, dict) or one.get("reducer") not in {None, "mean"}:
            continue
        name = read_id(one.get("name")) or ""
        for metric in _MEANS:
            value = get_mapping(get_mapping(one, "metrics"), metric).get("value")
            if (mean := read_score(value)) is not None:
                yield RecordedMean(f"{metric} of {name}", mean, check=name)


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
        read = (name for name in archive.members if name in _HEADERS or _SAMPLE.fullmatch(name))
        has_record = any(_mentions_tool(archive.read_blocks(name)) for name in read)
        samples = filter(_SAMPLE.fullmatch, _require_whole_samples(archive))
        for number, name in enumerate(samples, 1):
            entry = read_entry(_read_sample(archive, name), model, archive.place_of(name), number)
            key = entry.output.id, entry.series.epoch
            if entry.is_read and key in seen:
                raise LoadError("the log has this sample twice", place=archive.place_of(name))
            seen.add(key)
            yield entry if has_record else _forget_calls(entry)


def _require_whole_samples(archive: Archive) -> list[str]:
    if chunked := next(filter(_CHUNKED.fullmatch, archive.members), None):
        raise LoadError(
            "this sample is stored in pieces, which evalstore does not read",
            place=archive.place_of(chunked),
            hint="convert it: inspect log convert --to json",
        )
    return list(archive.members)


def _read_sample(archive: Archive, name: str) -> Mapping[str, Any] | LoadError:
    with archive.open_member(name) as stream:
        sample = read_item(stream, _SAMPLE_KEYS)
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
