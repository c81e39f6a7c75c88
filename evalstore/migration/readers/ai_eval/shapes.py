"""Compares a file of ai_eval with the schemas here.

It also reads the file's versions, which have two parts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import Any

from evalstore.documents import write_yaml
from evalstore.lint import make_text_source, validate
from evalstore.migration.extraction import VERSION
from evalstore.migration.remainder import encode_value
from evalstore.model import Kind
from evalstore.versions import find_version

_SHAPE = ("check-kind-", "key-missing", "value-")  # validation rules about the shape of a file
_TWO_PARTS = re.compile(r"[0-9]+\.[0-9]+")


def find_shape_error(kind: Kind, value: Mapping[str, Any]) -> tuple[list[str], str] | None:
    """Return the steps to the first error of shape in an artifact, and its message.

    The artifact has no id and no version yet. It is written and validated like any other, which
    keeps the rules of shape in one place.
    """
    text = write_yaml({"id": str(kind), "version": VERSION, **encode_value(value)})
    findings = validate([make_text_source(text.encode())], load=None, today=date.min).findings
    error = next((finding for finding in findings if finding.rule.startswith(_SHAPE)), None)
    return (error.pointer.split("/")[1:], error.message) if error else None


def parse_version(text: str) -> str | None:
    """Return a version of three parts (`1.2` becomes `1.2.0`); None if it is not a version."""
    full = f"{text}.0" if _TWO_PARTS.fullmatch(text) else text
    return full if find_version(full) else None


def read_version(root: Mapping[str, Any]) -> str | None:
    """Return the version that a rubric or judge gives itself.

    Returns None if no reference can find it.
    """
    written = root.get("version")
    return parse_version(written) if isinstance(written, str) else None


def read_names(root: Mapping[str, Any]) -> dict[str, str]:
    """Return the title and the description.

    They are the label and the description of the source.
    """
    names = {"title": root.get("label"), "description": root.get("description")}
    return {key: text for key, text in names.items() if isinstance(text, str)}
