"""A migrated legal row is scored as the program scores it, whatever the judges say; where it is not, the report says so."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalstore.checks import CheckContext, evaluate
from evalstore.documents import read_json, write_json
from evalstore.migration import MigrationOutcome
from evalstore.migration.extraction import ArtifactDraft, Extraction, LegacySource
from evalstore.migration.readers import run_reader
from evalstore.migration.table import load_tables
from evalstore.model import Artifact, JudgeCall, JudgeReply, RubricResult, Verdict

OUR_WORDS = "another prompt: it is evalstore's own"
TABLE = load_tables("legal_eval_v1")[0]


def by_criteria(weights: list[Decimal], met: list[bool | None]) -> Fraction:
    """Model the program's formula: 0 as soon as one reply cannot be read."""
    if None in met:
        return Fraction(0)
    given = [Fraction(weight) * bool(yes) for weight, yes in zip(weights, met, strict=True)]
    low = sum(min(Fraction(0), Fraction(weight)) for weight in weights)
    high = sum(max(Fraction(0), Fraction(weight)) for weight in weights)
    return min(max((sum(given) - low) / (high - low), Fraction(0)), Fraction(1))


def by_choice(correct: list[str], output: str) -> Fraction:
    """Model the program's multiple choice: the first word of one answer, in capitals, of a JSON object."""
    answer = json.loads(output)["answer"]
    one = answer[0] if isinstance(answer, list) else answer
    return Fraction(read_choice(one) in {read_choice(id_) for id_ in correct})


def read_choice(text: str) -> str:
    """Model how the program reads an id: from its first character of a word up to the next that is in none."""
    bare = re.sub(r"^[^A-Za-z0-9_]*", "", text.strip())
    return re.sub(r"[^A-Za-z0-9_].*$", "", bare).upper()


def row(**said: Any) -> dict[str, Any]:
    return {"schema_version": "legal_eval_v1", "id": "r", "dataset": "d", "prompt": "A question?"} | said


def taken(*rows: dict[str, Any]) -> Extraction:
    return run_reader(
        LegacySource(read_json(write_json(list(rows)), "rows.json"), "rows.json", "", lambda _: None), TABLE
    )


def artifact(draft: ArtifactDraft) -> Artifact:
    value = {"id": draft.id, "version": draft.version} | draft.value
    return Artifact(draft.kind, draft.id, draft.version, read_json(write_json(value), "judge"))


def scored(said: Extraction, output: str, ask: Callable[[JudgeCall], JudgeReply]) -> RubricResult:
    (case,) = said.cases
    judges = {draft.ref: artifact(draft) for draft in said.drafts}
    assert case.rubric
    context = CheckContext(load=judges.__getitem__, ask=ask, model={"id": "m"})
    return evaluate({"id": "r", "version": "1.0.0"} | case.rubric.value, output, case.question, context=context)


WEIGHTS = st.lists(
    st.sampled_from([*map(Decimal, ["10", "-10", "0", "0.5", "-2.5", "3", "1"])]), min_size=1, max_size=6
)


@settings(max_examples=300)
@given(WEIGHTS.filter(any), st.data(), st.sampled_from(["prbench_v1", "apexv1_extended_v1", "other", None]))
def test_criteria_are_weighed_by_the_same_formula(
    weights: list[Decimal], data: st.DataObject, policy: str | None
) -> None:
    met = [data.draw(st.sampled_from([True, False, True, False, None])) for _ in weights]
    replies = {True: '{"verdict": "yes"}', False: '{"verdict": "no"}', None: "well…"}
    rubric = [
        {"id": f"c{index}", "title": f"#{index}#", "description": f"#{index}# in full", "weight": weight}
        for index, weight in enumerate(weights)
    ]
    said = taken(row(task_type="rubric_qa", rubric=rubric, metadata={"policy_id": policy} if policy else {}))
    assert said.cases[0].reasons == (OUR_WORDS,)

    def ask(call: JudgeCall) -> JudgeReply:
        index = re.search(r"#(\d+)#", call.prompt)
        assert index
        return JudgeReply(replies[met[int(index[1])]])

    result = scored(said, "an answer", ask)
    expected = by_criteria(weights, met)
    assert result.score == expected
    assert (result.verdict is Verdict.PASS) == (expected >= Fraction(7, 10))


IDS = st.sampled_from(["A", "B", "CHOICE_28", "CHOICE_2", "b2", "(c)", "k"])


@settings(max_examples=300)
@given(st.lists(IDS, min_size=2, max_size=5, unique=True), st.data())
def test_a_choice_is_right_for_both(ids: list[str], data: st.DataObject) -> None:
    correct = data.draw(st.lists(st.sampled_from(ids), min_size=1, unique=True))
    said = taken(row(task_type="mcq", choices=[{"id": id_, "text": "?"} for id_ in ids], correct_choice_ids=correct))
    assert said.cases[0].outcome is MigrationOutcome.LOSSY
    word = data.draw(st.sampled_from([*ids, "AB", "", "\u212a", "C"]))
    answer = data.draw(
        st.sampled_from([word, word.lower(), f" ({word}).", f"{word})", f"{word}. The court\n", [word], [word, ids[0]]])
    )
    output = json.dumps({"why": "because", "answer": answer}, ensure_ascii=False)
    result = scored(said, output, lambda _: JudgeReply("", problem="nobody asks"))
    assert result.score == by_choice(correct, output)


