"""Compares two JSON Schemas: which lets more JSON through, with JSON that shows it, or why that is not known."""

from evalstore.schema_inclusion.compare import TOTAL_STEPS, Comparison, Relation, compare_schemas, instances_of
from evalstore.schema_inclusion.normalization import ANNOTATIONS, dialect

__all__ = ["ANNOTATIONS", "TOTAL_STEPS", "Comparison", "Relation", "compare_schemas", "dialect", "instances_of"]
