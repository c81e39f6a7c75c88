"""The registry of openai/evals gives the verdicts that its classes gave; hosted evals come in as far as their types say."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from evalstore.checks import evaluate
from evalstore.checks.reply import read_reply
from evalstore.documents import read_json
from evalstore.errors import LoadError
from evalstore.migration import MigrationOutcome, export, migrate
from evalstore.migration.readers.openai_evals.classes import CLASSES, build_checks
from evalstore.migration.readers.openai_evals.classify import CLASSIFY, draft_judge
from evalstore.model import JudgeReply, Verdict
from evalstore.model.judge import read_judge as read_judge_value
from tests.rows import each
from tests.shared_data import find_shared

BASIC = "evals.elsuite.basic"
# What was measured by running the program, held against the checks: equal, or declared in the report of a migration.
COUNTS = {
    ("Match", "equal"): 22,
    ("Includes", "equal"): 18,
    ("FuzzyMatch", "equal"): 33,
    ("JsonMatch", "equal"): 24,
    ("JsonMatch", "declared"): 5,
    ("JsonValidator", "equal"): 9,
    ("JsonValidator", "declared"): 3,
    ("ModelBasedClassify", "equal"): 17,
    ("ModelBasedClassify", "declared"): 43,
    ("MultipleChoice", "declared"): 7,
}


def compare_vector(vector: dict[str, Any]) -> str:
    """Return whether the checks of a sample give the measured verdict; declared is what the report says they may not."""
    class_, expected = vector["assert"]["class"], vector["expect"]
    if class_ == CLASSIFY:
        return compare_reply(vector)
    if class_ not in CLASSES:
        return "declared"
    try:
        asked = build_checks(class_, vector["assert"].get("args", {}), vector["vars"])
    except LoadError:
        return "equal" if "error" in expected else "declared"
    rubric = {"id": "r", "version": "1.0.0", "checks": [*asked.checks], "scoring": {"combine": "any_pass"}}
    verdict = evaluate(rubric, vector["output"], {"id": "q", "input": "?"}).verdict
    is_equal = "pass" in expected and (verdict is Verdict.PASS) == expected["pass"] and verdict is not None
    return "equal" if is_equal else "declared" if asked.losses else f"differs: {vector['name']}"


def draft(vector: dict[str, Any], choices: Any = None, scores: Any = None) -> dict[str, Any]:
    """The judge of a vector's specification, which has no prompt."""
    asked = vector["assert"]
    spec = {"prompt": "{input} {completion}", **asked["modelgraded"]}
    spec |= {"choice_strings": choices, "choice_scores": scores} if choices else {}
    args, endings = asked.get("args", {}), dict.fromkeys(("cot_classify", "classify_cot", "classify"), "")
    return dict(draft_judge("j", spec, args, endings).value)


def compare_reply(vector: dict[str, Any]) -> str:
    """Return whether a reply is read as the program does, or as no answer, which the report says of all such judges."""
    expected = vector["expect"]
    try:
        judge = draft(vector)
    except LoadError:
        return "equal" if "error" in expected else "declared"
    score = read_reply(read_judge_value(judge), JudgeReply(vector["grader_reply"])).score
    if score is None or "error" in expected:
        return "declared" if score is None else f"differs: {vector['name']}"
    wanted = judge["level_scores"].get(expected["choice"])
    return "equal" if wanted is not None and abs(float(score) - float(wanted)) < 1e-9 else f"differs: {vector['name']}"


REPLIES = [  # choices, eval_type and match_fn, a reply, and what evals 3.0.1 reads, or None where it reads another choice
    ("Yes No", "cot_classify", "", "No doubt\n\n**Yes**.", "Yes"),
    ("Yes No", "cot_classify", "", "Yes\nNo doubt of it", None),
    ("Yes No", "classify_cot", "", '"Yes"\nNo', "Yes"),
    ("Yes No", "classify", "", "Nothing of that\nYes", None),
    ("Yes No", "classify", "", "- Yes", "Yes"),
    ("Yes No", "classify", "exact", "- Yes", None),
    ("Yes No", "classify", "exact", "-Yes.", "Yes"),
    ("Yes No", "classify", "endswith", "Yes\u2026", None),
    ("Yes No", "cot_classify", "include", "No\n(Yes)", "Yes"),
]


