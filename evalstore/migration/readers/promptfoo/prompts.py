"""Finds the first prompt of a configuration, which is what a question asks."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from evalstore.documents import Document, write_canonical
from evalstore.migration.javascript.globs import has_pattern
from evalstore.migration.remainder import encode_value

_FILE = "file://"
_PATH = re.compile(r"(?:file://)?(?:[^\s{}]|\{[^\s{}]+\})+\.(?:txt|md|j2|json|jsonl|yaml|yml)")
_BREAK = re.compile(r"(?m)^---[ \t]*$")


class PromptList(NamedTuple):
    """The first prompt of a configuration as a template, empty for none.

    `has_more` says whether there are more.
    """

    first: str = ""
    has_more: bool = False


def find_prompts(
    raw: Any, load: Callable[[str], Document | None], list_files: Callable[[str], list[str]]
) -> PromptList:
    """Return the prompts of a configuration, without those that code makes.

    `list_files` returns the files that match a pattern.
    """
    items = raw if isinstance(raw, list) else [raw]
    if raw is None:
        items = []
    texts = [text for item in items for text in _list_texts(item, load, list_files)]
    return PromptList(texts[0] if texts else "", len(texts) > 1 or len(items) > 1)


def _list_texts(
    item: Any, load: Callable[[str], Document | None], list_files: Callable[[str], list[str]]
) -> list[str]:
    if isinstance(item, dict):
        item = item.get("raw", item.get("id"))
    if not isinstance(item, str):
        return []
    if not _PATH.fullmatch(item):
        return [] if item.startswith((_FILE, "exec:")) else [item]
    if has_pattern(item) and (files := list_files(item)) != [item]:
        return [text for file in files for text in _read_file(file, load)] or [item]
    return _read_file(item, load)


def _read_file(item: str, load: Callable[[str], Document | None]) -> list[str]:
    document = load(item)
    if document is None:
        return [] if item.startswith(_FILE) else [item]
    if not isinstance(document.value, str):
        return [write_canonical(encode_value(document.value))]
    return [text.strip() for text in _BREAK.split(document.value) if text.strip()]
