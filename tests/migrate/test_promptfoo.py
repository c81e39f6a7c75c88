"""Configurations of promptfoo, whose words dialect D4 of AgentEvals borrows: taken for what they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalstore.documents import read_legacy_yaml, read_yaml
from evalstore.migration import MigrationOutcome, export, migrate
from evalstore.migration.javascript.globs import list_matches
from evalstore.report import render
from tests.migrate.promptfoo_grading import grade_case, read_config
from tests.rows import each
from tests.shared_data import SHARED

HERE = Path(__file__).resolve()
SAMPLES = SHARED / "samples/agentevals/d4"
CASES = HERE.parents[1] / "cases/migrations/agentevals"

TEST = {"vars": {"city": "Oslo"}, "assert": [{"type": "icontains", "value": "fjord"}]}
CONFIGS: dict[str, Any] = {
    "what all tests share": {
        "description": "Travel tips",
        "prompts": ["Name one sight of {{ city }}."],
        "providers": ["openai:chat:small", "anthropic:messages:large"],
        "defaultTest": {"assert": [{"type": "not-contains", "value": "As a language model"}]},
        "tests": [TEST],
    },
    "shared checks beside tests alone": {"defaultTest": {"threshold": 0.5}, "tests": [TEST]},
    "shared checks from a file": {
        "prompts": "file://ask.txt",
        "providers": "file://models.yaml",
        "defaultTest": "file://shared.yaml",
        "tests": "file://rows.csv",
    },
    "templates of checks": {
        "assertionTemplates": {"short": {"type": "javascript", "value": "output.length < 80"}},
        "prompts": ["{{ question }}"],
        "providers": [{"id": "ollama:chat:tiny", "config": {"temperature": 0}}],
        "tests": [{"vars": {"question": "Why?"}, "assert": [{"$ref": "#/assertionTemplates/short"}]}],
    },
    "how it runs": {"prompts": ["{{ q }}"], "tests": [TEST], "evaluateOptions": {"maxConcurrency": 2}},
    "its command line": {"prompts": ["{{ q }}"], "tests": [TEST], "commandLineOptions": {"cache": False}},
    "measures of its own": {"prompts": ["{{ q }}"], "tests": [TEST], "derivedMetrics": [{"name": "f", "value": "a/b"}]},
    "filters": {"prompts": ["{{ q | loud }}"], "nunjucksFilters": {"loud": "./loud.js"}, "tests": [TEST]},
    "scenarios": {
        "prompts": ["{{ q }}"],
        "providers": ["echo"],
        "scenarios": [{"config": [{"vars": {"q": "a"}}], "tests": [TEST]}],
        "outputPath": "out.json",
    },
    "prompts beside providers": {"prompts": ["Sum up: {{ text }}"], "providers": ["echo"], "tests": [TEST, TEST]},
    "prompts beside targets": {"prompts": ["{{ text }}"], "targets": [{"id": "https://x.test/ask"}], "tests": [TEST]},
    "a key in a test": {"prompts": ["{{ q }}"], "tests": [TEST | {"assertScoringFunction": "file://score.js"}]},
    "a key in options": {"prompts": ["{{ q }}"], "tests": [TEST | {"options": {"transformVars": "vars"}}]},
    "a key in a check": {
        "prompts": ["{{ q }}"],
        "tests": [{"vars": {"q": "a"}, "assert": [{"type": "llm-rubric", "value": "Is kind", "rubricPrompt": "?"}]}],
    },
    "tests whose prompts the command line names": {"description": "Travel tips", "tests": [TEST, TEST]},
    "tests beside providers alone": {"providers": ["openai:chat:small"], "tests": [{"description": "b", **TEST}]},
    "a list of its tests": [TEST, TEST | {"providerOutput": "Oslo lies at a fjord"}],
    "a list of tests without any key of its own": [TEST, {"description": "b", **TEST}],
    "a list of tests without variables": [{"assert": [{"type": "contains", "value": "a"}]}] * 2,
}
SUITES: dict[str, Any] = {
    "tests that have ids": {"prompts": ["{{ input }}"], "providers": ["llm"], "tests": [TEST | {"id": "one"}]},
    "what all tests share": {
        "prompts": ["{{ q }}"],
        "providers": ["any"],
        "default_test": {"threshold": 0.6},
        "tests": [TEST],
    },
    "checks of the suite": {
        "prompts": ["{{ q }}"],
        "providers": ["any"],
        "assert": [{"type": "skill-used", "value": "maps"}],
        "tests": [TEST],
    },
    "prompts without providers": {"prompts": ["{{ city }}"], "tests": [TEST]},
    "variables in camel case": {"prompts": ["{{ myCity }}"], "tests": [{"vars": {"myCity": "Oslo"}, "assert": ["b"]}]},
    "words of the user": {
        "prompts": ["{{ city }}"],
        "tests": [TEST | {"id": "a", "metadata": {"ticketNumber": 7}, "ownKey": 1}],
    },
    "an older suite": {"tests": [{"id": "a", "criteria": "x", "input": "y", "riskLevel": "low"}]},
    "rows that have ids": [TEST | {"id": "one"}],
    "rows with criteria alone": [TEST | {"assert": ["Names a fjord"]}],
    "criteria beside prompts and providers": {
        "prompts": ["{{ q }}"],
        "providers": ["any"],
        "tests": [{"vars": {"q": "a"}, "assert": ["Is kind"]}],
    },
    "checks that only its runner knows": {
        "prompts": ["{{ q }}"],
        "providers": ["any"],
        "tests": [{"vars": {"q": "a"}, "assert": [{"type": "skill-used", "value": "maps"}]}],
    },
    "keys of checks that only its runner reads": {
        "prompts": ["{{ q }}"],
        "providers": ["any"],
        "tests": [TEST | {"assert": [{"type": "icontains", "value": "a", "required": True}]}],
    },
}
_REFUSED = MigrationOutcome.REFUSED
TOOLS: dict[str, tuple[Any, str, MigrationOutcome, int]] = {
    "results of promptfoo": (
        {"evalId": "e", "results": {"version": 3, "results": []}, "config": {"tests": [TEST]}},
        "results of promptfoo",
        MigrationOutcome.UNMAPPED,
        1,
    ),
    "results of AgentV": (
        [{"timestamp": "t", "test_id": "a", "score": 1, "assertions": [{"text": "b", "passed": True}]}] * 3,
        "results of AgentV",
        MigrationOutcome.UNMAPPED,
        1,
    ),
    "older results of AgentV": (
        [{"eval_id": "a", "score": 0.5, "hits": [], "misses": [], "input_messages": []}],
        "results of AgentV",
        MigrationOutcome.UNMAPPED,
        1,
    ),
    "a log": (
        {"version": 2, "status": "success", "eval": {}, "plan": {}, "samples": []},
        "Inspect AI",
        MigrationOutcome.UNMAPPED,
        1,
    ),
    "a test report": ({"exitcode": 0, "tests": [{"nodeid": "a"}]}, "a test runner", MigrationOutcome.UNMAPPED, 1),
    "a task": (
        {"task": "t", "doc_to_text": "{{q}}", "metric_list": []},
        "lm-evaluation-harness",
        MigrationOutcome.REFUSED,
        1,
    ),
    "samples": ([{"input": "?", "ideal": "b"}] * 4, "openai/evals", MigrationOutcome.REFUSED, 4),
    "test cases": ([{"input": "?", "actual_output": "b"}] * 2, "DeepEval", MigrationOutcome.REFUSED, 2),
    "a red team": ({"targets": ["echo"], "redteam": {"plugins": ["pii"]}}, "promptfoo", _REFUSED, 1),
    "a set of ADK": (
        {"eval_set_id": "s", "eval_cases": [{"eval_id": "a", "conversation": [{"user_content": {}}]}] * 2},
        "an evaluation set of ADK",
        _REFUSED,
        2,
    ),
    "tests of ADK": ([{"query": "q", "expected_tool_use": [], "reference": "r"}] * 2, "ADK", _REFUSED, 2),
    "Pydantic Evals": ({"cases": [{"name": "a", "inputs": "q", "evaluators": ["x"]}]}, "Pydantic Evals", _REFUSED, 1),
    "GitHub Models": ({"messages": [], "testData": [{"input": "a"}] * 3}, "GitHub Models", _REFUSED, 3),
    "BIG-bench": ({"metrics": ["m"], "examples": [{"input": "a", "target": "b"}]}, "BIG-bench", _REFUSED, 1),
    "MT-Bench": ([{"question_id": 81, "turns": ["a", "b"]}], "MT-Bench", _REFUSED, 1),
    "LangSmith": ([{"inputs": {"q": "a"}, "outputs": {"a": "b"}}], "LangSmith", _REFUSED, 1),
    "MLflow": ([{"inputs": {"q": "a"}, "expectations": {"expected_response": "b"}}], "MLflow", _REFUSED, 1),
    "HumanEval": ([{"task_id": "0", "prompt": "def", "canonical_solution": "x", "test": "y"}], "running", _REFUSED, 1),
    "SWE-bench": ([{"instance_id": "0", "problem_statement": "x", "test_patch": "y"}], "running", _REFUSED, 1),
}


def _write(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1), "utf-8")
    return path


@pytest.mark.parametrize("name", CONFIGS)
def test_a_configuration_of_promptfoo_is_known_as_one(name: str, tmp_path: Path) -> None:
    source = _write(tmp_path / "in/promptfooconfig.yaml", CONFIGS[name])
    for path in (source, source.parent):
        report = migrate([path], into=tmp_path / "store", dry_run=True)
        (read,) = report.sources
        assert read.format == "promptfoo"
        assert "--from agentevals" in read.reason


@pytest.mark.parametrize("name", CONFIGS)
def test_the_user_decides_what_a_file_is(name: str, tmp_path: Path) -> None:
    source = _write(tmp_path / "in/promptfooconfig.yaml", CONFIGS[name])
    for path in (source, source.parent):
        report = migrate([path], into=tmp_path / "store", format="agentevals", dry_run=True)
        assert [read.format for read in report.sources] == ["agentevals"]


@pytest.mark.parametrize(
    ("assertion", "newer", "older"),
    [
        ({"type": "contains-all", "value": '"b, c", d'}, ["b, c", "d"], ['"b', 'c"', "d"]),
        ({"type": "contains-any", "value": [1.0, "{{ w }}"]}, ["1", "b"], ["1", "b"]),
        ({"type": "contains", "value": 0}, ["0"], None),
        ({"type": "not-levenshtein", "value": "b", "threshold": 0}, True, None),
        ({"type": "cost", "threshold": 0}, {"max": 0}, None),
        ({"type": "not-latency", "threshold": 9}, True, None),
    ],
)
def test_a_release_reads_as_it_was_measured(assertion: dict[str, Any], newer: Any, older: Any) -> None:
    text = json.dumps({"prompts": ["{{ w }}"], "tests": [{"vars": {"w": "b"}, "assert": [assertion]}]})
    found = []
    for release in ("0.121", "0.118"):
        rubric = read_config(text, "config.json", {}, release).cases[0].rubric
        check = rubric.value["checks"][0] if rubric else {}
        found.append(check.get("values", check.get("cost_usd", check.get("negate"))))
    assert found == [newer, older]
    asked = read_config(text, "config.json", {}, None)
    assert ("--dialect" in "".join(note.reason for note in asked.notes)) == (newer != older)


@pytest.mark.parametrize("name", TOOLS)
def test_files_of_known_tools_are_named_as_theirs(name: str, tmp_path: Path) -> None:
    value, tool, outcome, cases = TOOLS[name]
    source = _write(tmp_path / "in/a.json", value)
    for path in (source, source.parent):
        report = migrate([path], into=tmp_path / "store")
        (entry,) = report.entries
        assert (entry.outcome, report.count(outcome)) == (outcome, cases)
        assert tool in entry.reason
        assert not (tmp_path / "store").exists()


def test_results_in_a_folder_are_none_of_the_format_that_the_user_names(tmp_path: Path) -> None:
    source = _write(tmp_path / "in/results.json", TOOLS["results of AgentV"][0])
    report = migrate([source.parent], into=tmp_path / "store", format="agentevals")
    assert [(entry.outcome, entry.target) for entry in report.entries] == [(MigrationOutcome.UNMAPPED, None)]
    named = migrate([source], into=tmp_path / "store", format="agentevals", dry_run=True)
    assert [read.format for read in named.sources] == ["agentevals"]


def test_tests_in_other_files_say_whose_a_suite_is(tmp_path: Path) -> None:
    _write(tmp_path / "in/a/cases/rows.yaml", [TEST | {"id": "one"}, TEST | {"id": "two"}])
    suite = {"prompts": ["{{ city }}"], "providers": ["any"], "tests": ["file://cases/rows.yaml"]}
    _write(tmp_path / "in/a/suite.yaml", suite)
    _write(tmp_path / "in/b/suite.yaml", suite | {"tests": "cases/*.yaml"})
    _write(tmp_path / "in/b/cases/rows.yaml", [TEST, TEST, TEST])
    report = migrate([tmp_path / "in"], into=tmp_path / "store", dry_run=True)
    assert {read.file: read.format for read in report.sources} == {
        "in/a/cases/rows.yaml": "agentevals",
        "in/a/suite.yaml": "agentevals",
        "in/b/cases/rows.yaml": "promptfoo",
        "in/b/suite.yaml": "promptfoo",
    }
    assert report.count(MigrationOutcome.MIGRATED) == 5
    named = {read.file: read.reason for read in report.sources}
    assert named["in/b/cases/rows.yaml"] == "its cases come with in/b/suite.yaml"
    assert ": its cases come with in/b/suite.yaml\n" in render(report, "text")


def test_files_of_a_pattern_are_numbered_from_the_last_name_to_the_first(tmp_path: Path) -> None:
    """As the glob of promptfoo's releases lists them on Linux and macOS."""
    for name in ("a/x", "a/y", "a-b/x", "b/10", "b/9"):
        _write(tmp_path / f"in/{name}.yaml", [{"vars": {"city": name}}])
    config = {"prompts": ["{{ city }}"], "providers": ["any"], "defaultTest": {}, "tests": "file://*/*.yaml"}
    migrate([_write(tmp_path / "in/promptfooconfig.yaml", config)], into=tmp_path / "store")
    (dataset,) = (tmp_path / "store/datasets").iterdir()
    asked = [question["input"] for question in read_yaml(dataset.read_text("utf-8"), "d").value["questions"]]
    assert asked == ["b/9", "b/10", "a-b/x", "a/y", "a/x"]