@each(REPLIES)
def test_a_drawn_reply_is_read_as_the_program_does(row: tuple[str, str, str, str, str | None]) -> None:
    choices, type_, reading, text, wanted = row
    args = {"match_fn": reading} if reading else {}
    spec = {"eval_type": type_, "choice_strings": choices.split(), "choice_scores": {"Yes": 1, "No": 0}}
    judge = draft({"assert": {"modelgraded": spec, "args": args}})
    found = read_reply(read_judge_value(judge), JudgeReply(text))
    assert found.score == (None if wanted is None else spec["choice_scores"][wanted])


ODD = [  # what an eval asks, and what is said of it, or the judge's id
    ({"eval_type": "cot_classify"}, {}, "j"),
    ({"eval_type": "classify_cot", "match_fn": "exact"}, {}, "j_classify_cot_exact"),
    ({}, {"eval_type": "cot_classify"}, "j_last_starts_or_endswith"),
    ({}, {}, "neither the eval nor j has an eval_type: the program stops there"),
    ({"eval_type": "cot"}, {}, "no eval_type is called 'cot': the program stops there"),
    ({"eval_type": "classify"}, {"choice_strings": ["N/A"]}, "'N/A' of j is not a choice: the program stops there"),
    ({"eval_type": "classify"}, {"choice_strings": ["right", "upright"]}, "; it reads upright as right"),
]


@each(ODD)
def test_what_an_eval_asks_of_its_judge(row: tuple[dict[str, str], dict[str, Any], str]) -> None:
    args, own, said = row
    spec = {"prompt": "{completion}", "choice_strings": ["Yes"], **own}
    spec["choice_scores"] = dict.fromkeys(spec["choice_strings"], 1)
    try:
        judge = draft_judge("j", spec, args, dict.fromkeys(("cot_classify", "classify_cot", "classify"), ""))
    except LoadError as problem:
        assert problem.message == said
        return
    assert said == judge.id or judge.facts.reply.endswith(said)


def test_every_measured_verdict_is_equal_or_declared() -> None:
    vectors = read_json(find_shared("vectors/openai_vectors.json").read_bytes(), "v").value["vectors"]
    found = Counter((one["assert"]["class"].rpartition(":")[2], compare_vector(one)) for one in vectors)
    assert found == COUNTS


DRAWN = [  # what drawn samples showed, as evals 3.0.1 grades them
    ("fuzzy_match:FuzzyMatch", "1,000  yes", "", False),
    ("fuzzy_match:FuzzyMatch", "a  b", "\u00a0", False),
    ("fuzzy_match:FuzzyMatch", "anthem", "The", False),
    ("fuzzy_match:FuzzyMatch", "anthem", "them", True),
    ("fuzzy_match:FuzzyMatch", "the", "", True),
    ("match:Match", ["Paris", 5], "Paris, France", True),
    ("json_match:JsonMatch", ['{"a": NaN}', "1"], "1", True),
    ("json_match:JsonMatch", "NaN", "NaN", False),
    ("json_match:JsonMatch", '{"a": 1, "a": 2}', '{"a": 2}', True),
]


@each(DRAWN)
def test_a_drawn_sample_is_graded_as_the_program_does(row: tuple[str, Any, str, bool]) -> None:
    name, ideal, output, passes = row
    vector = {"assert": {"class": f"{BASIC}.{name}"}, "vars": {"ideal": ideal}, "output": output, "name": name}
    assert compare_vector(vector | {"expect": {"pass": passes}}) == "equal"


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    """A registry with one file of evals, their samples, and a specification of a judge."""
    root = tmp_path / "registry"
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


