"""Schemas are compiled once, never fetched, and never end in a library's exception."""

from __future__ import annotations

import http.server
import threading

import pytest

from evalstore.errors import SchemaError
from evalstore.schemas import compile_schema


def test_every_violation_with_its_pointer() -> None:
    schema = compile_schema({"properties": {"a": {"type": "string"}, "b": {"minimum": 1}}, "required": ["c"]})
    assert {(v.pointer, v.keyword) for v in schema.violations({"a": 1, "b": 0})} == {
        ((), "required"),
        (("a",), "type"),
        (("b",), "minimum"),
    }


@pytest.mark.parametrize(
    "schema",
    [
        {"type": 5},
        {"properties": []},
        {"$ref": 5},
        {"$ref": "http://127.0.0.1:9/x"},
        {"$ref": "file:///etc/passwd"},
        {"items": {"$ref": "other.json"}},
    ],
)
def test_broken_and_remote_schemas_are_refused(schema: dict[str, object]) -> None:
    with pytest.raises(SchemaError):
        compile_schema(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"$ref": "#/$defs/absent"},
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
    ],
)
def test_a_schema_that_cannot_be_applied_says_so(schema: dict[str, object]) -> None:
    with pytest.raises(SchemaError):
        list(compile_schema(schema).violations(1))


def test_no_reference_is_fetched() -> None:
    hits: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            hits.append(self.path)

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{server.server_port}/"
        for schema in ({"$ref": base + "a"}, {"$id": base, "$ref": "b"}, {"$id": base, "allOf": [{"$ref": "c#/d"}]}):
            with pytest.raises(SchemaError):
                list(compile_schema(schema).violations({}))
        server.shutdown()
    assert hits == []
