"""Line ends: which files git keeps with LF though the disk has CRLF, as attributes and settings say; runs no filter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from evalstore.store.index import staged
from evalstore.store.own import find_settings
from evalstore.store.writing import NAMES

if TYPE_CHECKING:
    from evalstore.store.store import Store

_AUTO = "auto"
_TEXTS = {"set": "always", "input": "always", "unset": "never", _AUTO: _AUTO}  # what `text` says; else `eol` does
_ON = frozenset({"true", "yes", "on", "1", "input"})  # values of core.autocrlf


def find_cleaned(store: Store, paths: Sequence[str]) -> frozenset[str]:
    """Return those of `paths` (from the repository's root) that git would commit with LF for CRLF."""
    top = store.repository.top
    if top is None or not paths:
        return frozenset()
    asked = "".join(f"{path}\0" for path in paths).encode(*NAMES)
    words = ("-C", str(top), f"--work-tree={top}", "check-attr", "--stdin", "-z", "text", "eol")
    said = store.git.run(*words, stdin=asked).decode(*NAMES).split("\0")
    default = _AUTO if _autocrlf(store) else "never"
    # Three fields an attribute, and two attributes a path: its name, "text", a value, its name, "eol", a value.
    how = {path: _how(text, eol, default) for path, text, eol in zip(said[0::6], said[2::6], said[5::6], strict=False)}
    # What git holds with a CR already it takes for a wish, unless an attribute says that it is text.
    held = staged(store.git, [path for path in how if how[path] == _AUTO])
    kept = {path for path, blob in held.items() if any(b"\r" in piece for piece in store.batch.stream(blob))}
    return frozenset(path for path in how if how[path] != "never" and path not in kept)


def clean(data: bytes) -> bytes:
    """Return a text with LF for CRLF."""
    return data.replace(b"\r\n", b"\n")


def cleaned_pieces(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield a text of any size with LF for CRLF, wherever it was cut."""
    carry = b""
    for piece in pieces:
        whole = carry + piece
        carry = b"\r" if whole.endswith(b"\r") else b""
        yield clean(whole.removesuffix(carry))
    yield carry


def _how(text: str, eol: str, default: str) -> str:
    return _TEXTS.get(text) or ("always" if eol in {"lf", "crlf"} else default)


def _autocrlf(store: Store) -> bool:
    found = find_settings(store.git, "--get-regexp", r"^core\.autocrlf$")
    return bool(found) and found[-1].value.lower() in _ON
