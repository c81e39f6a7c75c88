"""Rules for what json_schema checks ask of JSON (catalogue D)."""

from __future__ import annotations

from evalstore.diff.change import ChangeRule, Scope
from evalstore.diff.direction import LOOSER, STRICTER
from evalstore.diff.direction_rules import NEVER, UNKNOWN, direct_json_demand
from evalstore.diff.findings import Certainty
from evalstore.versions import Bump

ROWS = (
    ChangeRule(
        id="json-schema-tightened",
        number="39",
        artifact="rubric",
        level=Bump.MAJOR,
        direction=direct_json_demand(STRICTER),
        scope=Scope.CHECK,
        message="{check} asks more of the JSON ({keywords})",
        reason="all JSON that passes now passed before, and some that passed does not",
        mirror="json-schema-loosened",
        example="nothing → required: [route]",
        instead="title: Route → title: The route (title, description and examples are read by nobody)",
        certainty=Certainty.PROVED,
    ),
    ChangeRule(
        id="json-schema-loosened",
        number="40",
        artifact="rubric",
        level=Bump.MAJOR,
        direction=direct_json_demand(LOOSER),
        scope=Scope.CHECK,
        message="{check} asks less of the JSON ({keywords})",
        reason="all JSON that passed before passes now, and some that did not does",
        mirror="json-schema-tightened",
        example="enum: [low, high] → enum: [low, high, urgent]",
        instead="title: Route → title: The route (title, description and examples are read by nobody)",
        certainty=Certainty.PROVED,
    ),
    ChangeRule(
        id="json-schema-annotation-changed",
        number="41",
        artifact="rubric",
        level=Bump.PATCH,
        direction=NEVER,
        scope=Scope.NOTHING,
        message="{check} has its schema written otherwise ({keywords})",
        reason="nothing that decides differs: notes, order and the names of definitions are not read",
        example="title: Route → title: The route",
        certainty=Certainty.PROVED,
    ),
    ChangeRule(
        id="json-schema-changed",
        number="42",
        artifact="rubric",
        level=Bump.MAJOR,
        direction=UNKNOWN,
        scope=Scope.CHECK,
        message="{check} asks for other JSON ({keywords})",
        reason="the old demand and the new one cannot be compared",
        example="{enum: [low, high]}}} → {enum: [low, high, urgent]}}, required: [tier]}",
        instead="minLength: 1}} → anyOf: [{type: 'null'} (the same said otherwise)",
        certainty=Certainty.ASSUMED,
    ),
)