@pytest.mark.parametrize(
    ("output", "score"),
    [
        ('{"answer": "B. The court held"}', 1),
        ('```json\n{"answer": "b"}\n```', 1),
        ('{"answer": ["B", "A"]}', 1),
        ('{"answer": "B\\nas it held"}', 1),
        ('{"answer": "B, or\\nA"}', 0),
        ('{"answer": "BB"}', 0),
        ('{"answer": "A", "reasoning": "\\"answer\\": \\"B\\""}', 0),
        ('{"question": {"answer": "B"}}', 0),
        ('{"answer": 1}', 0),
        ("B", 0),
    ],
)
def test_only_the_answer_of_the_object_is_read(output: str, score: int) -> None:
    choices = [{"id": "A", "text": "?"}, {"id": "B", "text": "!"}]
    said = taken(row(task_type="mcq", choices=choices, correct_choice_ids=["B"]))
    assert scored(said, output, lambda _: JudgeReply("")).score == score


def test_a_reference_is_graded_by_the_policys_judge() -> None:
    answers = {"reference_answers": ["One.", "Two."], "task_type": "reference_qa"}
    said = taken(row(**answers, metadata={"policy_id": "lexam_oq_v1"}))
    prompts: list[str] = []

    def ask(call: JudgeCall) -> JudgeReply:
        prompts.append(call.prompt)
        return JudgeReply('{"score": 0.7}')

    result = scored(said, "Three.", ask)
    assert result.score == Fraction(7, 10)
    assert result.verdict is Verdict.PASS
    assert "One.\nTwo." in prompts[0]
    assert scored(said, "Three.", lambda _: JudgeReply("no idea")).score == 0


def test_the_letters_of_a_choice_are_not_enough() -> None:
    said = taken(
        row(task_type="mcq", choices=[{"id": "A", "text": "?"}, {"id": "B", "text": "!"}], correct_choice_ids=["B"])
    )
    assert scored(said, "B is certainly not it", lambda _: JudgeReply("")).score == 0


def test_a_description_that_is_no_text_is_no_criterion() -> None:
    criterion = {"id": "1", "title": "Cites the law", "weight": 1, "description": ["Article 5"]}
    (case,) = taken(row(task_type="rubric_qa", rubric=[criterion], metadata={"policy_id": "apexv1_extended_v1"})).cases
    assert case.outcome is MigrationOutcome.REFUSED
    assert case.sentences == ("the description of 'Cites the law' is a list",)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"reference_answers": [1]}, "reference_answers is not a list of texts"),
        ({"attachments": [{"title": "a"}]}, "an attachment has no path"),
        ({"dataset": None}, "dataset is null where a text belongs"),
        ({"prompt": ""}, "prompt is empty"),
        ({"messages": [{"role": "narrator", "content": "a"}]}, "a message has no role of user, assistant or system"),
        ({"rubric": [{"title": "No id"}]}, "a criterion has no id and title"),
        ({"choices": []}, "choices has no place in a row of rubric_qa: the program does not take it"),
        (
            {"correct_choice_ids": []},
            "correct_choice_ids has no place in a row of rubric_qa: the program does not take it",
        ),
        ({"task_type": "reference_qa"}, "rubric has no place in a row of reference_qa: the program does not take it"),
        (
            {"task_type": "reference_qa", "rubric": None, "reference_answers": [""]},
            "reference_answers is not a list of texts",
        ),
        (
            {"task_type": "reference_qa", "rubric": None, "reference_answers": []},
            "reference_answers is not a list of texts",
        ),
        (
            {"task_type": "reference_qa", "rubric": None, "choices": []},
            "choices has no place in a row of reference_qa: the program does not take it",
        ),
        (
            {"task_type": "mcq", "rubric": None, "reference_answers": ["a"]},
            "reference_answers has no place in a row of mcq: the program does not take it",
        ),
        (
            {"task_type": "mcq", "rubric": None, "choices": [{"id": "A", "text": "?"}], "correct_choice_ids": ["A"]},
            "choices is not a list of two or more, each with an id and a text",
        ),
        (
            {"task_type": "mcq", "rubric": None, "choices": [{"id": "A"}, {"text": "!"}], "correct_choice_ids": ["A"]},
            "choices is not a list of two or more, each with an id and a text",
        ),
    ],
)
def test_parts_that_the_program_does_not_take_are_refused(more: dict[str, Any], said: str) -> None:
    criterion = {"id": "1", "title": "Cites the law"}
    (case,) = taken(row(**{"task_type": "rubric_qa", "rubric": [criterion], **more})).cases
    assert case.outcome is MigrationOutcome.REFUSED
    assert case.sentences == (said,)


def test_keys_that_nobody_knows_are_said_with_what_they_may_mean() -> None:
    criterion = {"id": "1", "title": "Cites the law", "wieght": 5}
    (case,) = taken(row(task_type="rubric_qa", rubric=[criterion], contxt="It rains.")).cases
    assert case.sentences == (
        OUR_WORDS,
        "no grader reads 'contxt': kept as data; did you mean context by 'contxt'?",
        "no grader reads 'wieght': kept as data; did you mean weight by 'wieght'?",
    )
