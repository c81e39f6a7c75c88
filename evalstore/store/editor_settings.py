"""Writes the settings by which editors complete a store's files from its schemas."""

from __future__ import annotations

import json
from collections.abc import Mapping

from evalstore.documents.jsonc import add_members
from evalstore.model import Kind
from evalstore.places import SETTINGS_FILE
from evalstore.store.pipeline_files import read_template

SCHEMAS = ".evalstore/schema"
VS_CODE = ".vscode/settings.json"
JETBRAINS = ".idea/jsonSchemas.xml"
_KEY = "yaml.schemas"
# A schema -> the files that editors complete with it.
MAPPED = {
    **{str(kind): f"{kind.folder}/*.yaml" for kind in Kind},
    "evalstore": SETTINGS_FILE,
    "accepted": ".evalstore/accepted.yaml",
}


def write_vs_code(old: bytes | None, prefix: str) -> bytes:
    """Return VS Code's settings with the schemas of the store at `prefix` (`evals/`).

    Everything else in `old` stays, including comments. Raises `LoadError` or `RefusedError` if
    nothing can be added.
    """
    if old is None or not old.strip():
        return (json.dumps({_KEY: map_schemas(prefix)}, indent=2) + "\n").encode()
    return add_members(old, VS_CODE, (_KEY,), map_schemas(prefix))


def map_schemas(prefix: str) -> Mapping[str, str]:
    """Return which schema completes which files, by paths from the root of the repository."""
    schemas = f"./{prefix}{SCHEMAS}"
    return {f"{schemas}/{name}.schema.json": f"{prefix}{files}" for name, files in MAPPED.items()}


def write_jetbrains(prefix: str) -> bytes:
    """Return the mapping file of JetBrains editors."""
    entry = read_template("jetbrains_entry.xml")
    entries = ""
    for name, files in MAPPED.items():
        schema = f"{prefix}{SCHEMAS}/{name}.schema.json"
        entries += entry.format(name=name, schema=schema, files=f"{prefix}{files}")
    return read_template("jetbrains.xml").format(entries=entries).encode()
