"""Compares JSON Schemas by the JSON that they let through: by proof where there is one, with examples that differ.

>>> old = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 3}}}
>>> compare_schemas(old, {**old, "required": ["n"]})
SchemaComparison(relation=<SchemaRelation.TIGHTENED: 'tightened'>, examples=({},), why='')
>>> compare_schemas({"anyOf": [{"const": 1}, {"const": 2}]}, {"enum": [2, 1]}).relation.value
'equivalent'

`compare_schemas` takes two schemas as plain data; `find_instances` builds small JSON that one schema lets through, and
some that it does not. `find_dialect` and `ANNOTATIONS` are facts of JSON Schema. Nothing else is for use from outside,
and nothing here knows what the answer is for.

What is proved: "same normal form", "equivalent", "tightened" and "loosened" hold for all JSON that keeps within the
limits of the check. "Incomparable" is shown by examples in both directions. Each example was held against the real
validator (`evalstore.schemas`), so no mistake in the search for examples can show in an answer.

What is given up, as "assumed" with the reason: dialects other than 2020-12, 2019-09, draft-07 and draft-06 (and two of
different dialects), keywords of a later dialect and references that lead back (except in schemas of one normal form),
names of parts, more than 1,500 values, too many steps. The prover is sound and not complete: what `unevaluated...`
keywords find in other schemas has no rule, and what no rule sees stays "assumed".

How, a module a step:

    normalization   a schema -> the latest dialect's words, references resolved, annotations and order gone
    constraints     a normal schema -> single demands, all of which must be met; several schemas -> the set of values
    prover          does every value of a set meet a schema? by values, by types, by rules, by cases; example at its top
    numbers, strings, arrays, objects   the rules; patterns are asked of `evalstore.regex_inclusion`
    evaluation      one value against one demand: yes, no or unknown
    examples, negation   builds values that meet one schema and fail another, by each way not to meet a demand
    compare         the order of these, and the answer

Steps, not time: a proof may take 20,000, a search for examples 8,000, and schemas that belong together share
`TOTAL_STEPS` (`evalstore.budget`); a step is some ten microseconds. In theory the worst case is exponential, or more
with all keywords (Bourhis, Reutter, Suarez and Vrgoc 2017), so there is a limit.

Where it comes from: normal forms and rules by type (Habib, Shinnar, Hirzel and Pradel 2021); values that witness a
difference (Attouche, Baazizi, Colazzo, Ghelli, Sartiani and Scherzinger 2022); clauses that subsume each other by their
literals, as in resolution (Robinson 1965).
"""

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
