"""Finds the keywords of a JSON Schema that assert nothing although they look as if they did."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema

from evalstore.schemas.guard import Pointer
from evalstore.schemas.subschemas import SCHEMA_MAP_KEYWORDS, iterate_subschemas

# Keywords that say something about a schema and never fail a value (Draft 2020-12 Core 8, Validation 9, and earlier).
_ANNOTATIONS = frozenset(
    (
        *("$anchor", "$comment", "$dynamicAnchor", "$id", "$recursiveAnchor", "$schema", "$vocabulary", "id"),
        *("default", "deprecated", "description", "examples", "readOnly", "title", "writeOnly"),
    )
)
# Read by the keyword beside them.
_COMPANIONS = frozenset(("then", "else", "minContains", "maxContains"))
_DIALECTS = (
    jsonschema.Draft4Validator,
    jsonschema.Draft6Validator,
    jsonschema.Draft7Validator,
    jsonschema.Draft201909Validator,
    jsonschema.Draft202012Validator,
)
KNOWN_KEYWORDS = (
    frozenset(keyword for dialect in _DIALECTS for keyword in dialect.VALIDATORS)
    | _ANNOTATIONS
    | _COMPANIONS
    | frozenset(SCHEMA_MAP_KEYWORDS)
) - {"format"}


def find_unread_keywords(schema: Any) -> Iterator[tuple[Pointer, str]]:
    """Yield (pointer, keyword) for `format` and for words that are no keyword, save those that begin with `x-`."""
    waiting: list[tuple[Pointer, Any]] = [((), schema)]
    while waiting:
        pointer, part = waiting.pop()
        if not isinstance(part, dict):
            continue
        for keyword in part:
            if keyword not in KNOWN_KEYWORDS and not keyword.startswith(("x-", "x_")):
                yield (*pointer, keyword), keyword
        inner = [((*pointer, *steps), item) for steps, item in iterate_subschemas(part)]
        waiting.extend(reversed(inner))