# Patterns, and what npm's glob 11.1.0 and 13.0.7 list for them below a folder of these files.
TREE = ["x", "10", "9", "a/y", "a/b/z", "a/b/k", "a/b/e/f", "c/w", "c/v", "c/d/e", "c/d/f", "a-b/q", ".h/s", ".d"]
MATCHES: list[tuple[str, str]] = [
    ("*", "x 9 10"),
    ("**/*", "x 9 10 c/w c/v c/d/f c/d/e a-b/q a/y a/b/z a/b/k a/b/e/f"),
    ("{c,a}/*", "c/w c/v a/y"),
    ("{x,10,9}", "x 10 9"),
    ("{a/*,*}", "a/y x 9 10"),
    ("*/{v,w,y}", "c/v c/w a/y"),
    ("**/{v,w,y,x}", "x c/w c/v a/y"),
    ("{a,{c,a-b}}/*", "a/y c/w c/v a-b/q"),
    ("**/b/**/*", "a/b/z a/b/k a/b/e/f"),
    ("a**/*", "a-b/q a/y"),
    ("[!x]*", "9 10"),
    ("{9..11}", "9 10"),
    (".h/*", ".h/s"),
    ("!(x)", ""),
]


@each(MATCHES)
def test_a_pattern_lists_files_as_the_program_does(row: tuple[str, str]) -> None:
    pattern, files = row
    folders: dict[str, dict[str, bool]] = {}
    for file in TREE:
        parts = f"t/{file}.yaml".split("/")
        for depth, part in enumerate(parts):
            folders.setdefault("/".join(parts[:depth]), {})[part] = depth + 1 < len(parts)
    found = list_matches(f"t/{pattern}.yaml", lambda folder: list(folders.get(folder, {}).items()))
    assert found == [f"t/{file}.yaml" for file in files.split()]


