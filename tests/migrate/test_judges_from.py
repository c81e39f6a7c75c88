"""`--judges-from` takes the prompts of the program from where it is installed, as data; then a row is exact, or says why."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from evalstore.checks import CheckContext, evaluate
from evalstore.documents import read_yaml
from evalstore.migration import MigrationOutcome, MigrationReport, export, migrate
from evalstore.migration.legacy_files import parse_whole
from evalstore.migration.prompts.judge_prompts import InstalledPrompt, render_template, restore_text, select_prompt
from evalstore.migration.remainder import is_same_data
from evalstore.migration.table import load_tables
from evalstore.model import Artifact, JudgeCall, JudgeReply, parse_ref

PRBENCH, APEX = load_tables("legal_eval_v1")[0].prompts
CHAT = 'Hold the talk against the point {{.\n<<conversation>>\nPoint:\n<<rubric_item>>\nSay {"criteria_met": true}.\n'
WORK = 'Is {criterion_description} in\n{solution}?\nSay {{"result": 1, "reason": "…"}}\n'
TURNS = [
    {"role": "user", "content": " First? "},
    {"role": "assistant", "content": "So {{ it }} is."},
    {"role": "user", "content": "And then?"},
]
CRITERIA = [
    {"id": "a", "title": " Names <<rubric_item>> ", "weight": 3},
    {"id": "b", "title": "Bad", "description": "{x}", "weight": -1},
]
ROW = {"schema_version": "legal_eval_v1", "dataset": "d", "task_type": "rubric_qa", "rubric": CRITERIA}
ROWS = [
    ROW | {"id": "turns", "prompt": "And then?", "messages": TURNS, "metadata": {"policy_id": "prbench_v1"},
           "context": "its own", "attachments": [{"path": "a.pdf"}]},
    ROW | {"id": "one", "prompt": " One? ", "metadata": {"policy_id": "prbench_v1"}},
    ROW | {"id": "work", "prompt": "One?", "messages": TURNS, "metadata": {"policy_id": "apexv1_extended_v1"}},
    ROW | {"id": "other", "prompt": "One?"},
]  # fmt: skip
TRIMMED = "the program trims white space around the answer; here it stays"
UNKNOWN = "the prompt in judge/policies/{}.py belongs to no known release; its parts identify it"
CODE = (
    "another prompt: it is evalstore's own, as the program puts its own together in code, which is never run, and "
    "--judges-from has no legal_criterion.yaml"
)
LOSSY, MIGRATED = MigrationOutcome.LOSSY, MigrationOutcome.MIGRATED


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """An installation of the program, with prompts of its own."""
    folder = tmp_path / "program"
    write_code(folder, "prbench", f"import nothing_that_is_there\nCHAT = {CHAT!r}\n")
    write_code(folder, "apex", f'"""Docs."""\nraise SystemExit({WORK!r})\n')
    return folder


def write_code(folder: Path, name: str, code: str) -> Path:
    path = folder / f"src/judge/policies/{name}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(code, encoding="utf-8")
    return path


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def read_tree(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def list_outcomes(report: MigrationReport) -> list[MigrationOutcome]:
    return [entry.outcome for entry in report.entries]


def collect_calls(store: Path, id_: str, output: str) -> list[str]:
    """Return the prompts that the checks of a question ask, and hold its score against the replies."""
    question = next(
        row for row in read_yaml((store / "datasets/rows.yaml").read_bytes(), "").value["questions"] if row["id"] == id_
    )

    def load(ref: str) -> Artifact:
        parsed = parse_ref(ref)
        document = read_yaml((store / parsed.path).read_bytes(), parsed.path)
        return Artifact(parsed.kind, parsed.id, document.value["version"], document)

    prompts: list[str] = []

    def ask(call: JudgeCall) -> JudgeReply:
        prompts.append(call.prompt)
        return JudgeReply('```json\n{"explanation": "a \\"criteria_met\\": false b", "criteria_met": true}\n```')

    rubric = load(question["rubric_ref"]).value
    result = evaluate(rubric, output, question, context=CheckContext(load=load, ask=ask, model={"id": "m"}))
    # The second counts when it is absent: as a check of its own, or as a statement of one check.
    assert result.score == Fraction(3, 4)
    assert [check.score for check in result.checks] in ([1, 0], [Fraction(3, 4)])
    return prompts


def test_rows_are_exact_in_the_words_of_the_program(program: Path, rows: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    report = migrate(rows, into=store, judges_from=program)
    assert list_outcomes(report) == [MIGRATED, MIGRATED, MIGRATED, LOSSY]
    assert report.entries[0].reasons == (UNKNOWN.format("prbench"), TRIMMED)
    assert report.entries[2].reasons == (UNKNOWN.format("apex"),)
    assert report.entries[3].reasons[0] == CODE
    assert collect_calls(store, "turns", "Thus.")[0] == (
        "Hold the talk against the point {{.\nuser: First?\nassistant: So {{ it }} is.\nuser: And then?\n"
        'assistant: Thus.\nPoint:\nNames <<rubric_item>>\nSay {"criteria_met": true}.\n'
    )
    assert collect_calls(store, "one", "Thus.")[0].splitlines()[1:3] == ["user: One?", "assistant: Thus."]
    judge = read_yaml((store / "judges/legal_prbench_v1_each.yaml").read_bytes(), "").value
    hashed = hashlib.sha256(CHAT.encode()).hexdigest()
    origin = {"judge": "legal_prbench_v1", "file": "judge/policies/prbench.py", "sha256": hashed}
    assert judge["x_source"]["prompt"] == origin


@pytest.mark.parametrize(("share", "end", "variable"), [("cases", "", "criterion"), ("suite", "_each", "statement")])
def test_a_work_product_is_judged_alone_as_the_program_does(  # pytest's parameters
    program: Path, rows: Path, tmp_path: Path, share: str, end: str, variable: str
) -> None:
    migrate(rows, into=tmp_path / "store", judges_from=program, share=share)
    judge = read_yaml((tmp_path / f"store/judges/legal_apexv1_extended_v1{end}.yaml").read_bytes(), "").value
    assert judge["template"] == f'Is {{{{ {variable} }}}} in\n{{{{ output }}}}?\nSay {{"result": 1, "reason": "…"}}\n'
    assert collect_calls(tmp_path / "store", "work", "{solution}") == [
        WORK.format(criterion_description=words, solution="{solution}") for words in ("Names <<rubric_item>>", "{x}")
    ]


def test_the_second_time_nothing_changes_with_the_folder_or_without(program: Path, rows: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    first = migrate(rows, into=store, judges_from=program)
    before = read_tree(store)
    for folder in (program, None, tmp_path):
        again = migrate(rows, into=store, judges_from=folder)
        assert (again.written, read_tree(store)) == ((), before)
        assert list_outcomes(again) == list_outcomes(first)


def test_an_export_gives_the_source_back(program: Path, rows: Path, tmp_path: Path) -> None:
    migrate(rows, into=tmp_path / "store", judges_from=program)
    (given,) = export(to="legal_eval_v1", store=tmp_path / "store").files
    assert is_same_data(parse_whole(given.text.encode(), "r.jsonl").value, ROWS)


@pytest.mark.parametrize(("share", "name"), [("cases", "legal_prbench_v1"), ("suite", "legal_prbench_v1_each")])
def test_an_edited_judge_stays_and_is_no_longer_the_graders(
    program: Path, rows: Path, tmp_path: Path, share: str, name: str
) -> None:
    store = tmp_path / "store"
    migrate(rows, into=store, judges_from=program, share=share)
    path = store / f"judges/{name}.yaml"
    path.write_text(path.read_text().replace("Hold the talk", "Hold this talk"))
    report = migrate(rows, into=store)
    assert "Hold this talk" in path.read_text()
    assert list_outcomes(report) == [LOSSY, LOSSY, MIGRATED, LOSSY]
    said = "another prompt: its words were changed here since they came from judge/policies/prbench.py"
    assert report.entries[0].reasons[0].startswith(said)


CHANGES: dict[str, tuple[Callable[[str], str], str]] = {
    "a place is gone": (lambda text: text.replace("<<conversation>>", "?"), "no text of"),
    "a place is new": (lambda text: text + "<<history>>", "no text of"),
    "another reply": (lambda text: text.replace("criteria_met", "met"), "no text of"),
    "two": (lambda text: text + "'\nB = 'Other: " + text, "several texts of"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_prompt_is_said_and_not_taken(change: str, program: Path, rows: Path, tmp_path: Path) -> None:
    edit, said = CHANGES[change]
    code = "A = '" + edit(CHAT.replace("\n", "\\n")) + "'\n"
    write_code(program, "prbench", code)
    report = migrate(rows, into=tmp_path / "store", judges_from=program)
    assert list_outcomes(report) == [LOSSY, LOSSY, MIGRATED, LOSSY]
    reason = report.entries[0].reasons[0]
    assert f"it is evalstore's own, as {said}" in reason
    assert "<<conversation>> and <<rubric_item>>" in reason


@pytest.mark.parametrize(
    "code", [b"\xff", b"def", b"(" * 5000, b"A = " + b"-" * 20_000 + b"1", b"\0", b"A = '" + b"x" * (1 << 20) + b"'"]
)
def test_files_that_cannot_be_read_are_no_prompts(code: bytes, program: Path, rows: Path, tmp_path: Path) -> None:
    (program / "src/judge/policies/prbench.py").write_bytes(code)
    report = migrate(rows, into=tmp_path / "store", judges_from=program)
    assert list_outcomes(report) == [LOSSY, LOSSY, MIGRATED, LOSSY]


def test_no_link_leads_out_of_the_folder(program: Path, rows: Path, tmp_path: Path) -> None:
    inside = program / "src/judge/policies/prbench.py"
    inside.rename(tmp_path / "prbench.py")
    inside.symlink_to(tmp_path / "prbench.py")
    report = migrate(rows, into=tmp_path / "store", judges_from=program)
    assert list_outcomes(report) == [LOSSY, LOSSY, MIGRATED, LOSSY]


def test_nothing_of_the_folder_is_run(program: Path, rows: Path, tmp_path: Path) -> None:
    write_code(program, "prbench", f"CHAT = {CHAT!r}\nopen({str(tmp_path / 'ran')!r}, 'w')\n")
    assert migrate(rows, into=tmp_path / "store", judges_from=program).entries[0].outcome is MIGRATED
    assert not (tmp_path / "ran").exists()


FORMATS: dict[str, tuple[Any, str]] = {
    "skill_creator": (
        {"evals": [{"id": 1, "prompt": "?", "assertions": ["It holds."]}]},
        "the program's grader is an agent that looks around, which no template can, and --judges-from has no skill",
    ),
    "openrubricrl": (
        {"name": "r", "version": "1.0.0", "scale": {"min": 0, "max": 10},
         "criteria": [{"name": "c", "description": "Right?", "weight": 1.0}]},
        "--judges-from has no openrubricrl/core/prompt_builder.py",
    ),
    "ai_eval": ({"id": "t", "graders": ["relevance_grader"], "dataset_ref": "d"}, "it is not known where the program"),
    "agentevals": (
        {"tests": [{"id": "t", "input": "?", "criteria": "right", "assertions": ["It is right."]}]},
        "the program puts its own together in code, which is never run, and --judges-from has no agentv_",
    ),
}  # fmt: skip


@pytest.mark.parametrize("format", FORMATS)
def test_where_no_prompt_can_be_taken_the_reason_is_said(format: str, tmp_path: Path, cli: Any) -> None:  # noqa: A002
    value, said = FORMATS[format]
    (tmp_path / "source.json").write_text(json.dumps(value))
    arguments = ("migrate", "source.json", "--into", "store", "--judges-from", ".", "--strict", "--format", "json")
    done = cli("-C", tmp_path, *arguments)
    assert done.code == 1
    assert f"it is evalstore's own, as {said}" in json.loads(done.out)["entries"][0]["reason"]


def test_a_folder_that_is_not_there_is_an_error(rows: Path, tmp_path: Path, cli: Any) -> None:
    done = cli("-C", tmp_path, "migrate", rows, "--into", "store", "--judges-from", "none")
    assert done.code == 3
    assert "none" in done.err
    assert not (tmp_path / "store").exists()


def test_a_text_by_its_hash_is_taken_before_others_like_it() -> None:
    known, other = InstalledPrompt("<<conversation>>, old", "f"), InstalledPrompt(CHAT, "f")
    assert select_prompt([other, known], replace(PRBENCH, sha256=frozenset({known.sha256}))) == known


@pytest.mark.parametrize(
    "text", ["{{{{{criterion_description}}}}}{solution}", WORK, "a{{criterion_description}}{solution}"]
)
def test_a_template_gives_its_prompt_back(text: str) -> None:
    assert restore_text(render_template(text, APEX), APEX) == text
    assert restore_text(render_template(CHAT + "{", PRBENCH), PRBENCH) == CHAT + "{"


def test_every_row_names_a_judge_of_its_table() -> None:
    for table in load_tables():
        assert {row.judge for row in table.prompts} <= {judge["id"] for judge in table.judges}
        assert table.no_prompt or not table.judges


OWN = {
    "template": "Task: {{ input }}\nOutcome: {{ output }}\nHolds: {{ statement }}? yes or no",
    "score_type": "binary",
    "reply_pattern": "^(yes|no)",
    "model": {"system": "You grade with care.", "temperature": 0},
}
SUITE = {"skill_name": "s", "evals": [{"id": 1, "prompt": "Go.", "assertions": ["It is short.", "It is kind."]}]}
SKILL_EVALUATOR = [{"id": "a", "question": "Go.", "expected_behavior": ["It is short."], "ground_truth": "Gone."}]


def write_suite(folder: Path, judge: Any = OWN) -> Path:
    """Write a suite with statements, and next to it a folder with the judge that somebody asks about them."""
    (folder / "mine").mkdir()
    (folder / "mine/skill_creator_statement.yaml").write_text(judge if isinstance(judge, str) else json.dumps(judge))
    (folder / "evals.json").write_text(json.dumps(SUITE))
    return folder / "evals.json"


@pytest.mark.parametrize("suite", [SUITE, SKILL_EVALUATOR], ids=["skill-creator", "SkillEvaluator"])
def test_statements_are_migrated_with_the_judge_that_is_given(suite: Any, tmp_path: Path) -> None:
    file, store = write_suite(tmp_path), tmp_path / "store"
    file.write_text(json.dumps(suite))
    report = migrate(file, into=store, judges_from=tmp_path / "mine")
    assert list_outcomes(report) == [MIGRATED]
    assert "its judge is the one of skill_creator_statement.yaml" in report.entries[0].reasons
    judge = read_yaml((store / "judges/skill_creator_statement.yaml").read_bytes(), "").value
    assert {key: judge[key] for key in OWN} == OWN
    assert judge["variables"] == ["statement"]
    before = read_tree(store)
    again = migrate(file, into=store)
    assert (list_outcomes(again), again.written, read_tree(store)) == ([MIGRATED], (), before)
    (given,) = export(to="skill_creator", store=store).files
    assert json.loads(given.text) == suite


@pytest.mark.parametrize(
    ("judge", "said"),
    [
        ("a: [", "cannot be read"),
        ({"score_type": "binary"}, "is not a judge"),
        (OWN | {"template": "{{ output }} {{ statement }} {{ mood }}"}, "reads mood, which nothing fills"),
        (OWN | {"template": "{{ output }}"}, "does not read statement"),
    ],
)
def test_a_given_judge_that_cannot_be_asked_is_said(judge: Any, said: str, tmp_path: Path) -> None:
    suite = write_suite(tmp_path, judge)
    report = migrate(suite, into=tmp_path / "store", judges_from=tmp_path / "mine")
    assert list_outcomes(report) == [LOSSY]
    assert f"as skill_creator_statement.yaml {said}" in report.entries[0].reasons[0]
    if said == "is not a judge":  # and the command that says why can be run as it is printed
        assert f"--as judge {tmp_path}/mine/skill_creator_statement.yaml`" in report.entries[0].reasons[0]


SCRIPT = r"""
const MADE = JSON.stringify([{ role: 'system', content: `By ${code}` }, { role: 'user', content: '{{ output }} {{ rubric }}' }]);
exports.GRADING = JSON.stringify([
    { role: 'system', content: (0, dedent_1.default) `
        Say {pass: boolean}.

          {"pass": true}`, },
    { role: "user", content: 'O\n{{ output }}\nR {{ rubric }}', },
]);
"""
ASKED = {"type": "llm-rubric", "value": "Is {{ q }}"}
CONFIG = {"prompts": ["{{ q }}"], "providers": ["echo"], "tests": [{"vars": {"q": "kind"}, "assert": [ASKED]}]}


def test_messages_of_a_script_become_a_judge_and_its_system_message(tmp_path: Path) -> None:
    script, source, store = tmp_path / "p/src/prompts/grading.js", tmp_path / "c.json", tmp_path / "store"
    script.parent.mkdir(parents=True)
    script.write_text(SCRIPT)
    source.write_text(json.dumps(CONFIG))
    assert list_outcomes(migrate(source, into=store)) == [LOSSY]
    report = migrate(source, into=store, judges_from=tmp_path / "p")
    assert list_outcomes(report) == [MIGRATED]
    judge = read_yaml((store / "judges/promptfoo_criterion.yaml").read_bytes(), "").value
    assert judge["template"] == "O\n{{ output }}\nR {{ criterion }}"
    assert judge["model"] == {"system": 'Say {pass: boolean}.\n\n  {"pass": true}'}
    assert judge["reads"] == {"verdict": "pass", "no_verdict": "pass"}
    before = read_tree(store)
    again = migrate(source, into=store)
    assert (list_outcomes(again), again.written, read_tree(store)) == ([MIGRATED], (), before)
    path = store / "judges/promptfoo_criterion.yaml"
    path.write_text(path.read_text().replace("Say {", "Tell {"))
    assert "its words were changed here" in migrate(source, into=store).entries[0].reasons[0]


TWO_PROMPTS = r"""
exports.GEVAL_PROMPT_STEPS = `
Plan for: {{criteria}}
{"steps": <list>}
`;
const GEVAL_PROMPT_EVALUATE = `Ask {{input}}
Answer {{output}} by {{criteria}} and {{steps}}, 0 to {{maxScore}}: {"score":0,"reason":""}`;
const MADE = `{{criteria}} "steps" ${code}`;
"""


@pytest.mark.parametrize("type_", ["assert-set", "g-eval"])
def test_judges_of_a_rubric_within_another_are_given_back(type_: str, tmp_path: Path) -> None:
    scripts = {"grading": SCRIPT, "index": TWO_PROMPTS}
    for name, script in scripts.items():
        path = tmp_path / f"p/src/prompts/{name}.js"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(script)
    inner = {"assert": [ASKED]} if type_ == "assert-set" else {"value": ["Is kind", "Is calm"]}
    config = CONFIG | {"tests": [{"vars": {"q": "kind"}, "assert": [{"type": type_, **inner}]}]}
    source, store = tmp_path / "c.json", tmp_path / "store"
    source.write_text(json.dumps(config))
    report = migrate(source, into=store, dialect="0.121", judges_from=tmp_path / "p")
    assert list_outcomes(report) == [MIGRATED]
    (given,) = export(to="promptfoo", store=store).files
    assert json.loads(given.text) == config


@pytest.mark.parametrize("share", ["cases", "suite"])
def test_a_prompt_that_is_asked_first_comes_with_the_other(share: str, tmp_path: Path) -> None:
    script, source, store = tmp_path / "p/src/prompts/index.js", tmp_path / "c.json", tmp_path / "store"
    script.parent.mkdir(parents=True)
    script.write_text(TWO_PROMPTS)
    tests = [{"vars": {"q": q}, "assert": [{"type": "g-eval", "value": f"Is {q}"}]} for q in ("kind", "calm")]
    source.write_text(json.dumps(CONFIG | {"tests": tests}))
    assert list_outcomes(migrate(source, into=store, share=share)) == [LOSSY] * 2
    report = migrate(source, into=store, judges_from=tmp_path / "p", share=share)
    assert list_outcomes(report) == [MIGRATED] * 2
    (path,) = (store / "judges").glob("promptfoo_g_eval*.yaml")
    judge = read_yaml(path.read_bytes(), "").value
    (name,) = judge["variables"]
    assert judge["template"].startswith(
        f"Ask {{{{ input }}}}\nAnswer {{{{ output }}}} by {{{{ {name} }}}} and {{{{ steps }}}}"
    )
    assert judge["first"] == {
        "template": f'\nPlan for: {{{{ {name} }}}}\n{{"steps": <list>}}\n',
        "fills": "steps",
        "reads": "steps",
        "pattern": r'\{"steps"[^\n\r\u2028\u2029]+\}',
    }
    assert (judge["scale"], judge["reads"]["words"]) == ({"max": 10}, "reason")
    before = read_tree(store)
    for folder in (tmp_path / "p", None):
        again = migrate(source, into=store, judges_from=folder, share=share)
        assert (list_outcomes(again), again.written, read_tree(store)) == ([MIGRATED] * 2, (), before)
    path.write_text(path.read_text().replace("Plan for", "Think of"))
    assert "its words were changed here" in migrate(source, into=store, share=share).entries[0].reasons[0]
