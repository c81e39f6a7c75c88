"""Finds and opens the files of a run: its aggregate and its rows."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from evalstore.documents import JsonStream, read_row
from evalstore.errors import EvalstoreError, LoadError, Place
from evalstore.files import BLOCK, open_user_file
from evalstore.runs.packed import open_unpacked
from evalstore.runs.record_fields import get_mapping
from evalstore.runs.row_formats import ROW_FORMATS, read_lines
from evalstore.runs.run_names import encode_name
from evalstore.runs.spans import OutputSpan
from evalstore.text import make_excerpt

_EMBEDDED = "detailed_evaluation_results_per_samples"
_LOOKED_AT, _SHOWN = 200, 3  # the most aggregates of a folder that are read, and named
_PLAIN = re.compile(rf"[^/\\\x00]+(?:{'|'.join(map(re.escape, ROW_FORMATS))})")


def read_aggregate(path: Path) -> dict[str, Any]:
    """Read an aggregate without its embedded samples, which become an empty list."""
    record: dict[str, Any] = {}
    with open_unpacked(path) as file:
        stream = JsonStream(file, str(path))
        for key in stream.iterate_members():
            if key in record:
                raise LoadError(f"duplicate key '{make_excerpt(key, 60)}'", place=stream.locate())
            if key == _EMBEDDED and stream.peek() == "[":
                stream.skip()
                record[key] = []
            else:
                record[key] = stream.read()
        stream.expect_end()
    return record


def find_rows_file(record: Mapping[str, Any], path: Path) -> Path:
    """Return the file with an aggregate's rows, in the same folder; `path` if they are embedded.

    evalstore's own aggregates name their file; those of other tools name a path elsewhere, of which
    only the last part is used. Raises `LoadError` for a link: the user named the aggregate, not the
    target of a link beside it.
    """
    found = _locate_row_file(record, path)
    if found != path and found.is_symlink():
        raise LoadError("is a link, but the rows of a run must be a file", place=Place(str(found)))
    return found


def _locate_row_file(record: Mapping[str, Any], path: Path) -> Path:
    if isinstance(record.get(_EMBEDDED), list):
        return path
    details = get_mapping(record.get("eval_library"), "additional_details")
    if "evalstore_samples" in details:
        return path.with_name(_check_name(details["evalstore_samples"]))
    usual = [path.with_name(f"{path.stem}_samples{suffix}") for suffix in ROW_FORMATS]
    named = get_mapping(record, "detailed_evaluation_results").get("file_path")
    name = PurePosixPath(named).name if isinstance(named, str) else ""
    beside = (
        [path.with_name(one) for one in dict.fromkeys([name, encode_name(name)])]
        if _PLAIN.fullmatch(name)
        else []
    )
    return next(filter(is_existing_file, [*beside, *usual]), usual[0])


def require_rows_file(aggregate: Path, rows: Path) -> Path:
    """Return the file with an aggregate's rows; raises `LoadError` if it does not exist."""
    if not is_existing_file(rows):
        raise LoadError(
            "the rows of this run are not next to it",
            place=Place(str(aggregate)),
            hint=f"put {rows.name} there",
        )
    return rows


def find_aggregate(path: Path) -> Path:
    """Return the aggregate of a run named by its rows or its folder; other paths as they are.

    It is in the folder of the rows, and names them. Raises `LoadError` if there is none, or if a
    folder has no run or several.
    """
    if path.is_dir():
        return _find_only_run(path)
    if path.suffix not in ROW_FORMATS or not is_existing_file(path):
        return path
    usual = [
        path.with_name(f"{stem}.json") for stem in (path.stem.removesuffix("_samples"), path.stem)
    ]
    others = sorted(path.parent.glob("*.json"))[:_LOOKED_AT]
    for candidate in dict.fromkeys([*usual, *others]):
        with suppress(EvalstoreError, AttributeError, KeyError, TypeError, ValueError):
            if (
                not candidate.is_symlink()
                and _locate_row_file(read_aggregate(candidate), candidate) == path
            ):
                return candidate
    raise LoadError(
        "these are rows without an aggregate that names them",
        place=Place(str(path)),
        hint="name the run by its aggregate JSON; evalstore score grades bare outputs",
    )


def _find_only_run(folder: Path) -> Path:
    found = list(islice(_list_runs(folder), _SHOWN + 1))
    if len(found) == 1:
        return found[0]
    place = Place(str(folder))
    if not found:
        raise LoadError(
            "is a folder without a run", place=place, hint="a run is named by its JSON file"
        )
    names = [make_excerpt(path.name, 60) for path in found[:_SHOWN]] + ["…"] * (len(found) > _SHOWN)
    raise LoadError(
        "is a folder with more than one run",
        place=place,
        hint=f"name one of them: {', '.join(names)}",
    )


def _list_runs(folder: Path) -> Iterator[Path]:
    """Yield the aggregates in a folder, by name; no link is followed."""
    for path in sorted(folder.glob("*.json"))[:_LOOKED_AT]:
        with suppress(EvalstoreError):
            if not path.is_symlink() and isinstance(
                read_aggregate(path).get("evaluation_results"), list
            ):
                yield path


def is_existing_file(path: Path) -> bool:
    """Whether `path` is a file; False for a name that the system does not allow."""
    with suppress(OSError):
        return path.is_file()
    return False


def read_embedded_samples(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield (line, sample) for each embedded sample, streamed, with the aggregate's `model_id`."""
    model = get_mapping(read_aggregate(path), "model_info").get("id")
    with open_unpacked(path) as file:
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


def _check_name(name: Any) -> str:
    if not isinstance(name, str) or not _PLAIN.fullmatch(name):
        raise ValueError(f"'{make_excerpt(str(name))}' is not a file next to it")
    return name


def read_json_objects(
    path: Path, span: OutputSpan | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number, object) for every line that is not blank.

    Raises `LoadError` at file:line for a line that is not a JSON object.
    """
    file = str(path)
    lines = read_lines(path, span)
    return ((number, parse_json_object(line, Place(file, number))) for number, line in lines)


def parse_json_object(line: bytes, place: Place) -> dict[str, Any]:
    """Parse a line as a JSON object; raises `LoadError` at its place if it is not one."""
    value = read_row(line, place.file, place.line or 0)
    if not isinstance(value, dict):
        raise LoadError("a line is one JSON object", place=place)
    return value


def compute_file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hex."""
    found = hashlib.sha256()
    with open_user_file(path) as file:
        while block := file.read(BLOCK):
            found.update(block)
    return found.hexdigest()
