"""Writes new YAML files that readers of YAML 1.1 and 1.2 read alike, and proves that each reads back equal."""

from __future__ import annotations

from typing import Any

from evalstore.documents.yaml_reader import read_legacy_yaml, read_yaml
from evalstore.errors import RefusedError


def write_yaml(value: Any, *, header: str = "") -> str:
    """Return `value` as a YAML document after `header` (comment lines); `RefusedError` if it reads back different."""
    text = header + _dump_yaml(value)
    return _require_equal(text, equal=read_yaml(text, "<new file>").value == value)


def write_legacy_yaml(value: Any) -> str:
    """Return `value`, whose keys need not be texts, as a YAML document that `read_legacy_yaml` reads back equal."""
    text = _dump_yaml(value)
    return _require_equal(text, equal=read_legacy_yaml(text, "<new file>").value == value)


def _require_equal(text: str, *, equal: bool) -> str:
    if not equal:
        raise RefusedError("a value cannot be written as YAML without changing it")
    return text


def _dump_yaml(value: Any) -> str:
    from evalstore.documents.yaml_events import format_yaml  # ruamel.yaml is slow to import

    return format_yaml(value)
