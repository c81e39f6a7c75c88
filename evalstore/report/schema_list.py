"""Renders the list of schemas, as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalstore.report.screen import PAPER, Screen
from evalstore.report.text_layout import wrap_columns

if TYPE_CHECKING:
    from evalstore.catalogue.schema_topics import SchemaListing


def text(listing: SchemaListing, screen: Screen = PAPER) -> str:
    """Return a line for each schema, and how to print one."""
    rows = [(file.name, _first_sentence(file.document)) for file in listing.schemas]
    return "\n".join(
        [*wrap_columns(rows, screen.width), "", "evalstore schema NAME prints one; evalstore explain NAME explains it"]
    )


def document(listing: SchemaListing) -> Any:
    """Return the JSON document."""
    return {"schemas": [{"name": file.name, "says": _first_sentence(file.document)} for file in listing.schemas]}


def _first_sentence(schema: Any) -> str:
    return str(schema["description"]).partition(". ")[0].rstrip(".")
