"""The catalogue: every rule is one row, in the module of its area; a change names its rule by id."""

from __future__ import annotations

from collections.abc import Mapping

from evalstore.diff.change import Rule
from evalstore.diff.rules import dataset, judge, jury, kinds, patterns, references, rubric, schemas, shared, text

# The verdict of a rule set never changes: a row that judges otherwise, or one more row, is a set of the next number,
# and this list keeps the numbers that can still be asked for. The last one judges where evalstore.yaml pins none.
RULE_SETS = (1,)

RULES: Mapping[str, Rule] = {
    rule.id: rule
    for area in (shared, rubric, text, patterns, schemas, kinds, references, judge, jury, dataset)
    for rule in area.ROWS
}