FILES = {
    "evals/cities.yaml": f"""\
cities: {{id: cities.dev.v0, description: Capitals., metrics: [accuracy]}}
cities.dev.v0: {{class: "{BASIC}.match:Match", args: {{samples_jsonl: cities/match.jsonl}}}}
cities.near.v0: {{class: "{BASIC}.fuzzy_match:FuzzyMatch", args: {{samples_jsonl: cities/near.jsonl}}}}
cities.judged.v0:
  class: evals.elsuite.modelgraded.classify:ModelBasedClassify
  args: {{samples_jsonl: cities/judged.jsonl, modelgraded_spec: helpful, eval_type: cot_classify, modelgraded_spec_args: {{mood: kind}}}}
cities.lost.v0: {{class: "{BASIC}.includes:Includes", args: {{samples_jsonl: cities/lost.jsonl}}}}
cities.own.v0: {{class: "my.module:Own", args: {{samples_jsonl: cities/match.jsonl}}}}
""",
    "modelgraded/helpful.yaml": """\
helpful:
  prompt: "Task: {input}\\nAnswer: {completion}\\nTone: {tone}, {mood} {{yes or no}}"
  choice_strings: ["Yes", "Maybe", "No"]
  choice_scores: {"Yes": 3, "Maybe": 2, "No": 1}
  input_outputs: {input: completion}
""",
    "data/cities/match.jsonl": '{"input": "France?", "ideal": ["Paris", "paris"]}\n{"input": "Spain?", "ideal": 5}\n',
    "data/cities/near.jsonl": '{"input": [{"role": "user", "content": "Holland?"}], "ideal": "the Hague", "by": 1}\n',
    "data/cities/judged.jsonl": '{"input": "Say hello.", "tone": "warm"}\n{"input": "Say it.", "mood": "sad"}\n',
    "data/cities/lost.jsonl": "version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
}


def test_a_registry_comes_in_with_its_samples_and_goes_back(registry: Path, tmp_path: Path) -> None:
    report = migrate(registry, into=tmp_path / "store")
    found = [(entry.pointer, str(entry.outcome), entry.reason) for entry in report.entries]
    reasons = {pointer: reason for pointer, _, reason in found if pointer.startswith("/cities")}
    assert reasons["/cities.own.v0"] == "my.module:Own is code of its own, which is never run"
    assert "`git lfs pull`" in reasons["/cities.lost.v0"]
    counts = Counter(entry.outcome for entry in report.entries)
    assert counts == {"migrated": 2, "lossy": 1, "refused": 2, "unmapped": 2}
    assert [reason for _, outcome, reason in found if outcome == "refused"] == [
        "nothing fills {tone} in the prompt: the program stops there",
        "its ideal is a number: the program stops there",
    ]
    judge = read_judge(tmp_path / "store/judges/helpful.yaml")
    assert judge["template"].startswith(
        "Task: {{ input }}\nAnswer: {{ output }}\nTone: {{ tone }}, {{ mood }} {{ brace"
    )
    assert judge["level_scores"] == {"Yes": 1, "Maybe": pytest.approx(0.5), "No": 0}
    files = {file.file: file.text for file in export(to="openai_evals", store=tmp_path / "store").files}
    assert [json.loads(line) for line in files["registry/data/cities/match.jsonl"].splitlines()] == [
        {"input": "France?", "ideal": ["Paris", "paris"]},
        {"input": "Spain?", "ideal": 5},
    ]
    assert migrate(registry, into=tmp_path / "store").written == ()


def read_judge(path: Path) -> dict[str, Any]:
    from evalstore.documents import read_yaml

    value: dict[str, Any] = read_yaml(path.read_bytes(), path.name).value
    return value


NAMED = {
    "in one list; put each into a file of its own": {"object": "list", "data": [{"testing_criteria": [1]}]},
    "runs of OpenAI's hosted evals, whose answers are in their output items": {
        "object": "eval.run", "eval_id": "e", "per_testing_criteria_results": []
    },
}  # fmt: skip


@pytest.mark.parametrize("said", NAMED)
def test_what_else_the_service_gave_is_named(said: str, tmp_path: Path, cli: Any) -> None:
    (tmp_path / "saved.json").write_text(json.dumps(NAMED[said]))
    for command in (("validate",), ("migrate", "--into", "store")):
        ran = cli(*command, "saved.json", cwd=tmp_path)
        assert said in " ".join(ran.out.split())
    assert not (tmp_path / "store").exists()


def criterion(kind: str, **keys: Any) -> dict[str, Any]:
    return {"type": kind, "name": kind, "input": "{{ sample.output_text }}", **keys}


