"""The tags of a judge's template, read as the contract allows them: names, comments, and sections over one name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_TAG = re.compile(r"\{\{\{(?P<bare>.*?)\}\}\}|\{\{(?P<sigil>[#^/!&>=]?)(?P<inner>.*?)\}\}|\{\{", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SECTIONS, _UNKNOWN = frozenset("#^"), frozenset("&>=")


class Tag(NamedTuple):
    """One tag: as written and where, the name it reads (empty when it reads none), and what is wrong with it."""

    written: str
    offset: int
    name: str = ""
    problem: str = ""


def tags_of(template: str) -> Iterator[Tag]:
    """Yield the tags in order; a section that stays open comes last."""
    open_: list[Tag] = []
    for match in _TAG.finditer(template):
        written, sigil = match[0], match["sigil"] or ""
        name = (match["bare"] or match["inner"] or "").strip()
        tag = Tag(written, match.start(), name)
        if sigil == "!":
            continue
        if written == "{{":
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
