"""Rules for what checks look for: texts, patterns, JSON, structure, calls and facts."""

from __future__ import annotations

from evalstore.diff.change import ChangeRule, Scope
from evalstore.diff.deciders.judges import prove_judge_reads
from evalstore.diff.deciders.unmoved import prove_fact_share_unread
from evalstore.diff.direction import LOOSER, STRICTER
from evalstore.diff.direction_rules import (
    BOUND,
    BY_ANSWERS,
    BY_CASE,
    DEMAND,
    FACTS,
    FORMAT,
    MINIMUM,
    TOOLS,
    direct_json_demand,
    fix_direction,
    rank_words,
)
from evalstore.diff.findings import Certainty
from evalstore.versions import Bump

_TEXT_ROWS = (
    ChangeRule(
        id="contain-phrase-added",
        direction=fix_direction(LOOSER),
        scope=Scope.CHECK,
        message="{check} also accepts {item!r}",
        reason="one more way to pass",
        mirror="contain-phrase-removed",
        example="values: [foo] → values: [foo, baz]",
        instead=(
            "values: [cache] → values: [cache, cache tag] (every output with the longer phrase "
            "passed before)"
        ),
    ),
    ChangeRule(
        id="contain-phrase-removed",
        direction=fix_direction(STRICTER),
        scope=Scope.CHECK,
        message="{check} no longer accepts {item!r}",
        reason="one fewer way to pass",
        mirror="contain-phrase-added",
        example="values: [foo, baz] → values: [foo]",
        instead=(
            "values: [cache, cache tag] → values: [cache] (every output with the longer phrase "
            "still passes)"
        ),
    ),
    ChangeRule(
        id="contain-min-matches-changed",
        direction=MINIMUM,
        scope=Scope.CHECK,
        message="{check} wants {new} of its phrases (was {old})",
        reason="an output needs more or fewer of the phrases",
        example="nothing → min_matches: 2",
        instead="min_matches: 2 → min_matches: 3 (more than there are phrases, before and after)",
    ),
    ChangeRule(
        id="ban-phrase-added",
        direction=fix_direction(STRICTER),
        scope=Scope.CHECK,
        message="{check} also bans {item!r}",
        reason="one more way to fail",
        mirror="ban-phrase-removed",
        example="values: [foo] → values: [foo, baz]",
        instead="values: [cache] → values: [cache, Cache tag] (already banned)",
    ),
    ChangeRule(
        id="ban-phrase-removed",
        direction=fix_direction(LOOSER),
        scope=Scope.CHECK,
        message="{check} no longer bans {item!r}",
        reason="one fewer way to fail",
        mirror="ban-phrase-added",
        example="values: [foo, baz] → values: [foo]",
        instead="values: [cache, Cache tag] → values: [cache] (still banned)",
    ),
    ChangeRule(
        id="phrase-reworded",
        direction=BY_ANSWERS,
        scope=Scope.CHECK,
        message="{check} {seeks} {new!r} instead of {old!r}",
        reason="other outputs contain the new wording",
        example="values: [cache tags] → values: [cache tag]",
        instead="values: [Cache] → values: [cache] (case does not count)",
    ),
    ChangeRule(
        id="phrase-redundant",
        level=Bump.PATCH,
        scope=Scope.NOTHING,
        message="{check} {came} {item!r}, which has no effect",
        reason="another listed phrase is part of it",
        example="values: [cache] → values: [cache, cache tag]",
    ),
    ChangeRule(
        id="match-case-changed",
        direction=BY_CASE,
        scope=Scope.CHECK,
        message="{check} has case_sensitive {new} (was {old})",
        reason="ignoring case makes more texts match",
        example="case_sensitive: true → nothing",
        instead=(
            "values: ['#', '42 %'], case_sensitive: true → values: ['#', '42 %'] (texts without "
            "letters)"
        ),
        deciders=(prove_judge_reads,),
    ),
)


