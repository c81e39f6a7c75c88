"""Edits as people make them, by category: the set that the comparison is tuned on."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from tests.diff.fuzz.drafts import (
    BANS,
    BARS,
    COMBINES,
    FACTS,
    MAKES,
    PATTERNS,
    PHRASES,
    SECTIONS,
    TOOLS,
    WEIGHTS,
    Case,
    Draft,
    Edit,
    Make,
    edit_judge,
    make_ban,
    make_composite,
    make_contain,
    make_draft,
    make_facts,
    make_format,
    make_judge,
    make_judged,
    make_markdown,
    make_pattern,
    make_php,
    make_schema,
    make_tools,
)
from tests.diff.fuzz.pair import Pair, Value


def _pick(random: Random, draft: Draft, kind: str) -> Value:
    return random.choice([check for check in draft.value["checks"] if check["kind"] == kind])


# Edits: each changes a draft in place.


def _weight(random: Random, draft: Draft) -> None:
    draft.value["scoring"].setdefault("weights", {})[random.choice(draft.value["checks"])["id"]] = random.choice(
        [0, *WEIGHTS, 5]
    )


def _reweigh(random: Random, draft: Draft) -> None:
    draft.value["scoring"]["weights"] = {check["id"]: random.choice(WEIGHTS) for check in draft.value["checks"]}


def _rescale(_: Random, draft: Draft) -> None:
    weights = draft.value["scoring"].get("weights", {})
    draft.value["scoring"]["weights"] = {
        check["id"]: weights.get(check["id"], 1) * 10 for check in draft.value["checks"]
    }


def _rubric_bar(random: Random, draft: Draft) -> None:
    draft.value["scoring"]["threshold"] = random.choice([*BARS, 1])


def _check_bar(random: Random, draft: Draft) -> None:
    random.choice(draft.value["checks"])["threshold"] = random.choice([*BARS, 1])


def _graded_bar(random: Random, draft: Draft) -> None:
    graded = [
        check
        for check in draft.value["checks"]
        if check["kind"] in {"llm_judge", "fact_match", "tool_usage", "composite"}
    ]
    random.choice(graded or draft.value["checks"])["threshold"] = random.choice(BARS)


def _missing(random: Random, draft: Draft) -> None:
    draft.value["scoring"]["missing"] = random.choice(["zero", "skip"])


def _errors(random: Random, draft: Draft) -> None:
    draft.value["scoring"]["errors"] = random.choice(["zero", "fail", "skip"])


def _gate(random: Random, draft: Draft) -> None:
    name = random.choice(draft.value["checks"])["id"]
    gates = draft.value["scoring"].setdefault("required", [])
    gates.remove(name) if name in gates else gates.append(name)


def _combine(random: Random, draft: Draft) -> None:
    draft.value["scoring"]["combine"] = random.choice(COMBINES)


def _phrase(random: Random, draft: Draft) -> None:
    check = _pick(random, draft, random.choice(["must_contain_any", "must_not_contain"]))
    values = check["values"]
    words = next(group for group in (*PHRASES, *BANS) if set(values) & set(group))
    how = random.choice(["add", "drop", "word", "plural", "case", "strict", "minimum", "typo", "order"])
    if how == "add":
        values.append(random.choice([*words, *random.choice(PHRASES)]))
    elif how == "drop" and len(values) > 1:
        values.remove(random.choice(values))
    elif how == "word":
        values[random.randrange(len(values))] = random.choice(words)
    elif how == "plural":
        values[0] += "s"
    elif how == "case":
        values[0] = values[0].capitalize()
    elif how == "strict":
        check["case_sensitive"] = not check.get("case_sensitive", False)
    elif how == "minimum" and check["kind"] == "must_contain_any":
        check["min_matches"] = random.choice([1, 2, 3])
    elif how == "typo":
        values[0] = values[0].replace("e", "", 1)
    else:
        values.reverse()


def _split(random: Random, draft: Draft) -> None:
    """One list as two checks, or the other way round."""
    check = _pick(random, draft, "must_not_contain")
    if len(check["values"]) > 1:
        draft.value["checks"].append({"id": "more", "kind": check["kind"], "values": [check["values"].pop()]})


def _regex(random: Random, draft: Draft) -> None:
    check = _pick(random, draft, "regex")
    edits, texts = next((edits, texts) for pattern, edits, texts in PATTERNS if pattern == check["pattern"])
    draft.texts.extend(texts)
    how = random.random()
    if how < 0.65:
        check["pattern"] = random.choice(edits)
    elif how < 0.75:
        check["flags"] = random.choice(["i", "m", "im", "s"])
    elif how < 0.83:
        check["mode"] = random.choice(["match", "fullmatch", "search"])
    elif how < 0.9 and check.get("flags"):
        check["pattern"] = f"(?{check.pop('flags')}){check['pattern']}"
    else:
        check["pattern"] = f"(?:{check['pattern']})"


def _edit_schema(random: Random, draft: Draft) -> None:
    check = _pick(random, draft, "json_schema")
    schema = check["schema"]
    properties = schema["properties"]
    name = random.choice(list(properties))
    edits: list[Callable[[], Any]] = [
        lambda: properties.update(confidence={"type": "number", "minimum": 0, "maximum": 1}),
        lambda: properties.pop(name),
        lambda: schema.update(required=[*schema["required"], name]) if name not in schema["required"] else None,
        lambda: schema.update(required=schema["required"][:1]),
        lambda: schema.update(additionalProperties=not schema.get("additionalProperties", True)),
        lambda: properties[name].update(description="What it is."),
        lambda: properties[name].update(
            {"maxLength": 80} if properties[name].get("type") == "string" else {"title": "A"}
        ),
        lambda: (
            properties[name].update(minLength=1)
            if properties[name].get("type") == "string"
            else schema.update(title="Answer")
        ),
        lambda: properties.update(status={"enum": ["open", "closed", "pending"]}),
        lambda: properties.update(score={"type": "number", "minimum": 0, "maximum": 10}),
        lambda: properties.update(tags={"type": "array", "items": {"type": "string"}, "minItems": 1}),
        lambda: (
            schema.update(unevaluatedProperties=schema.pop("additionalProperties"))
            if "additionalProperties" in schema
            else None
        ),
        lambda: properties[name].update(examples=["a"], desc="odd word"),
        lambda: check.update(extract=random.choice(["auto", "whole", "fence"])),
        lambda: properties.update(answer={"type": ["string", "null"]}),
        lambda: properties.update(date={"type": "string", "format": "date-time"}),
    ]
    random.choice(edits)()


def _edit_markdown(random: Random, draft: Draft) -> None:
    check = _pick(random, draft, "markdown_structure")
    edits: list[Callable[[], Any]] = [
        lambda: check.update(min_headings=check.get("min_headings", 0) + random.choice([1, 2])),
        lambda: check.update(min_headings=0), lambda: check.update(no_h1=not check.get("no_h1", False)),
        lambda: check.update(max_heading_level=random.randint(1, 6)), lambda: check.update(min_code_blocks=random.randint(0, 2)),
        lambda: check.update(min_paragraphs=random.randint(0, 4)), lambda: check.update(dialect=random.choice(["lines", "commonmark"])),
        lambda: check.update(required_sections=[*check.get("required_sections", []), random.choice(SECTIONS)]),
        lambda: check.update(required_sections=check.get("required_sections", [])[:1]),
        lambda: check.update(required_sections=["Summary of risks"]),
        lambda: check.update(forbidden_patterns=[*check.get("forbidden_patterns", []), "TODO"]),
    ]  # fmt: skip
    random.choice(edits)()


def _edit_format(random: Random, draft: Draft) -> None:
    check = _pick(random, draft, random.choice(["format", "php_lint"]))
    if check["kind"] == "php_lint":
        check["on_no_code"] = random.choice(["pass", "fail", "unscored"])
    else:
        check.update(
            random.choice(
                [
                    {"max_chars": 100},
                    {"max_chars": 400},
                    {"min_chars": 1},
                    {"min_chars": 20},
                    {"format": "json"},
                    {"format": "text"},
                ]
            )
        )


def _edit_tools(random: Random, draft: Draft) -> None:
    check = _pick(random, draft, "tool_usage")
    tools = check["tools"]
    edits: list[Callable[[], Any]] = [
        lambda: tools.append({"name": random.choice(TOOLS)}), lambda: tools.pop() if len(tools) > 1 else None,
        lambda: tools[0].update(args={"limit": 10}), lambda: tools[0].pop("args", None), lambda: tools[0].update(args_match="exact"),
        lambda: tools[0].update(min=random.choice([0, 1, 2])), lambda: tools[0].update(max=random.choice([1, 3])), tools.reverse,
        lambda: check.update(mode=random.choice(["any_order", "in_order", "exact"])), lambda: check.update(partial=not check.get("partial", False)),
        lambda: check.update(forbidden=[*check.get("forbidden", []), "send_mail"]), lambda: check.pop("forbidden", None),
    ]  # fmt: skip
    random.choice(edits)()


def _edit_facts(random: Random, draft: Draft) -> None:
    check = _pick(random, draft, "fact_match")
    facts = check["facts"]
    edits: list[Callable[[], Any]] = [
        lambda: facts.append(random.choice(FACTS)), facts.pop, lambda: facts.__setitem__(0, f"{facts[0]}, France"),
        lambda: facts.__setitem__(0, facts[0].upper()), facts.reverse, lambda: check.update(case_sensitive=True),
        lambda: check.update(threshold=random.choice(BARS)),
    ]  # fmt: skip
    random.choice(edits)()


def _checks(random: Random, draft: Draft) -> None:
    checks, one = draft.value["checks"], random.choice(draft.value["checks"])
    how = random.choice(["add", "add", "drop", "turn", "advise", "rename", "negate", "double"])
    if how == "add":
        checks.append({"id": "fresh", **random.choice(MAKES)(random, draft)})
    elif how == "drop" and len(checks) > 1 and one["id"] not in repr(draft.value["scoring"]):
        checks.remove(one)
    elif how == "turn":
        checks.reverse()
    elif how == "advise":
        checks.append({"id": "fresh", **random.choice(MAKES)(random, draft)})
        draft.value["scoring"].setdefault("weights", {})["fresh"] = 0
    elif how == "rename" and one["id"] not in repr(draft.value["scoring"]):
        one["id"] = "renamed"
    elif how == "negate":
        one["negate"] = not one.get("negate", False)
    else:
        checks.append({**copy.deepcopy(one), "id": "again"})


def _panel(random: Random, draft: Draft) -> None:
    """What a check says of its judge: another threshold, more samples, a model, a moved pin."""
    check = _pick(random, draft, "llm_judge")
    how = random.choice(["threshold", "samples", "model", "seed", "pin", "pin"])
    if how == "threshold":
        check["threshold"] = random.choice(BARS)
    elif how == "samples":
        check["samples"] = random.choice([1, 3])
    elif how == "pin":
        moved = copy.deepcopy(draft.refs["judge/quality@1.0.0"])
        edit_judge(random, moved)
        draft.refs["judge/quality@1.1.0"] = {**moved, "version": "1.1.0"}
        check["judge_prompt_ref"] = "judge/quality@1.1.0"
    else:
        check["model"] = {"id": "gpt-y"} if how == "model" else {"seed": 7}


def _moved_rubric(random: Random, draft: Draft) -> None:
    check = _pick(random, draft, "composite")
    inner = copy.deepcopy(draft.refs["rubric/basics@1.0.0"])
    edited = Draft(inner, draft.refs, draft.texts)
    random.choice([_phrase_of_inner, _rubric_bar, _weight, _combine, _gate])(random, edited)
    draft.refs["rubric/basics@1.1.0"] = {**inner, "version": "1.1.0"}
    check["rubric_ref"] = "rubric/basics@1.1.0"


def _phrase_of_inner(random: Random, draft: Draft) -> None:
    draft.value["checks"][0]["values"].append(random.choice(random.choice(PHRASES)))


def _of_rubric(category: str, edits: list[Edit], *makes: Make) -> Callable[[Random], Case]:
    def draw(random: Random) -> Case:
        while True:
            old = make_draft(random, *makes)
            new = Draft(copy.deepcopy(old.value), {**old.refs}, old.texts)
            random.choice(edits)(random, new)
            if new.value != old.value:
                return Case(category, Pair(old.value, new.value, new.refs), new.texts)

    return draw


def _of_judge(random: Random) -> Case:
    while True:
        old = make_judge(random)
        new = copy.deepcopy(old)
        edit_judge(random, new)
        if new != old:
            return Case("judges", Pair(old, {**new, "version": "1.1.0"}), [])


def _of_dataset(random: Random) -> Case:
    while True:
        draft = make_draft(random, random.choice([make_facts, make_tools, make_schema, make_judged]))
        for check in draft.value["checks"]:
            for name in {"facts", "tools"} & set(check):
                if random.random() < 0.6:
                    del check[name]
            if check["kind"] == "json_schema" and random.random() < 0.6:
                del check["schema"]
                check["expected_fields"] = ["answer"]
        rows = [_make_row(random, index) for index in range(3)]
        old: Value = {"id": "d", "version": "1.0.0", "defaults": {"rubric_ref": "rubric/r@1.0.0"}, "questions": rows}
        new = copy.deepcopy(old)
        _edit_row(random, new["questions"])
        if new != old:
            refs = {**draft.refs, "rubric/r@1.0.0": draft.value}
            return Case("datasets", Pair(old, new, refs), draft.texts)


def _make_row(random: Random, index: int) -> Value:
    return {
        "id": f"q{index}", "input": f"Question {index}?", "expected": {"answer": random.choice(["a", "b"]), "score": 3},
        "expected_facts": random.sample(FACTS, 2), "expected_tools": random.sample(TOOLS, 2), "tags": ["x"],
    }  # fmt: skip


def _edit_row(random: Random, rows: list[Value]) -> None:
    row = random.choice(rows)
    edits: list[Callable[[], Any]] = [
        lambda: row["expected_facts"].append(random.choice(FACTS)), row["expected_facts"].reverse,
        lambda: row["expected_tools"].append(random.choice(TOOLS)), row["expected_tools"].pop,
        lambda: row["expected"].update(answer="c"), lambda: row["expected"].update(score=4), lambda: row.update(tags=["y"]),
        lambda: row.update(criteria=["Be kind."]), lambda: row.update(context="More."), rows.reverse,
    ]  # fmt: skip
    random.choice(edits)()


CATEGORIES: Mapping[str, Callable[[Random], Case]] = {
    "weights": _of_rubric("weights", [_weight, _weight, _reweigh, _rescale]),
    "thresholds": _of_rubric("thresholds", [_rubric_bar, _check_bar, _graded_bar, _graded_bar]),
    "policies": _of_rubric("policies", [_missing, _errors, _gate, _gate]),
    "combine": _of_rubric("combine", [_combine]),
    "phrases": _of_rubric("phrases", [_phrase, _phrase, _phrase, _phrase, _split], make_contain, make_ban),
    "patterns": _of_rubric("patterns", [_regex], make_pattern),
    "schemas": _of_rubric("schemas", [_edit_schema], make_schema),
    "markdown": _of_rubric("markdown", [_edit_markdown], make_markdown),
    "formats": _of_rubric("formats", [_edit_format], make_format, make_php),
    "tools": _of_rubric("tools", [_edit_tools], make_tools),
    "facts": _of_rubric("facts", [_edit_facts], make_facts),
    "checks": _of_rubric("checks", [_checks]),
    "judging": _of_rubric("judging", [_panel], make_judged),
    "composites": _of_rubric("composites", [_moved_rubric], make_composite),
    "judges": _of_judge,
    "datasets": _of_dataset,
}
