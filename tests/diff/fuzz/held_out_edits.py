"""A second set of realistic edits, by other words, shapes and habits: nothing is tuned on it, its figures are only read."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from decimal import Decimal
from random import Random
from typing import Any

from tests.diff.fuzz.drafts import Case
from tests.diff.fuzz.pair import Pair, Value

_JUDGES: list[Value] = [
    {"template": "Rate from 1 to 5.\n{{ output }}", "scale": {"min": 1, "max": 5}},
    {"template": "Is it right? {{ output }} / {{ expected }}", "score_type": "binary"},
    {"template": "How strong? {{ output }}", "score_type": "levels", "level_names": ["weak", "partial", "strong"]},
    {"template": "Rate: {{ output }}", "scale": {"min": 0, "max": 10}, "reply_pattern": r"[Rr]ating[:=]\s*([0-9]+)"},
    {"template": "Score the tone. {{ output }} {{ criterion }}", "variables": ["criterion"]},
]
_INVOICE: Value = {
    "type": "object",
    "properties": {
        "total": {"type": "number", "minimum": 0},
        "currency": {"type": "string", "minLength": 3, "maxLength": 3},
        "lines": {
            "type": "array",
            "minItems": 1,
            "items": {"type": "object", "required": ["sku"], "properties": {"sku": {"type": "string"}}},
        },
        "paid": {"type": "boolean"},
    },
    "required": ["total", "currency"],
}


def _support() -> list[Value]:
    return [
        {"id": "greets", "kind": "must_contain_any", "values": ["Hello", "Hi there", "Good morning"]},
        {"id": "no_promises", "kind": "must_not_contain", "values": ["I promise", "always works"]},
        {"id": "ticket", "kind": "regex", "pattern": r"TICKET-[0-9]{3,6}", "flags": "i"},
        {"id": "short", "kind": "format", "format": "text", "min_chars": 10, "max_chars": 300},
        {
            "id": "tone",
            "kind": "llm_judge",
            "judge_prompt_ref": "judge/tone@2.0.0",
            "variables": {"criterion": "calm"},
            "threshold": Decimal("0.6"),
        },
    ]


def _invoice() -> list[Value]:
    return [
        {"id": "shape", "kind": "json_schema", "schema": copy.deepcopy(_INVOICE), "extract": "auto"},
        {"id": "euro", "kind": "must_contain_any", "values": ["EUR", "euro", "\u20ac"], "case_sensitive": True},
        {"id": "numbers", "kind": "regex", "pattern": r"\d+([.,]\d{2})?\s?(EUR|USD)"},
    ]


def _agent() -> list[Value]:
    return [
        {"id": "route", "kind": "tool_usage", "tools": [{"name": "plan"}, {"name": "lookup", "min": 1, "max": 3}, {"name": "answer"}], "mode": "in_order", "partial": True, "threshold": Decimal("0.5")},
        {"id": "safe", "kind": "tool_usage", "tools": [{"name": "lookup", "args": {"db": "prod"}}], "forbidden": ["drop_table"]},
        {"id": "says", "kind": "must_contain_any", "values": ["done", "finished", "completed"], "min_matches": 1},
        {"id": "facts", "kind": "fact_match", "facts": ["12 rows", "table users", "no errors", "in 3 s"], "threshold": Decimal("0.75")},
    ]  # fmt: skip


def _article() -> list[Value]:
    return [
        {
            "id": "layout",
            "kind": "markdown_structure",
            "min_headings": 2,
            "required_sections": ["Background", "Method"],
            "max_heading_level": 3,
        },
        {
            "id": "paragraphs",
            "kind": "markdown_structure",
            "min_paragraphs": 2,
            "forbidden_patterns": ["???"],
            "dialect": "lines",
        },
        {"id": "cites", "kind": "regex", "pattern": r"\((?:[A-Z][a-z]+), (19|20)\d\d\)"},
        {"id": "clean", "kind": "must_not_contain", "values": ["FIXME", "XXX"], "case_sensitive": True},
        {
            "id": "grade",
            "kind": "llm_judge",
            "judge_prompt_ref": "judge/tone@2.0.0",
            "variables": {"criterion": "calm"},
        },
        {"id": "basics", "kind": "composite", "rubric_ref": "rubric/style@3.0.0"},
    ]


def _code() -> list[Value]:
    return [
        {"id": "lints", "kind": "php_lint", "on_no_code": "fail"},
        {
            "id": "uses_di",
            "kind": "must_contain_any",
            "values": ["__construct", "ContainerInterface", "create("],
            "case_sensitive": True,
        },
        {"id": "no_static", "kind": "regex", "pattern": r"\\Drupal::", "negate": True},
        {"id": "explains", "kind": "format", "min_chars": 30, "max_chars": 4000, "format": "text"},
        {"id": "facts", "kind": "fact_match", "facts": ["hook_help", "routing.yml"]},
    ]


_TEXTS = [
    "Hello", "I promise", "TICKET-123", "ticket-1234567", "TICKET-12", "12,50 EUR", "12.5 USD", "3EUR", "EUR", "euro", "(Smith, 1999)", "(smith, 2001)",
    "(Smith 1999)", "FIXME", "fixme", "\\Drupal::service", "__construct", "hook_help", "12 rows", "table users", "no errors", "## Background\n\ntext\n\n## Method\n\nmore",
    "Background: a", "done", "Ticket-123", "TICKET-\u0661\u0662\u0663", "Hi there, TICKET-12345 is done", "xTICKET-123x",
]  # fmt: skip
_RUBRICS = [_support, _invoice, _agent, _article, _code]
_NUMBERS = [Decimal(number) / 100 for number in (25, 33, 40, 50, 60, 65, 70, 75, 80, 90, 95)]


def _draw_rubric(random: Random, kind: str = "") -> tuple[Value, dict[str, Value]]:
    """Return one of the rubrics with a part of its checks, one of this kind among them."""
    while True:
        checks = random.choice(_RUBRICS)()
        checks = random.sample(checks, random.randint(2, len(checks)))
        if not kind or any(check["kind"] == kind for check in checks):
            break
    names = [check["id"] for check in checks]
    scoring: Value = {
        "combine": random.choice(["weighted_avg"] * 4 + ["all_pass", "all_pass", "min", "median", "any_pass", "max"])
    }
    if random.random() < 0.5:
        scoring["weights"] = {
            name: random.choice([1, 2, 3, 4, Decimal("0.25")])
            for name in random.sample(names, random.randint(1, len(names)))
        }
    if random.random() < 0.4:
        scoring["threshold"] = random.choice(_NUMBERS)
    if random.random() < 0.3:
        scoring["required"] = random.sample(names, random.choice([1, 2]))
    if random.random() < 0.2:
        scoring["missing"] = "zero"
    style: Value = {
        "id": "style", "version": "3.0.0", "scoring": {"combine": "min"},
        "checks": [{"id": "a", "kind": "must_not_contain", "values": ["very", "really"]}, {"id": "b", "kind": "format", "min_chars": 5, "format": "text"}],
    }  # fmt: skip
    refs = {
        "judge/tone@2.0.0": {"id": "tone", "version": "2.0.0", **copy.deepcopy(random.choice(_JUDGES))},
        "rubric/style@3.0.0": style,
    }
    return {"id": "r", "version": "1.0.0", "checks": checks, "scoring": scoring}, refs


_Change = Callable[[Random, Value], Any]


def _set_scoring(name: str, values: list[Any]) -> _Change:
    return lambda random, rubric: rubric["scoring"].update({name: random.choice(values)})


def _set_check(name: str, values: list[Any], kinds: tuple[str, ...] = ()) -> _Change:
    def change(random: Random, rubric: Value) -> None:
        checks = [check for check in rubric["checks"] if check["kind"] in kinds or not kinds]
        if checks:
            random.choice(checks)[name] = copy.deepcopy(random.choice(values))

    return change


def _set_weight(random: Random, rubric: Value) -> None:
    name = random.choice(rubric["checks"])["id"]
    rubric["scoring"].setdefault("weights", {})[name] = random.choice([0, 1, 2, 5, Decimal("0.1")])


def _halve(_: Random, rubric: Value) -> None:
    weights = rubric["scoring"].get("weights", {})
    rubric["scoring"]["weights"] = {check["id"]: Decimal(weights.get(check["id"], 1)) / 2 for check in rubric["checks"]}


def _gate(random: Random, rubric: Value) -> None:
    rubric["scoring"]["required"] = random.sample(
        [check["id"] for check in rubric["checks"]], random.choice([0, 1, 1, 2])
    )


def _drop_check(random: Random, rubric: Value) -> None:
    gone = rubric["checks"].pop(random.randrange(len(rubric["checks"])))["id"]
    rubric["scoring"].get("weights", {}).pop(gone, None)
    rubric["scoring"]["required"] = [name for name in rubric["scoring"].get("required", []) if name != gone]


def _add_check(random: Random, rubric: Value) -> None:
    other = random.choice(random.choice(_RUBRICS)())
    rubric["checks"].append({**other, "id": "added"})
    if random.random() < 0.3:
        rubric["scoring"].setdefault("weights", {})["added"] = random.choice([0, 1, 3])


def _edit_values(random: Random, rubric: Value) -> None:
    values = random.choice([check["values"] for check in rubric["checks"] if "values" in check] or [["a"]])
    at = random.randrange(len(values))
    edits: list[Callable[[], Any]] = [
        lambda: values.append(values[at] + "!"), lambda: values.append(values[at][:4]), lambda: values.append("thanks"), lambda: values.append(values[at].upper()),
        lambda: values.__setitem__(at, f"{values[at]},"), lambda: values.__setitem__(at, values[at].lower()), lambda: values.__setitem__(at, values[at][1:]),
        lambda: values.pop(at) if len(values) > 1 else None, values.sort, lambda: values.append(values[at]),
    ]  # fmt: skip
    random.choice(edits)()


def _edit_pattern(random: Random, rubric: Value) -> None:
    check = random.choice([check for check in rubric["checks"] if check["kind"] == "regex"])
    swaps = [("[0-9]", r"\d"), (r"\d", "[0-9]"), ("{3,6}", "{3,}"), ("{3,6}", "+"), ("(EUR|USD)", "(EUR|USD|GBP)"), ("(EUR|USD)", "(?:EUR|USD)"),
             (r"\s?", r"\s*"), (r"\s?", " ?"), ("(19|20)", "(?:19|20)"), ("(19|20)", "20"), ("[A-Z][a-z]+", r"\w+"), ("[.,]", "[,.]"), ("TICKET", "(TICKET|CASE)"),
             (r"\\Drupal::", r"Drupal::"), ("(?:[A-Z][a-z]+)", "[A-Z][a-z]+"), ("{2}", "{1,2}"), ("?", "{0,1}")]  # fmt: skip
    fits = [swap for swap in swaps if swap[0] in check["pattern"]]
    if random.random() < 0.7:
        check["pattern"] = check["pattern"].replace(*random.choice(fits), 1)
    else:
        check.update(
            random.choice(
                [
                    {"pattern": f"\\b{check['pattern']}"},
                    {"pattern": f"{check['pattern']}$"},
                    {"flags": "is"},
                    {"flags": ""},
                    {"mode": "match"},
                ]
            )
        )


def _edit_schema(random: Random, rubric: Value) -> None:
    check = random.choice([check for check in rubric["checks"] if check["kind"] == "json_schema"])
    schema = check["schema"]
    properties = schema["properties"]
    edits: list[Callable[[], Any]] = [
        lambda: schema["required"].append("lines"), schema["required"].pop, lambda: schema.update(required=[*reversed(schema["required"])]),
        lambda: properties["total"].update(exclusiveMinimum=0), lambda: properties["total"].update(type="integer"), lambda: properties["total"].update(multipleOf=Decimal("0.01")),
        lambda: properties.update(currency={"enum": ["EUR", "USD"]}), lambda: properties["currency"].update(pattern="^[A-Z]{3}$"), lambda: properties["currency"].update(format="currency"),
        lambda: properties["lines"].pop("minItems"), lambda: properties["lines"].update(maxItems=50), lambda: properties["lines"]["items"].update(additionalProperties=False),
        lambda: properties["lines"]["items"]["properties"].update(qty={"type": "integer", "minimum": 1}), lambda: schema.update(additionalProperties=False),
        lambda: properties["paid"].update(default=False), lambda: properties.update(note={"type": "string"}), lambda: properties.update(paid={"enum": [True, False]}),
        lambda: schema.update(title="Invoice"), lambda: check.update(extract="whole"), lambda: properties.update(iban={}), lambda: properties["paid"].update(comment="by bank"),
    ]  # fmt: skip
    random.choice(edits)()


def _edit_tool(random: Random, rubric: Value) -> None:
    check = random.choice([check for check in rubric["checks"] if check["kind"] == "tool_usage"])
    tool = random.choice(check["tools"])
    edits: list[Callable[[], Any]] = [
        lambda: tool.update(min=2), lambda: tool.update(max=2), lambda: tool.pop("max", None), lambda: tool.update(name="look_up"),
        lambda: tool.update(args={"db": "prod", "limit": 5}), lambda: tool.update(args_match="exact"), lambda: check.update(mode="exact"), lambda: check.update(mode="any_order"),
        lambda: check["tools"].insert(0, {"name": "think"}), lambda: check["tools"].remove(tool) if len(check["tools"]) > 1 else None,
        lambda: check.update(partial=not check.get("partial", False)), lambda: check.update(forbidden=["drop_table", "shutdown"]), lambda: check.update(threshold=1),
    ]  # fmt: skip
    random.choice(edits)()


def _edit_facts(random: Random, rubric: Value) -> None:
    check = random.choice([check for check in rubric["checks"] if check["kind"] == "fact_match"])
    facts = check["facts"]
    edits: list[Callable[[], Any]] = [
        lambda: facts.append("by hand"), lambda: facts.pop(0), lambda: facts.__setitem__(0, facts[0].title()), lambda: facts.__setitem__(0, f" {facts[0]}"),
        lambda: facts.append(facts[0]), lambda: facts.__setitem__(-1, facts[-1][:5]), lambda: check.update(threshold=random.choice(_NUMBERS)), lambda: check.update(case_sensitive=True),
    ]  # fmt: skip
    random.choice(edits)()


def _edit_judge(random: Random, judge: Value) -> None:
    names = judge.get("level_names", [])
    edits: list[Callable[[], Any]] = [
        lambda: judge.update(template=judge["template"] + "\nThink first."), lambda: judge.update(template=judge["template"].replace("{{ output }}", "<a>{{ output }}</a>")),
        lambda: judge.update(template=judge["template"].replace("{{ output }}", "{{{ output }}}")), lambda: judge.update(template=judge["template"] + "\n{{! todo }}\n"),
        lambda: judge.update(model={"id": "m-2"}), lambda: judge.update(model={"id": "m-1", "top_p": Decimal("0.9")}), lambda: judge.update(owner="team"),
        lambda: judge.update(scale={"min": 1, "max": 10}), lambda: judge.update(scale={"max": 1}), lambda: judge.update(reply_pattern=r"[Rr]ating[:=]\s*([0-9]{1,2})"),
        lambda: judge.update(reply_pattern=r"rating[:=]\s*([0-9]+)"), lambda: judge.pop("reply_pattern", None), lambda: judge.update(score_type="continuous"),
        lambda: judge.update(level_scores={name: Decimal(at) / 5 for at, name in enumerate(names)}) if names else None,
        lambda: judge.update(level_names=[*names, "excellent"]) if names else None, lambda: judge.update(level_names=names[::-1]) if names else None,
    ]  # fmt: skip
    random.choice(edits)()


def _edit_judged(random: Random, rubric: Value) -> None:
    check = random.choice([check for check in rubric["checks"] if check["kind"] == "llm_judge"])
    edits: list[Callable[[], Any]] = [
        lambda: check.update(threshold=random.choice(_NUMBERS)), lambda: check.update(samples=5), lambda: check.update(model={"temperature": 1}),
        lambda: check.update(variables={"criterion": "kind"}), lambda: check.update(judge_prompt_ref="judge/tone@2.1.0"), lambda: check.update(judge_prompt_ref="judge/tone@2.1.0"),
        lambda: check.update(negate=True),
    ]  # fmt: skip
    random.choice(edits)()


def _draw(category: str, changes: list[_Change], kind: str = "") -> Callable[[Random], Case]:
    def draw(random: Random) -> Case:
        while True:
            old, refs = _draw_rubric(random, kind)
            new = copy.deepcopy(old)
            random.choice(changes)(random, new)
            if new != old and new["checks"]:
                moved = copy.deepcopy(refs["judge/tone@2.0.0"])
                _edit_judge(random, moved)
                refs["judge/tone@2.1.0"] = {**moved, "version": "2.1.0"}
                return Case(category, Pair(*((new, old) if random.random() < 0.3 else (old, new)), refs), _TEXTS)

    return draw


def _draw_judge(random: Random) -> Case:
    while True:
        old = {"id": "tone", "version": "2.0.0", **copy.deepcopy(random.choice(_JUDGES))}
        new = copy.deepcopy(old)
        _edit_judge(random, new)
        if new != old:
            return Case("judges", Pair(old, {**new, "version": "2.1.0"}), [])


def _draw_dataset(random: Random) -> Case:
    while True:
        rubric, refs = _draw_rubric(random)
        for check in rubric["checks"]:
            if random.random() < 0.7:
                check.pop("facts", None)
                check.pop("tools", None)
        row = {
            "id": "one",
            "input": "What?",
            "expected": "done",
            "expected_facts": ["12 rows", "no errors"],
            "expected_tools": ["plan", "answer"],
        }
        old: Value = {
            "id": "d",
            "version": "1.0.0",
            "questions": [{**copy.deepcopy(row), "rubric_ref": "rubric/r@1.0.0"}],
        }
        new = copy.deepcopy(old)
        question = new["questions"][0]
        question.update(random.choice([
            {"expected": "finished"}, {"expected_facts": ["12 rows"]}, {"expected_facts": ["12 ROWS", "no errors"]}, {"expected_tools": ["plan"]},
            {"expected_tools": [{"name": "plan", "args": {"n": 1}}, {"name": "answer"}]}, {"criteria": ["short"]}, {"metadata": {"a": 1}}, {"context": "c"},
        ]))  # fmt: skip
        return Case("datasets", Pair(old, new, {**refs, "rubric/r@1.0.0": rubric}), _TEXTS)


_BARS = _set_check("threshold", _NUMBERS, ("fact_match", "llm_judge", "tool_usage", "composite"))
CATEGORIES: Mapping[str, Callable[[Random], Case]] = {
    "weights": _draw("weights", [_set_weight, _set_weight, _halve]),
    "thresholds": _draw("thresholds", [_set_scoring("threshold", _NUMBERS), _BARS, _set_check("threshold", [*_NUMBERS, 0])]),
    "policies": _draw("policies", [_gate, _gate, _set_scoring("missing", ["zero", "skip"]), _set_scoring("errors", ["fail", "zero"])]),
    "combine": _draw("combine", [_set_scoring("combine", ["weighted_avg", "min", "all_pass", "median"])]),
    "phrases": _draw("phrases", [_edit_values, _edit_values, _edit_values, _set_check("case_sensitive", [True, False], ("must_contain_any", "must_not_contain")),
                                 _set_check("min_matches", [1, 2, 4], ("must_contain_any",))], "must_contain_any"),
    "patterns": _draw("patterns", [_edit_pattern], "regex"),
    "schemas": _draw("schemas", [_edit_schema], "json_schema"),
    "markdown": _draw("markdown", [
        _set_check("min_headings", [0, 1, 3], ("markdown_structure",)), _set_check("max_heading_level", [2, 4, 6], ("markdown_structure",)),
        _set_check("required_sections", [["Background"], ["Method", "Results"], []], ("markdown_structure",)), _set_check("no_h1", [True], ("markdown_structure",)),
        _set_check("dialect", ["lines", "commonmark"], ("markdown_structure",)), _set_check("min_paragraphs", [1, 3], ("markdown_structure",))], "markdown_structure"),
    "formats": _draw("formats", [_set_check("min_chars", [0, 1, 50], ("format",)), _set_check("max_chars", [280, 1000], ("format",)),
                                 _set_check("format", ["json"], ("format",)), _set_check("on_no_code", ["pass", "unscored"], ("php_lint",))], "format"),
    "tools": _draw("tools", [_edit_tool], "tool_usage"),
    "facts": _draw("facts", [_edit_facts], "fact_match"),
    "checks": _draw("checks", [_drop_check, _add_check, _add_check, _set_check("negate", [True]), lambda random, rubric: random.shuffle(rubric["checks"])]),
    "judging": _draw("judging", [_edit_judged], "llm_judge"),
    "judges": _draw_judge,
    "datasets": _draw_dataset,
}  # fmt: skip
