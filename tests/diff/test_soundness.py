"""What carries the claim: on random pairs of rubrics and random outputs, nothing that is called patch or minor moves."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from fractions import Fraction
from itertools import islice
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from evalstore.checks import Grade, Reach
from evalstore.checks import evaluate as evaluate_with
from evalstore.diff import Diff, Direction, compare
from evalstore.diff.changes.rubric import rubric_changes
from evalstore.diff.classify import Judgement, classify
from evalstore.diff.direction import join
from evalstore.diff.state import read_rubric
from evalstore.diff.witness import candidates
from evalstore.model import RubricResult, Sample, Unscored, fraction
from evalstore.model.outcome import Graded
from evalstore.versions import Bump

Mapping = dict[str, Any]
_TELLING = 10

# Letters whose lower case is a trap: sigma in its three forms, the kelvin sign, the capital I with dot, the long s.
PHRASES = ["a", "b", "ab", "A", "aB", "#", "# a", "1", "12", "\u03a3", "\u0391\u03a3", "\u03c3", "\u03c2", "\u212a"]
PHRASES += ["k", "i", "\u0130", "\u0307", "\u00df", "\u017f", "s", " ", "\n"]
PIECES = [*PHRASES, "\n\n", "## b", "###### c", "b\n===", "```\na\n```", "{}", "[1]", "", "aaaaa", "    a", "2", "3"]
PATTERNS = ["a", "b", "ab", "a|b", "^a", "a$", r"\#", "a+", "(?i)a", r"\d", ".", "A.b"]
FEW = st.sampled_from([0, 1, 2])
NUMBERS = st.sampled_from([0, 0.3, 0.5, 0.7, 1])
WEIGHTS = st.sampled_from([0, 0, 1, 2, 0.5, 3])
COMBINES = st.sampled_from(["all_pass", "any_pass", "weighted_avg", "weighted_avg", "min", "max", "median"])
JSON = ["{}", "[]", "[1]", "1", "2.0", '"a"', '{"a": 1}', '{"a": "a"}', '{"a": 1.0, "b": 2}', '{"b": null}']
TEXTS = st.lists(st.sampled_from(PIECES), max_size=5).map("".join)
EMBEDDED = st.sampled_from([*JSON, *(f"ab\n\n```json\n{text}\n```" for text in JSON)])
OUTPUTS = st.lists(TEXTS | TEXTS | EMBEDDED, min_size=8, max_size=12, unique=True)


class StubJudge:
    """A judge without a model: thirds by the letters a, by majority 0 or 1 of it; out of order at a 2 or a 3."""

    @staticmethod
    def prepare(params: Mapping, _: Reach) -> Grade:
        def grade(sample: Sample) -> Graded:
            if "2" in sample.text or "3" in sample.text:
                return Graded(None, "", Unscored.ERROR)
            score = Fraction((sample.text.count("a") + len(ref)) % 4, 3)
            return Graded(Fraction(score >= fraction(params["threshold"])) if "jury" in params else score)

        (member,) = params["jury"]["members"] if "jury" in params else [params]
        ref = member.get("judge_prompt_ref", "")  # neither: half way between the two

        return grade


@pytest.fixture(autouse=True, scope="module")
def stub() -> Iterator[None]:
    from evalstore.checks import evaluate as module_of_evaluate
    from evalstore.checks.kinds import KINDS

    kinds = {**{name: KINDS[name] for name in KINDS if name != "llm_judge"}, "llm_judge": StubJudge}
    with pytest.MonkeyPatch.context() as patch:
        globals_ = module_of_evaluate.__globals__  # the module's own name is that of its function
        patch.setitem(globals_, "KINDS", kinds)
        yield


def evaluate(rubric: Any, text: str) -> RubricResult:
    output, question = {"output": text, "tool_calls": calls_of(text)}, question_of(text)
    return evaluate_with(rubric, output, question, reach=Reach(load=NotImplemented))


def replay(rubric: Any, text: str) -> RubricResult:
    return evaluate_with(rubric, text, reach=Reach(load=NotImplemented))


def question_of(text: str) -> Mapping:
    """Return a question that expects two fields, one, or none, by the text that answers it."""
    expected = {"a": 1, "b": 2}
    return {"id": "q", "input": "", "expected": dict(list(expected.items())[: 2 - text.count("a") % 3])}


def calls_of(text: str) -> list[Mapping] | None:
    """Return calls that a text may stand for: no record with an i in it, else one for each letter a or b."""
    called = [{"name": letter, "args": {"n": place}} for place, letter in enumerate(text) if letter in "ab"]
    return None if "i" in text else called


def optional(**values: st.SearchStrategy[Any]) -> st.SearchStrategy[Mapping]:
    return st.fixed_dictionaries({}, optional=values)


COMMON = {"threshold": NUMBERS, "negate": st.booleans()}
TOOL = st.builds(
    lambda name, rest: {"name": name, **rest},
    st.sampled_from(["a", "a", "b"]),
    optional(
        args=st.sampled_from([{}, {"n": 0}, {"n": 1}]),
        args_match=st.sampled_from(["subset", "exact"]),
        min=FEW,
        max=FEW,
    ),
)
VALUES = st.lists(st.sampled_from(PHRASES), min_size=1, max_size=3)
LEAVES = st.sampled_from(
    [
        *(True, False, {}, {"type": "array"}, {"type": ["integer", "string"]}, {"type": "number"}, {"maximum": 1}),
        *({"minLength": 1}, {"pattern": "a"}, {"required": ["a"]}, {"required": ["a", "b"]}, {"uniqueItems": True}),
        *({"enum": [1, "a"]}, {"const": 1.0}, {"minProperties": 1}, {"minItems": 1}, {"format": "b"}, {"$ref": "a"}),
    ]
)
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=2),
            "additionalProperties": inner,
            "items": inner,
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "oneOf": st.lists(inner, min_size=1, max_size=2),
            "not": inner,
            "title": st.just("a"),
        },
    ),
    max_leaves=4,
)
CHECKS: dict[str, st.SearchStrategy[Mapping]] = {
    "must_contain_any": st.builds(
        lambda values, rest: {"kind": "must_contain_any", "values": values, **rest},
        VALUES,
        optional(case_sensitive=st.booleans(), min_matches=st.sampled_from([0, 1, 2, 2, 3]), **COMMON),
    ),
    "must_not_contain": st.builds(
        lambda values, rest: {"kind": "must_not_contain", "values": values, **rest},
        st.lists(st.sampled_from([*PHRASES, ""]), min_size=1, max_size=3),
        optional(case_sensitive=st.booleans(), **COMMON),
    ),
    "regex": st.builds(
        lambda pattern, rest: {"kind": "regex", "pattern": pattern, **rest},
        st.sampled_from(PATTERNS),
        optional(
            flags=st.sampled_from(["", "i", "ms"]), mode=st.sampled_from(["search", "match", "fullmatch"]), **COMMON
        ),
    ),
    "markdown_structure": st.builds(
        lambda rest: {"kind": "markdown_structure", **rest},
        optional(
            dialect=st.sampled_from(["commonmark", "lines"]),
            min_headings=FEW,
            max_heading_level=st.sampled_from([0, 1, 2, 6, 7]),
            no_h1=st.booleans(),
            required_sections=st.lists(st.sampled_from(["a", "b", "ab", "", "A"]), max_size=2),
            forbidden_patterns=st.lists(st.sampled_from(["a", "b", "aB", "ab"]), max_size=2),
            min_code_blocks=FEW,
            min_paragraphs=FEW,
            **COMMON,
        ),
    ),
    "format": st.builds(
        lambda rest: {"kind": "format", **rest},
        optional(
            format=st.sampled_from(["json", "text"]), min_chars=FEW, max_chars=st.sampled_from([0, 1, 3]), **COMMON
        ),
    ),
    "json_schema": st.builds(
        lambda asked, rest: {"kind": "json_schema", **asked, **rest},
        SCHEMAS.map(lambda schema: {"schema": schema})
        | st.sampled_from([{"expected_fields": names} for names in (["a"], ["b"], ["a", "b"], ["b", "a"])]),
        optional(extract=st.sampled_from(["auto", "whole", "fence"]), **COMMON),
    ),
    "php_lint": st.builds(
        lambda rest: {"kind": "php_lint", **rest},
        optional(on_no_code=st.sampled_from(["pass", "fail", "unscored"]), **COMMON),
    ),
    "tool_usage": st.builds(
        lambda rest: {"kind": "tool_usage", **rest},
        optional(
            tools=st.lists(TOOL, min_size=1, max_size=3),
            forbidden=st.lists(st.sampled_from(["a", "b"]), max_size=2),
            mode=st.sampled_from(["any_order", "in_order", "exact"]),
            partial=st.booleans(),
            **COMMON,
        ),
    ),
    "fact_match": st.builds(
        lambda rest: {"kind": "fact_match", **rest},
        optional(
            facts=st.lists(
                st.sampled_from(PHRASES) | st.sampled_from([{"id": "x", "value": "a"}, " b\n"]), min_size=1, max_size=3
            ),
            case_sensitive=st.booleans(),
            **COMMON,
        ),
    ),
    "llm_judge": st.builds(
        lambda ref, rest, *, jury: {
            "kind": "llm_judge",
            **({"jury": {"aggregate": "majority", "members": [ref]}} if jury else ref),
            **rest,
        },
        st.sampled_from(["judge/a@1.0.0", "judge/ab@1.0.0"]).map(lambda ref: {"judge_prompt_ref": ref}),
        optional(**COMMON),
        jury=st.booleans(),
    ),
}
CHECK = st.one_of(*CHECKS.values(), *[CHECKS["must_contain_any"]] * 3, CHECKS["must_not_contain"])


@st.composite
def rubrics(draw: st.DrawFn, prefix: str = "c") -> Mapping:
    checks = draw(st.lists(CHECK, min_size=1, max_size=3))
    ids = [f"{prefix}{index}" for index in range(len(checks))]
    for id_, check in zip(ids, checks, strict=True):
        check["id"] = id_
    scoring = draw(
        optional(
            weights=st.dictionaries(st.sampled_from(ids), WEIGHTS),
            required=st.lists(st.sampled_from(ids), unique=True, max_size=2),
            threshold=NUMBERS,
            missing=st.sampled_from(["skip", "zero"]),
            errors=st.sampled_from(["skip", "zero", "fail"]),
        )
    )
    return {"id": "r", "version": "1.0.0", "checks": checks, "scoring": {"combine": draw(COMBINES), **scoring}}


@st.composite
def edited(draw: st.DrawFn) -> tuple[Mapping, Mapping]:
    old = draw(rubrics())
    new = copy.deepcopy(old)
    for _ in range(draw(st.sampled_from([1, 1, 2, 3]))):
        draw(st.sampled_from(EDITS))(draw, new)
    return old, new


def _edit_list(draw: st.DrawFn, rubric: Mapping) -> None:
    lists = [
        check[key]
        for check in rubric["checks"]
        for key in ("values", "required_sections", "forbidden_patterns")
        if check.get(key)
    ]
    if not lists:
        return
    items = draw(st.sampled_from(lists))
    item = draw(st.sampled_from(PHRASES))
    how = draw(st.sampled_from(["add", "drop", "swap", "turn", "double", "join"]))
    if how == "add":
        items.append(item)
    elif how == "drop" and len(items) > 1:
        items.pop(draw(st.integers(0, len(items) - 1)))
    elif how == "swap":
        items[draw(st.integers(0, len(items) - 1))] = item
    elif how == "turn":
        items.reverse()
    elif how == "double":
        items.append(items[0])
    elif how == "join":
        items.append(items[0] + item)


_JUDGES = {"judge_prompt_ref", "jury"}  # one of the two
_DEMANDS = {"schema", "expected_fields"}


def _edit_param(draw: st.DrawFn, rubric: Mapping) -> None:
    check = draw(st.sampled_from(rubric["checks"]))
    other = draw(CHECKS[check["kind"]])
    keys = sorted({*other, *check} - {"id", "kind"})
    key = draw(st.sampled_from(keys)) if keys else "negate"
    changed = next((keys for keys in (_JUDGES, _DEMANDS) if key in keys), {key})
    for name in changed:
        check.pop(name, None)
    check.update({name: value for name, value in other.items() if name in changed})
    check.update({name: value for name, value in other.items() if name in {"values", "pattern"} and name not in check})


def _edit_schema(draw: st.DrawFn, rubric: Mapping) -> None:
    asking = [check for check in rubric["checks"] if isinstance(check.get("schema"), dict)]
    if not asking:
        return
    schema = draw(st.sampled_from(asking))["schema"]
    inner = [item for item in (schema, *schema.get("properties", {}).values()) if isinstance(item, dict)]
    place, other = draw(st.sampled_from(inner)), draw(LEAVES)
    if isinstance(other, dict) and draw(st.booleans()):
        place.update(other)
    elif place:
        place.pop(draw(st.sampled_from(sorted(place))))


def _edit_checks(draw: st.DrawFn, rubric: Mapping) -> None:
    checks = rubric["checks"]
    index = draw(st.integers(0, len(checks) - 1))
    how = draw(st.sampled_from(["add", "drop", "rename", "turn", "nameless", "kind", "ghost", "literal"]))
    if how == "add":
        checks.insert(index, {"id": f"n{index}{len(checks)}{sum(map(len, checks))}", **draw(CHECK)})
    elif how == "ghost":
        id_ = f"g{len(checks)}{sum(map(len, checks))}"
        checks.append({"id": id_, **draw(CHECK)})
        rubric["scoring"].setdefault("weights", {})[id_] = 0
    elif how == "drop" and len(checks) > 1:
        checks.pop(index)
    elif how == "rename":
        old, new = checks[index].get("id"), f"r{index}{len(checks)}{sum(map(len, checks))}"
        checks[index]["id"] = new
        scoring = rubric["scoring"]
        if old in scoring.get("weights", {}):
            scoring["weights"][new] = scoring["weights"].pop(old)
    elif how == "turn":
        checks.reverse()
    elif how == "nameless":
        checks[index].pop("id", None)
    elif how == "kind":
        checks[index] = {"id": checks[index].get("id", "k"), **draw(CHECK)}
    elif how == "literal" and checks[index]["kind"] == "must_contain_any" and checks[index].get("case_sensitive"):
        pattern = checks[index]["values"][0].replace("#", r"\#")
        rest = {key: checks[index][key] for key in ("id", "negate", "threshold") if key in checks[index]}
        checks[index] = {"kind": "regex", "pattern": pattern, **rest}


def _edit_scoring(draw: st.DrawFn, rubric: Mapping) -> None:
    scoring, ids = rubric["scoring"], [check["id"] for check in rubric["checks"] if "id" in check]
    how = draw(st.sampled_from(["combine", "weight", "rescale", "threshold", "required", "missing", "errors"]))
    weights = scoring.setdefault("weights", {})
    if how == "combine":
        scoring["combine"] = draw(COMBINES)
    elif how == "weight" and ids:
        weights[draw(st.sampled_from(ids))] = draw(WEIGHTS)
    elif how == "rescale" and len(ids) == len(rubric["checks"]):
        factor = draw(st.sampled_from([0.1, 3, 7]))
        weights.update({id_: Fraction(str(weights.get(id_, 1))) * Fraction(str(factor)) for id_ in ids})
        weights.update({id_: float(weight) for id_, weight in weights.items()})
    elif how == "threshold":
        scoring["threshold"] = draw(NUMBERS)
    elif how == "required" and ids:
        scoring["required"] = draw(st.lists(st.sampled_from(ids), unique=True, max_size=2))
    elif how == "missing":
        scoring["missing"] = draw(st.sampled_from(["skip", "zero"]))
    elif how == "errors":
        scoring["errors"] = draw(st.sampled_from(["skip", "zero", "fail"]))


EDITS = [_edit_list, _edit_list, _edit_schema, _edit_param, _edit_param, _edit_checks, _edit_scoring, _edit_scoring]
STRANGERS = st.sampled_from(["c", "c", "n"]).flatmap(rubrics)
PAIRS = st.one_of(edited(), edited(), edited(), st.tuples(rubrics(), STRANGERS))


def answer(result: RubricResult) -> tuple[object, object]:
    return result.score, result.verdict


def moved(old: Fraction | None, new: Fraction | None) -> Direction:
    if old is None or new is None or old == new:
        return Direction.NONE
    return Direction.LOOSER if new > old else Direction.STRICTER


def allows(claimed: Direction, seen: Direction) -> bool:
    return seen is Direction.NONE or claimed in {seen, Direction.EITHER}


def check_claim(claim: Judgement, old: RubricResult, new: RubricResult, text: str) -> None:
    told = f"{claim.rule.id} {claim.level} {claim.directions} {claim.message}: {text!r} {answer(old)} {answer(new)}"
    if claim.level < Bump.MAJOR:
        assert answer(old) == answer(new), told
    assert allows(claim.directions[0], moved(old.score, new.score)), told
    passed = [None if result.score is None else Fraction(result.verdict == "pass") for result in (old, new)]
    assert allows(claim.directions[1], moved(*passed)), told
    erred = any(check.unscored is Unscored.ERROR for result in (old, new) for check in result.checks)
    if claim.max_shift is not None and not erred and old.score is not None and new.score is not None:
        assert abs(new.score - old.score) <= claim.max_shift, told


def check_diff(diff: Diff, old: Mapping, new: Mapping, text: str) -> None:
    before, after = evaluate(old, text), evaluate(new, text)
    told = f"{[(str(f.level), f.rule, f.message) for f in diff.findings]}: {text!r} {answer(before)} {answer(after)}"
    if diff.required_bump < Bump.MAJOR:
        assert answer(before) == answer(after), told
    total = Direction.NONE
    for finding in diff.findings:
        total = join(total, finding.direction)
    steps_are_scored = before.score is not None and after.score is not None
    if steps_are_scored and not any(check.score is None for check in (*before.checks, *after.checks)):
        assert allows(total, moved(before.score, after.score)), told


@seed(20261107)
@settings(
    max_examples=200,
    deadline=None,
    database=None,
    derandomize=False,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(pair=PAIRS, outputs=OUTPUTS)
def test_what_is_patch_or_minor_moves_nothing_and_directions_hold(
    pair: tuple[Mapping, Mapping], outputs: list[str]
) -> None:
    prove(*pair, outputs)


def prove(old: Mapping, new: Mapping, outputs: list[str]) -> None:
    diff = compare(old, new)
    before, after = read_rubric(plain(old)), read_rubric(plain(new))
    assert before is not None
    assert after is not None
    steps = list(rubric_changes(before, after))
    claims = [(classify(step), *(state.rubric() for state in step.states)) for step in steps]
    assert "" not in {step.rule for step in steps}
    # What the search for witnesses would try is more telling than chance.
    telling = [text for step in steps for text in islice(candidates(step), _TELLING)]
    for text in dict.fromkeys((*outputs, *telling)):
        assert answer(evaluate(old, text)) == answer(evaluate(before.rubric(), text))
        check_diff(diff, old, new, text)
        for claim, left, right in claims:
            check_claim(claim, evaluate(left, text), evaluate(right, text), text)
    for finding in diff.findings:
        if witness := finding.witness:
            replayed = replay(old, witness.output), replay(new, witness.output)
            assert answer(replayed[0]) == (witness.old_score, witness.old_verdict)
            assert answer(replayed[1]) == (witness.new_score, witness.new_verdict)
            assert answer(replayed[0]) != answer(replayed[1])
    assert compare(old, old).findings == ()
    assert compare(new, new).findings == ()
    if diff.old.digest == diff.new.digest:
        assert diff.required_bump <= Bump.PATCH


def plain(value: Mapping) -> Mapping:
    from evalstore.diff.plain import plain as to_plain

    result: Mapping = to_plain(value)
    return result
