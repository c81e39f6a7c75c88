"""Lists and reads the schemas of what people write, and of what commands return."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evalstore.errors import RefError
from evalstore.model import Kind
from evalstore.places import find_resource_folder
from evalstore.text import find_nearest, make_excerpt

_SUFFIX = ".schema.json"
# Where ai_eval publishes its schemas: each address is mapped to the file's name here.
_AI_EVAL = "https://git.drupalcode.org/project/ai_eval/-/raw/1.0.x/schema"
ALIASES: Mapping[str, str] = {
    f"{_AI_EVAL}/{kind}{_SUFFIX}": kind.value for kind in (Kind.DATASET, Kind.RUBRIC, Kind.JUDGE)
}


@dataclass(frozen=True, slots=True)
class SchemaFile:
    """One schema: its name (`rubric`, `checks/regex`, `output/diff`) and its document."""

    name: str
    document: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SchemaListing:
    """All schemas, by their names."""

    schemas: tuple[SchemaFile, ...]


def list_schema_names() -> list[str]:
    """Return the names: those of files first, then of checks, then of command outputs."""
    folder = find_resource_folder("schema")
    # The base is what the rubric's schema is made from, not a file that anybody writes.
    paths = (path for path in folder.rglob(f"*{_SUFFIX}") if path.parent.name != "base")
    names = (path.relative_to(folder).as_posix().removesuffix(_SUFFIX) for path in paths)
    return sorted(names, key=lambda name: (name.rpartition("/")[0], name))


def list_schemas() -> SchemaListing:
    """Return all schemas."""
    return SchemaListing(tuple(load_schema(name) for name in list_schema_names()))


def load_schema(name: str) -> SchemaFile:
    """Return a schema by its name, by its address at ai_eval, or, for a check, by its kind.

    Raises `RefError` if there is none.
    """
    names, name = list_schema_names(), ALIASES.get(name, name)
    full = next((one for one in (name, f"checks/{name}") if one in names), None)
    if full is None:
        near = find_nearest(name, names)
        raise RefError(
            f"there is no schema {make_excerpt(name)}",
            hint=f"did you mean {near}?"
            if near
            else "list the schemas: evalstore explain --schema",
        )
    text = (find_resource_folder("schema") / f"{full}{_SUFFIX}").read_text("utf-8")
    return SchemaFile(full, json.loads(text))
