"""Finds what can be known of artifacts, settings, bundles and rows before scoring: every finding of every file."""

from evalstore.validation.context import KnownRules, PendingAcceptances
from evalstore.validation.rules import VALIDATION_RULES, ValidationRule
from evalstore.validation.run import find_obstacles, validate
from evalstore.validation.sources import (
    ACCEPTED,
    ValidationSource,
    find_folder_sources,
    find_store_sources,
    make_file_source,
    make_text_source,
)

__all__ = [
    "ACCEPTED",
    "VALIDATION_RULES",
    "KnownRules",
    "PendingAcceptances",
    "ValidationRule",
    "ValidationSource",
    "find_folder_sources",
    "find_obstacles",
    "find_store_sources",
    "make_file_source",
    "make_text_source",
    "validate",
]
