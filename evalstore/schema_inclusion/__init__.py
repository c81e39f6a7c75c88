"""TODO."""

from evalstore.schema_inclusion.compare import (
    TOTAL_STEPS,
    SchemaComparison,
    SchemaRelation,
    compare_schemas,
    find_instances,
)
from evalstore.schema_inclusion.normalization import ANNOTATIONS, find_dialect

__all__ = [
    "ANNOTATIONS",
    "TOTAL_STEPS",
    "SchemaComparison",
    "SchemaRelation",
    "compare_schemas",
    "find_dialect",
    "find_instances",
]
