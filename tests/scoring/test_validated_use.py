"""What validation knows is said at the moment of scoring, and of releasing; where settings are strict it stops them."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import evalstore
from evalstore.errors import FindingsError, FindingsWarning, SchemaError
from evalstore.runs import Run, read_rows
from evalstore.store import ArtifactStore

Cli = Callable[..., Any]
Write = Callable[..., Path]
Scored = Callable[..., Run]

SLIP = """\
id: slip
version: 1.0.0
defaults: {rubric_ref: rubric/factual@1.0.0}
questions:
  - id: one
    input: State it.
    expecteed_facts: [please]
  - id: two
    input: State it.
    expected_facts: [thanks]
"""
SLACK = """\
id: slack
version: 1.0.0
checks: [{kind: fact_match, facts: [one], valuess: []}]
scoring: {combine: weighted_avg}
"""
STRICT = {"store": "strict: true\n", "target": "targets: {web: {dataset: dataset/slip@worktree, strict: true}}\n"}


@pytest.fixture
def repo(store: ArtifactStore) -> Path:
    assert store.root is not None
    (store.root / "datasets/slip.yaml").write_text(SLIP)
    return store.root


def test_a_misspelt_key_is_said_with_its_line_and_where_the_check_wanted_it(cli: Cli, repo: Path, write: Write) -> None:
    ran = cli("score", "dataset/slip@worktree", write({"one": "please", "two": "thanks"}), cwd=repo)
    assert ran.code == 0
    first, *others = ran.err.splitlines()
    assert first == (
        "warning: datasets/slip.yaml:7:5: unknown key `expecteed_facts` (did you mean `expected_facts`?) [key-misspelt]"
    )
    reason = "the question lists no fact (did you mean expected_facts? line 5 has expecteed_facts)"
    assert others == [f"warning: 1 output has no score: {reason} (one)"]
    run = json.loads((repo / "runs/slip-worktree-model_a.json").read_text("utf-8"))
    assert json.dumps(run).count("datasets/slip.yaml:7:5") == 1


@pytest.mark.parametrize("where", STRICT)
@pytest.mark.parametrize("format_", ["text", "json"])
def test_strict_settings_stop_before_anything_is_graded(
    where: str, format_: str, cli: Cli, repo: Path, write: Write
) -> None:
    (repo / "evalstore.yaml").write_text(STRICT[where])
    ran = cli("score", "dataset/slip@worktree", write(), "--format", format_, cwd=repo)
    assert ran.code == 1
    assert "datasets/slip.yaml:7:5: unknown key `expecteed_facts`" in ran.err
    assert "error: nothing was graded: the settings are strict, and there is a finding\n" in ran.err
    if format_ == "json":
        assert json.loads(ran.out)["error"]["findings"] == [ran.err.splitlines()[0]]
    assert not (repo / "runs").exists()


@pytest.mark.parametrize("where", ["store", "target"])
def test_strict_settings_stop_a_bump_before_anything_is_written(
    where: str, cli: Cli, repo: Path, git: Callable[..., str]
) -> None:
    soft = cli("bump", "dataset/slip", "--dry-run", "--format", "json", cwd=repo)
    assert soft.code == 0
    assert [line.split(": ")[0] for line in json.loads(soft.out)["findings"]] == ["datasets/slip.yaml:7:5"]
    assert soft.err.startswith("warning: datasets/slip.yaml:7:5: unknown key")
    (repo / "evalstore.yaml").write_text(STRICT[where])
    before = git("for-each-ref"), (repo / "datasets/slip.yaml").read_bytes()
    ran = cli("bump", "dataset/slip", cwd=repo)
    assert ran.code == 1
    assert "error: nothing was released: the settings are strict, and there" in ran.err
    assert (git("for-each-ref"), (repo / "datasets/slip.yaml").read_bytes()) == before


def test_a_release_is_validated_as_it_was_released(cli: Cli, repo: Path, write: Write, git: Callable[..., str]) -> None:
    assert cli("bump", "dataset/slip", cwd=repo).code == 0
    (repo / "datasets/slip.yaml").write_text(SLIP.replace("expecteed", "expected"))
    ran = cli("score", "dataset/slip@1.0.0", write({"one": "please"}), cwd=repo)
    assert "warning: dataset/slip@1.0.0:datasets/slip.yaml:7:5: unknown key `expecteed_facts`" in ran.err


BROKEN = [
    ('{"id": "bad"}', "bad", "the question has no input (line 2)"),
    ('{"id": "bad", "inputt": "x"}', "bad", "the question has no input (did you mean input? line 2 has inputt)"),
    ('{"id": "bad", "prompt": "x"}', "bad", "the question has no input (did you mean input? line 2 has prompt)"),
    ('{"id": "bad", "input": 5}', "bad", "`input` is not a string (line 2)"),
    ('{"id": "bad", "input": "x", "rubric_ref": 7}', "bad", "`rubric_ref` is not a string (line 2)"),
    ('{"id": 7, "input": "x"}', "the row (line 2)", "`id` is not a string (line 2)"),
    ('{"input": "x"}', "the row (line 2)", "the question has no id (line 2)"),
    ("[1]", "the row (line 2)", "a question must be a mapping with `id` and `input` (line 2)"),
    ('{"id": "bad", ', "bad", "(line 2)"),
]


@pytest.mark.parametrize(("row", "id_", "reason"), BROKEN)
def test_a_row_that_cannot_be_graded_is_one_unscored_row_and_stops_no_other(
    row: str, id_: str, reason: str, cli: Cli, repo: Path, write: Write
) -> None:
    (repo / "datasets/many.jsonl").write_text(f'{{"id": "b", "input": "B?"}}\n{row}\n{{"id": "a", "input": "A?"}}\n')
    outputs = write({"b": "please", "bad": "please", "a": "please"})
    ran = cli("score", "dataset/many@worktree", outputs, "--format", "json", cwd=repo)
    document = json.loads(ran.out)
    assert document["scored"] == 2
    assert "datasets/many.jsonl:2:" in ran.err
    run = evalstore.runs.read_run(repo / document["run"])
    rows = {row.id: row for row in read_rows(run)}
    assert rows["a"].score == rows["b"].score == 1
    if id_ == "bad":
        assert rows[id_].score is None
        assert {check.unscored for check in rows[id_].checks} <= {"error"}
        assert rows[id_].reason.endswith(reason)
    else:
        assert run.missing_outputs[id_].endswith(reason)


@pytest.mark.parametrize(("outputs", "code"), [({"a": "please"}, 0), ({"a": "please", "bad": "please"}, 1)])
def test_an_error_stops_a_strict_score_where_its_row_is_asked(
    outputs: dict[str, str], code: int, cli: Cli, repo: Path, write: Write
) -> None:
    (repo / "evalstore.yaml").write_text(STRICT["store"])
    (repo / "datasets/many.jsonl").write_text('{"id": "bad"}\n{"id": "a", "input": "A?"}\n')
    ran = cli("score", "dataset/many@worktree", write(outputs), cwd=repo)
    assert (ran.code, "datasets/many.jsonl:1:" in ran.err) == (code, bool(code))


def test_questions_in_yaml_are_as_lenient(cli: Cli, repo: Path, write: Write) -> None:
    (repo / "datasets/slip.yaml").write_text(SLIP.replace("    input: State it.\n    expecteed", "    expecteed"))
    ran = cli("score", "dataset/slip@worktree", write({"one": "please", "two": "thanks"}), "--format", "json", cwd=repo)
    assert json.loads(ran.out)["scored"] == 1
    assert "warning: datasets/slip.yaml:5:5: `input` of item 1 of `questions` is missing [key-missing]" in ran.err
    assert "the question has no input (line 5)" in ran.err


def test_a_row_whose_rubric_is_of_a_wrong_type_is_a_grading_that_failed(cli: Cli, repo: Path, write: Write) -> None:
    ids = [f"q{number}" for number in range(10)]
    rows = [{"id": id_, "input": "x", **({"rubric_ref": None} if number < 8 else {})} for number, id_ in enumerate(ids)]
    (repo / "datasets/many.jsonl").write_text("\n".join(map(json.dumps, rows)))
    ran = cli("score", "dataset/many@worktree", write(dict.fromkeys(ids, "please")), cwd=repo)
    assert ran.code == 1
    assert "question graded 0 of 8; the rest: 100.00" in ran.out
    reason = "the question cannot be graded: `rubric_ref` is not a string (line 1)"
    assert ran.err.splitlines()[-2:] == [
        f"warning: 8 outputs have no score: {reason} (q0, q1, q2, q3, q4 and 3 more)",
        "no score: 8 of 14 gradings failed, more than --max-ungraded 0.02 allows",
    ]


def test_outputs_without_a_score_are_counted_by_reason_whatever_the_line(cli: Cli, repo: Path, write: Write) -> None:
    ids = [f"q{number}" for number in range(300)]
    (repo / "datasets/slip.yaml").write_text(
        "id: slip\nversion: 1.0.0\nrows: slip.jsonl\ndefaults: {rubric_ref: rubric/factual@1.0.0}\n"
    )
    rows = [json.dumps({"id": id_, "input": "x", "expecteed_facts": ["a"]}) for id_ in ids]
    (repo / "datasets/slip.jsonl").write_text("\n".join(rows))
    ran = cli("score", "dataset/slip@worktree", write(dict.fromkeys(ids, "please")), cwd=repo)
    reason = "the question lists no fact (did you mean expected_facts? line 1 has expecteed_facts)"
    assert f"warning: 300 outputs have no score: {reason} (q0, q1, q2, q3, q4 and 295 more)" in ran.err.splitlines()


@pytest.mark.parametrize("name", ["slip.yaml", "slip.jsonl"])
def test_an_id_that_is_taken_is_named_with_its_file(name: str, cli: Cli, repo: Path, write: Write) -> None:
    text = SLIP.replace("id: two", "id: one")
    line, first = 8, 5
    if name.endswith(".jsonl"):
        text, line, first = "id: slip\nversion: 1.0.0\nrows: slip.jsonl\n", 2, 1
        (repo / "datasets/slip.jsonl").write_text('{"id": "one", "input": "x"}\n{"id": "one", "input": "x"}\n')
    (repo / "datasets/slip.yaml").write_text(text)
    score = ("score", "dataset/slip@worktree", write({"one": "please"}))
    for argv in (score, ("bump", "dataset/slip")):  # what could never be graded is not released
        ran = cli(*argv, cwd=repo)
        said = next(text for text in ran.err.splitlines() if text.startswith("error: "))
        assert (ran.code, said) == (
            3,
            f"error: datasets/{name}:{line}: duplicate question id 'one' (first on line {first})",
        )


@pytest.mark.parametrize(
    ("key", "shown"),
    [("expect\u0435d_facts", "expect\\u0435d_facts"), ("expected_facts ", "'expected_facts '")],
)
def test_a_key_that_looks_right_is_spelt_out(key: str, shown: str, cli: Cli, repo: Path, write: Write) -> None:
    (repo / "datasets/slip.yaml").write_text(SLIP.replace("expecteed_facts", f'"{key}"'))
    ran = cli("score", "dataset/slip@worktree", write({"one": "please"}), cwd=repo)
    assert f"did you mean expected_facts? line 5 has {shown}" in ran.err
    assert "unknown key `" + shown.strip("'") in ran.err


def test_a_rubric_that_cannot_be_read_is_said_with_its_place(cli: Cli, repo: Path, write: Write) -> None:
    (repo / "rubrics/bare.yaml").write_text("id: bare\nversion: 1.0.0\nchecks: [{kind: format}]\n")
    ran = cli("score", "dataset/small@1.0.0", write(), "--rubric", "rubric/bare@worktree", cwd=repo)
    assert (ran.code, ran.err.splitlines()[0]) == (3, "error: rubrics/bare.yaml:1:1: `scoring` is missing")


def test_a_target_is_strict_about_all_that_its_dataset_is_scored_with(cli: Cli, repo: Path, write: Write) -> None:
    (repo / "evalstore.yaml").write_text("targets: {web: {dataset: dataset/small@1.0.0, strict: true}}\n")
    (repo / "rubrics/slack.yaml").write_text(SLACK)
    argv = ("dataset/small@1.0.0", write({"one": "please"}), "--rubric", "rubric/slack@worktree")
    ran = cli("score", *argv, cwd=repo)
    assert (ran.code, (repo / "runs").exists()) == (1, False)
    assert "rubrics/slack.yaml:3:43: the key `valuess` has no effect here" in ran.err


def test_a_target_is_strict_about_what_it_reaches_when_that_is_released(cli: Cli, repo: Path) -> None:
    (repo / "rubrics/slack.yaml").write_text(SLACK)
    (repo / "rubrics/around.yaml").write_text(
        "id: around\nversion: 1.0.0\nchecks: [{kind: composite, rubric_ref: rubric/slack@1.0.0}]\n"
        "scoring: {combine: weighted_avg}\n"
    )
    (repo / "datasets/slip.yaml").write_text(SLIP.replace("expecteed", "expected").replace("factual", "around"))
    soft = cli("bump", "rubric/slack", "--dry-run", cwd=repo)
    (repo / "evalstore.yaml").write_text("targets: {web: {dataset: dataset/slip, strict: true}}\n")
    ran = cli("bump", "rubric/slack", cwd=repo)
    assert (soft.code, ran.code) == (0, 1)
    assert "error: nothing was released: the settings are strict, and there is a finding\n" in ran.err


def test_many_findings_of_one_rule_are_counted(cli: Cli, repo: Path, write: Write) -> None:
    rows = [json.dumps({"id": f"q{number}", "input": "x", "expecteed_facts": []}) for number in range(500)]
    (repo / "datasets/many.jsonl").write_text("\n".join(rows))
    outputs = write({f"q{number}": "please" for number in range(500)})
    ran = cli("score", "dataset/many@worktree", outputs, cwd=repo)
    lines = [line for line in ran.err.splitlines() if "expecteed_facts" in line]
    assert len(lines) == 3
    assert lines[-1].endswith("[key-misspelt]; and 497 more like it")


WORDS = [
    ({"expected_tolls": ["read"]}, "{kind: tool_usage}", "did you mean expected_tools? line 5 has expected_tolls"),
    ({"tools": ["read"]}, "{kind: tool_usage}", "did you mean expected_tools? line 5 has tools"),
    ({"expected": {"format": "jsn"}}, "{kind: format}", "did you mean json? line 5 has jsn"),
    ({"expected": {"fromat": "json"}}, "{kind: format}", "did you mean format? line 5 has fromat"),
    ({"exspected": {"format": "json"}}, "{kind: format}", "did you mean expected? line 5 has exspected"),
    (
        {"expected": {"ruote": "a"}},
        "{kind: json_schema, expected_fields: [route]}",
        "did you mean route? line 5 has ruote",
    ),
]


@pytest.mark.parametrize(("keys", "check", "said"), WORDS)
def test_the_reason_names_the_slip(
    keys: dict[str, Any], check: str, said: str, cli: Cli, repo: Path, write: Write
) -> None:
    (repo / "rubrics/wanting.yaml").write_text(
        f"id: wanting\nversion: 1.0.0\nchecks: [{check}]\nscoring: {{combine: min}}\n"
    )
    row = json.dumps({"id": "one", "input": "x", **keys})
    head = "id: slip\nversion: 1.0.0\ndefaults: {rubric_ref: rubric/wanting@worktree}\nquestions:\n"
    (repo / "datasets/slip.yaml").write_text(f"{head}  - {row}\n")
    ran = cli("score", "dataset/slip@worktree", write({"one": "{}"}), cwd=repo)
    assert said in ran.err


JUDGE = """\
id: old
version: 1.0.0
template: "Grade {{ output }}"
score_type: binary
model: {id: small}
validation: {tpr: 0.9, tnr: 0.9, validated_at: %s}
"""


@pytest.mark.parametrize("settings", ["strict: false", "strict: true"])
def test_a_stale_judge_is_said_and_stops_a_strict_score(settings: str, cli: Cli, repo: Path, write: Write) -> None:
    day = (datetime.now(UTC) - timedelta(days=327)).date()
    (repo / "judges").mkdir()
    (repo / "judges/old.yaml").write_text(JUDGE % day)
    (repo / "rubrics/asked.yaml").write_text(
        "id: asked\nversion: 1.0.0\nchecks: [{kind: llm_judge, judge_prompt_ref: judge/old@1.0.0}]\n"
        "scoring: {combine: min}\n"
    )
    assert cli("bump", "rubric/asked", "judge/old", cwd=repo).code == 0
    (repo / "evalstore.yaml").write_text(f"{settings}\n")
    ran = cli("score", "dataset/small@1.0.0", write(), "--rubric", "rubric/asked@1.0.0", cwd=repo)
    assert f"it is from {day}, 327 days ago, and the limit is 90" in ran.err
    assert ("nothing was graded: the settings are strict" in ran.err) == (settings == "strict: true")


def test_load_gives_no_artifact_that_nothing_can_be_graded_with(repo: Path) -> None:
    (repo / "rubrics/bad.yaml").write_text(
        "id: bad\nversion: 1.0.0\nchecks: [{kind: must_contain_anny, values: [a]}]\nscoring: {combine: min}\n"
    )
    with evalstore.Store.open(repo) as store:
        with pytest.raises(SchemaError, match="unknown check kind 'must_contain_anny'") as raised:
            store.load("rubric/bad@worktree")
        assert str(raised.value.place) == "rubrics/bad.yaml:3:17"
        with pytest.warns(FindingsWarning, match="slip.yaml:7:5: unknown key `expecteed_facts`"):
            assert store.load("dataset/slip@worktree").id == "slip"
    (repo / "evalstore.yaml").write_text("strict: true\n")
    with evalstore.Store.open(repo) as store, pytest.raises(FindingsError) as stopped:
        store.load("dataset/slip@worktree")
    assert stopped.value.lines[0].startswith("datasets/slip.yaml:7:5: unknown key `expecteed_facts`")


def test_evaluate_says_what_is_found_of_the_rubric(repo: Path) -> None:
    (repo / "rubrics/odd.yaml").write_text(
        "id: odd\nversion: 1.0.0\nchecks: [{kind: must_contain_any, values: [a], thresold: 1}]\n"
        "scoring: {combine: min}\n"
    )
    with (
        evalstore.Store.open(repo) as store,
        pytest.warns(FindingsWarning, match="rubrics/odd.yaml:3:48: unknown key `thresold`"),
    ):
        assert evalstore.evaluate("rubric/odd@worktree", "a", store=store).score == 1
    (repo / "evalstore.yaml").write_text("strict: true\n")
    with evalstore.Store.open(repo) as store, pytest.raises(FindingsError):
        evalstore.evaluate("rubric/odd@worktree", "a", store=store)
