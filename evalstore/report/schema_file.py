"""Renders one JSON Schema, as it is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalstore.catalogue.schema_topics import SchemaFile


def text(file: SchemaFile) -> str:
    """Return the schema as JSON: what an editor reads."""
    return json.dumps(file.document, indent=2)


def document(file: SchemaFile) -> Any:
    """Return the schema itself."""
    return file.document