def test_a_pattern_of_many_stars_takes_no_time() -> None:
    assert list_matches("*a" * 60, lambda _: [("a" * 50 + "b", False)]) == []
    assert len(list_matches("{a,b}" * 30, lambda _: [])) == 0


def test_a_folder_with_patterns_results_and_anchors(tmp_path: Path) -> None:
    """Prompts and tests of patterns, keys for anchors and results come in without a loss, and go back."""
    config = """\
description: Sights
x-mild: &mild {type: not-contains, value: rude}
prompts: ["prompts/{two,one}.txt"]
providers: [echo]
defaultTest: {assert: [*mild]}
tests: "tests/**/{x,y}*.yaml"
"""
    (tmp_path / "in").mkdir()
    (tmp_path / "in/promptfooconfig.yaml").write_text(config)
    for name in ("one", "two"):
        (tmp_path / "in/prompts").mkdir(exist_ok=True)
        (tmp_path / f"in/prompts/{name}.txt").write_text(f"{name} {{{{ city }}}}")
    for name in ("x", "deep/y", "deep/z"):
        _write(tmp_path / f"in/tests/{name}.yaml", [{"vars": {"city": name}}])
    _write(tmp_path / "in/results.json", TOOLS["results of promptfoo"][0])
    report = migrate([tmp_path / "in"], into=tmp_path / "store")
    assert {entry.outcome for entry in report.entries} == {MigrationOutcome.MIGRATED}
    assert [source.file for source in report.skipped] == ["in/results.json"]
    dataset = read_yaml((tmp_path / "store/datasets/sights.yaml").read_text("utf-8"), "d").value
    assert [question["input"] for question in dataset["questions"]] == ["two x", "two deep/y"]
    given = export(to="promptfoo", store=tmp_path / "store").files
    assert {file.file.rpartition("in/")[2] for file in given} == {
        "promptfooconfig.yaml", "tests/x.yaml", "tests/deep/y.yaml", "tests/deep/z.yaml",  # the last is a list by itself
    }  # fmt: skip


