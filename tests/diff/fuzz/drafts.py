"""Rubrics and judges as people write them, for the edits that precision is tuned on."""

from __future__ import annotations

import copy
from collections.abc import Callable
from decimal import Decimal
from random import Random
from typing import Any, NamedTuple

from tests.diff.fuzz.pair import Pair, Value

PHRASES = [
    ["refund", "money back", "reimbursement", "credit note"],
    ["sorry", "we apologise", "apologies"],
    ["cache tag", "#cache", "cache metadata", "max-age"],
    ["according to", "source:", "as stated in"],
    ["dependency injection", "service container", "inject"],
    ["ISO 8601", "UTC", "timezone"],
    ["http", "https://", "www."],
]
BANS = [["as an AI", "language model"], ["guarantee", "guaranteed", "100%"], ["TODO", "FIXME"], ["eval(", "exec("]]
# Patterns as people write them, each with edits of it, and texts that tell some of them apart.
PATTERNS: list[tuple[str, list[str], list[str]]] = [
    (r"\d{4}-\d{2}-\d{2}", [r"\b\d{4}-\d{2}-\d{2}\b", r"[0-9]{4}-[0-9]{2}-[0-9]{2}", r"\d{4}-\d\d-\d\d", r"\d{4}[-/]\d{2}[-/]\d{2}"],
     ["2024-05-01", "x2024-05-01y", "2024/05/01", "12024-05-01", "\u0662\u0660\u0662\u0664-\u0660\u0665-\u0660\u0661"]),
    (r"(yes|no)", [r"(?:yes|no)", r"\b(yes|no)\b", r"yes|no|maybe", r"^(yes|no)", r"(?i)(yes|no)"],
     ["yes", "no", "maybe", "know", "so yes", "YES", "Yes"]),
    (r"\[\d+\]", [r"\[[0-9]+\]", r"\[\d+(,\s*\d+)*\]", r"\[\d{1,3}\]"], ["[1]", "[12, 3]", "[1234]", "[\u0661]", "[]"]),
    (r"error|exception", [r"errors?|exceptions?", r"error|exception|failure", r"\berror\b|exception"],
     ["error", "exception", "failure", "terrors", "errors"]),
    (r"#[a-f0-9]{6}", [r"#[a-fA-F0-9]{6}", r"#[0-9a-f]{6}", r"#(?:[a-f0-9]{3}){1,2}"], ["#00ff00", "#00FF00", "#fff", "#12"]),
    (r"order\s+\w+-\d+", [r"order +\w+-\d+", r"order\s+[A-Z]+-\d+", r"order\s*\w+-\d+"],
     ["order AB-12", "order\nAB-12", "order ab-1", "orderAB-12"]),
    (r"^##? ", [r"^#{1,2} ", r"^#{1,3} ", r"^## "], ["# a", "## a", "### a", "text\n# a"]),
]  # fmt: skip
TOOLS = ["search", "fetch_page", "run_query", "send_mail", "delete_node"]
FACTS = ["Paris", "1889", "Gustave Eiffel", "330 metres", "wrought iron", "Champ de Mars"]
SECTIONS = ["Summary", "Risks", "Next steps", "References"]
TEMPLATE = "Judge the answer.\n\nQuestion: {{ input }}\nAnswer: {{ output }}\n{{#expected}}Reference: {{ expected }}\n{{/expected}}Reply with JSON.\n"
HALF = Decimal("0.5")
BARS = [Decimal(number) / 20 for number in (8, 10, 12, 13, 14, 15, 16, 18)]
WEIGHTS = [HALF, 1, 1, 1, 2, 2, 3, Decimal("1.5")]


class Case(NamedTuple):
    """One edit: its category, both sides, and texts that may tell them apart."""

    category: str
    pair: Pair
    texts: list[str]


class Draft(NamedTuple):
    """A rubric with what it refers to, and texts that its checks tell apart."""

    value: Value
    refs: dict[str, Value]
    texts: list[str]


Edit = Callable[[Random, Draft], None]
Make = Callable[[Random, Draft], Value]


def make_contain(random: Random, _: Draft) -> Value:
    words = random.choice(PHRASES)
    more = {"min_matches": 2} if random.random() < 0.2 else {}
    case = {"case_sensitive": random.random() < 0.5} if random.random() < 0.4 else {}
    return {"kind": "must_contain_any", "values": random.sample(words, random.randint(2, len(words))), **more, **case}