ASKED = [
    {"role": "system", "content": "Be fair."},
    {"role": "user", "content": [{"type": "input_text", "text": "{{item.title}}:"}, "{{sample.output_text}}"]},
]
SAMPLING = {"max_completions_tokens": 50, "temperature": 0, "seed": None, "reasoning_effort": "low"}
CRITERIA = [
    criterion("string_check", reference="{{ item.label }}", operation="eq"),
    criterion("string_check", reference="no", operation="neq"),
    criterion("string_check", reference="PAID", operation="ilike", input="{{sample.output_json.state}}"),
    criterion("label_model", model="m", labels=["kind", "rude"], passing_labels=["kind"]) | {"input": ASKED},
    criterion("score_model", model="m", range=[1, 5], pass_threshold=4) | {"input": ASKED},
    criterion("score_model", model="m", sampling_params=SAMPLING) | {"input": ASKED, "name": "open"},
    criterion("text_similarity", reference="x", evaluation_metric="bleu", pass_threshold=0.5),
    criterion("python", source="def grade(sample, item): return 1"),
    criterion("string_check", reference="x", operation="eq", input="{{ item.title }}"),
]
EVAL = {"id": "eval_1", "object": "eval", "name": "Labels", "data_source_config": {}, "testing_criteria": CRITERIA}
ITEMS = {
    "object": "list",
    "data": [
        {"object": "eval.run.output_item", "eval_id": "eval_1", "run_id": run, "datasource_item_id": index,
         "datasource_item": {"title": word, "label": word}, "results": [{"name": "string_check", "passed": passed}],
         "sample": {"input": [{"role": "user", "content": word}], "output": [{"role": "assistant", "content": "a"}]}}
        for run, index, word, passed in (("r1", 0, "a", True), ("r1", 1, "b", False), ("r2", 0, "a", True))
    ],
}  # fmt: skip


def test_a_hosted_eval_and_its_items_come_in_and_go_back(tmp_path: Path, cli: Any) -> None:
    (tmp_path / "saved").mkdir()
    for name, value in (("eval", EVAL), ("items", ITEMS), ("listed", ITEMS["data"])):
        (tmp_path / f"saved/{name}.json").write_text(json.dumps(value))
    (tmp_path / "saved/lines.jsonl").write_text("".join(json.dumps(item) + "\n" for item in ITEMS["data"]))
    report = migrate(tmp_path / "saved", into=tmp_path / "store")
    reasons = {reason for entry in report.entries for reason in entry.reasons}
    unmapped = [entry.reason for entry in report.entries if entry.outcome is MigrationOutcome.UNMAPPED]
    assert [reason.partition(":")[0] for reason in unmapped] == [
        "text_similarity",
        "python",
        "it reads {{ item.title }}, which no check here does",
        *["another run of the same item, whose question is there already"] * 3,
    ]
    rubric = read_judge(tmp_path / "store/rubrics/eval_1.yaml")
    assert [check["kind"] for check in rubric["checks"]] == [
        "target_match", "target_match", "must_contain_any", "llm_judge", "llm_judge", "llm_judge",
    ]  # fmt: skip
    assert [check.get("threshold") for check in rubric["checks"][3:]] == [1, pytest.approx(0.75), None]
    assert "a score_model without a pass_threshold: here a grade passes from 0.7 of its range on" in reasons
    assert rubric["checks"][0]["targets"] == {"from": "label"}
    judge = read_judge(tmp_path / "store/judges/eval_1_label_model.yaml")
    assert judge["model"] == {"id": "m", "system": "Be fair.", "response_format": "json"}
    assert judge["level_scores"] == {"rude": 0, "kind": 1}
    assert judge["template"] == "{{ item_title }}:\n{{ output }}"
    judge = read_judge(tmp_path / "store/judges/eval_1_open.yaml")
    asked = {"max_tokens": 50, "temperature": 0, "extra": {"reasoning_effort": "low"}, "response_format": "json"}
    assert judge["model"] == {"id": "m", "system": "Be fair.", **asked}
    texts = {file.file: file.text for file in export(to="openai_evals", store=tmp_path / "store").files}
    lines = texts.pop("saved/lines.jsonl").splitlines()
    assert [json.loads(line) for line in lines] == ITEMS["data"]
    assert {name: json.loads(text) for name, text in texts.items()} == {
        "saved/eval.json": EVAL,
        "saved/items.json": ITEMS,
        "saved/listed.json": ITEMS["data"],
    }
    shown = cli("-C", tmp_path / "store", "show", "../saved/items.json")
    assert "OpenAI hosted evals" in shown.out
    assert shown.code == 0
