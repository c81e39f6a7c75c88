"""What can be known of artifacts, settings, bundles and rows before scoring; every finding of every file."""

from evalstore.validation.acceptances import Pending
from evalstore.validation.context import Known
from evalstore.validation.rules import RULES, Rule
from evalstore.validation.run import validate
from evalstore.validation.sources import ACCEPTED, Source, file_source, folder_sources, store_sources, text_source

__all__ = [
    "ACCEPTED",
    "RULES",
    "Known",
    "Pending",
    "Rule",
    "Source",
    "file_source",
    "folder_sources",
    "store_sources",
    "text_source",
    "validate",
]
