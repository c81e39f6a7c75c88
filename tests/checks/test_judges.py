"""What a judged check asks and of whom: the calls, the merged model, the replies as recorded, and files that are not a judge."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from evalstore.checks import CheckContext, evaluate
from evalstore.checks.votes import AGGREGATES, JudgeVote
from evalstore.documents import Document, compute_digest
from evalstore.errors import RefError, SchemaError
from evalstore.languages.patterns.matcher import compile_matcher
from evalstore.model import (
    Artifact,
    CheckResult,
    JudgeCall,
    JudgeReply,
    UnscoredReason,
    Verdict,
    parse_ref,
    read_judge,
)

REF = "judge/j@1.0.0"
JUDGE: Mapping[str, Any] = {"template": "{{ output }}", "model": {"id": "m"}}
ONE = {"kind": "llm_judge", "judge_prompt_ref": REF}
FULL = '{"score": 1}'
LEVELS: Mapping[str, Any] = {"score_type": "levels", "level_names": ["wrong", "partial", "right"]}


def artifact(ref: str, value: Any) -> Artifact:
    parsed = parse_ref(ref)
    return Artifact(parsed.kind, parsed.id, parsed.pin, Document(ref, "", value, {}, {}))


def answer(check: Mapping[str, Any], context: CheckContext) -> CheckResult:
    (found,) = evaluate({"checks": [check], "scoring": {"combine": "min"}}, "text", context=context).checks
    return found


def shelf(**files: Any) -> Callable[[str], Artifact]:
    values = {f"{name.partition('_')[0]}/{name.partition('_')[2]}@1.0.0": value for name, value in files.items()}
    return lambda ref: artifact(ref, values[ref])


def heard(
    check: Mapping[str, Any], judge: Mapping[str, Any] = JUDGE, model: Mapping[str, Any] | None = None
) -> list[JudgeCall]:
    calls: list[JudgeCall] = []

    def ask(call: JudgeCall) -> JudgeReply:
        calls.append(call)
        return JudgeReply(FULL)

    answer(check, CheckContext(shelf(judge_j=judge), ask, model or {}))
    return calls


def test_half_a_character_is_no_prompt() -> None:
    def never(_: JudgeCall) -> JudgeReply:
        raise AssertionError

    rubric = {"checks": [ONE], "scoring": {"combine": "min"}}
    (found,) = evaluate(rubric, "a\ud800b", context=CheckContext(shelf(judge_j=JUDGE), never)).checks
    assert (str(found.unscored), found.reason) == (
        "error",
        "judge/j@1.0.0: the prompt contains half of a surrogate pair",
    )


def test_the_model_is_the_checks_then_the_judges_then_the_runs_field_by_field() -> None:
    judge = {**JUDGE, "model": {"id": "of-the-judge", "temperature": 1, "seed": 7}}
    check = {**ONE, "model": {"temperature": 0, "top_p": None, "x_note": "why"}}
    (call,) = heard(check, judge, {"id": "of-the-run", "max_tokens": 50, "top_p": 0.5})
    assert call.model == {"id": "of-the-judge", "max_tokens": 50, "top_p": Decimal("0.5"), "temperature": 0, "seed": 7}
    assert call.judge == REF


@pytest.mark.parametrize(
    ("judge", "key", "values"),
    [
        ({"scale": {"min": 0, "max": 5}}, "score", {"type": "number", "minimum": 0, "maximum": 5}),
        ({"score_type": "binary"}, "verdict", {"type": "string", "enum": ["pass", "fail"]}),
        (LEVELS, "level", {"type": "string", "enum": ["wrong", "partial", "right"]}),
    ],
)
def test_a_schema_of_the_reply_is_made_from_the_score_type(judge: Mapping[str, Any], key: str, values: Any) -> None:
    (call,) = heard(ONE, {**JUDGE, **judge, "model": {"id": "m", "response_format": "json"}})
    form = call.model["response_format"]
    assert (form["type"], form["json_schema"]["strict"]) == ("json_schema", True)
    schema = form["json_schema"]["schema"]
    assert schema["properties"] == {"rationale": {"type": "string"}, key: values}
    assert (schema["required"], schema["additionalProperties"]) == (["rationale", key], False)
    assert call.key != heard(ONE, {**JUDGE, **judge})[0].key


@pytest.mark.parametrize(
    ("judge", "value"),
    [
        ({"scale": {"min": 0, "max": 5}}, None),
        ({"score_type": "binary"}, "n/a"),
        (LEVELS, "n/a"),
        ({**LEVELS, "level_names": ["N/A", "right"]}, None),
    ],
)
def test_a_schema_can_allow_that_a_question_does_not_apply(judge: Mapping[str, Any], value: Any) -> None:
    """What it allows is read as that: there is nothing to grade."""
    judge = {**JUDGE, **judge, "model": {"id": "m", "response_format": "json_or_na"}}
    (call,) = heard(ONE, judge)
    schema = call.model["response_format"]["json_schema"]["schema"]
    reply = {"rationale": "it names no drug", schema["required"][1]: value}
    Draft202012Validator(schema).validate(reply)
    found = answer(ONE, CheckContext(shelf(judge_j=judge), lambda _: JudgeReply(json.dumps(reply))))
    assert (found.unscored, "it names no drug" in found.reason) == (UnscoredReason.MISSING, True)


@pytest.mark.parametrize(
    ("judge", "wanted"),
    [
        ({"reads": {"score": "points", "words": "why"}}, ["why", "points"]),
        ({"reads": {"score": "points", "verdict": "ok", "no_verdict": "fail"}}, ["rationale", "ok", "points"]),
        ({"score_type": "binary", "reads": {"verdict": "ok", "words": "why"}}, ["why", "ok"]),
    ],
)
def test_a_schema_of_the_reply_has_the_keys_that_the_judge_reads(judge: Mapping[str, Any], wanted: list[str]) -> None:
    judge = {**JUDGE, "score_type": "continuous", **judge, "model": {"id": "m", "response_format": "json"}}
    schema = heard(ONE, judge)[0].model["response_format"]["json_schema"]["schema"]
    assert schema["required"] == [*schema["properties"]] == wanted
    reply = dict.fromkeys(wanted, True) | {wanted[0]: "said", wanted[-1]: 1 if "points" in wanted else "pass"}
    Draft202012Validator(schema).validate(reply)
    found = answer(ONE, CheckContext(shelf(judge_j=judge), lambda _: JudgeReply(json.dumps(reply))))
    assert found.score == 1
    idle = {**judge, "model": {"id": "m", "response_format": "json_or_na"}}
    found = answer(ONE, CheckContext(shelf(judge_j=idle), lambda _: JudgeReply("{}")))
    assert found.reason.endswith("json_or_na allows n/a, which no judge with `reads` can answer")


def test_the_schema_of_a_reply_follows_the_scale() -> None:
    model = {"id": "m", "response_format": "json"}
    keys = {heard(ONE, {**JUDGE, "scale": {"max": most}, "model": model})[0].key for most in (5, 10)}
    assert len(keys) == 2


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ({"extra": 5}, "`model.extra` of judge/j@1.0.0 is not a mapping"),
        ({"system": ["a"]}, "`model.system` of judge/j@1.0.0 is not a text"),
        ({"role": "tool"}, "`model.role` of judge/j@1.0.0 can be user or system only"),
        ({"response_format": "xml"}, "`model.response_format` of judge/j@1.0.0 can be json or json_or_na only"),
    ],
)
def test_a_request_that_cannot_be_sent_is_said_and_not_sent(model: Mapping[str, Any], said: str) -> None:
    judge = {**JUDGE, "model": {"id": "m", **model}}
    found = answer(ONE, CheckContext(shelf(judge_j=judge), lambda _: JudgeReply(FULL)))
    assert (found.verdict, found.reason) == (Verdict.UNSCORED, said)


FIRST: Mapping[str, Any] = {
    "template": "{{ output }} by {{ steps }}?",
    "variables": ["criterion"],
    "first": {"template": "How to see that it is {{ criterion }}?", "fills": "steps", "reads": "steps"},
    "model": {"id": "m", "response_format": "json"},
}
ABOUT = {**ONE, "variables": {"criterion": "kind"}}
STEPS = JudgeReply('{"steps": ["Read.", "Think."]}', digest="a" * 64)
GRADED = JudgeReply('{"score": 0.5}', digest="b" * 64)


def test_a_first_prompt_is_asked_before_and_its_reply_is_part_of_the_next() -> None:
    calls: list[JudgeCall] = []

    def ask(call: JudgeCall) -> JudgeReply:
        calls.append(call)
        return STEPS if call.prompt.startswith("How") else GRADED

    found = answer({**ABOUT, "samples": 2}, CheckContext(shelf(judge_j=FIRST), ask))
    asked = [("How to see that it is kind?", 0), ("text by Read.\n- Think.?", 0)]
    assert [(call.prompt, call.sample) for call in calls] == [*asked, (asked[0][0], 1), (asked[1][0], 1)]
    assert ["response_format" in call.model for call in calls] == [False, True] * 2
    assert [call.is_readable(GRADED) for call in calls] == [False, True] * 2
    assert (found.score, found.reply_digests) == (Fraction(1, 2), (STEPS.digest, GRADED.digest) * 2)
    assert found.replies == compute_digest([STEPS.text, GRADED.text] * 2)


@pytest.mark.parametrize(
    ("first", "said"),
    [
        ({}, "judge/j@1.0.0: the first reply has no list of texts under steps: 'No.'"),
        ({"template": "{{ steps }}"}, "nothing fills {{ steps }} in the template of judge/j@1.0.0"),
        ({"template": "{{ mood }}"}, "nothing fills {{ mood }} in the template of judge/j@1.0.0"),
        ({"template": "{{ mood"}, "the template of judge/j@1.0.0: a tag is opened and never closed"),
    ],
)
def test_without_a_first_reply_nothing_is_judged(first: Mapping[str, Any], said: str) -> None:
    judge = {**FIRST, "first": {**FIRST["first"], **first}}
    found = answer(ABOUT, CheckContext(shelf(judge_j=judge), lambda _: JudgeReply("No.")))
    assert (found.verdict, found.reason) == (Verdict.UNSCORED, said)


@pytest.mark.parametrize(
    ("first", "said"),
    [
        ({"fills": "criterion"}, "its first fills criterion, which is filled already"),
        ({"fills": "output"}, "its first fills output, which is filled already"),
        ({"pattern": "a", "reads": None}, "a value of its first is not a text"),
        ({"times": "2"}, "its first has times, which nothing reads"),
    ],
)
def test_a_first_prompt_that_cannot_be_read_makes_no_judge(first: Mapping[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_judge({**FIRST, "first": {**FIRST["first"], **first}})


def test_the_role_of_a_prompt_is_part_of_the_call_unless_it_is_the_usual_one() -> None:
    models: list[Mapping[str, Any]] = [{}, {"role": "user"}, {"role": "system"}]
    keys = [heard({**ONE, "model": model})[0].key for model in models]
    assert keys[0] == keys[1] != keys[2]


def test_one_number_in_two_spellings_is_one_call() -> None:
    spellings: list[Any] = [0, 0.0, Decimal("0.00"), Decimal("-0")]
    calls = [heard({**ONE, "model": {"temperature": number}})[0] for number in spellings]
    assert len({call.key for call in calls}) == 1
    assert {repr(call.model["temperature"]) for call in calls} == {"0"}
    assert (
        heard({**ONE, "model": {"temperature": 0.1}})[0].key
        == heard({**ONE, "model": {"temperature": Decimal("0.10")}})[0].key
    )


def test_every_sample_is_a_call_of_its_own_and_the_judges_name_is_not() -> None:
    calls = heard({**ONE, "samples": 3})
    assert [call.sample for call in calls] == [0, 1, 2]
    assert len({call.key for call in calls}) == 3
    assert {call.prompt for call in calls} == {"text"}


def test_the_replies_are_recorded_as_one_hash_of_all_in_their_order() -> None:
    texts = [FULL, '{"score": 0}', "none"]
    replies = iter(texts)
    found = answer(
        {**ONE, "samples": 3},
        CheckContext(shelf(judge_j=JUDGE), lambda _: JudgeReply(next(replies), served="s, t\x1b")),
    )
    assert (found.score, found.replies, found.engine) == (None, compute_digest(texts), "s, t\\x1b")


@pytest.mark.parametrize(
    ("judge", "reply", "said"),
    [
        ({}, '{"score": 0.5, "rationale": " Half of it. "}', "50: Half of it."),
        ({}, '{"score": 0.5, "reason": "Half of it."}', "50: Half of it."),
        ({}, '{"score": 0.5, "reasoning": "Half of it."}', "50: Half of it."),
        ({}, '{"score": 0.5, "explanation": "Half of it."}', "50: Half of it."),
        ({}, '{"score": 1, "explanation": "d", "reasoning": "c", "reason": "b", "rationale": "a"}', "100: a"),
        ({}, '{"score": 1, "explanation": "d", "reason": "b", "rationale": " "}', "100: b"),
        ({}, '{"score": 1, "rationale": ["a"], "reason": {"b": 1}}', "100"),
        ({}, '{"score": 1}', "100"),
        ({"score_type": "binary"}, '{"verdict": "no", "reason": "It names no version."}', "0: It names no version."),
        (LEVELS, '{"level": "wrong", "reason": "It names no version."}', "wrong (0): It names no version."),
        (LEVELS, '{"level": "partial"}', "partial (50)"),
        ({**LEVELS, "level_scores": {"wrong": 0, "partial": 0.8, "right": 1}}, '{"level": "partial"}', "partial (80)"),
        ({**LEVELS, "reply_pattern": "Level: (.*)"}, "It is nearly so.\nLevel: right", "right (100)"),
    ],
)
def test_what_a_judge_said_is_the_reason_of_its_score(judge: Mapping[str, Any], reply: str, said: str) -> None:
    context = CheckContext(shelf(judge_j={**JUDGE, **judge}), lambda _: JudgeReply(reply))
    assert answer(ONE, context).reason == f"{REF} {said}"


def test_criteria_are_the_questions_unless_the_check_has_some() -> None:
    judge = {**JUDGE, "template": "{{ criteria }}|{{ expected }}|{{ output }}"}
    question = {"id": "q", "input": "x", "criteria": "names a version", "expected": {"route": "a"}}

    def ask(judge: Mapping[str, Any], check: Mapping[str, Any], row: Mapping[str, Any] = question) -> str:
        prompts: list[str] = []

        def answer(call: JudgeCall) -> JudgeReply:
            prompts.append(call.prompt)
            return JudgeReply(FULL)

        rubric = {"checks": [check], "scoring": {"combine": "min"}}
        evaluate(rubric, "text", row, context=CheckContext(shelf(judge_j=judge), answer))
        return prompts[0]

    assert ask(judge, ONE) == 'names a version|{"route":"a"}|text'
    assert ask(judge, ONE, {"id": "q", "input": "x"}) == "||text"
    own = {**ONE, "variables": {"criteria": "is kind", "output": "mine"}}
    # A judge that lists the name gets the check's text, as it did before a question could fill it.
    assert ask({**judge, "variables": ["criteria"]}, own) == 'is kind|{"route":"a"}|text'
    assert ask({**judge, "variables": ["criteria"]}, ONE) == 'names a version|{"route":"a"}|text'
    assert ask(judge, own) == 'names a version|{"route":"a"}|text'


def test_everybody_who_was_asked_is_heard() -> None:
    texts = iter(['{"score": 1, "reason": "So it is."}', '{"score": 0.5}', '{"score": 0, "rationale": "Not at all."}'])
    found = answer({**ONE, "samples": 3}, CheckContext(shelf(judge_j=JUDGE), lambda _: JudgeReply(next(texts))))
    assert found.reason == f"{REF} 100: So it is.; {REF} 50; {REF} 0: Not at all."
    long = JudgeReply(f'{{"score": 1, "reason": "{"so " * 500}"}}')
    found = answer({**ONE, "samples": 9}, CheckContext(shelf(judge_j=JUDGE), lambda _: long))
    assert (len(found.reason), found.reason[-1]) == (1_000, "…")


def test_a_check_with_a_problem_of_its_own_asks_nobody() -> None:
    members = [{"judge_prompt_ref": REF}, {"judge_prompt_ref": "judge/broken@1.0.0"}]
    load = shelf(judge_j=JUDGE, judge_broken={**JUDGE, "template": "{{"})

    def never(_: JudgeCall) -> JudgeReply:
        raise AssertionError

    found = answer({"kind": "llm_judge", "jury": {"aggregate": "min", "members": members}}, CheckContext(load, never))
    assert (found.verdict, found.replies) == (Verdict.UNSCORED, "")
    assert "judge/broken@1.0.0" in found.reason


@pytest.mark.parametrize(
    ("judge", "said"),
    [
        ([], "it has no template"),
        ({}, "it has no template"),
        ({"template": 5}, "its template is not a text"),
        ({**JUDGE, "variables": "criterion"}, "its variables is not a list"),
        ({**JUDGE, "variables": ["criterion", ["a"]]}, "its variables are not all strings"),
        ({**JUDGE, "model": "m"}, "its model is not a mapping"),
        ({**JUDGE, "reply_pattern": ["a"]}, "its reply_pattern is not a text"),
        ({**JUDGE, "scale": {"min": 1}}, "so no score fits"),
        ({**JUDGE, "scale": {"max": "5"}}, "'5' is not a number"),
        ({**JUDGE, "score_type": "stars"}, "its score_type is 'stars', not one of binary, continuous, levels"),
        ({**JUDGE, "score_type": "levels"}, "two or more"),
        ({**JUDGE, "score_type": "levels", "level_names": ["a"]}, "two or more"),
        ({**JUDGE, "score_type": "levels", "level_names": ["a", "a"]}, "two or more"),
        ({**JUDGE, "score_type": "levels", "level_names": [1, 2]}, "different strings"),
        ({**JUDGE, "score_type": "levels", "level_names": ["a", "b"], "level_scores": {"a": 0}}, "exactly the names"),
        ({**JUDGE, "score_type": "levels", "level_names": ["a", "b"], "level_scores": {"a": 0, "b": 2}}, "from 0 to 1"),
    ],
)
@pytest.mark.parametrize("check", [ONE, {"kind": "fact_match", "facts": ["a"], "judge_prompt_ref": REF}])
def test_a_file_that_is_no_judge_is_named_and_not_the_check(check: Any, judge: Any, said: str) -> None:
    with pytest.raises(SchemaError, match=r"^judge/j@1.0.0 is not a valid judge: ") as refused:
        answer(check, CheckContext(shelf(judge_j=judge)))
    assert said in refused.value.message


def test_what_is_not_there_or_another_kind_is_a_reference_error() -> None:
    def load(ref: str) -> Artifact:
        raise RefError(f"{ref} is not there")

    with pytest.raises(RefError, match=r"judge/j@1.0.0 is not there"):
        answer(ONE, CheckContext(load))
    with pytest.raises(RefError, match="is a rubric, not a judge"):
        answer({**ONE, "judge_prompt_ref": "rubric/r@1.0.0"}, CheckContext(shelf(rubric_r={})))
    with pytest.raises(RefError, match="is a judge, not a rubric"):
        answer({"kind": "composite", "rubric_ref": REF}, CheckContext(shelf(judge_j=JUDGE)))


JURY = {"members": [{"judge_prompt_ref": REF}], "aggregate": "mean"}


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"samples": 0}, "minimum of 1"),
        ({"samples": 1.5}, "integer"),
        ({"samples": True}, "integer"),
        ({"jury": JURY}, "cannot be combined with the other parameters"),
        ({"judge_prompt_ref": None, "jury": {**JURY, "aggregate": "unanimous"}}, "unanimous"),
        ({"judge_prompt_ref": None, "jury": {**JURY, "members": [{"judge_prompt_ref": REF, "weight": -1}]}}, "-1"),
        ({"judge_prompt_ref": None, "jury": {**JURY, "members": [{"judge_prompt_ref": REF, "weight": "1"}]}}, "'1'"),
        ({"judge_prompt_ref": None}, "judge_prompt_ref"),
    ],
)
def test_what_the_schema_refuses_is_refused_in_its_words(params: Mapping[str, Any], said: str) -> None:
    check = {key: value for key, value in {**ONE, **params}.items() if value is not None}
    with pytest.raises(SchemaError, match=r"^check llm_judge[a-z_/0-9]*: ") as refused:
        answer(check, CheckContext(shelf(judge_j=JUDGE), lambda _: JudgeReply(FULL)))
    assert said in refused.value.message


def test_an_inner_rubric_that_is_none_is_named() -> None:
    check = {"kind": "composite", "rubric_ref": "rubric/r@1.0.0"}
    with pytest.raises(SchemaError, match=r"^rubric/r@1.0.0 is not a valid rubric: `scoring` is missing"):
        answer(check, CheckContext(shelf(rubric_r={"checks": []})))
    inner = {"checks": [{"kind": "must_contain_any", "values": 5}], "scoring": {"combine": "min"}}
    with pytest.raises(SchemaError, match="check must_contain_any"):
        answer(check, CheckContext(shelf(rubric_r=inner)))


def test_an_approximate_engine_stays_approximate_through_a_composite() -> None:
    from evalstore.checks.kinds import composite
    from evalstore.checks.kinds.composite import _name_engines

    def result(engine: str, score: Fraction | None = Fraction(1)) -> CheckResult:
        return CheckResult("a", "php_lint", score, Verdict.PASS, engine=engine)

    approximate, other = "a php (approximate)", "z 1.0"
    assert _name_engines([result(approximate), result(other)]) == "z 1.0, a php (approximate)"
    # What gave no score is not an engine of the score.
    assert _name_engines([result(approximate, None), result(other)]) == other
    assert composite.APPROXIMATE == "(approximate)"


def test_a_composite_names_an_engine_once() -> None:
    from evalstore.checks.kinds.composite import _name_engines

    graded = [CheckResult("x", "llm_judge", Fraction(1), Verdict.PASS, engine=engine) for engine in ("b, c", "b", "a")]
    assert _name_engines(graded) == "a, b, c"


def test_the_replies_of_a_composite_are_those_of_its_checks() -> None:
    inner = {"checks": [ONE, {**ONE, "samples": 2}], "scoring": {"combine": "min"}}
    check = {"kind": "composite", "rubric_ref": "rubric/r@1.0.0"}
    found = answer(check, CheckContext(shelf(rubric_r=inner, judge_j=JUDGE), lambda _: JudgeReply(FULL)))
    assert found.replies == compute_digest([compute_digest([FULL]), compute_digest([FULL, FULL])])


SCORES = st.fractions(0, 1, max_denominator=12)
VOTES = st.lists(st.builds(JudgeVote, SCORES, st.fractions(0, 3, max_denominator=4)), min_size=1, max_size=6)


@given(VOTES.filter(lambda votes: any(vote.weight for vote in votes)), SCORES, st.fractions(1, 9), st.randoms())
def test_juries_are_fair(votes: list[JudgeVote], bar: Fraction, factor: Fraction, chance: Any) -> None:
    scores = [vote.score for vote in votes]
    shuffled = chance.sample(votes, len(votes))
    for aggregate, combine in AGGREGATES.items():
        found = combine(votes, bar)
        assert found == combine(shuffled, bar), aggregate
        assert found == combine([JudgeVote(vote.score, vote.weight * factor) for vote in votes], bar), aggregate
        assert aggregate == "majority" or min(scores) <= found <= max(scores)
    alone = [JudgeVote(scores[0], Fraction(1))]
    assert {combine(alone, bar) for name, combine in AGGREGATES.items() if name != "majority"} == {scores[0]}
    assert AGGREGATES["majority"](alone, bar) == int(scores[0] >= bar)


def test_captures_are_of_the_first_group() -> None:
    def found(pattern: str, text: str) -> list[str] | None:
        matcher = compile_matcher(pattern, "", "findall")
        assert not isinstance(matcher, str)
        return matcher.list_captures(text)

    assert found("(a)|b", "abba") == ["a", "", "", "a"]
    assert found("(a)(b)?", "ab a") == ["a", "a"]
    assert found("()", "ab") == ["", "", ""]
    assert found("(a)", "b") == []


def say(check: Mapping[str, Any], *replies: str, judge: Mapping[str, Any] = JUDGE) -> CheckResult:
    said = iter(replies)
    return answer(check, CheckContext(shelf(judge_j=judge, judge_k=judge), lambda _: JudgeReply(next(said))))


NONE = '{"verdict": "n/a", "reason": "It names no drug."}'


def test_a_judge_that_says_not_applicable_leaves_nothing_to_grade() -> None:
    found = say(ONE, NONE)
    assert (found.score, found.verdict, found.unscored) == (None, Verdict.UNSCORED, UnscoredReason.MISSING)
    assert found.reason == "judge/j@1.0.0 not applicable: It names no drug."
    assert found.replies
    assert found.engine == "m"
    assert not found.is_ungraded


def test_of_samples_and_jurors_one_that_says_so_leaves_no_vote() -> None:
    jury = {"aggregate": "mean", "members": [{"judge_prompt_ref": REF}, {"judge_prompt_ref": "judge/k@1.0.0"}]}
    for check in ({**ONE, "samples": 2}, {"kind": "llm_judge", "jury": jury}):
        assert say(check, FULL, NONE).unscored is UnscoredReason.MISSING
        assert say(check, NONE, "broken").unscored is UnscoredReason.ERROR


@pytest.mark.parametrize(("aggregate", "score"), [("mean", Fraction(1, 2)), ("points", Fraction(0))])
def test_a_statement_that_does_not_apply_is_left_out_and_named(aggregate: str, score: Fraction) -> None:
    statements = [{"id": "dose", "text": "a"}, {"id": "drug", "text": "b"}, {"id": "harm", "text": "c", "weight": -1}]
    judge = {"template": "{{ statement }}{{ output }}", "model": {"id": "m"}, "variables": ["statement"]}
    check = {**ONE, "each": statements, "aggregate": aggregate}
    found = say(check, '{"score": 1}', NONE, '{"score": 1}', judge=judge)
    assert (found.score, found.inner_missing) == (score, ("drug",))
    assert found.is_whole is False
    assert say(check, NONE, NONE, NONE, judge=judge).unscored is UnscoredReason.MISSING
    assert say({**check, "aggregate": "points"}, NONE, NONE, FULL, judge=judge).unscored is UnscoredReason.MISSING


def test_a_fact_that_does_not_apply_is_left_out() -> None:
    judge = {"template": "{{ fact }}{{ output }}", "model": {"id": "m"}, "variables": ["fact"]}
    check = {"kind": "fact_match", "facts": ["x", "y"], "judge_prompt_ref": REF}
    found = say(check, NONE, FULL, judge=judge)
    assert (found.score, found.inner_missing) == (1, ("1",))
    assert say(check, NONE, NONE, judge=judge).unscored is UnscoredReason.MISSING
