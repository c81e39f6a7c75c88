"""The contract of scoring, written a second time, and held against the public API on random rubrics."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from itertools import combinations
from statistics import median
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalstore import EvalstoreError, evaluate

Rubric = dict[str, Any]

SPACE = " \t\r\n"  # that of RFC 8259
WORDS = ("a", "B", "ab", "#", "Σ", "ς", "é", "K", " ", "\n")
TEXTS = st.lists(
    st.sampled_from((*WORDS, "# a\n", "## B\n", "```\na\n```\n", "{}", '{"a": 1, "a": 2}', "NaN", "[1]")), max_size=5
).map("".join)
PHRASES = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=2).map("".join), min_size=1, max_size=3)
NAMES = st.sampled_from(("a", "b"))
# Their numbers are traps: 1 is 1.0, true is not a number, and neither is a text.
ARGS = st.sampled_from(
    (
        {},
        {"n": 1},
        {"n": 1.0, "m": {"a": [1], "b": 2}},
        {"n": True},
        {"m": {"a": [1]}},
        {"n": "1"},
        {"m": {"a": [True]}},
    )
)
CALLED = st.fixed_dictionaries({"name": NAMES}, optional={"args": ARGS})
CALLS = st.none() | st.lists(CALLED, max_size=4)
TOOL = st.fixed_dictionaries(
    {"name": NAMES},
    optional={
        "args": ARGS,
        "args_match": st.sampled_from(("subset", "exact")),
        "min": st.integers(0, 2),
        "max": st.integers(0, 3),
    },
)
NUMBERS = st.sampled_from((0, 0.1, 0.2, 0.3, 0.5, 0.7, 1))

# Schemas with what they say, in Python; None: they cannot be applied.
SCHEMAS: tuple[tuple[Any, Any], ...] = (
    (True, lambda _: True),
    ({"type": ["array", "string"]}, lambda value: isinstance(value, list | str)),
    ({"type": "integer"}, lambda value: is_number(value) and value == int(value)),
    ({"minimum": 0.5, "multipleOf": 0.25}, lambda value: not is_number(value) or (value >= 0.5 and value * 4 % 1 == 0)),
    ({"required": ["a"]}, lambda value: not isinstance(value, dict) or "a" in value),
    ({"properties": {"a": {"const": 1}}}, lambda value: equal(1, value.get("a", 1) if isinstance(value, dict) else 1, exact=True)),
    ({"additionalProperties": False}, lambda value: not isinstance(value, dict) or not value),
    ({"items": {"not": {"enum": [1, "a"]}}}, lambda value: not isinstance(value, list) or not any(is_number(one) and one == 1 for one in value)),
    ({"anyOf": [{"$ref": "#/$defs/a"}, {"maxLength": 0}], "$defs": {"a": {"pattern": "^[a-z]$"}}}, lambda value: value in {"a", ""} if isinstance(value, str) else True),
    ({"$ref": "https://example.com/a"}, None),
    ({"type": "strng"}, None),
    ({"pattern": "("}, None),
)  # fmt: skip
MEANING = {json.dumps(schema): said for schema, said in SCHEMAS}
JSONS = st.sampled_from(
    ("{}", '{"a": 1}', '{"a": 1.0, "b": [1]}', '{"a": true}', '{"a": "1", "b": [1.0]}', '{"a": 1, "a": 1}', "[1, 2]", "[]", "0.5", "2.0", "0.6",
     '"a"', '"ab"', "NaN", "x")
)  # fmt: skip
FENCES = st.sampled_from(("```", "```", "````", "   ```", "    ```", "~~~"))
MARKS = st.sampled_from(("", "json", "json", " JSON x", "json5", "text"))
BLOCKS = st.builds(
    lambda fence, mark, json_, end: f"{fence}{mark}\n{json_}\n{end or fence}\n",
    FENCES,
    MARKS,
    JSONS,
    st.none() | FENCES,
)
JSON_TEXTS = st.lists(
    st.one_of(JSONS, BLOCKS, BLOCKS, st.sampled_from(("\n", " ", "\u00a0", "```\n"))), max_size=4
).map("".join)


def is_number(value: Any) -> bool:
    return isinstance(value, int | Fraction) and not isinstance(value, bool)


def exact(number: float) -> Fraction:
    return Fraction(str(number))


KINDS = (
    "must_contain_any",
    "must_not_contain",
    "markdown_structure",
    "regex",
    "format",
    "json_schema",
    "php_lint",
    "fact_match",
    "tool_usage",
)


@st.composite
def checks(draw: st.DrawFn, kinds: tuple[str, ...] = KINDS) -> Rubric:
    kind = draw(st.sampled_from(kinds))
    check: Rubric = {"kind": kind}
    if kind in {"must_contain_any", "must_not_contain"}:
        check["values"] = draw(PHRASES)
        check |= draw(st.fixed_dictionaries({}, optional={"case_sensitive": st.booleans()}))
    if kind == "must_contain_any":
        check |= draw(st.fixed_dictionaries({}, optional={"min_matches": st.integers(1, 3)}))
    if kind == "markdown_structure":
        demands = {
            "min_headings": st.integers(0, 2),
            "max_heading_level": st.integers(1, 3),
            "no_h1": st.booleans(),
            "required_sections": PHRASES,
            "forbidden_patterns": PHRASES,
            "min_code_blocks": st.integers(0, 2),
            "min_paragraphs": st.integers(0, 3),
        }
        check |= {"dialect": "lines", **draw(st.fixed_dictionaries({}, optional=demands))}
    if kind == "regex":
        check["pattern"] = draw(st.sampled_from(("a", "^a", "a$", "b+", "a.*b", "[^a]", "(")))
        check |= draw(
            st.fixed_dictionaries(
                {},
                optional={
                    "flags": st.sampled_from(("i", "m", "s", "im")),
                    "mode": st.sampled_from(("search", "match", "fullmatch")),
                },
            )
        )
    if kind == "format":
        check |= draw(
            st.fixed_dictionaries(
                {},
                optional={
                    "format": st.sampled_from(("json", "text")),
                    "min_chars": st.integers(0, 4),
                    "max_chars": st.integers(0, 9),
                },
            )
        )
    if kind == "json_schema":
        fields = st.lists(NAMES, min_size=1, max_size=2).map(lambda names: {"expected_fields": names})
        check |= draw(st.sampled_from(SCHEMAS).map(lambda row: {"schema": row[0]}) | fields)
        check |= draw(st.fixed_dictionaries({}, optional={"extract": st.sampled_from(("auto", "whole", "fence"))}))
    if kind == "php_lint":
        check["on_no_code"] = draw(st.sampled_from(("pass", "fail", "unscored")))
        check |= draw(st.fixed_dictionaries({}, optional={"dialect": st.sampled_from(("commonmark", "legacy"))}))
    if kind == "tool_usage":
        check |= draw(
            st.fixed_dictionaries(
                {},
                optional={
                    "tools": st.lists(TOOL, min_size=1, max_size=3),
                    "forbidden": st.lists(NAMES, max_size=1),
                    "mode": st.sampled_from(("any_order", "in_order", "exact")),
                    "partial": st.booleans(),
                },
            )
        )
    if kind == "fact_match":
        check["facts"] = draw(PHRASES)
        check |= draw(st.fixed_dictionaries({}, optional={"case_sensitive": st.booleans()}))
    return check | draw(st.fixed_dictionaries({}, optional={"negate": st.booleans(), "threshold": NUMBERS}))


@st.composite
def rubrics(draw: st.DrawFn) -> Rubric:
    members = [
        {"id": f"c{index}", **check} for index, check in enumerate(draw(st.lists(checks(), min_size=1, max_size=4)))
    ]
    ids = [check["id"] for check in members]
    optional: dict[str, st.SearchStrategy[Any]] = {
        "weights": st.dictionaries(st.sampled_from(ids), NUMBERS),
        "required": st.lists(st.sampled_from(ids), unique=True),
        "threshold": NUMBERS,
        "missing": st.sampled_from(("skip", "zero")),
        "errors": st.sampled_from(("skip", "zero", "fail")),
    }
    mode = draw(st.sampled_from(("all_pass", "any_pass", "weighted_avg", "min", "max", "median")))
    return {
        "id": "r",
        "version": "1.0.0",
        "checks": members,
        "scoring": {"combine": mode, **draw(st.fixed_dictionaries({}, optional=optional))},
    }


def read_strictly(text: str) -> Any:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) < len(pairs):
            raise ValueError("twice")
        return dict(pairs)

    def never(name: str) -> Any:
        raise ValueError(name)

    return json.loads(text, object_pairs_hook=once, parse_constant=never, parse_float=Fraction)


def strict_json(text: str) -> bool:
    try:
        read_strictly(text)
    except ValueError:
        return False
    return True


def fenced(text: str) -> str | None:
    """Return the first block marked json, else the first block, of a text without lists and quotes."""
    blocks: list[tuple[str, list[str]]] = []
    fence = ""
    for line in text.split("\n"):
        mark = re.match(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)", line)
        if fence and mark and mark[1].startswith(fence) and not mark[2].strip():
            fence = ""
        elif fence:
            blocks[-1][1].append(line)
        elif mark:
            fence = mark[1]
            blocks.append((mark[2].strip().lower(), []))
    marked = [lines for info, lines in blocks if info.split()[:1] == ["json"]]
    return next(("\n".join(lines) for lines in (*marked, *(lines for _, lines in blocks))), None)


def json_held(check: Rubric, text: str, row: Rubric) -> bool | str:
    expected, also = row.get("expected", {}), row.get("also_valid", {})
    names = check.get("expected_fields", [])
    allowed = {name: [*([expected[name]] if name in expected else []), *also.get(name, [])] for name in names}
    if not all(allowed.values()):
        return "missing"
    said = MEANING[json.dumps(check["schema"])] if "schema" in check else None
    if said is None and not names:
        return "error"
    block = None if check.get("extract") == "whole" else fenced(text)
    if block is None and check.get("extract") == "fence":
        return False
    try:
        value = read_strictly(text.strip(SPACE) if block is None else block)
    except ValueError:
        return False
    if said:
        return bool(said(value))
    found = isinstance(value, dict) and all(name in value for name in names)
    return found and all(any(equal(one, value[name], exact=True) for one in allowed[name]) for name in names)


def legacy_lines(check: Rubric, text: str) -> bool:
    headings = [
        (len(found[1]), found[2]) for line in text.splitlines() if (found := re.match(r"^(#{1,6})\s+(.+)", line))
    ]
    levels = [level for level, _ in headings]
    prose = [line for line in text.splitlines() if line.strip() and not line.startswith(("#", "```"))]
    return (
        len(headings) >= check.get("min_headings", 0)
        and all(level <= check.get("max_heading_level", 6) for level in levels)
        and not (check.get("no_h1") and 1 in levels)
        and all(
            any(part.lower() in title.strip().lower() for _, title in headings)
            for part in check.get("required_sections", [])
        )
        and all(pattern not in text for pattern in check.get("forbidden_patterns", []))
        and text.count("```") // 2 >= check.get("min_code_blocks", 0)
        and len(prose) >= check.get("min_paragraphs", 0)
    )


def equal(wanted: Any, given: Any, *, exact: bool) -> bool:
    if isinstance(wanted, dict) and isinstance(given, dict):
        inside = all(key in given and equal(item, given[key], exact=exact) for key, item in wanted.items())
        return inside and (not exact or set(wanted) == set(given))
    if isinstance(wanted, list) and isinstance(given, list):
        return len(wanted) == len(given) and all(equal(*pair, exact=True) for pair in zip(wanted, given, strict=True))
    return isinstance(wanted, bool) is isinstance(given, bool) and bool(wanted == given)


def meant(tool: Rubric, call: Rubric) -> bool:
    fits = "args" not in tool or equal(tool["args"], call.get("args", {}), exact=tool.get("args_match") == "exact")
    return bool(tool["name"] == call["name"]) and fits


def among(few: list[Rubric], many: list[Rubric], *, tools_first: bool) -> bool:
    """Whether all of `few` stand in `many`, in its order."""
    pairs = (zip(few, some, strict=True) for some in combinations(many, len(few)))
    return any(all(meant(a, b) if tools_first else meant(b, a) for a, b in pairing) for pairing in pairs)


def share_of_tools(check: Rubric, calls: list[Rubric] | None, row: Rubric) -> Fraction | str:
    expected = [{"name": tool} if isinstance(tool, str) else tool for tool in row.get("expected_tools", [])]
    tools, forbidden = check.get("tools", expected), check.get("forbidden", [])
    if calls is None or not ("tools" in check or "expected_tools" in row or forbidden):
        return "missing"
    counts = [sum(meant(tool, call) for call in calls) for tool in tools]
    within = [tool.get("min", 1) <= number <= tool.get("max", 99) for tool, number in zip(tools, counts, strict=True)]
    required = [index for index, tool in enumerate(tools) if tool.get("min", 1) > 0]
    room = [tool for tool in tools for _ in range(tool.get("max", tool.get("min", 1)))]
    if (
        any(call["name"] in forbidden for call in calls)
        or not all(within[index] for index in range(len(tools)) if index not in required)
        or (check.get("mode") == "exact" and not among(calls, room, tools_first=False))
    ):
        return Fraction(0)
    kept = [index for index in required if within[index]]
    if check.get("mode", "any_order") == "any_order":
        held = len(kept)
    else:
        held = max(
            number
            for number in range(len(kept) + 1)
            for some in combinations(kept, number)
            if among(
                [tools[index] for index in some for _ in range(tools[index].get("min", 1))], calls, tools_first=True
            )
        )
    return Fraction(held, len(required)) if check.get("partial") and required else Fraction(held == len(required))


def holds(check: Rubric, text: str, calls: list[Rubric] | None, row: Rubric) -> bool | Fraction | str:
    """Whether the check holds, or how far, or why it has no score: one sentence a kind."""
    match check["kind"]:
        case "must_contain_any" | "must_not_contain" as kind:
            lowered = (lambda part: part) if check.get("case_sensitive") else str.lower
            found = sum(lowered(value) in lowered(text) for value in set(check["values"]))
            return found == 0 if kind == "must_not_contain" else found >= check.get("min_matches", 1)
        case "markdown_structure":
            return legacy_lines(check, text)
        case "regex":
            try:
                pattern = re.compile(
                    check["pattern"], sum(getattr(re, flag.upper()) for flag in check.get("flags", ""))
                )
            except re.error:
                return "error"
            return getattr(pattern, check.get("mode", "search"))(text) is not None
        case "format":
            wanted = check.get("format") or row.get("expected", {}).get("format")
            if not wanted and not {"min_chars", "max_chars"} & set(check):
                return "missing"
            whole = text.strip()
            fits = check.get("min_chars", 0) <= len(whole) <= check.get("max_chars", 99)
            return fits and (strict_json(text.strip(SPACE)) if wanted == "json" else bool(whole) or not wanted)
        case "json_schema":
            return json_held(check, text, row)
        case "php_lint":
            return {"pass": True, "fail": False, "unscored": "missing"}[check["on_no_code"]]
        case "fact_match":
            folded = (lambda part: part) if check.get("case_sensitive") else str.lower
            one_line = [" ".join(folded(part).split()) for part in (text, *check["facts"])]
            return Fraction(sum(fact in one_line[0] for fact in one_line[1:]), len(check["facts"]))
        case "tool_usage":
            return share_of_tools(check, calls, row)
    return "error"


def model(
    rubric: Rubric, text: str, row: Rubric, calls: list[Rubric] | None = None
) -> tuple[list[tuple[Fraction | None, str, str | None]], Fraction | None, str]:
    scoring, results = rubric["scoring"], []
    for check in rubric["checks"]:
        held = holds(check, text, calls, row)
        if isinstance(held, str):
            results.append((None, "unscored", held))
            continue
        score = 1 - Fraction(held) if check.get("negate") else Fraction(held)
        results.append((score, "pass" if score >= exact(check.get("threshold", 1)) else "fail", None))
    score = combined(rubric, results)
    if score is None:
        return results, None, "unscored"
    return results, score, "pass" if score >= exact(scoring.get("threshold", 0.7)) else "fail"


def combined(rubric: Rubric, results: list[tuple[Fraction | None, str, str | None]]) -> Fraction | None:
    scoring = rubric["scoring"]
    policy = {"missing": scoring.get("missing", "skip"), "error": scoring.get("errors", "skip")}
    counted: list[tuple[Fraction, bool, Fraction]] = []
    shut = False
    for check, (score, verdict, why) in zip(rubric["checks"], results, strict=True):
        if why == "error" and policy["error"] == "fail":
            return Fraction(0)
        if why and policy[why] == "skip":
            continue
        passed = verdict == "pass"
        shut |= check["id"] in scoring.get("required", []) and not passed
        counted.append((score or Fraction(0), passed, exact(scoring.get("weights", {}).get(check["id"], 1))))
    if shut:
        return Fraction(0)
    if not counted:
        return None
    scores = [score for score, _, _ in counted]
    match scoring["combine"]:
        case "all_pass":
            return Fraction(all(passed for _, passed, _ in counted))
        case "any_pass":
            return Fraction(any(passed for _, passed, _ in counted))
        case "weighted_avg":
            total = sum(weight for _, _, weight in counted)
            return sum(weight * score for score, _, weight in counted) / total if total else None
        case "median":
            return Fraction(median(scores))
        case "min":
            return min(scores)
    return max(scores)


ROWS = st.fixed_dictionaries(
    {},
    optional={
        "expected": st.sampled_from(({"format": "json"}, {"format": "text"}, {"a": 1}, {"a": True, "b": [1.0]})),
        "also_valid": st.sampled_from(({}, {"a": ["1", 1]}, {"b": [[2], [1]]})),
        "expected_tools": st.lists(NAMES | CALLED, max_size=2),
    },
)


@settings(max_examples=600)
@given(rubrics(), TEXTS, ROWS, CALLS)
def test_scores_verdicts_and_reasons_are_those_of_the_contract(
    rubric: Rubric, text: str, row: Rubric, calls: list[Rubric] | None
) -> None:
    results, score, verdict = model(rubric, text, row, calls)
    found = evaluate(rubric, {"output": text, "tool_calls": calls}, {"id": "q", "input": "?", **row})
    told = [(check.score, str(check.verdict), check.unscored and str(check.unscored)) for check in found.checks]
    assert told == results
    assert (found.score, str(found.verdict)) == (score, verdict)


@settings(max_examples=400)
@given(checks(("tool_usage",)), ROWS, CALLS)
def test_calls_are_graded_as_the_contract_says(check: Rubric, row: Rubric, calls: list[Rubric] | None) -> None:
    rubric = {"id": "r", "version": "1.0.0", "checks": [{"id": "c", **check}], "scoring": {"combine": "min"}}
    found = evaluate(rubric, {"output": "", "tool_calls": calls}, {"id": "q", "input": "?", **row})
    assert (found.score, str(found.verdict)) == model(rubric, "", row, calls)[1:]


@settings(max_examples=600)
@given(checks(("json_schema",)), ROWS, JSON_TEXTS)
def test_json_is_found_and_held_as_the_contract_says(check: Rubric, row: Rubric, text: str) -> None:
    rubric = {"id": "r", "version": "1.0.0", "checks": [{"id": "c", **check}], "scoring": {"combine": "min"}}
    found = evaluate(rubric, text, {"id": "q", "input": "?", **row})
    assert (found.score, str(found.verdict)) == model(rubric, text, row)[1:]


@settings(max_examples=100)
@given(rubrics(), TEXTS)
def test_ten_times_every_weight_is_the_same_rubric(rubric: Rubric, text: str) -> None:
    weights = rubric["scoring"].get("weights", {})
    tenfold = {check["id"]: exact(weights.get(check["id"], 1)) * 10 for check in rubric["checks"]}
    found, again = (
        evaluate(rubric, text),
        evaluate({**rubric, "scoring": {**rubric["scoring"], "weights": tenfold}}, text),
    )
    assert (found.score, found.verdict) == (again.score, again.verdict)


def test_a_tenth_and_a_fifth_are_three_tenths() -> None:
    ids = {"a": 0.1, "b": 0.2, "c": 0.7}
    members = [{"id": id_, "kind": "must_contain_any", "values": [id_]} for id_ in ids]
    rubric = {
        "id": "r",
        "version": "1.0.0",
        "checks": members,
        "scoring": {"combine": "weighted_avg", "weights": ids, "threshold": 0.3},
    }
    found = evaluate(rubric, "a b")
    assert (found.score, str(found.verdict)) == (Fraction(3, 10), "pass")


MEMBER = {"id": "a", "kind": "must_contain_any", "values": ["x"]}


@pytest.mark.parametrize(
    ("checks_", "scoring"),
    [
        ([{**MEMBER, "negate": "false"}], {}),
        ([{**MEMBER, "threshold": "0.7"}], {}),
        ([MEMBER, MEMBER], {}),
        ([MEMBER], {"required": "a"}),
        ([MEMBER], {"weights": {"a": -1}}),
        ([MEMBER], {"weights": {"a": True}}),
        ([MEMBER], {"threshold": "0.7"}),
        ([MEMBER], {"missing": "ignore"}),
        ([MEMBER], {"errors": None}),
    ],
)
def test_a_rubric_that_would_be_graded_otherwise_than_it_says_is_refused(
    checks_: list[Rubric], scoring: Rubric
) -> None:
    rubric = {"id": "r", "version": "1.0.0", "checks": checks_, "scoring": {"combine": "min", **scoring}}
    with pytest.raises(EvalstoreError, match="this is not a valid rubric"):
        evaluate(rubric, "x")
