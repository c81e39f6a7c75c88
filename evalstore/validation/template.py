"""The tags of a judge's template, read as the contract allows them: names, comments, and sections over one name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_TAG = re.compile(r"\{\{\{(?P<bare>.*?)\}\}\}|\{\{(?P<sigil>[#^/!&>=]?)(?P<inner>.*?)\}\}|\{\{", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SECTIONS = frozenset("#^")


class Tag(NamedTuple):
    """One tag: as written, the name it reads (empty when it reads none), and what is wrong with it."""

    written: str
    name: str = ""
    problem: str = ""


def tags_of(template: str) -> Iterator[Tag]:
    """Yield the tags in order; a section that stays open comes last."""
    open_: list[Tag] = []
    for match in _TAG.finditer(template):
        written, sigil = match[0], match["sigil"] or ""
        name = (match["bare"] or match["inner"] or "").strip()
        tag = Tag(written, name)
        if sigil == "!":
            continue
        if written == "{{":
            yield Tag(written, problem="a tag is opened and never closed")
        elif sigil in {"&", ">", "="} or not _NAME.fullmatch(name):
            yield Tag(written, problem=f"{written} is no tag that templates know")
        elif sigil == "/":
            if not open_ or open_.pop().name != name:
                yield Tag(written, problem=f"{written} closes a section that is not open")
        else:
            if sigil in _SECTIONS:
                open_.append(tag)
            yield tag
    for tag in open_:
        yield Tag(tag.written, problem=f"the section {tag.written} is never closed")
