"""Reads logs of Inspect AI, as an archive (`.eval`) or as one JSON document, as a stream of samples.

The package `inspect_ai` is not used: it unpacks without bounds (130 KB have filled 4 GB), takes twenty times as long
(11 s for 2,000 samples), and brings 79 packages. Both forms of a log hold the same samples.

Only a sample's id, epoch, input, messages, output, error and invalidation are read: never its scores, which may be NaN,
nor its events. The output is what Inspect's own scorers grade: the completion of `output`, else the last message of the
assistant.
"""

from __future__ import annotations

import copy
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from io import RawIOBase
from pathlib import Path
from typing import Any

from evalstore.about import suggest_install
from evalstore.documents import JsonStream
from evalstore.errors import LimitError, LoadError, Place
from evalstore.files import open_user_file
from evalstore.model import Output, OutputEnd
from evalstore.model.outcome import read_output_end
from evalstore.runs.imports.entry import (
    OutputEntry,
    Series,
    describe_unexpected_shape,
    make_entry,
    make_unread_entry,
    read_asked,
    read_id,
    shorten_reason,
)
from evalstore.runs.record_fields import get_mapping
from evalstore.runs.unpack_budget import UnpackBudget
from evalstore.text import make_excerpt

MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
_ZSTD = 93
_VALUE_LIMIT = 16 << 20  # bytes of memory for the text of one value; reading it takes some times as much
_STEPS = 8  # that each byte of an archive may take; logs take about two
_MEMBER_STEPS = 1_000  # to open a member
_MEMBER_LIMIT = 1 << 30  # bytes that one member may unpack to, however large the archive is
_BROKEN = (
    zipfile.BadZipFile,
    struct.error,
    zlib.error,
    EOFError,
    NotImplementedError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
)


class Archive:
    """An open archive: its members by name (of several with one name the last counts), and their content as streams."""

    def __init__(self, file: zipfile.ZipFile, name: str, budget: UnpackBudget) -> None:
        self.name, self._budget = name, budget
        self.members: Mapping[str, zipfile.ZipInfo] = {member.filename: member for member in file.infolist()}
        self._file = file

    @contextmanager
    def open_member(self, member: str) -> Iterator[JsonStream]:
        """Open a member for reading; `LimitError` when the archive takes more steps than its size allows."""
        place = self.place_of(member)
        with ArchiveMember(self._file, self.members[member], place) as source:
            self._budget.spend_steps(_MEMBER_STEPS)
            yield JsonStream(source, place.file, spend=self._budget.spend_steps, limit=_VALUE_LIMIT)

    def place_of(self, member: str) -> Place:
        """Return where a member is, written like a path into the archive."""
        return Place(f"{self.name}/{member}")