def make_ban(random: Random, _: Draft) -> Value:
    words = random.choice(BANS)
    return {"kind": "must_not_contain", "values": random.sample(words, random.randint(1, len(words)))}


def make_pattern(random: Random, draft: Draft) -> Value:
    pattern, _, texts = random.choice(PATTERNS)
    draft.texts.extend(texts)
    more = {"flags": random.choice(["i", "m"])} if random.random() < 0.3 else {}
    return {"kind": "regex", "pattern": pattern, **more}


def make_schema(random: Random, _: Draft) -> Value:
    properties: dict[str, Any] = {
        "answer": {"type": "string"},
        "score": {"type": "integer", "minimum": 0, "maximum": 10},
        "tags": {"type": "array", "items": {"type": "string"}},
        "status": {"enum": ["open", "closed"]},
        "date": {"type": "string", "format": "date"},
    }
    names = random.sample(list(properties), random.randint(2, 4))
    schema = {
        "type": "object",
        "properties": {name: copy.deepcopy(properties[name]) for name in names},
        "required": names[:2],
    }
    if random.random() < 0.3:
        schema["additionalProperties"] = False
    extract = {"extract": random.choice(["auto", "whole", "fence"])} if random.random() < 0.3 else {}
    return {"kind": "json_schema", "schema": schema, **extract}


def make_markdown(random: Random, _: Draft) -> Value:
    demands = {
        "min_headings": random.randint(1, 3), "required_sections": random.sample(SECTIONS, 2), "no_h1": True,
        "max_heading_level": random.randint(2, 4), "min_code_blocks": 1, "min_paragraphs": 2, "forbidden_patterns": ["TBD", "lorem"],
    }  # fmt: skip
    names = random.sample(list(demands), random.randint(1, 3))
    return {"kind": "markdown_structure", **{name: demands[name] for name in names}}


def make_format(random: Random, _: Draft) -> Value:
    return {
        "kind": "format",
        "format": random.choice(["text", "text", "json"]),
        "max_chars": random.choice([60, 200, 500]),
    }


def make_tools(random: Random, _: Draft) -> Value:
    tools = [{"name": name} for name in random.sample(TOOLS[:4], random.randint(1, 3))]
    if random.random() < 0.4:
        tools[0]["args"] = {"limit": 5}
    check = {"kind": "tool_usage", "tools": tools, **({"partial": True} if random.random() < 0.4 else {})}
    return check | ({"forbidden": ["delete_node"]} if random.random() < 0.4 else {})


def make_facts(random: Random, _: Draft) -> Value:
    bar = {"threshold": random.choice(BARS)} if random.random() < 0.5 else {}
    return {"kind": "fact_match", "facts": random.sample(FACTS, random.randint(2, 5)), **bar}


def make_judged(random: Random, _: Draft) -> Value:
    check: Value = {"kind": "llm_judge", "judge_prompt_ref": "judge/quality@1.0.0"}
    return check | ({"threshold": random.choice(BARS)} if random.random() < 0.5 else {})


def make_composite(_: Random, __: Draft) -> Value:
    return {"kind": "composite", "rubric_ref": "rubric/basics@1.0.0"}


def make_php(_: Random, __: Draft) -> Value:
    return {"kind": "php_lint"}


MAKES: list[Make] = [
    make_contain,
    make_contain,
    make_ban,
    make_pattern,
    make_schema,
    make_markdown,
    make_format,
    make_tools,
    make_facts,
    make_judged,
    make_judged,
    make_php,
    make_composite,
]
COMBINES = ["all_pass", "weighted_avg", "weighted_avg", "weighted_avg", "min", "any_pass", "median", "max"]


def make_judge(random: Random) -> Value:
    """Return a judge as people write it."""
    judge: Value = {
        "id": "quality",
        "version": "1.0.0",
        "template": TEMPLATE,
        "model": {"id": "gpt-x", "temperature": 0},
    }
    how = random.choice(["continuous", "scaled", "binary", "levels", "pattern"])
    if how == "scaled":
        judge |= {"score_type": "continuous", "scale": {"min": random.choice([0, 1]), "max": random.choice([5, 10])}}
    elif how == "binary":
        judge["score_type"] = "binary"
    elif how == "levels":
        judge |= {
            "score_type": "levels",
            "level_names": ["wrong", "partial", "good", "excellent"][: random.choice([2, 3, 4])],
        }
    elif how == "pattern":
        judge |= {"score_type": "continuous", "scale": {"min": 0, "max": 10}, "reply_pattern": r"Score:\s*(\d+)"}
    return judge


