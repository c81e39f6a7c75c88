"""What a document or a schema says, in the words of the fixtures; used by the tests beside it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry
from ruamel.yaml import YAML

SCHEMA = Path(__file__).parents[2] / "schema"


@pytest.fixture(scope="session")
def schema_of() -> Callable[[str], dict[str, Any]]:
    """Read a schema by its name, such as `judge` or `checks/regex`."""

    def read(name: str) -> dict[str, Any]:
        schema: dict[str, Any] = json.loads((SCHEMA / f"{name}.schema.json").read_text(encoding="utf-8"))
        return schema

    return read


@pytest.fixture(scope="session")
def document() -> Callable[[Path], Any]:
    """Read a YAML document."""
    return lambda path: YAML(typ="safe", pure=True).load(path)


@pytest.fixture(scope="session")
def complaints() -> Callable[[dict[str, Any], Any], list[str]]:
    """List what a schema has against a value, one `pointer: message` each, in order."""

    def check(schema: dict[str, Any], value: Any) -> list[str]:
        errors = Draft202012Validator(schema, registry=Registry()).iter_errors(value)
        return sorted(f"{pointer(list(error.absolute_path))}: {error.message}" for error in errors)

    return check


def pointer(path: list[str | int]) -> str:
    return "/" + "/".join(str(step).replace("~", "~0").replace("/", "~1") for step in path)
