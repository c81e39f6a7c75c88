"""The tags of a judge's template, read as the contract allows them: names, comments, and sections over one name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SECTIONS, _UNKNOWN = frozenset("#^"), frozenset("&>=")


class Tag(NamedTuple):
    """One tag: as written, its number among all, the name it reads (empty: none), and what is wrong with it."""

    written: str
    number: int
    name: str = ""
    problem: str = ""


def tags_of(template: str) -> Iterator[Tag]:
    """Yield the tags in order, without comments; sections that stay open come last."""
    open_: list[Tag] = []
    for number, start in enumerate(starts(template)):
        written = _written(template, start)
        sigil, name = _parts(written)
        tag = Tag(written, number, name)
        if sigil == "!":
            continue
        if not written.endswith("}}"):
            yield tag._replace(problem="a tag is opened and never closed")
        elif sigil in _UNKNOWN or not _NAME.fullmatch(name):
            yield tag._replace(problem=f"{written} is no tag that templates know")
        elif sigil == "/":
            if not open_ or open_.pop().name != name:
                yield tag._replace(problem=f"{written} closes a section that is not open")
        else:
            open_ += [tag] if sigil in _SECTIONS else []
            yield tag
    for tag in open_:
        yield tag._replace(problem=f"the section {tag.written} is never closed")


def starts(template: str) -> Iterator[int]:
    """Yield where the tags begin; nothing is looked for behind one that is never closed."""
    start = template.find("{{")
    while start >= 0:
        yield start
        end = template.find(_close(template, start), start)
        start = template.find("{{", end) if end >= 0 else -1


def _close(template: str, start: int) -> str:
    return "}}}" if template.startswith("{{{", start) else "}}"


def _written(template: str, start: int) -> str:
    close = _close(template, start)
    end = template.find(close, start)
    return template[start : end + len(close)] if end >= 0 else template[start : start + 2]


def _parts(written: str) -> tuple[str, str]:
    if written.startswith("{{{"):
        return "", written[3:-3].strip()
    inner = written[2:-2]
    sigil = inner[:1] if inner[:1] in {"#", "^", "/", "!", "&", ">", "="} else ""
    return sigil, inner[len(sigil) :].strip()