def test_what_all_tests_share_is_a_suite_by_itself(tmp_path: Path) -> None:
    shared = {"assert": [{"type": "contains", "value": "{{env.WORD}}"}, {"type": "contains", "value": "a"}]}
    config = {"prompts": ["Say {{env.WORD}}"], "providers": ["echo"], "defaultTest": shared}
    path = _write(tmp_path / "in/promptfooconfig.yaml", config)
    for chosen in (None, "promptfoo"):
        report = migrate([path], into=tmp_path / "store", format=chosen)
        (entry, aside) = report.entries
        assert entry.outcome is MigrationOutcome.LOSSY
        assert any("says what {{env.WORD}} is" in remark for remark in entry.remarks)
        assert "nobody can say here what env.WORD is" in aside.reason
    nothing = migrate(
        [_write(tmp_path / "in/a.json", {"providers": ["echo"]})], into=tmp_path / "s", format="promptfoo"
    )
    assert "it has no tests" in nothing.entries[0].reason


@pytest.mark.parametrize("name", SUITES)
def test_a_suite_of_agentevals_stays_one(name: str, tmp_path: Path) -> None:
    report = migrate([_write(tmp_path / "suite.yaml", SUITES[name])], into=tmp_path / "store", dry_run=True)
    assert [source.format for source in report.sources] == ["agentevals"]
    assert MigrationOutcome.REFUSED not in {entry.outcome for entry in report.entries}
    if name in {"prompts without providers", "variables in camel case"}:
        assert "--from promptfoo" in report.sources[0].reason


def test_a_table_of_tests_alone_names_what_lists_it(tmp_path: Path) -> None:
    (tmp_path / "tests.csv").write_text("q,__expected\nhi,contains: hi\n")
    (entry,) = migrate([tmp_path / "tests.csv"], into=tmp_path / "store").entries
    assert (entry.outcome, "promptfooconfig.yaml" in entry.reason) == (_REFUSED, True)