def make_draft(random: Random, *makes: Make) -> Draft:
    """Return a rubric of a few checks, those that are asked for among them."""
    judge = make_judge(random)
    inner: Value = {
        "id": "basics", "version": "1.0.0",
        "checks": [{"id": "polite", **make_contain(random, Draft({}, {}, []))}, {"id": "clean", **make_ban(random, Draft({}, {}, []))}],
        "scoring": {"combine": random.choice(["weighted_avg", "all_pass"])},
    }  # fmt: skip
    draft = Draft({"id": "r", "version": "1.0.0"}, {"judge/quality@1.0.0": judge, "rubric/basics@1.0.0": inner}, [])
    chosen = [*makes, *random.choices(MAKES, k=random.randint(max(0, 2 - len(makes)), 3))]
    random.shuffle(chosen)
    checks = [{"id": f"check_{index}", **make(random, draft)} for index, make in enumerate(chosen)]
    scoring: Value = {"combine": random.choice(COMBINES)}
    if scoring["combine"] == "weighted_avg" and random.random() < 0.6:
        scoring["weights"] = {check["id"]: random.choice(WEIGHTS) for check in checks if random.random() < 0.7}
    if random.random() < 0.25:
        scoring["required"] = [random.choice(checks)["id"]]
    if random.random() < 0.5:
        scoring["threshold"] = random.choice(BARS)
    if random.random() < 0.2:
        scoring["errors"] = random.choice(["skip", "zero", "fail"])
    draft.value.update(checks=checks, scoring=scoring)
    return draft


def edit_judge(random: Random, judge: Value) -> None:
    """Edit a judge as people do."""
    edits: list[Callable[[], Any]] = [
        lambda: judge.update(template=judge["template"].replace("Judge the answer.", "Judge the answer strictly.")),
        lambda: judge.update(template=judge["template"].replace("{{ output }}", "{{output}}")),
        lambda: judge.update(template=f"{judge['template']}Be brief.\n"),
        lambda: judge["model"].update(id="gpt-y"), lambda: judge["model"].update(temperature=1), lambda: judge["model"].update(seed=3),
        lambda: judge["model"].update(max_tokens=300), lambda: judge.update(scale={"min": 0, "max": 4}),
        lambda: judge.update(scale={"min": 0, "max": 10}), lambda: judge.update(scale={"min": 1, "max": 5}),
        lambda: judge.update(reply_pattern=r"Score:\s*([0-9]+)"), lambda: judge.update(reply_pattern=r"Score:\s*(\d+(?:\.\d+)?)"),
        lambda: judge.update(reply_pattern=r"(?i)score:\s*(\d+)"), lambda: judge.update(reply_pattern=r"FINAL: (\w+)"),
        lambda: judge.update(validation={"tpr": Decimal("0.9"), "tnr": Decimal("0.9"), "sample_size": 100}),
        lambda: judge.update(title="Quality"), lambda: _edit_levels(random, judge), lambda: _edit_levels(random, judge), lambda: _edit_levels(random, judge),
        lambda: judge.update(applicable_to=["web"]),
    ]  # fmt: skip
    random.choice(edits)()


def _edit_levels(random: Random, judge: Value) -> None:
    names = judge.get("level_names")
    if not names:
        judge["score_type"] = random.choice(["binary", "continuous"])
        if judge["score_type"] == "binary":
            judge.pop("scale", None)
        return
    even = {name: Decimal(place) / (len(names) - 1) for place, name in enumerate(names) if len(names) in {2, 3}}
    how = random.choice(["insert", "rename", "turn", "scores"])
    if how == "insert":
        names.insert(1, "poor")
    elif how == "rename":
        names[0] = "incorrect"
    elif how == "turn":
        names.reverse()
    else:
        judge["level_scores"] = random.choice([even, {**even, names[0]: Decimal("0.1")}]) or dict.fromkeys(names, HALF)
