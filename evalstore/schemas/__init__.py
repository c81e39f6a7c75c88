"""JSON Schema: compiled once, never fetched, counted in steps, answered in plain values; sole user of `jsonschema`."""

from evalstore.schemas.compiled import Schema, compile_schema, engine, find_flaws
from evalstore.schemas.guard import DEPTH, TRUSTED, Guard, Patterns
from evalstore.schemas.result import Flaw, Violation

__all__ = [
    "DEPTH",
    "TRUSTED",
    "Flaw",
    "Guard",
    "Patterns",
    "Schema",
    "Violation",
    "compile_schema",
    "engine",
    "find_flaws",
]