@pytest.mark.parametrize(
    "path",
    [
        *sorted(SAMPLES.glob("*.yaml")),
        *sorted(CASES.glob("*d4*/legacy/*.yaml")),
        *sorted(CASES.glob("*/legacy/d4.yaml")),
    ],
    ids=lambda path: f"{path.parents[1].name}/{path.name}",
)
def test_suites_of_the_late_dialect_stay_what_they_are(path: Path, tmp_path: Path) -> None:
    assert read_legacy_yaml(path.read_bytes(), path.name).value
    report = migrate([path], into=tmp_path, dry_run=True)
    assert [(source.format, source.dialect) for source in report.sources] == [("agentevals", "D4")]


def test_a_file_of_another_format_is_not_touched_by_the_words_of_promptfoo(tmp_path: Path) -> None:
    suite = {"evals": [{"id": 1, "prompt": "?", "must_contain_any": ["a"]}], "outputPath": "x", "defaultTest": {}}
    report = migrate([_write(tmp_path / "evals.json", suite)], into=tmp_path / "store")
    assert [source.format for source in report.sources] == ["ai_best_practices"]


CHAT = [{"role": "system", "content": "Grade."}, {"role": "user", "content": "{{ tone }} {{output}} {{rubric}} {"}]
OWN_PROMPTS: list[tuple[Any, str | None]] = [
    ("{{ output }}? {{rubric}}", None),
    (CHAT, None),
    (json.dumps(CHAT), None),
    ("{{ output | upper }}", "a template of the program's language"),
    ("{% if output %}{{ output }}{% endif %}", "a template of the program's language"),
    ("{{ rubric }}", "does not show the output"),
    ([{"role": "system", "content": "{{ output }}"}, CHAT[1]], "fills a system message"),
    ([{"role": "system", "content": "{{ output }} {{rubric}}"}], None),
    ([CHAT[1], CHAT[1]], "not one that can be read"),
    ("file://ask.js", "not one that can be read"),
]


@pytest.mark.parametrize(("prompt", "said"), OWN_PROMPTS)
@pytest.mark.parametrize("place", ["test", "assertion"])
def test_a_prompt_of_the_configuration_s_own_becomes_its_judge(prompt: Any, said: str | None, place: str) -> None:
    own = {"rubricPrompt": prompt}
    assertion = {"type": "llm-rubric", "value": "Is {{ tone }}", **(own if place == "assertion" else {})}
    test = {"vars": {"tone": "dry"}, "assert": [assertion], "options": own if place == "test" else {}}
    extraction = read_config(json.dumps({"prompts": ["Say."], "tests": [test]}), "config.json", {})
    (case,) = extraction.cases
    if said:
        assert (case.outcome, case.rubric) == (MigrationOutcome.UNMAPPED, None)
        assert said in case.reasons[0]
        return
    assert case.outcome is MigrationOutcome.MIGRATED
    (judge,) = extraction.drafts
    reads = {"verdict": "pass", "no_verdict": "pass"}
    assert (judge.value["score_type"], judge.value["reads"]) == ("binary", reads)
    assert grade_case(case, extraction.drafts, "Oh", '{"pass": true, "score": 0}') == (True, 1)


def test_a_prompt_of_factuality_is_filled_by_the_later_release_only() -> None:
    test = {
        "options": {"rubricPrompt": "{{input}} {{ideal}} {{completion}}"},
        "assert": [{"type": "factuality", "value": "Oslo"}],
    }
    text = json.dumps({"prompts": ["Where?"], "tests": [test]})
    newer, older = (read_config(text, "config.json", {}, release) for release in ("0.121", "0.118"))
    assert newer.drafts[0].value["template"] == "{{ input }} {{ criterion }} {{ output }}"
    assert grade_case(newer.cases[0], newer.drafts, "Oslo", "(d) It is Rome") == (False, 0)
    assert "leaves the places of its own prompt empty" in older.cases[0].reasons[0]


# Criteria of g-eval, further keys, replies, and what both releases of the npm package make of them; None: nothing.
LISTS: list[tuple[list[str], dict[str, Any], list[int | None], Any, Any]] = [
    (["Kind"], {}, [8], (True, 0.8), (True, 0.8)),
    (["Kind", "Calm"], {}, [9, 5], (True, 0.7), (True, 0.7)),
    (["Kind", "Calm"], {"threshold": 0.75}, [9, 5], (False, 0.7), (False, 0.7)),
    (["Kind", "Calm"], {"threshold": 0.4}, [None, 9], (False, 0), (True, 0.45)),
    ([], {}, [], (False, 0), None),
]


