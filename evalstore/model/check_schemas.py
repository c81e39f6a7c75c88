"""The schemas of the check kinds: which kinds there are, and what a check of each may contain."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from evalstore.places import find_resource_folder

_SUFFIX = ".schema.json"


@cache
def list_check_kinds() -> tuple[str, ...]:
    """Return the check kinds that have a schema."""
    files = (find_resource_folder("schema") / "checks").glob(f"*{_SUFFIX}")
    return tuple(sorted(path.name.removesuffix(_SUFFIX) for path in files))


@cache
def load_check_schema(kind: str) -> Mapping[str, Any]:
    """Return the schema for a check of one of these kinds."""
    file = find_resource_folder("schema") / "checks" / f"{kind}{_SUFFIX}"
    schema: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return schema