_PATTERN_ROWS = (
    ChangeRule(
        id="regex-pattern-narrowed",
        direction=fix_direction(STRICTER),
        scope=Scope.CHECK,
        message="{check} matches less: {new} (was {old})",
        reason="all outputs that match now matched before, and some that matched before do not",
        mirror="regex-pattern-widened",
        example="pattern: 'cim|deploy' → pattern: 'cim'",
        instead=(
            "pattern: 'drush (?:cr|cim|cex)' → pattern: 'drush c(?:r|im|ex)' (the same texts match)"
        ),
        certainty=Certainty.PROVED,
    ),
    ChangeRule(
        id="regex-pattern-widened",
        direction=fix_direction(LOOSER),
        scope=Scope.CHECK,
        message="{check} matches more: {new} (was {old})",
        reason="all outputs that matched before still match, and some more do",
        mirror="regex-pattern-narrowed",
        example="pattern: 'cim' → pattern: 'cim|deploy'",
        instead=(
            "pattern: 'drush (?:cr|cim|cex)' → pattern: 'drush c(?:r|im|ex)' (the same texts match)"
        ),
        certainty=Certainty.PROVED,
    ),
    ChangeRule(
        id="regex-pattern-equivalent",
        level=Bump.PATCH,
        scope=Scope.NOTHING,
        message="{check} has an equivalent pattern, {new} (was {old})",
        reason="both match the same outputs",
        example="pattern: 'cache[ ]tag' → pattern: 'cache tag'",
        certainty=Certainty.PROVED,
    ),
    ChangeRule(
        id="regex-pattern-changed",
        scope=Scope.CHECK,
        message="{check} has another pattern, {new} (was {old})",
        reason="each matches outputs that the other does not, or evalstore cannot tell",
        example="pattern: 'cim' → pattern: 'deploy'",
        instead="pattern: 'cache[ ]tag' → pattern: 'cache tag' (the same texts match)",
        certainty=Certainty.ASSUMED,
    ),
    ChangeRule(
        id="regex-flags-changed",
        scope=Scope.CHECK,
        message="{check} has flags {new} (was {old})",
        reason="flags change what a pattern matches",
        example="nothing → flags: i",
        instead="pattern: '^\\d+ [%€]$' → pattern: '^\\d+ [%€]$', flags: i (no letters)",
        certainty=Certainty.ASSUMED,
    ),
    ChangeRule(
        id="regex-mode-changed",
        direction=rank_words("search", "match", "fullmatch"),
        scope=Scope.CHECK,
        message="{check} has mode {new} (was {old})",
        reason="the match may be somewhere else in the output",
        example="nothing → mode: fullmatch",
        instead=(
            "pattern: '\\Acim\\Z' → pattern: '\\Acim\\Z', mode: fullmatch (already anchored at "
            "both ends)"
        ),
    ),
)

_SCHEMA_ROWS = (
    ChangeRule(
        id="json-schema-tightened",
        direction=direct_json_demand(STRICTER),
        scope=Scope.CHECK,
        message="{check} requires more of the JSON ({keywords})",
        reason="all JSON that passes now passed before, and some that passed before does not",
        mirror="json-schema-loosened",
        example="nothing → required: [route]",
        instead="title: Route → title: The route (title, description and examples decide nothing)",
        certainty=Certainty.PROVED,
    ),
    ChangeRule(
        id="json-schema-loosened",
        direction=direct_json_demand(LOOSER),
        scope=Scope.CHECK,
        message="{check} requires less of the JSON ({keywords})",
        reason="all JSON that passed before still passes, and some more does",
        mirror="json-schema-tightened",
        example="enum: [low, high] → enum: [low, high, urgent]",
        instead="title: Route → title: The route (title, description and examples decide nothing)",
        certainty=Certainty.PROVED,
    ),
    ChangeRule(
        id="json-schema-annotation-changed",
        level=Bump.PATCH,
        scope=Scope.NOTHING,
        message="{check} changes the notation of its schema ({keywords})",
        reason="only notes, order or names of definitions differ, and they decide nothing",
        example="title: Route → title: The route",
        certainty=Certainty.PROVED,
    ),
    ChangeRule(
        id="json-schema-changed",
        scope=Scope.CHECK,
        message="{check} requires different JSON ({keywords})",
        reason="evalstore cannot prove which of the two accepts more",
        example="{enum: [low, high]}}} → {enum: [low, high, urgent]}}, required: [tier]}",
        instead="minLength: 1}} → anyOf: [{type: 'null'} (the same, written differently)",
        certainty=Certainty.ASSUMED,
    ),
)


