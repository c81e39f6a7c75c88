"""The names of files that a store keeps as they came: spelled so that every system can hold them, and read back."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from urllib.parse import quote, unquote

RUNS_FOLDER = "runs"
# A path below the store that a kept file may have.
STORED_PATH = re.compile(rf"{RUNS_FOLDER}(?:/[A-Za-z0-9%][A-Za-z0-9_.%-]{{0,250}})+\.(?i:jsonl?|ndjson)", re.ASCII)
# Names that Windows keeps for itself, whatever their ending.
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|\Z)", re.IGNORECASE | re.ASCII)
_ENDING = re.compile(r"(?:_samples)?\.(?:jsonl?|ndjson)\Z", re.IGNORECASE | re.ASCII)


def encode_name(name: str) -> str:
    """Return the name under which a file or folder called `name` is kept; `%` and two digits stand for a byte."""
    plain = quote(name, safe="").replace("~", "%7E")
    if plain[0] in "._-" or _RESERVED.match(plain):
        plain = _percent_encode(plain[0]) + plain[1:]
    return f"{plain[:-1]}%2E" if plain.endswith(".") else plain


def encode_whole_name(name: str) -> str:
    """Return a name that differs from every other by more than capitals: all of it is spelled but its ending."""
    stem = run_stem(name)
    return _percent_encode(stem) + name[len(stem) :]


def run_stem(name: str) -> str:
    """Return the name of the run that a file is of: its own without its ending, and without `_samples`."""
    return _ENDING.sub("", name)


def decode_path(path: str) -> str:
    """Return the path of the file that is kept at `runs/…`, as it came."""
    return "/".join(unquote(part) for part in PurePosixPath(path).parts[1:])


def _percent_encode(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode())
