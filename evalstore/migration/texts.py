"""The texts of artifacts, each in its file; one that the store has, and that says the same, stays as it is."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from evalstore.documents import LINE_LIMIT, digest, read_yaml, write_row, write_yaml
from evalstore.errors import LoadError, RefusedError
from evalstore.migration.fold import same
from evalstore.migration.taken import ArtifactDraft, LegacySource
from evalstore.model import Kind, scoring_part

# A dataset of a larger source keeps its rows in a file beside it: YAML files end at 1 MiB.
_ROWS_FROM = 256 << 10
_ROWS_TO = 64 << 20
_SCHEMA = "# yaml-language-server: $schema=../.evalstore/schema/{}.schema.json\n"
ReadCurrent = Callable[[str], str | None]


class PlannedText(NamedTuple):
    """The text that a file shall have, and the one that it has in the store, if that can be read."""

    new: str
    current: str | None


def build_path(draft: ArtifactDraft) -> str:
    """Return the file of an artifact."""
    return f"{draft.kind}s/{draft.id}.yaml"


def split_artifact(draft: ArtifactDraft, value: dict[str, Any], size: int) -> Iterator[tuple[str, Any]]:
    """Yield the files of an artifact of a source of this size, each with its value; of rows the list."""
    if draft.kind is not Kind.DATASET or size < _ROWS_FROM:
        yield build_path(draft), value
        return
    head = {("rows" if key == "questions" else key): item for key, item in value.items()}
    yield f"datasets/{draft.id}.jsonl", value["questions"]
    yield build_path(draft), head | {"rows": f"{draft.id}.jsonl"}


def render_text(path: str, value: Any, there: str | None) -> PlannedText:
    """Return the text of a file: the one that is there, if it says the same, which costs less than to write it."""
    if path.endswith(".jsonl"):
        return _as_there(_lines(value), there)
    kind = Kind(path.partition("s/")[0])
    return PlannedText(there if there and _says(there, value, kind) else write_yaml(value, header=_SCHEMA.format(kind)), there)


def _lines(rows: Iterable[Any]) -> str:
    """Return the text of rows, or raise `RefusedError` for what could not be read again."""
    lines = [write_row(row) for row in rows]
    sizes = [len(line.encode()) for line in lines]
    if any(size > LINE_LIMIT for size in sizes):
        raise RefusedError(f"one question is larger than {LINE_LIMIT:,} bytes, the limit for one line")
    if sum(sizes) > _ROWS_TO:
        raise RefusedError(f"its questions are larger than {_ROWS_TO:,} bytes, the limit for one file")
    return "".join(lines)


def keep_source_text(legacy: LegacySource, there: str | None) -> PlannedText:
    """Return the text of the source, which has its very bytes."""
    text = f"{chr(0xFEFF) if legacy.document.bom else ''}{legacy.document.text}"
    if hashlib.sha256(text.encode()).hexdigest() != legacy.sha256:
        raise RefusedError("it is not UTF-8 from end to end, so it cannot stay as it is", hint="save it as UTF-8")
    return _as_there(text, there)


def _as_there(new: str, there: str | None) -> PlannedText:
    """Return a text of JSON, or the one that is there with other line ends: git may have written those."""
    if there is not None and there.replace("\r\n", "\n") == new.replace("\r\n", "\n"):
        return PlannedText(there, there)
    return PlannedText(new, there)


def _says(text: str, value: Any, kind: Kind) -> bool:
    with suppress(LoadError):
        old = read_yaml(text, "").value
        return same(old, value) or (kind is not Kind.DATASET and _content(old, kind) == _content(value, kind))
    return False


def _content(value: Any, kind: Kind) -> str | None:
    """Return what makes a rubric or judge the same, whichever source brought it first, unless it keeps a file."""
    with suppress(AttributeError, TypeError):  # of what somebody wrote by hand
        return digest([scoring_part(kind, value), value.get("x_source", {}).get("kept"), value.get("x_unmapped")])
    return None