class ArchiveMember(RawIOBase):
    """A member's bytes, no more than it announces; `LoadError` where they are damaged or not as announced."""

    def __init__(self, file: zipfile.ZipFile, member: zipfile.ZipInfo, place: Place) -> None:
        self._place, self._announced = place, member
        self._sum, self._read = 0, 0
        self._broken: tuple[type[Exception], ...] = _BROKEN
        with _explain_damage(place, _BROKEN):
            self._source = self._open_zstandard(file) if member.compress_type == _ZSTD else file.open(member)

    def read(self, size: int = -1) -> bytes:
        """Read at most `size` bytes."""
        left = self._announced.file_size - self._read
        with _explain_damage(self._place, self._broken):
            data: bytes = self._source.read(min(size, left + 1) if size >= 0 else left + 1)
        self._read += len(data)
        self._sum = zlib.crc32(data, self._sum)
        ended = size != 0 and not data
        whole = self._read == self._announced.file_size and self._sum == self._announced.CRC
        if self._read > self._announced.file_size or (ended and not whole):
            raise LoadError("is damaged: its content does not match the archive's index", place=self._place)
        return data

    def _open_zstandard(self, file: zipfile.ZipFile) -> Any:
        """Open what `zipfile` cannot unpack, or only without bounds: the packed bytes are read as if merely stored."""
        try:
            import zstandard
        except ImportError:
            raise LoadError(
                "this archive is packed with Zstandard, which is unpacked by an optional package",
                place=self._place,
                hint=f"{suggest_install('inspect')}, or pip install zstandard alone",
            ) from None
        self._broken = (*_BROKEN, zstandard.ZstdError)
        packed = copy.copy(self._announced)
        packed.compress_type, packed.file_size = zipfile.ZIP_STORED, packed.compress_size
        del packed.CRC  # it is that of the unpacked bytes
        return zstandard.ZstdDecompressor().stream_reader(file.open(packed), read_across_frames=True)


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open a zip archive; `LoadError` when it is none or not whole, `LimitError` when it was made to fill memory."""
    with open_user_file(path) as raw:
        with _explain_damage(Place(str(path)), _BROKEN):
            file = zipfile.ZipFile(raw)
        with file:
            size, place = raw.seek(0, 2), Place(str(path))
            budget = UnpackBudget(size, place, steps=_STEPS, advice="convert the log: inspect log convert --to json")
            _check_sizes(file.infolist(), size, place, budget)
            yield Archive(file, str(path), budget)


def _check_sizes(members: list[zipfile.ZipInfo], size: int, place: Place, budget: UnpackBudget) -> None:
    """Refuse an archive by what it announces, before anything of it is unpacked."""
    if any(member.flag_bits & 1 for member in members):
        raise LoadError("this archive is encrypted", place=place)
    packed, unpacked = (sum(getattr(member, key) for member in members) for key in ("compress_size", "file_size"))
    largest = max((member.file_size for member in members), default=0)
    if packed > size or largest > _MEMBER_LIMIT:
        raise LimitError("this archive unpacks to far more than a log can have", place=place)
    budget.spend_bytes(unpacked)


@contextmanager
def _explain_damage(place: Place, broken: tuple[type[Exception], ...]) -> Iterator[None]:
    try:
        yield
    except broken as error:
        raise LoadError(f"cannot be unpacked: {str(error) or 'it is damaged'}", place=place) from None


_SAMPLE_KEYS = frozenset({"id", "epoch", "input", "messages", "output", "error", "invalidation"})
_LOG_VERSIONS = (1, 2)
_STATUS_LENGTH = 40  # characters of a status that no version of Inspect has


def read_sample_entry(sample: Mapping[str, Any], model: str | None, place: Place, number: int) -> OutputEntry:
    """Return one sample as an entry; one that failed or was set aside has no output."""
    id_, epoch = read_id(sample.get("id")), read_id(sample.get("epoch", 1))
    if id_ is None or epoch is None:
        raise describe_unexpected_shape("the `id` or the `epoch` of this sample", place)
    answer = _reason_without_output(sample) or _sample_output(sample, place) or "the model said nothing"
    asked = read_asked(sample.get("input"))
    return make_entry(Series(model, epoch=epoch), id_, number, answer, (asked,) if asked else ())


def _read_entry(sample: Mapping[str, Any], model: str | None, place: Place, number: int) -> OutputEntry:
    """Return one sample as an entry; one of another shape does not keep the others from being read."""
    try:
        return read_sample_entry(sample, model, place, number)
    except LoadError as error:
        return make_unread_entry(error, sample.get("id"))


def check_version(version: Any, place: Place) -> None:
    """Refuse a log of a version that nobody has seen yet."""
    if version not in _LOG_VERSIONS:
        first, last = _LOG_VERSIONS
        raise LoadError(
            f"this log of Inspect AI has version {version!r}, but evalstore reads {first} to {last}",
            place=place,
            hint='write its outputs as lines {"id": "…", "output": "…"}',
        )


def _reason_without_output(sample: Mapping[str, Any]) -> str:
    if sample.get("error"):
        return shorten_reason(get_mapping(sample, "error").get("message"), "it ended in an error")
    return "it was marked invalid" if sample.get("invalidation") else ""


def _sample_output(sample: Mapping[str, Any], place: Place) -> Output | None:
    messages = sample.get("messages") or []
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise describe_unexpected_shape("the `messages` of this sample", place)
    said = (message for message in messages if message.get("role") == "assistant")
    # Those of the input are part of the question, such as the examples of a few-shot prompt.
    replies = [message for message in said if message.get("source") != "input"]
    output = get_mapping(sample, "output")
    text = _completion_text(output, place)
    if text is None and replies:
        text = _message_text(replies[-1].get("content"), place)
    if text is None:
        return None
    return Output(text, tuple(_message_calls(replies, place)) if messages else None, _read_end(output))


def _read_end(output: Mapping[str, Any]) -> OutputEnd | None:
    choices = output.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return read_output_end(first.get("stop_reason")) if isinstance(first, dict) else None


def _completion_text(output: Mapping[str, Any], place: Place) -> str | None:
    choices = output.get("choices")
    if not choices:
        return None
    completion = output.get("completion")
    if completion is None and isinstance(choices, list):
        completion = _message_text(get_mapping(choices[0], "message").get("content"), place)
    if not isinstance(completion, str):
        raise describe_unexpected_shape("the `output` of this sample", place)
    return completion


def _message_text(content: Any, place: Place) -> str:
    """Return the text of a message, whose content is a text or parts of which some are text."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        raise describe_unexpected_shape("the `content` of a message", place)
    texts = [part.get("text") for part in content if part.get("type") == "text"]
    if not all(isinstance(text, str) for text in texts):
        raise describe_unexpected_shape("the `content` of a message", place)
    return "".join(texts)


def _message_calls(messages: list[Mapping[str, Any]], place: Place) -> Iterator[Mapping[str, Any]]:
    for message in messages:
        calls = message.get("tool_calls") or []
        if not isinstance(calls, list):
            raise describe_unexpected_shape("the `tool_calls` of a message", place)
        for call in calls:
            if not isinstance(call, dict) or not isinstance(call.get("function"), str):
                raise describe_unexpected_shape("a call in the `tool_calls` of a message", place)
            arguments = call.get("arguments")
            yield {
                "name": call["function"],
                "args": arguments if isinstance(arguments, dict) else {"arguments": arguments},
            }


SAMPLES_KEY = "samples"


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
                    yield _read_entry(stream.read_fields(_SAMPLE_KEYS), model, place, place.line or 0)
            else:
                stream.skip()
        stream.expect_end()


def read_model_name(spec: dict[str, Any]) -> str | None:
    """Return the model that a log names in its `eval`."""
    return spec["model"] if isinstance(spec.get("model"), str) else None


_WHOLE = "success"
_UNFINISHED = "started"


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
    return make_excerpt(status, _STATUS_LENGTH) if isinstance(status, str) and status != _WHOLE else ""


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
        for number, name in enumerate(filter(_SAMPLE.fullmatch, _require_whole_samples(archive)), 1):
            entry = _read_entry(_read_sample(archive, name), model, archive.place_of(name), number)
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
