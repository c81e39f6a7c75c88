"""Line ends: which files git keeps with LF though the disk has CRLF, as attributes and settings say; runs no filter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from evalstore.files import open_below, pieces
from evalstore.store.index import find_staged_blobs
from evalstore.store.own import find_settings
from evalstore.store.writing import NAMES

if TYPE_CHECKING:
    from pathlib import Path

    from evalstore.store.store import ArtifactStore

_AUTO = "auto"
# What `text` says, or `crlf`, its name of old; else `eol` does.
_TEXTS = {"set": "always", "input": "always", "unset": "never", _AUTO: _AUTO}
_ATTRIBUTES = ("text", "crlf", "eol")
_ON = frozenset({"true", "yes", "on", "1", "input"})  # values of core.autocrlf


def find_normalized(store: ArtifactStore, paths: Sequence[str]) -> frozenset[str]:
    """Return those of `paths` (from the repository's root) that git would commit with LF for CRLF."""
    top = store.repository.top
    if top is None or not paths:
        return frozenset()
    asked = "".join(f"{path}\0" for path in paths).encode(*NAMES)
    words = ("-C", str(top), f"--work-tree={top}", "check-attr", "--stdin", "-z", *_ATTRIBUTES)
    said = store.git.run(*words, stdin=asked).decode(*NAMES).split("\0")
    default = _AUTO if _autocrlf(store) else "never"
    # Three fields an attribute, and three attributes a path: its name, "text", a value, its name, "crlf", a value …
    values = zip(said[0::9], said[2::9], said[5::9], said[8::9], strict=False)
    how = {path: _how(text, crlf, eol, default) for path, text, crlf, eol in values}
    # What git holds with a CR already it takes for a wish, and a CR alone for no text, unless an attribute says so.
    auto = [path for path in how if how[path] == _AUTO]
    kept = {path for path, blob in find_staged_blobs(store.git, auto).items() if has_carriage_return(store.objects.stream(blob))}
    kept |= {path for path in auto if _has_lone_cr(top, path)}
    return frozenset(path for path in how if how[path] != "never" and path not in kept)


def has_carriage_return(text: Iterable[bytes]) -> bool:
    """Whether a text of any size, in pieces, holds a carriage return."""
    return any(b"\r" in piece for piece in text)


def normalize_line_ends(data: bytes) -> bytes:
    """Return a text with LF for CRLF."""
    return data.replace(b"\r\n", b"\n")


def normalize_pieces(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield a text of any size with LF for CRLF, wherever it was cut."""
    carry = b""
    for piece in pieces:
        whole = carry + piece
        carry = b"\r" if whole.endswith(b"\r") else b""
        yield normalize_line_ends(whole.removesuffix(carry))
    yield carry


def _how(text: str, crlf: str, eol: str, default: str) -> str:
    return _TEXTS.get(text) or _TEXTS.get(crlf) or ("always" if eol in {"lf", "crlf"} else default)


def _has_lone_cr(top: Path, path: str) -> bool:
    with open_below(top, path) as file:
        return has_carriage_return(normalize_pieces(pieces(file)))


def _autocrlf(store: ArtifactStore) -> bool:
    found = find_settings(store.git, "--get-regexp", r"^core\.autocrlf$")
    return bool(found) and found[-1].value.lower() in _ON
