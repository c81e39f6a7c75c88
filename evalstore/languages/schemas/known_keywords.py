"""Lists the keywords that mean something in any dialect, and finds words that are not keywords."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from evalstore.languages.schemas.guard import Pointer
from evalstore.languages.schemas.subschemas import SCHEMA_MAP_KEYWORDS, iterate_subschemas

# Keywords that describe a schema and never fail a value (Draft 2020-12 Core 8, Validation 9, and
# earlier).
_ANNOTATIONS = frozenset(
    (
        *(
            "$anchor",
            "$comment",
            "$dynamicAnchor",
            "$id",
            "$recursiveAnchor",
            "$schema",
            "$vocabulary",
            "id",
        ),
        *("default", "deprecated", "description", "examples", "readOnly", "title", "writeOnly"),
    )
)
# Read by the keyword next to them.
_COMPANIONS = frozenset(("then", "else", "minContains", "maxContains"))
# `format` is left out: no dialect asserts it unless asked to, and nobody asks here.
_DIALECTS = ("Draft4", "Draft6", "Draft7", "Draft201909", "Draft202012")


@cache
def list_keywords() -> frozenset[str]:
    """Return the keywords that mean something in any dialect."""
    import jsonschema

    dialects = [getattr(jsonschema, f"{name}Validator") for name in _DIALECTS]
    asserted = {keyword for dialect in dialects for keyword in dialect.VALIDATORS}
    return frozenset(asserted | _ANNOTATIONS | _COMPANIONS | {*SCHEMA_MAP_KEYWORDS}) - {"format"}


def find_unread_keywords(schema: Any) -> Iterator[tuple[Pointer, str]]:
    """Yield (pointer, keyword) for `format` and unknown words, save those beginning with `x-`."""
    waiting: list[tuple[Pointer, Any]] = [((), schema)]
    while waiting:
        pointer, part = waiting.pop()
        if not isinstance(part, dict):
            continue
        for keyword in part:
            if keyword not in list_keywords() and not keyword.startswith(("x-", "x_")):
                yield (*pointer, keyword), keyword
        inner = [((*pointer, *steps), item) for steps, item in iterate_subschemas(part)]
        waiting.extend(reversed(inner))
