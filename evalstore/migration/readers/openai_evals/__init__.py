"""Reads OpenAI's evals: a registry's file with samples, and what the hosted service gave back."""

from __future__ import annotations

from evalstore.migration.extraction import Extraction, LegacySource
from evalstore.migration.readers.openai_evals.hosted import read_criteria, read_items
from evalstore.migration.readers.openai_evals.registry import read_registry
from evalstore.migration.table import FormatTable

COMPANIONS = True


def read(legacy: LegacySource, table: FormatTable) -> Extraction:
    """Read a file of OpenAI's evals: a registry's questions, or a hosted eval's rubric or items."""
    root = legacy.document.value
    if isinstance(root, list):
        return read_items(root, ())
    if "testing_criteria" in root:
        return read_criteria(root, table)
    return read_items(root["data"], ("data",)) if "data" in root else read_registry(legacy, table)