@each(LISTS)
def test_a_list_of_criteria_is_a_mean(row: tuple[list[str], dict[str, Any], list[int | None], Any, Any]) -> None:
    criteria, keys, scores, newer, older = row
    replies = [part for score in scores for part in (STEPS, "none" if score is None else write_grade(score))]
    test = {"assert": [{"type": "g-eval", "value": criteria, **keys}]}
    for release, expected in (("0.121", newer), ("0.118", older)):
        extraction = read_config(json.dumps({"prompts": ["Say."], "tests": [test]}), "config.json", {}, release)
        (case,) = extraction.cases
        if expected is None:
            assert case.rubric is None
            continue
        assert case.outcome is MigrationOutcome.MIGRATED
        assert grade_case(case, extraction.drafts, "Oh", replies) == expected
    members = {"assert": [{"type": "assert-set", "assert": test["assert"]}]}
    (case,) = read_config(json.dumps({"prompts": ["Say."], "tests": [members]}), "config.json", {}).cases
    assert (case.rubric is None) == bool(criteria)


def test_what_a_configuration_says_of_the_environment_is_filled() -> None:
    """As promptfoo 0.121.20 does where the system says otherwise; 0.118.0 has the same lines of code."""
    asserts = [
        {"type": "contains", "value": f"{{{{ env.{name} }}}}", "metric": name}
        for name in ("CITY", "N", "LATER", "PATH")
    ]
    config = {
        "prompts": ["Where is {{ env.CITY }}?"],
        "env": {"CITY": "Oslo", "N": 5, "LATER": "{{ env.X }}"},
        "tests": [{"vars": {"q": "a"}, "assert": asserts}],
    }
    (case,) = read_config(json.dumps(config), "config.json", {}).cases
    assert case.rubric
    assert case.question["input"] == "Where is Oslo?"
    assert [check["values"] for check in case.rubric.value["checks"]] == [["Oslo"], ["5"]]
    config["tests"] = [{"vars": {"env": {"CITY": "Rome"}}, "assert": [{"type": "contains", "value": "a"}]}]
    (case,) = read_config(json.dumps(config), "config.json", {}).cases
    assert case.question["input"] == "Where is Rome?"


STEPS = '{"steps": ["Read."]}'


def write_grade(score: int) -> str:
    return json.dumps({"score": score, "reason": "So."})


@pytest.mark.parametrize("type_", ["g-eval", "factuality", "model-graded-closedqa"])
def test_a_judge_that_is_shown_the_prompt_stops_at_an_empty_one(type_: str) -> None:
    tests = [{"vars": {"q": q}, "assert": [{"type": type_, "value": "Kind"}]} for q in ("", "Why?")]
    cases = read_config(json.dumps({"prompts": ["{{ q }}"], "tests": tests}), "config.json", {}).cases
    assert [case.outcome for case in cases] == [MigrationOutcome.REFUSED, MigrationOutcome.MIGRATED]


# Code, an output that passes and one that fails in the npm package (0.118.0 and 0.121.20 alike); None: it stays code.
CODES: list[tuple[str, str | None, str]] = [
    ("output.includes('yes')", "a yes", "Yes"),
    ("!output.includes('a') && !output.includes('b');", "c", "b"),
    ("output.toLowerCase().includes('yes') || output.toLowerCase().includes('no')", "NO", "a"),
    ("output.includes('it\\'s') && output.includes(\"b\")\n", "it's b", "it's"),
    ("// why\nreturn output.includes('yes')", "yes", "Yes"),
    ("\n  return !/^[A-Z]{2}/m.test(output);\n", "a\nb", "a\nBB"),
    ("output.length > 2 && output.length <= 4", "abcd", "ab"),
    ("JSON.parse(output).mark === 10", '{"mark": 10.0, "b": 1}', '{"mark": "10"}'),
    ("JSON.parse(output).length === 1", None, ""),
    ("output.toLowerCase().includes('Yes')", None, ""),
    ("output.includes('a') && output.includes('b') || output.includes('c')", "c", "a"),
    ("output.includes('x') && output.length < 4", "😀x", "x😀abc"),
    ("output.length > 0", "😀", ""),
    ("output.length <= 3", "a😀", "ab😀"),
    ("output.includes('😀') && output.length === 2", "😀", "😀a"),
    ("!(output.startsWith('a') || output === 'b') && !/c|d/.test(output)", "ba", "xd"),
    ("output.toLowerCase().includes('ok') && !output.toLowerCase().endsWith('i')", "O\u212aİ", "OKI"),
    ("!output.length > 2", None, ""),
    ("output.includes('a') ? 1 : 0.5", None, ""),
    (
        'const said = output.toLowerCase().trim();\nconst right = "no"; // not yes\nreturn said === right ? 1 : 0;',
        " NO\ufeff",
        "no.",
    ),
    ("const has = output.includes('a') || output.includes('b');\nreturn has && output.includes('c');", "bc", "a"),
    ("const mark = JSON.parse(output);\nreturn output.includes('a');", None, ""),
    ("JSON.parse(output).a === 'x'", '{"a": "y", "a": "x"}', "[]"),
    (
        "['x', 'y'].includes(JSON.parse(output).a) && typeof JSON.parse(output).b === 'number'",
        '{"a":"y","b":0}',
        '{"a":"y","b":"0"}',
    ),
    ("JSON.parse(output).a.b === 1 || JSON.parse(output).c === 1", None, ""),
    ("JSON.parse(output).a !== 'x'", None, ""),
    (
        "typeof JSON.parse(output).a === 'string' && JSON.parse(output).a.toLowerCase().includes('ok')",
        '{"a": "O\u212a"}',
        '{"a": 1}',
    ),
    ("JSON.parse(output).a.includes('x')", '{"a": ["x"]}', '{"a": ["xx", 1]}'),
    ("JSON.parse(output).a.trim() === 'x' || JSON.parse(output).b === 1", None, ""),
    (
        "(() => { try { const o = JSON.parse(output); return String(o.n) === '12'; } catch (e) { return false; } })()",
        '{"n": [[12.0]]}',
        '{"n": [12, null]}',
    ),
    (
        r"(() => { const o = JSON.parse(output.replace(/^```json\s*|^```\s*|\s*```$/g, '').trim()); return o.a === '1'; })()",
        '```json\n{"a": "1"}\n```',
        '{"a": 1}',
    ),
    ("/[a-z]/i.test(output) && output.includes('!')", "K!", "\u212a\u017f\u0130!"),
    ("typeof JSON.parse(output).a === 'number'", '{"a": 1e999}', '{"a": "1"}'),
    ("String(JSON.parse(output).a) === 'null'", None, ""),
    ("\noutput.includes('yes')", None, ""),
    ("return\noutput.includes('yes')", None, ""),
    ("output.includes('a' + 'b')", None, ""),
]


