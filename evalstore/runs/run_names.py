"""The names and paths under which a store keeps the files of runs."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from posixpath import normpath
from urllib.parse import quote, unquote

from evalstore.text import is_device_name

RUNS_FOLDER = "runs"
# The paths below the store that a run's file may have.
STORED_PATH = re.compile(
    rf"{RUNS_FOLDER}(?:/[A-Za-z0-9%][A-Za-z0-9_.%-]{{0,250}})+\.(?i:jsonl?|ndjson)", re.ASCII
)
_ENDING = re.compile(r"(?:_samples)?\.(?:jsonl?|ndjson)\Z", re.IGNORECASE | re.ASCII)


def encode_name(name: str) -> str:
    """Return the stored name for `name`: unportable bytes become `%` and two hex digits."""
    plain = quote(name, safe="").replace("~", "%7E")
    if plain[0] in "._-" or is_device_name(plain):
        plain = _percent_encode(plain[0]) + plain[1:]
    return f"{plain[:-1]}%2E" if plain.endswith(".") else plain


def encode_whole_name(name: str) -> str:
    """Return `name` with its stem percent-encoded, so that names differing in case stay apart."""
    stem = strip_run_ending(name)
    return _percent_encode(stem) + name[len(stem) :]


def strip_run_ending(name: str) -> str:
    """Return the run's name: the file's without `.json`/`.jsonl` and without `_samples`."""
    return _ENDING.sub("", name)


def decode_path(path: str) -> str:
    """Return the original path of the file stored at `runs/…`."""
    return "/".join(unquote(part) for part in PurePosixPath(path).parts[1:])


def _percent_encode(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode())


def is_run_path(text: str) -> bool:
    """Whether a text looks like the path of a run's file: no reference has such an ending."""
    return _ENDING.search(text) is not None


def find_stored_path(text: str, root: Path) -> str | None:
    """Return the path below a store of the run that a path names, or None.

    The path may be relative to the store or to the current folder, or absolute.
    """
    if STORED_PATH.fullmatch(path := normpath(text)):
        return path
    here = Path(text).resolve()
    if not is_run_path(text) or not here.is_relative_to(root.resolve()):
        return None
    path = here.relative_to(root.resolve()).as_posix()
    return path if STORED_PATH.fullmatch(path) else None
