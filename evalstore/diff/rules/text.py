"""Rules for phrases and letter case (catalogue B)."""

from __future__ import annotations

from evalstore.diff.change import Channel, Rule
from evalstore.diff.deciders import case, phrases
from evalstore.diff.deciders.weights import weightless
from evalstore.diff.direction import LOOSER, STRICTER
from evalstore.diff.laws import BY_CASE, BY_INCLUSION, NEVER, always, rising
from evalstore.versions import Bump

_LISTED = (phrases.redundant, phrases.out_of_reach, phrases.no_minimum, weightless)

ROWS = (
    Rule(
        id="contain-phrase-added",
        number="22",
        artifact="rubric",
        level=Bump.MAJOR,
        law=always(LOOSER),
        channel=Channel.CHECK,
        message="{check} also accepts {item!r}",
        reason="one more way to pass",
        mirror="contain-phrase-removed",
        example="values: [because] → values: [because, so that]",
        deciders=_LISTED,
    ),
    Rule(
        id="contain-phrase-removed",
        number="23",
        artifact="rubric",
        level=Bump.MAJOR,
        law=always(STRICTER),
        channel=Channel.CHECK,
        message="{check} no longer accepts {item!r}",
        reason="one way less to pass",
        mirror="contain-phrase-added",
        example="values: [because, so that] → values: [because]",
        deciders=_LISTED,
    ),
    Rule(
        id="contain-min-matches-changed",
        number="24",
        artifact="rubric",
        level=Bump.MAJOR,
        law=rising(STRICTER),
        channel=Channel.CHECK,
        message="{check} wants {new} of its phrases (was {old})",
        reason="more, or fewer, of the phrases must be there",
        mirror="contain-min-matches-changed",
        example="min_matches: 1 → min_matches: 2",
        deciders=(phrases.out_of_reach, phrases.no_minimum, weightless),
    ),
    Rule(
        id="ban-phrase-added",
        number="25",
        artifact="rubric",
        level=Bump.MAJOR,
        law=always(STRICTER),
        channel=Channel.CHECK,
        message="{check} also bans {item!r}",
        reason="one more way to fail",
        mirror="ban-phrase-removed",
        example="values: [as an ai] → values: [as an ai, simply]",
        deciders=(phrases.redundant, weightless),
    ),
    Rule(
        id="ban-phrase-removed",
        number="26",
        artifact="rubric",
        level=Bump.MAJOR,
        law=always(LOOSER),
        channel=Channel.CHECK,
        message="{check} no longer bans {item!r}",
        reason="one way less to fail",
        mirror="ban-phrase-added",
        example="values: [as an ai, simply] → values: [as an ai]",
        deciders=(phrases.redundant, weightless),
    ),
    Rule(
        id="phrase-reworded",
        number="27",
        artifact="rubric",
        level=Bump.MAJOR,
        law=BY_INCLUSION,
        channel=Channel.CHECK,
        message="{check} looks for {new!r} instead of {old!r}",
        reason="other outputs hold the new wording",
        mirror="phrase-reworded",
        example="values: [cache tags] → values: [cache tag]",
        deciders=(phrases.reworded_alike, phrases.out_of_reach, phrases.no_minimum, weightless),
    ),
    Rule(
        id="phrase-redundant",
        number="28",
        artifact="rubric",
        level=Bump.PATCH,
        law=NEVER,
        channel=Channel.NOTHING,
        message="{check} {came} {item!r}, which decides nothing",
        reason="another listed phrase is part of it",
        mirror="phrase-redundant",
        example="values: [cache] → values: [cache, cache tag]",
    ),
    Rule(
        id="match-case-changed",
        number="30",
        artifact="rubric",
        level=Bump.MAJOR,
        law=BY_CASE,
        channel=Channel.CHECK,
        message="{check} has case_sensitive {new} (was {old})",
        reason="without case, more texts are the same",
        mirror="match-case-changed",
        example="case_sensitive: true → case_sensitive: false",
        deciders=(case.caseless, weightless),
    ),
)