@each(CODES)
def test_code_that_a_check_can_say_becomes_one(row: tuple[str, str | None, str]) -> None:
    code, passing, failing = row
    text = json.dumps({"prompts": ["?"], "tests": [{"assert": [{"type": "javascript", "value": code}]}]})
    extraction = read_config(text, "config.json", {})
    (case,) = extraction.cases
    assert (case.rubric is not None) == (passing is not None)
    if passing is not None:
        graded = [grade_case(case, extraction.drafts, output) for output in (passing, failing)]
        assert graded == [(True, 1), (False, 0)]


# Transforms of the npm package (both releases): what is left of an output, or why nothing is graded.
TRANSFORMS: list[tuple[str, str, str]] = [
    (r"output.replace(/<think>[\s\S]*?<\/think>/g, '').trim()", "<think>\na</think> b <think>c</think>", "b"),
    (r"output.replace(/^```(?:json)?\n?/gm, '').replace(/^```$/gm, '').trim();", "```json\n{}\n```", "{}"),
    (r"output.replace(/B/i, '')", "aBb", "ab"),
    ("output.replace('a', '').toLowerCase()", "aA", "a"),
    ("\n  return output\n    .trim();\n", " a", "a"),
    (
        "const said = output.replace(/<think>[\\s\\S]*?<\\/think>/g, '');\nreturn said.trim();",
        "<think>a;\n</think> b",
        "b",
    ),
    ("let a = output.trim()\n\nconst b = a.toLowerCase();\nreturn b", " A", "a"),
    ("const a = output;\nconst a = a.trim();\nreturn a;", "no steps of a check do", ""),
    ("const a = output.trim();\nreturn b;", "no steps of a check do", ""),
    ("const a = output.trim(); return a;", "begins with const", ""),
    ("output.trim()\n", "several lines returns nothing", ""),
    ("return output.trim()", "begins with return", ""),
    ("output.replace(/a/g, 'b')", "no steps of a check do", ""),
    ("output.replace(/a/u, '')", "no steps of a check do", ""),
]


@each(TRANSFORMS)
def test_a_transform_becomes_steps_or_says_why_not(row: tuple[str, str, str]) -> None:
    transform, output, left = row
    assertion = {"type": "equals", "value": left or "a"}
    for test in (
        {"assert": [{**assertion, "transform": transform}]},
        {"assert": [assertion], "options": {"transform": transform}},
    ):
        extraction = read_config(json.dumps({"prompts": ["?"], "tests": [test]}), "config.json", {})
        (case,) = extraction.cases
        if left:
            assert case.outcome is MigrationOutcome.MIGRATED
            assert grade_case(case, extraction.drafts, output) == (True, 1)
            assert grade_case(case, extraction.drafts, f"{output}x") == (False, 0)
        else:
            assert case.rubric is None
            assert output in case.reasons[0]


def test_steps_of_a_transform_come_before_those_of_its_condition() -> None:
    code = "JSON.parse(output.replace(/^```json\\s*|^```\\s*|\\s*```$/g, '').trim()).a === '1'"
    own = {"type": "javascript", "value": code, "transform": "output.replace('x', '')"}
    extraction = read_config(json.dumps({"prompts": ["?"], "tests": [{"assert": [own]}]}), "config.json", {})
    (case,) = extraction.cases
    assert grade_case(case, extraction.drafts, 'x```json\n{"a": "1"}\n```') == (True, 1)


@pytest.mark.parametrize("assertions", [[], [{"type": "assert-set", "threshold": 0.5, "assert": []}]])
@pytest.mark.parametrize(("transform", "outcome"), [("JSON.parse(output).a", "lossy"), ("output.trim()", "migrated")])
def test_a_transform_that_no_check_reads_may_still_end_the_test(
    assertions: list[Any], transform: str, outcome: str
) -> None:
    test = {"assert": assertions, "options": {"transform": transform}}
    extraction = read_config(json.dumps({"prompts": ["?"], "tests": [test]}), "config.json", {})
    (case,) = extraction.cases
    assert case.outcome.value == outcome
    assert ("no check reads what it makes" in "".join(case.reasons)) == (outcome == "lossy")


