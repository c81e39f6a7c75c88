"""Prompts and rubrics that measure badly, each with its one finding, and good ones, which are spared."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from evalstore.documents import write_yaml
from evalstore.lint import VALIDATION_RULES, find_folder_sources, validate

BINARY: dict[str, Any] = {"score_type": "binary"}
LEVELS: dict[str, Any] = {"score_type": "levels", "level_names": ["wrong", "partial", "right"]}
TEN: dict[str, Any] = {"scale": {"min": 1, "max": 10}}
GOLD: dict[str, Any] = {"validation": {"validated_against": "dataset/gold@worktree"}}
VERDICT = '\nReply with JSON: {"rationale": "one sentence", "verdict": "pass" or "fail"}.'
LEVEL = '\nReply with JSON: {"rationale": "one sentence", "level": "wrong", "partial" or "right"}.'
QA = "Question: {{ input }}\nAnswer: {{ output }}\n"
RULES = (
    "template-output-unread",
    "template-reference-unread",
    "criterion-vague",
    "criterion-doubled",
    "scale-unexplained",
    "level-unexplained",
    "criterion-style-cued",
    "reply-not-allowed",
    "weight-ineffective",
)


def make_judge(template: str, **keys: Any) -> dict[str, Any]:
    return {"id": "it", "version": "1.0.0", "template": template, **keys}


def make_rubric(scoring: dict[str, Any], *checks: dict[str, Any]) -> dict[str, Any]:
    return {"id": "it", "version": "1.0.0", "checks": list(checks), "scoring": scoring}


def make_phrases(id_: str, *values: str) -> dict[str, Any]:
    return {"id": id_, "kind": "must_contain_any", "values": list(values)}


def make_judged(criterion: str) -> dict[str, Any]:
    check = {"kind": "llm_judge", "judge_prompt_ref": "judge/by_criterion@1.0.0", "variables": {"criterion": criterion}}
    return make_rubric({"combine": "min"}, check)


BAD: dict[str, tuple[str, dict[str, Any]]] = {
    "only asks whether there is an output": (
        "template-output-unread",
        make_judge("Was {{ input }} answered? {{# output }}There is an answer.{{/ output }}" + VERDICT, **BINARY),
    ),
    "shows the output where there is none": (
        "template-output-unread",
        make_judge("Does it name a date?{{^ output }} {{ output }}{{/ output }}" + VERDICT, **BINARY),
    ),
    "speaks of a reference": (
        "template-reference-unread",
        make_judge(QA + "Does it say the same as the reference answer?" + VERDICT, **BINARY),
    ),
    "speaks of a ground truth": (
        "template-reference-unread",
        make_judge("Compare {{ output }} with the ground truth. Fail it for any other number." + VERDICT, **BINARY),
    ),
    "rows have a reference that it does not see": (
        "template-reference-unread",
        make_judge(QA + "Is every date in it correct?" + VERDICT, **BINARY, **GOLD),
    ),
    "a good answer": ("criterion-vague", make_judge(QA + "Is this a good answer?" + VERDICT, **BINARY)),
    "quality": (
        "criterion-vague",
        make_judge("Evaluate the quality of the response: {{ output }}" + VERDICT, **BINARY),
    ),
    "a criterion of one word": ("criterion-vague", make_judged("helpfulness")),
    "a criterion that praises": ("criterion-vague", make_judged("The answer is good and useful.")),
    "accurate and polite": (
        "criterion-doubled",
        make_judge(QA + "Is the answer accurate and polite to the customer?" + VERDICT, **BINARY),
    ),
    "two questions": (
        "criterion-doubled",
        make_judge(QA + "Does it name the fee? Does it link to the form?" + VERDICT, **BINARY),
    ),
    "a criterion of two": ("criterion-doubled", make_judged("The reply is complete and friendly towards the guest.")),
    "one to ten": (
        "scale-unexplained",
        make_judge(QA + 'Rate how well it explains the refund. Reply with {"score": 1 to 10}.', **TEN),
    ),
    "from zero to one": (
        "scale-unexplained",
        make_judge("Score the faithfulness of the summary from 0 to 1.\n{{ output }}"),
    ),
    "out of ten": ("scale-unexplained", make_judge("How faithful is {{ output }} to its source, out of 10?", **TEN)),
    "a level that is never named": (
        "level-unexplained",
        make_judge(QA + "right: it gives the fee. wrong: it gives another one." + VERDICT, **LEVELS),
    ),
    "longer is better": (
        "criterion-style-cued",
        make_judge(QA + "Does it explain the fee? Longer, more detailed answers are better." + VERDICT, **BINARY),
    ),
    "points for headings": (
        "criterion-style-cued",
        make_judge(QA + "Does it explain the fee? Give extra points for headings and bullets." + VERDICT, **BINARY),
    ),
    "sounds confident": ("criterion-style-cued", make_judged("The answer names the fee and sounds confident.")),
    "an answer that the endpoint cannot give": (
        "reply-not-allowed",
        make_judge(
            QA + "Does it name the dose? Say n/a if it is about no drug." + VERDICT,
            **BINARY,
            model={"id": "m", "response_format": "json"},
        ),
    ),
    "a weight too small": (
        "weight-ineffective",
        make_rubric(
            {"combine": "weighted_avg", "weights": {"fee": 10}},
            make_phrases("fee", "12 euros"),
            make_phrases("form", "B7"),
        ),
    ),
    "a weight that nothing reads": (
        "weight-ineffective",
        make_rubric(
            {"combine": "all_pass", "weights": {"fee": 2}}, make_phrases("fee", "12 euros"), make_phrases("form", "B7")
        ),
    ),
}
GOOD: dict[str, dict[str, Any]] = {
    "a section around the output": make_judge(
        "Does it name a date?{{# output }}\nAnswer: {{ output }}{{/ output }}{{^ output }}No answer.{{/ output }}"
        + VERDICT,
        **BINARY,
    ),
    "the reference is shown": make_judge(
        QA + "Reference answer: {{ expected }}\nDoes the answer agree with the reference answer?" + VERDICT, **BINARY
    ),
    "no reference is needed": make_judge(
        QA + "Does the answer treat the reader as an adult? Fail it if it lectures." + VERDICT, **BINARY, **GOLD
    ),
    "correct by what is shown": make_judge(
        QA + "{{ expected }}\nIs every date in the answer correct?" + VERDICT, **BINARY, **GOLD
    ),
    "good, and what that is": make_judge(
        QA + "Is this a good answer? It is if it names the fee, the deadline and where to pay." + VERDICT, **BINARY
    ),
    "criteria of the question": make_judge(
        QA + "{{# criteria }}A good answer: {{ criteria }}{{/ criteria }}\nIs it a good answer?" + VERDICT, **BINARY
    ),
    "a criterion that says what counts": make_judged("The answer tells the guest how to cancel without a fee."),
    "two nouns, one question": make_judge(
        QA + "Does it name the fee and the deadline for paying it?" + VERDICT, **BINARY
    ),
    "one quality in two words": make_judge(QA + "Is it polite and respectful towards the guest?" + VERDICT, **BINARY),
    "two conditions, and how they combine": make_judge(
        QA + "Does it name the fee? Does it link to the form? Pass it only if both are so." + VERDICT, **BINARY
    ),
    "two qualities that are not asked about": make_judge(
        "You work for a clear and helpful magazine.\n" + QA + "Does the text name its source?" + VERDICT, **BINARY
    ),
    "both ends of the scale": make_judge(
        QA + 'Rate the refund from 1 (names no step) to 10 (every step can be followed). Reply {"score": 1 to 10}.',
        **TEN,
    ),
    "each number on a line": make_judge(
        QA + "Score from 1 to 10:\n1: contradicts the source\n5: leaves half of it out\n10: says all of it", **TEN
    ),
    "give the most if": make_judge(
        QA + 'Give 1 if every claim is in the source, 0 if none is. Reply {"score": 0 to 1}.'
    ),
    "best and worst": make_judge(QA + "Faithful to its source? From 1 to 10; the worst is 1, the best is 10.", **TEN),
    "every level is explained": make_judge(
        QA + "right: it gives the fee. partial: it says that there is one. wrong: anything else." + LEVEL, **LEVELS
    ),
    "length does not count": make_judge(
        QA + "Does it explain the fee? Do not reward longer or more detailed answers." + VERDICT, **BINARY
    ),
    "length is what is asked": make_judge(QA + "Can a driver read it within ten seconds?" + VERDICT, **BINARY),
    "style is ignored": make_judge(
        QA + "Ignore formatting, headings and how confident it sounds. Does it name the fee?" + VERDICT, **BINARY
    ),
    "a small weight that decides": make_rubric(
        {"combine": "weighted_avg", "weights": {"fee": 2, "form": 2}},
        make_phrases("fee", "12 euros"),
        make_phrases("form", "B7"),
        make_phrases("date", "1 May"),
        make_phrases("place", "Room 3"),
    ),
    "a weight of none": make_rubric(
        {"combine": "weighted_avg", "weights": {"form": 0}}, make_phrases("fee", "12 euros"), make_phrases("form", "B7")
    ),
    "a required check of small weight": make_rubric(
        {"combine": "weighted_avg", "weights": {"fee": 10}, "required": ["form"]},
        make_phrases("fee", "12 euros"),
        make_phrases("form", "B7"),
    ),
    "part scores move the mean": make_rubric(
        {"combine": "weighted_avg", "weights": {"fee": 10}},
        make_phrases("fee", "12 euros"),
        {"id": "facts", "kind": "fact_match", "facts": ["B7", "Room 3"]},
    ),
    "an answer that the endpoint can give": make_judge(
        QA + "Does it name the dose? Say n/a if it is about no drug." + VERDICT,
        **BINARY,
        model={"id": "m", "response_format": "json_or_na"},
    ),
    "no words at all": make_judge("{{ output }}"),
}


def find_rules(value: dict[str, Any], folder: Path) -> list[str]:
    """Return the findings about words and weights of one artifact in a store with a dataset of references."""
    rows = [{"id": f"q{number}", "input": "?", "expected": "1 May"} for number in range(5)]
    files = {
        ("judges/it.yaml" if "template" in value else "rubrics/it.yaml"): value,
        "judges/by_criterion.yaml": {**make_judge("{{ output }}: {{ criterion }}"), "id": "by_criterion"},
        "datasets/gold.yaml": {"id": "gold", "version": "1.0.0", "questions": rows},
    }
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(write_yaml(content), encoding="utf-8")
    findings = validate(find_folder_sources(folder), load=None, today=date(2026, 9, 30)).findings
    return [found.rule for found in findings if found.rule in RULES and found.file.endswith("it.yaml")]


@pytest.mark.parametrize("name", BAD)
def test_a_bad_prompt_has_its_one_finding(name: str, tmp_path: Path) -> None:
    rule, value = BAD[name]
    assert find_rules(value, tmp_path) == [rule]


@pytest.mark.parametrize("name", GOOD)
def test_a_good_prompt_is_spared(name: str, tmp_path: Path) -> None:
    assert find_rules(GOOD[name], tmp_path) == []


def test_each_of_the_rules_finds_something_and_has_its_reason_and_example() -> None:
    assert {rule for rule, _ in BAD.values()} == set(RULES)
    for rule in RULES:
        assert VALIDATION_RULES[rule].why
        assert VALIDATION_RULES[rule].example
