"""Finds everything that can be known about artifacts, settings, bundles and rows before scoring."""

from typing import TYPE_CHECKING

from evalstore.lazy_names import import_lazily
from evalstore.lint.rules import VALIDATION_RULES
from evalstore.lint.sources import (
    ACCEPTED,
    ValidationSource,
    find_folder_sources,
    find_store_sources,
    make_file_source,
    make_text_source,
)

if TYPE_CHECKING:
    from evalstore.lint.context import KnownRules, PendingAcceptances
    from evalstore.lint.rubrics import find_obstacles
    from evalstore.lint.run import validate

__all__ = [
    "ACCEPTED",
    "VALIDATION_RULES",
    "KnownRules",
    "PendingAcceptances",
    "ValidationSource",
    "find_folder_sources",
    "find_obstacles",
    "find_store_sources",
    "make_file_source",
    "make_text_source",
    "validate",
]

# Validation needs the check kinds and the schemas; most users of these names do not.
__getattr__ = import_lazily(
    __name__,
    {
        ".context": ("KnownRules", "PendingAcceptances"),
        ".rubrics": ("find_obstacles",),
        ".run": ("validate",),
    },
)
