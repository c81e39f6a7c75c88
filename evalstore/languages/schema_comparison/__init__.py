"""Compares JSON Schemas by the JSON that they accept: by keywords, with examples that differ.

>>> old = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 3}}}
>>> compare_schemas(old, {**old, "required": ["n"]})
SchemaComparison(relation=<SchemaRelation.TIGHTENED: 'tightened'>, examples=({},), why='')
>>> compare_schemas({"type": "number", "multipleOf": 1}, {"type": "integer"}).relation.value
'equivalent'

`compare_schemas` takes two schemas as plain data; `find_instances` builds small JSON values that a
schema accepts, and some that it does not. `ANNOTATIONS` is a fact about JSON Schema. Nothing else
is for use from outside, and nothing here knows what the answer is for.

What is claimed: "same normal form" and "equivalent" hold for all JSON, the limits of the check
included: two schemas that its limit of steps may separate are "assumed" to differ. "Tightened" and
"loosened" hold for all JSON that keeps within the limits. "Incomparable" is shown by examples in
both directions. Each example was checked by the real validator (`evalstore.languages.schemas`), so
no mistake in the search for examples can affect an answer.

What is given up as "assumed", with the reason: dialects other than 2020-12, 2019-09, draft-07 and
draft-06 (and two of different dialects), keywords of a later dialect and references that lead back
(except in schemas of one normal form), names of parts, more than 1,500 values, too many steps. The
table knows the everyday keywords one by one, and does not see what several say together.

How, one module per step:

    dialects        a schema of an older dialect in the words of the latest
    normalization   references resolved, annotations and order removed; in its own words, or in the
                    latest dialect's
    pattern_texts   texts that one pattern is found in and another is not, from
                    `pattern_comparison`
    monotony        keyword -> which way an edit of it moves what is accepted: a direction of the
                    whole schema
    examples        small values near what differs
    compare         the order of these, and the answer

Steps, not time: schemas that belong together share a budget (`evalstore.budget`).
"""

from evalstore.languages.schema_comparison.compare import (
    SchemaComparison,
    SchemaRelation,
    compare_schemas,
    find_instances,
)
from evalstore.languages.schemas import ANNOTATIONS

__all__ = [
    "ANNOTATIONS",
    "SchemaComparison",
    "SchemaRelation",
    "compare_schemas",
    "find_instances",
]
