"""Rules for what regex checks match (catalogue C)."""

from __future__ import annotations

from evalstore.diff.change import ChangeRule, Scope
from evalstore.diff.direction import LOOSER, STRICTER
from evalstore.diff.direction_rules import NEVER, UNKNOWN, fix_direction, rank_words
from evalstore.diff.findings import Certainty
from evalstore.versions import Bump

ROWS = (
    ChangeRule(
        id="regex-pattern-narrowed",
        number="33",
        artifact="rubric",
        level=Bump.MAJOR,
        direction=fix_direction(STRICTER),
        scope=Scope.CHECK,
        message="{check} matches less: {new} (was {old})",
        reason="all outputs that match now matched before, and some that matched do not",
        mirror="regex-pattern-widened",
        example="pattern: 'cim|deploy' → pattern: 'cim'",
        instead="pattern: 'drush (?:cr|cim|cex)' → pattern: 'drush c(?:r|im|ex)' (the same texts match)",
        certainty=Certainty.PROVED,
    ),
    ChangeRule(
        id="regex-pattern-widened",
        number="34",
        artifact="rubric",
        level=Bump.MAJOR,
        direction=fix_direction(LOOSER),
        scope=Scope.CHECK,
        message="{check} matches more: {new} (was {old})",
        reason="all outputs that matched before match now, and some that did not do",
        mirror="regex-pattern-narrowed",
        example="pattern: 'cim' → pattern: 'cim|deploy'",
        instead="pattern: 'drush (?:cr|cim|cex)' → pattern: 'drush c(?:r|im|ex)' (the same texts match)",
        certainty=Certainty.PROVED,
    ),
    ChangeRule(
        id="regex-pattern-equivalent",
        number="35",
        artifact="rubric",
        level=Bump.PATCH,
        direction=NEVER,
        scope=Scope.NOTHING,
        message="{check} says the same with {new} (was {old})",
        reason="both match the same outputs",
        example="pattern: 'cache[ ]tag' → pattern: 'cache tag'",
        certainty=Certainty.PROVED,
    ),
    ChangeRule(
        id="regex-pattern-changed",
        number="36",
        artifact="rubric",
        level=Bump.MAJOR,
        direction=UNKNOWN,
        scope=Scope.CHECK,
        message="{check} has another pattern, {new} (was {old})",
        reason="each matches outputs that the other does not, or nobody knows",
        example="pattern: 'cim' → pattern: 'deploy'",
        instead="pattern: 'cache[ ]tag' → pattern: 'cache tag' (the same texts match)",
        certainty=Certainty.ASSUMED,
    ),
    ChangeRule(
        id="regex-flags-changed",
        number="37",
        artifact="rubric",
        level=Bump.MAJOR,
        direction=UNKNOWN,
        scope=Scope.CHECK,
        message="{check} has flags {new} (was {old})",
        reason="flags change what a pattern matches",
        example="nothing → flags: i",
        instead="pattern: '^\\d+ [%€]$' → pattern: '^\\d+ [%€]$', flags: i (no letters)",
        certainty=Certainty.ASSUMED,
    ),
    ChangeRule(
        id="regex-mode-changed",
        number="38",
        artifact="rubric",
        level=Bump.MAJOR,
        direction=rank_words("search", "match", "fullmatch"),
        scope=Scope.CHECK,
        message="{check} has mode {new} (was {old})",
        reason="the match may lie elsewhere",
        example="nothing → mode: fullmatch",
        instead="pattern: '\\Acim\\Z' → pattern: '\\Acim\\Z', mode: fullmatch (it held on to both ends before)",
    ),
)