def test_a_line_of_code_that_begins_with_return_never_passes() -> None:
    test = {"assert": [{"type": "not-javascript", "value": "return output.includes('yes')"}]}
    extraction = read_config(json.dumps({"prompts": ["?"], "tests": [test]}), "config.json", {})
    (case,) = extraction.cases
    assert grade_case(case, extraction.drafts, "yes") == (False, 0)
    assert grade_case(case, extraction.drafts, "no") == (False, 0)
    assert "no output passes a line of code" in case.remarks[0]


def test_variables_within_a_variable_are_filled_as_far_as_the_program_is_sure_to() -> None:
    names = {
        "q": "Hello {{lang}} {{ n }}",
        "lang": "French",
        "n": 5,
        "deep": "{{q}}!",
        "sum": "{{money}}",
        "money": "$1",
    }
    unsure = {"many": "{{lang}}" * 5, "cycle": "{{ring}}", "ring": "{{cycle}}", "loud": "{{ lang | upper }}"}
    asserts = [{"type": "equals", "value": f"{{{{{name}}}}}", "metric": name} for name in [*names, *unsure]]
    test = {"vars": names | unsure, "assert": asserts}
    extraction = read_config(json.dumps({"prompts": ["{{deep}}"], "tests": [test]}), "config.json", {})
    (case,) = extraction.cases
    assert case.rubric
    assert case.question["input"] == "Hello French 5!"
    assert {check["id"]: check["targets"] for check in case.rubric.value["checks"]} == {
        "q": ["Hello French 5"], "lang": ["French"], "n": ["5"], "deep": ["Hello French 5!"], "money": ["$1"],
    }  # fmt: skip
    assert len(case.rubric.value["x_unmapped"]) == 5


def test_a_text_of_a_file_is_trimmed_for_tests_of_the_configuration_itself() -> None:
    """In a file of tests the two releases neither trim it nor leave it as it is: they fill it."""
    tests = [{"assert": [{"type": "equals", "value": "file://a.txt"}]}]
    files = {"a.txt": " x\n", "more.json": json.dumps(tests)}
    config = {"prompts": ["?"], "tests": [*tests, "file://more.json"]}
    own, other = read_config(json.dumps(config), "config.json", files).cases
    assert own.rubric
    assert own.rubric.value["checks"][0]["targets"] == ["x"]
    assert "is trimmed and filled by some ways" in other.reasons[0]


# A schema, a text of JSON that the npm package passes and one that it fails, and the keyword that is lossy, if any.
SCHEMAS: list[tuple[Any, str, str, str]] = [
    ({"pattern": r"^\d[\w\-]$"}, '"1-"', '"\u0661-"', ""),
    ({"pattern": "^.$"}, '"😀"', '"ab"', ""),  # with flag u a character is one, as here
    ({"items": [{"type": "string"}], "additionalItems": {"pattern": "a$"}}, '["b", "a"]', '["a", "a\\n"]', ""),
    ({"allOf": [{"$ref": "#/definitions/id"}], "definitions": {"id": {"pattern": r"\bid\b"}}}, '"éid"', '"_id"', ""),
    ({"uniqueItems": True, "items": {"not": {"const": 1}}}, "[1e999, -1e999]", "[1e999, 2e999]", ""),
    ({"pattern": r"\p{Lu}"}, "1", "", "pattern"),
    ({"pattern": r"\_"}, "1", "", "pattern"),  # an error with flag u
    ({"type": "string", "format": "date"}, '"2024-02-29"', "1", "format"),
    ({"$ref": "#/definitions/id", "definitions": {"id": True}}, "1", "", "$ref"),
]


@each(SCHEMAS)
def test_a_schema_is_migrated_where_it_means_the_same_here(row: tuple[Any, str, str, str]) -> None:
    schema, passing, failing, keyword = row
    text = json.dumps({"prompts": ["?"], "tests": [{"assert": [{"type": "is-json", "value": schema}]}]})
    extraction = read_config(text, "config.json", {})
    (case,) = extraction.cases
    assert [reason.partition(" of its schema")[0] for reason in case.reasons] == (
        [f"the program may read {keyword}"] if keyword else []
    )
    graded = [grade_case(case, extraction.drafts, output) for output in (passing, failing) if output]
    assert graded == [(True, 1), (False, 0)][: len(graded)]


def test_a_variable_is_filled_without_the_line_that_ends_it() -> None:
    test = {"vars": {"w": "a\n"}, "assert": [{"type": "equals", "value": "{{ w }}"}]}
    (case,) = read_config(json.dumps({"prompts": ["Say {{ w }}!"], "tests": [test]}), "c.json", {}).cases
    assert case.rubric
    assert (case.question["input"], case.rubric.value["checks"][0]["targets"]) == ("Say a!", ["a"])
