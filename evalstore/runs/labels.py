"""Whether a record of Every Eval Ever has the shape that its label promises; reads no file.

Records are read by their shape, never by their label: one label has stood for up to four contents, and records in the
wild carry labels that they do not fit. A label is contradicted by a trait that nothing published under it has.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from evalstore.runs.traits import AGGREGATE_TRAITS, ROW_TRAITS, VERSIONS, Record, VersionTrait
from evalstore.text import make_excerpt

# Labels are spelled with and without the prefix, and drafts of the format left out the patch.
_LABEL = re.compile(r"(?:instance_level_eval_)?v?([0-9]\.[0-9])(\.[0-9])?", re.ASCII)


@lru_cache(maxsize=32)
def label_version(label: str) -> str | None:
    """Return the version that a label names, however it is spelled; None for one that was never published."""
    found = _LABEL.fullmatch(label)
    version = f"{found[1]}{found[2] or '.0'}" if found else None
    return version if version in VERSIONS else None


def find_row_doubt(row: Record) -> str:
    """Say where a row contradicts its label, or nothing; a row without a label claims nothing."""
    return _find_doubt(row, _FOREIGN_TO_ROWS)


def find_aggregate_doubt(record: Record) -> str:
    """Say where an aggregate contradicts its label, or nothing."""
    return _find_doubt(record, _FOREIGN_TO_AGGREGATES)


def _find_doubt(record: Record, foreign: Mapping[str, tuple[VersionTrait, ...]]) -> str:
    label = record.get("schema_version")
    if label is None:
        return ""
    version = label_version(label) if isinstance(label, str) else None
    if version is None:
        return f"labelled {make_excerpt(str(label), 60)}, which was never published"
    found = next((trait for trait in foreign[version] if trait.holds(record)), None)
    return f"labelled {label}, but {found.words}, as {found.when}" if found else ""


def _traits_outside_version(traits: tuple[VersionTrait, ...]) -> Mapping[str, tuple[VersionTrait, ...]]:
    """Return for each version the traits that nothing published under it has."""
    return {version: tuple(trait for trait in traits if version not in trait.span) for version in VERSIONS}


_FOREIGN_TO_ROWS = _traits_outside_version(ROW_TRAITS)
_FOREIGN_TO_AGGREGATES = _traits_outside_version(AGGREGATE_TRAITS)
