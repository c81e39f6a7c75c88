"""A migrated suite of statements scores the share of those that a judge finds to hold, whatever shape they came in."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalstore.checks import CheckContext, evaluate
from evalstore.documents import Document, read_json, write_json
from evalstore.migration import MigrationOutcome, migrate
from evalstore.migration.detect import detect_format
from evalstore.migration.extraction import ArtifactDraft, Extraction, LegacySource
from evalstore.migration.readers import run_reader
from evalstore.migration.table import load_tables
from evalstore.migration.value_readings import describe_unknown_keys
from evalstore.model import Artifact, JudgeCall, JudgeReply, RubricResult, Verdict
from tests.migrate.planning import plan_alone

OUR_JUDGE = "another prompt: it is evalstore's own, and it does not see the files of a run"
TABLE = load_tables("skill_creator")[0]
# Words of every kind: white space counts, and what looks like a tag of a template is text.
WORDS = st.sampled_from(["holds", " holds ", "{{ output }}", "{{", "a\nb", "é", "0–4", "yes", '"quoted"', "x" * 80])
WORDS |= st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=9)
TRIGGERS = [{"query": "?", "should_trigger": True}]
SHAPES: list[Callable[[str], Any]] = [
    lambda text: text,
    lambda text: {"text": text},
    lambda text: {"id": "the-id", "text": text},
    lambda text: {"name": "name", "description": text},
]
STATEMENTS = st.lists(st.tuples(st.sampled_from(SHAPES), WORDS), min_size=1, max_size=5)


def pass_rate(statements: list[str], holds: Callable[[str], bool]) -> Fraction:
    """Model the grader: each statement passes or fails, and the result is the share of those that pass."""
    return Fraction(sum(map(holds, statements)), len(statements))


def document(value: Any) -> Document:
    return read_json(write_json(value), "evals.json")


def taken(value: Any) -> Extraction:
    return run_reader(LegacySource(document(value), "evals.json", "", lambda _: None), TABLE)


def graded(said: Extraction, ask: Callable[[JudgeCall], JudgeReply]) -> RubricResult:
    (case,) = said.cases
    assert case.rubric
    judges = {draft.ref: artifact(draft) for draft in said.drafts}
    context = CheckContext(load=lambda ref: judges[str(ref)], ask=ask, model={"id": "m"})
    rubric = case.rubric.value | {"id": case.rubric.id, "version": "1.0.0"}
    return evaluate(rubric, "an answer", case.question, context=context)


def artifact(draft: ArtifactDraft) -> Artifact:
    value = {"id": draft.id, "version": draft.version} | draft.value
    return Artifact(draft.kind, draft.id, draft.version, document(value))


def asked_about(prompt: str) -> str:
    return prompt.split("The statement:\n", 1)[1].split("\n\nSay yes only if", 1)[0]


@settings(max_examples=200)
@given(
    STATEMENTS,
    st.sampled_from(["assertions", "expectations"]),
    st.sampled_from(["evals", ""]),
    st.sets(st.integers(0, 2)),
)
def test_the_score_is_the_pass_rate(
    statements: list[tuple[Callable[[str], Any], str]], key: str, root: str, thirds: set[int]
) -> None:
    def holds(text: str) -> bool:
        return len(text) % 3 in thirds

    case = {"id": 1, "prompt": "Go", key: [shape(text) for shape, text in statements]}
    seen: list[str] = []

    def ask(call: JudgeCall) -> JudgeReply:
        seen.append(asked_about(call.prompt))
        return JudgeReply(json.dumps({"verdict": "yes" if holds(seen[-1]) else "no"}))

    said = taken({"skill_name": "s", root: [case]} if root else [case])
    assert said.cases[0].reasons == (OUR_JUDGE,)
    result = graded(said, ask)
    texts = [text for _, text in statements]
    assert sorted(seen) == sorted(texts)
    assert result.score == pass_rate(texts, holds)
    assert (result.verdict is Verdict.PASS) == all(map(holds, texts))


def test_a_judge_that_cannot_answer_proves_nothing_either_way() -> None:
    said = taken([{"prompt": "Go", "assertions": ["a", "b"]}])
    result = graded(said, lambda call: JudgeReply('{"verdict": "no"}' if "b" in asked_about(call.prompt) else "well"))
    assert result.score == 0
    assert graded(said, lambda _: JudgeReply("well")).score is None


def test_a_suite_that_nothing_here_grades_is_said_in_one_line(tmp_path: Path, cli: Any) -> None:
    statement = {"type": "file_exists", "path": "a.txt"}
    cases = [{"id": number, "prompt": "Go.", "assertions": [statement]} for number in (1, 2)]
    (tmp_path / "evals.json").write_text(json.dumps({"skill_name": "files", "evals": cases}))
    ran = cli("migrate", tmp_path / "evals.json", "--into", tmp_path / "store", "--format", "json")
    (entry,) = json.loads(ran.out)["entries"]
    assert (ran.code, entry["outcome"], entry["pointer"]) == (1, "refused", "")
    assert entry["reason"].startswith("nothing that grades its cases can be said here (a statement of file_exists is")
    assert not (tmp_path / "store/datasets").exists()


@pytest.mark.parametrize("kind", ["file_exists", "content_contains", "content_matches"])
def test_a_statement_about_files_is_left_and_said(kind: str) -> None:
    typed = {"type": kind, "path": "../out.txt", "pattern": "(", "text": "It is there."}
    for statements in ([typed], [typed, "It is short."]):
        (case,) = taken([{"prompt": "Go", "assertions": statements}]).cases
        assert case.outcome is MigrationOutcome.LOSSY
        assert [(note.outcome, note.pointer) for note in case.notes] == [
            (MigrationOutcome.UNMAPPED, (0, "assertions", 0))
        ]
        assert case.rubric
        assert [item["value"] for item in case.rubric.value["x_unmapped"]] == [typed]
        assert len(case.rubric.value["checks"]) == 1


@pytest.mark.parametrize(
    ("criteria", "weights", "score"),
    [
        ({"one": "a", "two": "b"}, {"one": 3}, Fraction(3, 4)),
        ({"one": "a", "two": {"description": "b"}}, {"two": 0}, Fraction(1)),
        ({"one": "a", "two": "b"}, {"one": 0, "two": 0}, Fraction(1, 2)),
        ({"one": "a", "two": "b"}, {"one": -1, "other": 5}, Fraction(1, 2)),
        ({"one": "a", "two": ["b"]}, {}, Fraction(1)),
    ],
)
def test_criteria_have_the_weights_of_the_file(criteria: Any, weights: Any, score: Fraction) -> None:
    root = {
        "test_cases": [{"prompt": "Go", "evaluation_criteria": criteria}],
        "scoring": {"pass_threshold": 1, "weights": weights},
    }
    said = taken(root)
    assert said.cases[0].outcome is MigrationOutcome.LOSSY
    result = graded(said, lambda call: JudgeReply('{"verdict": "%s"}' % ("no" if "two: b" in call.prompt else "yes")))
    assert result.score == score


@pytest.mark.parametrize("threshold", [0, 1, "0.5", 80, True, None, -1])
def test_only_a_share_is_a_threshold(threshold: Any) -> None:
    root = {"evals": [{"prompt": "Go", "assertions": ["a"]}], "scoring": {"pass_threshold": threshold}}
    said = taken(root)
    assert said.cases[0].rubric
    own = threshold in {0, 1} and threshold is not True
    assert said.cases[0].rubric.value["scoring"]["threshold"] == (threshold if own else 1)
    assert [note.pointer for note in said.notes] == (
        [] if own or threshold is None else [("scoring", "pass_threshold")]
    )


def test_weights_that_are_none_of_a_criterion_are_said() -> None:
    cases = [{"prompt": "Go", "evaluation_criteria": {"one": "a"}}]
    said = taken(
        {"test_cases": cases, "scoring": {"weights": {"one": 2, "two": 1, "three": "x"}}, "triggers": TRIGGERS}
    )
    at = [("triggers",), ("scoring", "weights", "two"), ("scoring", "weights", "three")]
    assert [(note.pointer, note.outcome) for note in said.notes] == [
        (pointer, MigrationOutcome.UNMAPPED) for pointer in at
    ]


@pytest.mark.heavy
def test_an_id_used_very_often_costs_no_more_than_others() -> None:
    start = time.process_time()
    (case,) = taken([{"prompt": "Go", "assertions": [{"id": "a", "text": "b"}] * 6_000}]).cases
    assert case.rubric
    assert case.rubric.value["checks"][-1]["id"] == "a_6000"
    assert time.process_time() - start < 3  # quadratic, it would be minutes


ODD = st.sampled_from([None, True, False, 0, -1, 1.5, "", "text", [], [None], [[]], [{}], [5, ""], {}, {"a": 1}])
ODD |= st.sampled_from(
    [[{"type": "file_exists"}], [{"text": ""}], [{"type": 5, "text": "t"}], [{"id": {}, "text": "t"}]]
)
KEYS = ["id", "prompt", "question", "expected_output", "assertions", "expectations", "expected_behavior", "tags"]
KEYS += ["evaluation_criteria", "llm_rubric", "should_trigger", "files", "name", "metadata", "text"]


@settings(max_examples=400)
@given(
    st.lists(ODD | st.dictionaries(st.sampled_from(KEYS), ODD, max_size=6), max_size=4),
    st.sampled_from(["evals", "test_cases", ""]),
    ODD | st.fixed_dictionaries({}, optional={"pass_threshold": ODD, "weights": ODD}),
)
def test_no_value_is_a_crash_and_every_case_is_spoken_of(rows: list[Any], key: str, scoring: Any) -> None:
    root = {key: rows, "scoring": scoring} if key else rows
    said = taken(root)
    assert len(said.cases) == len(rows)
    assert all(case.sentences for case in said.cases)
    names = [case.question["id"] for case in said.cases if not case.is_set_aside]
    assert len(names) == len(set(names))
    legacy = LegacySource(document(root), "evals.json", "", lambda _: None)
    plan = plan_alone(said, legacy, TABLE)
    assert not [entry.reason for entry in plan.entries if "cannot be kept" in entry.reason]


@pytest.mark.parametrize(
    ("value", "format_"),
    [
        ({"evals": [{"prompt": "?", "assertions": ["a"]}]}, "skill_creator"),
        ({"evals": [{"prompt": "?", "assertions": ["a"], "must_contain_any": ["a"]}]}, "ai_best_practices"),
        ({"skill_file": "SKILL.md", "evals": [{"prompt": "?", "expectations": ["a"]}]}, "ai_best_practices"),
        ({"evals": [{"prompt": "?", "mode": "recipe", "expectations": ["a"]}]}, "ai_best_practices"),
        ([{"prompt": "?", "assertions": ["a"]}], "skill_creator"),
        ([{"input": "?", "assertions": ["a"]}], "agentevals"),
        ([{"prompt": "?", "schema_version": "legal_eval_v1", "expected_output": "a"}], "legal_eval_v1"),
        ({"skill_name": "s", "evals": "broken"}, "skill_creator"),
    ],
)
def test_a_suite_is_known_by_its_content(value: Any, format_: str) -> None:
    match = detect_format(document(value).value, load_tables())
    assert match.table
    assert match.table.format == format_


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"question": "Or this?"}, "question: not as graders read it, kept as data"),
        ({"expected_output": ["a"], "tags": "x"}, "expected_output, tags: not as graders read it, kept as data"),
        ({"assertions": [{"text": "a", "description": "b"}]}, "no grader reads 'description': kept as data"),
    ],
)
def test_what_another_key_came_before_is_said(more: dict[str, Any], said: str) -> None:
    (case,) = taken([{"id": 1, "prompt": "Go", "assertions": ["a"]} | more]).cases
    assert case.reasons == (OUR_JUDGE,)
    assert case.sentences[-1] == said


def test_a_value_without_a_path_is_about_the_answer() -> None:
    statement = {"type": "content_contains", "value": "Use drush", "text": "It names drush"}
    said = taken({"evals": [{"id": 1, "prompt": "Go", "assertions": [statement]}]})
    (case,) = said.cases
    assert case.rubric
    (check,) = case.rubric.value["checks"]
    assert (check["kind"], check["values"], check["case_sensitive"]) == ("must_contain_any", ["Use drush"], True)
    assert case.outcome is MigrationOutcome.LOSSY
    assert not case.notes


def test_a_check_beside_a_name_is_in_its_own_words() -> None:
    said = taken({"evals": [{"id": 1, "prompt": "Go", "assertions": [{"name": "polite", "check": "It greets"}]}]})
    (case,) = said.cases
    assert case.rubric
    (check,) = case.rubric.value["checks"]
    assert (check["id"], check["variables"]) == ("polite", {"statement": "It greets"})


def test_a_guess_never_turns_a_demand_around() -> None:
    known = ["must_not_contain", "must_contain_any"]
    assert describe_unknown_keys(["must_contain"], known[:1]) == ["no grader reads 'must_contain': kept as data"]
    assert describe_unknown_keys(["must_not_contian"], known)[0].endswith(
        "did you mean must_not_contain by 'must_not_contian'?"
    )


def test_a_skill_gives_its_name_where_the_folder_of_its_suite_says_nothing(tmp_path: Path) -> None:
    source = tmp_path / "skills/tide-tables/evals/evals.json"
    source.parent.mkdir(parents=True)
    source.write_text(json.dumps([{"id": 1, "question": "High water?", "expected_behavior": ["Names the time"]}]))
    assert "datasets/tide_tables.yaml" in migrate(tmp_path / "skills", into=tmp_path / "store").written
