"""A migrated rubric of ai_eval scores as `rubric_checks` does; a migrated target averages its graders as the program does."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalstore.checks import CheckContext, evaluate
from evalstore.documents import read_json, write_json
from evalstore.lint.shapes import lint_check_shapes
from evalstore.migration import MigrationOutcome, export, migrate
from evalstore.migration.extraction import ArtifactDraft, Extraction, LegacySource
from evalstore.migration.readers import run_reader
from evalstore.migration.table import load_tables
from evalstore.model import Artifact, JudgeCall, JudgeReply, Verdict

TABLE = load_tables("ai_eval")[0]
WORDS = ["theme", "Theme", "hook", "ß", "İ", ""]
TEXTS = st.lists(st.sampled_from(WORDS[:-1]), min_size=1, max_size=3, unique=True)
CHECK = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["must_contain_any", "must_not_contain", "must_contain_any", "regex"]),
        "values": TEXTS,
        "pattern": st.just("x"),
    },
    optional={"case_sensitive": st.booleans(), "metadata": st.just({"discriminator": True})},
)


def runs(check: dict[str, Any], output: str) -> bool | None:
    """Model the shipped executors: substrings, both sides in lower case unless told otherwise; None where there is none."""
    fold = str if check.get("case_sensitive") else str.lower
    found = any(fold(value) in fold(output) for value in check["values"])
    return {"must_contain_any": found, "must_not_contain": not found}.get(check["kind"])


def graded(root: dict[str, Any], output: str) -> Fraction | None:
    """Model `rubric_checks`: the weighted share of the checks that were run; None where none was."""
    weights = root["scoring"]["weights"]
    answers = [(weights[check["id"]], runs(check, output)) for check in root["checks"]]
    known = [(weight, answer) for weight, answer in answers if answer is not None]
    total = sum(weight for weight, _ in known)
    return Fraction(sum(weight for weight, answer in known if answer)) / Fraction(total) if known else None


def taken(root: dict[str, Any], dialect: str | None = None) -> Extraction:
    return run_reader(LegacySource(read_json(write_json(root), "a.json"), "a.json", "", lambda _: None, dialect), TABLE)


def artifact(draft: ArtifactDraft) -> Artifact:
    value = {"id": draft.id, "version": draft.version} | draft.value
    return Artifact(draft.kind, draft.id, draft.version, read_json(write_json(value), "judge"))


@settings(max_examples=300)
@given(
    st.lists(CHECK, min_size=1, max_size=4),
    st.data(),
    st.lists(st.sampled_from([*WORDS, " "]), max_size=4).map("".join),
)
def test_a_rubric_scores_as_the_shipped_executors_do(
    checks: list[dict[str, Any]], data: st.DataObject, output: str
) -> None:
    named = [{"id": f"c{index}", **check} for index, check in enumerate(checks)]
    weights = {check["id"]: data.draw(st.sampled_from([Decimal("0.5"), 1, 2])) for check in named}
    scoring = {"combine": "weighted_avg", "weights": weights, "threshold": Decimal("0.6")}
    root = {"id": "r", "version": "1.0", "applicable_bundles": [], "checks": named, "scoring": scoring}
    (case,) = taken(root).cases
    expected = graded(root, output)
    assert case.outcome is (MigrationOutcome.LOSSY if expected is None else MigrationOutcome.MIGRATED)
    assert case.rubric
    if expected is not None:
        result = evaluate({"id": "r", "version": "1.0.0"} | case.rubric.value, output)
        assert result.score == expected
        assert (result.verdict is Verdict.PASS) == (expected >= Fraction(6, 10))


GRADERS = ["relevance_grader", "completeness_grader", "actionability_grader", "groundedness_grader"]


@pytest.mark.parametrize("dialect", ["current", "alpha"])
@settings(max_examples=100)
@given(names=st.lists(st.sampled_from(GRADERS), min_size=1, unique=True), data=st.data())
def test_a_target_is_the_mean_of_its_graders_on_one_scale(names: list[str], data: st.DataObject, dialect: str) -> None:
    said = taken({"id": "t", "mode": "chat", "dataset_ref": "d.yaml", "graders": names}, dialect)
    (case,) = said.cases
    assert case.reasons == ("another prompt: it is evalstore's own",)
    low = 1 if dialect == "alpha" else 0
    grades = {
        name: data.draw(st.integers(0 if name == GRADERS[3] else low, 1 if name == GRADERS[3] else 5)) for name in names
    }

    def ask(call: JudgeCall) -> JudgeReply:
        name = next(name for name in names if call.judge.startswith(f"judge/ai_eval_{name.removesuffix('_grader')}"))
        return JudgeReply(f'{{"score": {grades[name]}}}')

    shares = [
        Fraction(grade) if name == GRADERS[3] else Fraction(grade - low, 5 - low) for name, grade in grades.items()
    ]
    judges = {draft.ref: artifact(draft) for draft in said.drafts}
    assert case.rubric
    context = CheckContext(load=judges.__getitem__, ask=ask, model={"id": "m"})
    question = {"id": "q", "input": "Why?", "context": "Because."}
    result = evaluate({"id": "t", "version": "1.0.0"} | case.rubric.value, "So.", question, context=context)
    mean = sum(shares, Fraction(0)) / len(shares)
    assert result.score == mean
    assert (result.verdict is Verdict.PASS) == (mean * 5 >= Fraction(7, 2))


@pytest.mark.parametrize("key", ["negate", "threshold", "min_matches"])
def test_a_word_that_no_executor_reads_means_nothing_here_either(key: str) -> None:
    check = {
        "id": "a",
        "kind": "must_contain_any",
        "values": ["theme", "hook"],
        key: 2 if key == "min_matches" else True,
    }
    scoring = {"combine": "all_pass", "required": ["a"], "errors": "fail"}
    (case,) = taken(
        {"id": "r", "version": "1.0", "applicable_bundles": [], "checks": [check], "scoring": scoring}
    ).cases
    assert case.rubric
    assert evaluate({"id": "r", "version": "1.0.0"} | case.rubric.value, "a theme").verdict is Verdict.PASS
    assert case.rubric.value["scoring"] == {"combine": "all_pass"}
    assert any(repr(key) in reason for reason in case.sentences)
    assert any("'required', 'errors'" in reason for reason in case.sentences)


def test_weights_that_are_left_with_nothing_are_a_loss() -> None:
    checks = [{"id": "a", "kind": "must_contain_any", "values": ["x"]}, {"id": "b", "kind": "php_lint"}]
    scoring = {"combine": "weighted_avg", "weights": {"a": 0, "b": 1}}
    (case,) = taken({"id": "r", "version": "1.0", "applicable_bundles": [], "checks": checks, "scoring": scoring}).cases
    assert case.outcome is MigrationOutcome.LOSSY
    assert "add up to 0" in case.sentences[0]


@pytest.mark.parametrize(
    ("graders", "said"),
    [
        (["relevance_grader", {"id": "accuracy_grader"}], "a grader is an object where its name belongs"),
        (["relevance_grader", None], "a grader is null where its name belongs"),
        (["relevance_grader", *[None] * 2], "a grader is null where its name belongs"),
        ({"relevance_grader": {"weight": 3}}, "relevance_grader: its own settings are kept as data"),
        (["relevance_grader", "rubric_checks"], "rubric_checks: the rubrics that rows name grade them"),
        (["relevance_grader", "relevance_grader"], "relevance_grader is named twice"),
        (["relevance_grader", "mine"], "mine: it is not a grader of the module"),
    ],
)
def test_a_target_never_loses_a_grader_without_a_word(graders: Any, said: str) -> None:
    (case,) = taken({"id": "t", "mode": "chat", "dataset_ref": "d.yaml", "graders": graders}).cases
    assert case.outcome is MigrationOutcome.LOSSY
    assert any(note.reason.startswith(said) for note in case.notes)
    assert "some of its graders are set aside, each reported by itself" in case.reasons
    assert {note.outcome for note in case.notes} == {MigrationOutcome.UNMAPPED}
    assert case.rubric
    assert case.rubric.value["x_unmapped"]


def test_what_a_row_is_graded_by_is_pinned_with_three_parts() -> None:
    (case,) = taken({"questions": [{"id": "a", "input": "?", "rubric_ref": "rubric/x@1.2"}]}).cases
    assert case.question["rubric_ref"] == "rubric/x@1.2.0"
    assert case.outcome is MigrationOutcome.MIGRATED


@pytest.mark.parametrize("format_", [{}, [], ["json"], 1])
def test_an_expected_format_that_is_no_word_is_kept_as_data(format_: Any) -> None:
    row = {"id": "q", "input": "Why?", "criteria": "Because.", "expected": {"format": format_}}
    (case,) = taken({"questions": [row]}).cases
    assert "expected" not in case.question
    assert case.sentences == ("expected: not as graders read it, kept as data",)


@pytest.mark.parametrize(
    ("change", "pointer", "said"),
    [
        ({"values": []}, ("checks", 1, "values"), "`values` is empty"),
        ({"values": "abc"}, ("checks", 1, "values"), "`values` must be a list, not the string 'abc'"),
        ({"values": [1]}, ("checks", 1, "values"), "item 1 of `values` must be a string, not 1"),
        ({"case_sensitive": "no"}, ("checks", 1, "case_sensitive"), "`case_sensitive` must be true or false"),
    ],
)
def test_a_check_that_is_none_here_is_refused_at_its_place(change: Any, pointer: Any, said: str) -> None:
    checks = [{"id": "s", "kind": "regex"}, {"id": "a", "kind": "must_contain_any", "values": ["x"]} | change]
    root = {"id": "r", "version": "1.0", "applicable_bundles": [], "checks": checks, "scoring": {"combine": "all_pass"}}
    (note,) = taken(root).notes
    assert (note.outcome, note.pointer) == (MigrationOutcome.REFUSED, pointer)
    assert note.reason.startswith(said)


@pytest.mark.parametrize(
    "scoring",
    [
        {"combine": "mode"},
        {"combine": "weighted_avg", "threshold": 60},
        {"combine": "weighted_avg", "weights": {"a": "1"}},
    ],
)
def test_a_scoring_that_is_none_here_is_refused(scoring: Any) -> None:
    checks = [{"id": "a", "kind": "must_contain_any", "values": ["x"]}]
    root = {"id": "r", "version": "1.0", "applicable_bundles": [], "checks": checks, "scoring": scoring}
    (note,) = taken(root).notes
    assert (note.outcome, note.pointer[0]) == (MigrationOutcome.REFUSED, "scoring")


def test_ids_that_are_none_here_keep_their_weights() -> None:
    checks = [
        {"id": "no-jquery", "kind": "must_contain_any", "values": ["x"], "case_sensitive": None},
        {"id": "no jquery", "kind": "must_contain_any", "values": ["y"]},
    ]
    scoring = {"combine": "weighted_avg", "weights": {"no-jquery": 3, "no jquery": 1, "nojquery": 9}}
    root = {"id": "r", "version": "1.0", "applicable_bundles": [], "checks": checks, "scoring": scoring}
    (case,) = taken(root).cases
    assert case.rubric
    assert evaluate({"id": "r", "version": "1.0.0"} | case.rubric.value, "X").score == Fraction(3, 4)
    assert case.sentences[0].startswith("no grader reads 'nojquery': kept as data; did you mean no")
    assert case.sentences[1:] == (
        "the check 'no-jquery' is no_jquery here",
        "the check 'no jquery' is no_jquery_2 here",
    )
    root["checks"][1]["id"] = "no-jquery"  # type: ignore[index]
    assert taken(root).cases[0].outcome is MigrationOutcome.LOSSY


@pytest.mark.parametrize("dialect", ["current", "alpha"])
def test_a_target_comes_back_whatever_dialect_was_asked_for(dialect: str, tmp_path: Path) -> None:
    root = {"id": "t", "mode": "chat", "dataset_ref": "d.yaml", "graders": ["relevance_grader"]}
    (tmp_path / "t.json").write_text(write_json(root), "utf-8")
    migrate([tmp_path / "t.json"], into=tmp_path / "store", dialect=dialect)
    assert export(to="ai_eval", store=tmp_path / "store").files[0].text == write_json(root)


@pytest.mark.parametrize(("key", "value"), [("expected_tools", [{"name": "a", "args": None}]), ("bundle", "é or so")])
def test_what_no_question_can_have_is_kept_as_data(key: str, value: Any) -> None:
    (case,) = taken({"questions": [{"id": "q", "input": "Why?", "criteria": "So.", key: value}]}).cases
    assert key not in case.question
    assert case.sentences == (f"{key}: not as graders read it, kept as data",)


def test_what_a_row_bans_is_said_to_be_banned_nowhere() -> None:
    (case,) = taken({"questions": [{"id": "q", "input": "Why?", "criteria": "So.", "must_not_contain": ["no"]}]}).cases
    assert case.sentences == (
        "must_not_contain: the program caps the grade of accuracy where one occurs, which nothing here does",
    )


def test_a_kind_that_runs_programs_is_never_taken_for_one_here() -> None:
    checks = [{"id": "m", "kind": "must_contain_any", "values": ["x"]}, {"id": "f", "kind": "fact_mach"}]
    root = {"id": "r", "version": "1.0", "applicable_bundles": [], "checks": checks, "scoring": {"combine": "all_pass"}}
    notes = [note for note in lint_check_shapes(root) if note.rule == "check-kind-unknown"]
    assert [note.fix for note in notes] == [None]
    assert notes[0].facts["hint"].startswith("ai_eval runs it")
    (case,) = taken(root).cases
    assert case.reasons[0].startswith("fact_mach is not a kind of ai_eval itself")


def test_a_dataset_a_rubric_and_a_judge_of_one_name_are_known_again(tmp_path: Path) -> None:
    check = {"id": "a", "kind": "must_contain_any", "values": ["please"]}
    sources = {
        "data": {"questions": [{"id": "a", "input": "?", "criteria": "kind", "rubric_ref": "rubric/tone@1.0"}]},
        "rubric": {"applicable_bundles": [], "checks": [check], "scoring": {"combine": "all_pass"}},
        "judge": {"template": "{{ output }}", "score_type": "binary"},
    }
    for name, value in sources.items():
        path = tmp_path / f"source/{name}/tone.json"
        path.parent.mkdir(parents=True)
        path.write_bytes(write_json({"id": "tone", "version": "1.0"} | value if name != "data" else value).encode())
    first = migrate(tmp_path / "source", into=tmp_path / "store")
    assert sorted(first.written) == ["datasets/tone.yaml", "judges/tone.yaml", "rubrics/tone.yaml"]
    again = migrate(tmp_path / "source", into=tmp_path / "store")
    assert (again.written, {file.state for file in again.files}) == ((), {"unchanged"})
