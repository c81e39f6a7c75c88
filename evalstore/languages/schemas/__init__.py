"""JSON Schema, compiled once and counted in steps, never fetched; sole user of `jsonschema`."""

from typing import TYPE_CHECKING

from evalstore.lazy_names import import_lazily

if TYPE_CHECKING:
    from evalstore.languages.schemas.compiled import (
        Schema,
        compile_schema,
        compile_shipped_schema,
        describe_engine,
        find_dialect,
        find_flaws,
    )
    from evalstore.languages.schemas.guard import TRUSTED, Flaw, Guard, SchemaPatterns, Violation
    from evalstore.languages.schemas.known_keywords import find_unread_keywords, list_keywords
    from evalstore.languages.schemas.plain_form import make_plain_form
    from evalstore.languages.schemas.predicates import Predicate, compile_predicate
    from evalstore.languages.schemas.subschemas import (
        ANNOTATIONS,
        IDLE_KEYWORDS,
        LOOKING_KEYWORDS,
        SCHEMA_LIST_KEYWORDS,
        SCHEMA_MAP_KEYWORDS,
        SINGLE_SCHEMA_KEYWORDS,
    )
    from evalstore.languages.schemas.untrusted import compile_untrusted, find_untrusted_flaws

__all__ = [
    "ANNOTATIONS",
    "IDLE_KEYWORDS",
    "LOOKING_KEYWORDS",
    "SCHEMA_LIST_KEYWORDS",
    "SCHEMA_MAP_KEYWORDS",
    "SINGLE_SCHEMA_KEYWORDS",
    "TRUSTED",
    "Flaw",
    "Guard",
    "Predicate",
    "Schema",
    "SchemaPatterns",
    "Violation",
    "compile_predicate",
    "compile_schema",
    "compile_shipped_schema",
    "compile_untrusted",
    "describe_engine",
    "find_dialect",
    "find_flaws",
    "find_unread_keywords",
    "find_untrusted_flaws",
    "list_keywords",
    "make_plain_form",
]

# Our own schemas are trusted, and their patterns searched without counting; for most values a
# predicate is enough.
__getattr__ = import_lazily(
    __name__,
    {
        ".compiled": (
            "Schema",
            "compile_schema",
            "compile_shipped_schema",
            "describe_engine",
            "find_dialect",
            "find_flaws",
        ),
        ".guard": ("TRUSTED", "Flaw", "Guard", "SchemaPatterns", "Violation"),
        ".known_keywords": ("find_unread_keywords", "list_keywords"),
        ".plain_form": ("make_plain_form",),
        ".predicates": ("Predicate", "compile_predicate"),
        ".subschemas": (
            "ANNOTATIONS",
            "IDLE_KEYWORDS",
            "LOOKING_KEYWORDS",
            "SCHEMA_LIST_KEYWORDS",
            "SCHEMA_MAP_KEYWORDS",
            "SINGLE_SCHEMA_KEYWORDS",
        ),
        ".untrusted": ("compile_untrusted", "find_untrusted_flaws"),
    },
)
