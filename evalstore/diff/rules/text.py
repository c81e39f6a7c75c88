"""Rules for phrases and letter case (catalogue B)."""

from __future__ import annotations

from evalstore.diff.change import ChangeRule, Scope
from evalstore.diff.deciders.letter_case import prove_caseless, prove_judge_reads
from evalstore.diff.deciders.phrases import prove_no_minimum, prove_out_of_reach, prove_redundant, prove_rewording_equivalent
from evalstore.diff.deciders import phrases
from evalstore.diff.direction import LOOSER, STRICTER
from evalstore.diff.direction_rules import BY_CASE, BY_INCLUSION, NEVER, compare_numbers, fix_direction
from evalstore.versions import Bump

_LISTED = (prove_redundant, prove_out_of_reach, prove_no_minimum)

ROWS = (
    ChangeRule(
        id="contain-phrase-added",
        number="22",
        artifact="rubric",
        level=Bump.MAJOR,
        direction=fix_direction(LOOSER),
        scope=Scope.CHECK,
        message="{check} also accepts {item!r}",
        reason="one more way to pass",
        mirror="contain-phrase-removed",
        example="values: [foo] → values: [foo, baz]",
        instead="values: [cache] → values: [cache, cache tag] (what holds the longer phrase passed before)",
        deciders=_LISTED,
    ),
    ChangeRule(
        id="contain-phrase-removed",
        number="23",
        artifact="rubric",
        level=Bump.MAJOR,
        direction=fix_direction(STRICTER),
        scope=Scope.CHECK,
        message="{check} no longer accepts {item!r}",
        reason="one way less to pass",
        mirror="contain-phrase-added",
        example="values: [foo, baz] → values: [foo]",
        instead="values: [cache, cache tag] → values: [cache] (what holds the longer phrase still passes)",
        deciders=_LISTED,
    ),
    ChangeRule(
        id="contain-min-matches-changed",
        number="24",
        artifact="rubric",
        level=Bump.MAJOR,
        direction=compare_numbers(STRICTER),
        scope=Scope.CHECK,
        message="{check} wants {new} of its phrases (was {old})",
        reason="more, or fewer, of the phrases must be there",
        example="nothing → min_matches: 2",
        instead="min_matches: 2 → min_matches: 3 (more than there are phrases, before and after)",
        deciders=(prove_out_of_reach, prove_no_minimum),
    ),
    ChangeRule(
        id="ban-phrase-added",
        number="25",
        artifact="rubric",
        level=Bump.MAJOR,
        direction=fix_direction(STRICTER),
        scope=Scope.CHECK,
        message="{check} also bans {item!r}",
        reason="one more way to fail",
        mirror="ban-phrase-removed",
        example="values: [foo] → values: [foo, baz]",
        instead="values: [cache] → values: [cache, Cache tag] (it was banned before)",
        deciders=(prove_redundant,),
    ),
    ChangeRule(
        id="ban-phrase-removed",
        number="26",
        artifact="rubric",
        level=Bump.MAJOR,
        direction=fix_direction(LOOSER),
        scope=Scope.CHECK,
        message="{check} no longer bans {item!r}",
        reason="one way less to fail",
        mirror="ban-phrase-added",
        example="values: [foo, baz] → values: [foo]",
        instead="values: [cache, Cache tag] → values: [cache] (it is still banned)",
        deciders=(prove_redundant,),
    ),
    ChangeRule(
        id="phrase-reworded",
        number="27",
        artifact="rubric",
        level=Bump.MAJOR,
        direction=BY_INCLUSION,
        scope=Scope.CHECK,
        message="{check} looks for {new!r} instead of {old!r}",
        reason="other outputs hold the new wording",
        example="values: [cache tags] → values: [cache tag]",
        instead="values: [Cache] → values: [cache] (case does not count)",
        deciders=(prove_rewording_equivalent, prove_out_of_reach, prove_no_minimum),
    ),
    ChangeRule(
        id="phrase-redundant",
        number="28",
        artifact="rubric",
        level=Bump.PATCH,
        direction=NEVER,
        scope=Scope.NOTHING,
        message="{check} {came} {item!r}, which decides nothing",
        reason="another listed phrase is part of it",
        example="values: [cache] → values: [cache, cache tag]",
    ),
    ChangeRule(
        id="match-case-changed",
        number="30",
        artifact="rubric",
        level=Bump.MAJOR,
        direction=BY_CASE,
        scope=Scope.CHECK,
        message="{check} has case_sensitive {new} (was {old})",
        reason="without case, more texts are the same",
        example="case_sensitive: true → nothing",
        instead="values: ['#', '42 %'], case_sensitive: true → values: ['#', '42 %'] (texts without letters)",
        deciders=(prove_caseless, prove_judge_reads),
    ),
)