_STRUCTURE_ROWS = (
    ChangeRule(
        id="php-lint-options-changed",
        direction=rank_words("pass", "fail"),
        scope=Scope.CHECK,
        message="{check} grades an output without PHP code as {new} (was {old})",
        reason="outputs without code get another grade",
        example="on_no_code: pass → on_no_code: fail",
        instead="nothing → on_no_code: pass (it is the default)",
    ),
    ChangeRule(
        id="markdown-requirement-changed",
        direction=DEMAND,
        scope=Scope.CHECK,
        message="{check} {came} the demand {demand}",
        reason="the output must meet one demand more or less",
        example="required_sections: [Usage] → required_sections: [Usage, Limits]",
        instead=(
            "required_sections: [Usage notes] → required_sections: [Usage notes, usage] (one "
            "implies the other)"
        ),
    ),
    ChangeRule(
        id="markdown-bound-changed",
        direction=BOUND,
        scope=Scope.CHECK,
        message="{check} has {name} {new} (was {old})",
        reason="other outputs meet the limit",
        example="min_paragraphs: 1 → min_paragraphs: 2",
        instead="nothing → min_headings: 1 (a required section is a heading)",
    ),
    ChangeRule(
        id="limits-changed",
        scope=Scope.CHECK,
        message="{name} of {check}: {old} → {new}",
        reason="beyond the limit a number fails, and one that was not recorded is unscored",
        example="latency_ms: {max: 900} → latency_ms: {max: 1000}",
        instead="{min: 5, max: 4} → {min: 5, max: 3} (no number is between)",
    ),
    ChangeRule(
        id="format-changed",
        direction=FORMAT,
        scope=Scope.CHECK,
        message="{check} has {name} {new} (was {old})",
        reason="the output must have another format or length",
        example="format: json → format: text",
        instead="format: text} → format: text, min_chars: 1} (text is never empty)",
    ),
    ChangeRule(
        id="tool-required-changed",
        direction=TOOLS,
        scope=Scope.CHECK,
        message="{check} {came} the tool {item}",
        reason="the calls must meet one demand more or less",
        example="tools: [{name: search}] → tools: [{name: search}, {name: read}]",
        instead=(
            "tools: [{name: search}] → tools: [{name: search}, {name: search}] (the same demand, "
            "twice)"
        ),
    ),
    ChangeRule(
        id="tool-constraint-changed",
        direction=TOOLS,
        scope=Scope.CHECK,
        message="{check} has {name} {new} (was {old})",
        reason="the check allows other calls, or another number of them",
        example="nothing → forbidden: [drop]",
        instead="nothing → forbidden: [drop] (in mode exact, which already forbids other calls)",
    ),
    ChangeRule(
        id="tool-order-mode-changed",
        direction=rank_words("any_order", "in_order", "exact"),
        scope=Scope.CHECK,
        message="{check} wants the calls {new} (was {old})",
        reason="the calls must come in another order",
        example="nothing → mode: exact",
        instead="nothing → mode: in_order (one required tool has no order)",
    ),
    ChangeRule(
        id="fact-changed",
        direction=FACTS,
        scope=Scope.CHECK,
        message="the facts that {check} looks for change ({what})",
        reason="the score is the share that is found of another list of facts",
        example="facts: [8 MB] → facts: [8 MB, 30 s]",
        instead=(
            "facts: [8 MB, {id: wait, value: 30 s}] → facts: [{value: 8 MB}, 30 s] (other names, "
            "the same facts)"
        ),
        deciders=(prove_fact_share_unread,),
    ),
)
_TARGET_ROWS = (
    ChangeRule(
        id="target-changed",
        direction=BY_ANSWERS,
        scope=Scope.CHECK,
        message="{check}: {name} {new} (was {old})",
        reason="other outputs equal a target",
        example="targets: [Paris] → targets: [Paris, paris]",
        instead="targets: [4.5], mode: number → targets: ['4.50'], mode: number (the same number)",
    ),
)
ROWS = (*_TEXT_ROWS, *_TARGET_ROWS, *_PATTERN_ROWS, *_SCHEMA_ROWS, *_STRUCTURE_ROWS)
