"""The formats of CI systems, through the real commands in a real store: what each system needs, and where it looks."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from jsonschema import Draft202012Validator

from evalstore.model import Finding, Findings, Severity
from evalstore.report import render
from evalstore.report.formats import FORMATS
from evalstore.report.problems import strip_revision

Cli = Callable[..., Any]
Git = Callable[..., str]

# What code scanning reads of SARIF 2.1.0, closed as the published schema is: an unknown property would be refused.
TEXT = {
    "type": "object",
    "required": ["text"],
    "additionalProperties": False,
    "properties": {"text": {"type": "string", "minLength": 1}, "markdown": {"type": "string", "minLength": 1}},
}
LEVEL = {"enum": ["none", "note", "warning", "error"]}
RULE = {
    "type": "object",
    "required": ["id", "shortDescription", "fullDescription", "help"],
    "additionalProperties": False,
    "properties": {
        "id": {"type": "string", "maxLength": 255},
        "shortDescription": TEXT,
        "fullDescription": TEXT,
        "help": TEXT,
        "defaultConfiguration": {"type": "object", "additionalProperties": False, "properties": {"level": LEVEL}},
        "properties": {"type": "object"},
    },
}
PHYSICAL = {
    "type": "object",
    "required": ["artifactLocation", "region"],
    "additionalProperties": False,
    "properties": {
        "artifactLocation": {
            "type": "object",
            "required": ["uri"],
            "additionalProperties": False,
            "properties": {
                "uri": {"type": "string", "pattern": "^(?!/)(?![a-z]+:)[!-~]+$"},
                "uriBaseId": {"type": "string"},
            },
        },
        "region": {
            "type": "object",
            "required": ["startLine"],
            "additionalProperties": False,
            "properties": {
                "startLine": {"type": "integer", "minimum": 1},
                "startColumn": {"type": "integer", "minimum": 1},
            },
        },
    },
}
RESULT = {
    "type": "object",
    "required": ["ruleId", "ruleIndex", "level", "message", "locations", "partialFingerprints"],
    "additionalProperties": False,
    "properties": {
        "ruleId": {"type": "string"},
        "ruleIndex": {"type": "integer", "minimum": 0},
        "level": LEVEL,
        "message": TEXT,
        "locations": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["physicalLocation"],
                "additionalProperties": False,
                "properties": {"physicalLocation": PHYSICAL},
            },
        },
        "suppressions": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["kind", "status", "justification"],
                "additionalProperties": False,
                "properties": {
                    "kind": {"const": "external"},
                    "status": {"const": "accepted"},
                    "justification": {"type": "string", "minLength": 1},
                },
            },
        },
        "partialFingerprints": {
            "type": "object",
            "required": ["primaryLocationLineHash"],
            "additionalProperties": {"type": "string"},
        },
    },
}
DRIVER = {
    "type": "object",
    "required": ["name", "rules"],
    "additionalProperties": False,
    "properties": {
        "name": {"const": "evalstore"},
        "semanticVersion": {"type": "string"},
        "rules": {"type": "array", "items": RULE},
    },
}
RUN = {
    "type": "object",
    "required": ["tool", "results"],
    "additionalProperties": False,
    "properties": {
        "tool": {
            "type": "object",
            "required": ["driver"],
            "additionalProperties": False,
            "properties": {"driver": DRIVER},
        },
        "automationDetails": {
            "type": "object",
            "additionalProperties": False,
            "properties": {"id": {"type": "string"}},
        },
        "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
        "results": {"type": "array", "items": RESULT},
        "properties": {
            "type": "object",
            "additionalProperties": False,
            "properties": {"remarks": {"type": "array", "items": {"type": "string"}}},
        },
    },
}
SARIF = {
    "type": "object",
    "required": ["$schema", "version", "runs"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"type": "string"},
        "version": {"const": "2.1.0"},
        "runs": {"type": "array", "minItems": 1, "items": RUN},
    },
}
RUBRIC = """\
id: tone
version: "1.0.0"
checks:
  - id: calm
    kind: must_not_contain
    values: ["!!", "??"]
  - {id: polite, kind: must_contain_any, values: [please]}
scoring: {combine: all_pass}
"""


@pytest.fixture
def store(cli: Cli, git: Git, template: Cli, tmp_path: Path) -> Path:
    """Return a store in a subfolder, with a release, a change without its version, and a misspelt key."""
    store = tmp_path / "repo" / "evals"

    def release() -> None:
        git()
        (store / "rubrics").mkdir(parents=True)
        (store / "evalstore.yaml").write_text("strict: false\n")
        (store / "rubrics/tone.yaml").write_text(RUBRIC)
        git("add", ".")
        git("commit", "-q", "-m", "Start")
        assert cli("-C", store, "bump", "--all").code == 0

    template("a store in a subfolder", release)
    (store / "rubrics/tone.yaml").write_text(
        RUBRIC.replace(', "??"', "").replace("[please]}", "[please, thanks], treshold: 1}")
    )
    return store


COMMANDS = (["diff", "rubric/tone"], ["status", "--check"], ["validate"], ["verify"], ["lock", "--check"])
TONE = "evals/rubrics/tone.yaml"


@pytest.mark.parametrize("argv", COMMANDS, ids=lambda argv: argv[0])
def test_sarif_is_what_code_scanning_reads(cli: Cli, store: Path, argv: list[str]) -> None:
    document = json.loads(cli("-C", store, *argv, "--format", "sarif").out)
    Draft202012Validator(SARIF).validate(document)
    run = document["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    prints = [result["partialFingerprints"]["primaryLocationLineHash"] for result in run["results"]]
    assert len(set(prints)) == len(prints)
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        file = store.parent / result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert file.is_file() or (result["ruleId"], file) == ("lock-missing", store / "evalstore.lock")
    assert bool(run["results"]) is (argv[0] != "verify")
    assert run["automationDetails"] == {"id": f"evalstore/{argv[0]}/"}
    assert not any("suppressions" in result for result in run["results"])


@pytest.mark.heavy
def test_what_people_accepted_is_suppressed_with_their_reason(cli: Cli, store: Path) -> None:
    found = json.loads(cli("-C", store, "diff", "rubric/tone", "--format", "json").out)["findings"]
    print_ = next(one["fingerprint"] for one in found if one["rule"] == "ban-phrase-removed")
    assert cli("-C", store, "accept", print_, "--reason", "nobody [says](it)").code == 0
    for argv in ["diff", "rubric/tone"], ["status"]:
        document = json.loads(cli("-C", store, *argv, "--format", "sarif").out)
        Draft202012Validator(SARIF).validate(document)
        results = document["runs"][0]["results"]
        (accepted,) = (one for one in results if one["partialFingerprints"]["evalstore/v1"] == print_)
        reason = {"kind": "external", "status": "accepted", "justification": "nobody [says](it)"}
        assert accepted["suppressions"] == [reason]
        assert [one["suppressions"] for one in results if one is not accepted] == [[]] * (len(results) - 1)


@pytest.mark.heavy
def test_the_formats_of_ci_are_those_of_a_check(cli: Cli, store: Path) -> None:
    ran = cli("-C", store, "lock", "--format", "sarif")
    assert (ran.code, ran.out) == (2, "")
    assert "sarif lists what --check finds" in ran.err


def test_the_help_of_a_rule_is_that_of_the_catalogue(cli: Cli, store: Path) -> None:
    document = json.loads(cli("-C", store, "diff", "rubric/tone", "--format", "sarif").out)
    rules = {rule["id"]: rule for rule in document["runs"][0]["tool"]["driver"]["rules"]}
    assert rules["ban-phrase-removed"]["fullDescription"]["text"] == "one fewer way to fail"
    assert "evalstore explain ban-phrase-removed" in rules["ban-phrase-removed"]["help"]["text"]


def test_a_problem_keeps_its_print_where_lines_move(cli: Cli, store: Path) -> None:
    def prints() -> list[str]:
        run = json.loads(cli("-C", store, "diff", "rubric/tone", "--format", "sarif").out)["runs"][0]
        return [result["partialFingerprints"]["primaryLocationLineHash"] for result in run["results"]]

    before = prints()
    path = store / "rubrics/tone.yaml"
    path.write_text("# One\n# Two\n" + path.read_text())
    assert prints() == before


def test_github_annotates_lines_of_the_repository(cli: Cli, store: Path) -> None:
    ran = cli("-C", store, "status", "--check", "--format", "github")
    first, *others = ran.out.splitlines()
    assert ran.code == 1
    assert first.startswith(
        f"::error file={TONE},line=2,col=10,title=error%3A version-not-bumped::rubric/tone: needs 2.0.0"
    )
    assert any(line.startswith(f"::warning file={TONE},line=7,") and "also accepts 'thanks'" in line for line in others)
    assert others[-1].startswith("evalstore status: 1 of 1 artifact")


def test_what_is_gone_stands_on_no_line_of_another_file(cli: Cli, store: Path) -> None:
    lines = cli("-C", store, "diff", "rubric/tone", "--format", "github").out.splitlines()
    (gone,) = (line for line in lines if "no longer bans" in line)
    assert gone.startswith(f"::warning file={TONE},title=")
    (store / "rubrics/tone.yaml").write_text("id: [\n")
    between = cli("-C", store, "diff", "rubric/tone@1.0.0", "rubric/tone@git:HEAD", "--format", "github")
    assert between.out.startswith("evalstore diff: no noticeable change")


def test_a_file_that_was_removed_is_named_where_it_was(cli: Cli, store: Path) -> None:
    tone = (store / "rubrics/tone.yaml").read_text(encoding="utf-8")
    (store / "rubrics/other.yaml").write_text(tone.replace("id: tone", "id: other"), encoding="utf-8")
    (store / "rubrics/tone.yaml").unlink()
    assert f"file={TONE}," in cli("-C", store, "status", "--format", "github").out


def test_gitlab_reads_an_array(cli: Cli, store: Path) -> None:
    entries = json.loads(cli("-C", store, "validate", "--format", "gitlab").out)
    assert entries
    for entry in entries:
        assert set(entry) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert entry["severity"] in {"info", "minor", "major", "critical", "blocker"}
        assert entry["location"]["path"] == TONE
        assert entry["location"]["lines"]["begin"] >= 1
    assert len({entry["fingerprint"] for entry in entries}) == len(entries)
    assert json.loads(cli("-C", store, "verify", "--format", "gitlab").out) == []


def test_junit_fails_for_what_fails_the_command(cli: Cli, store: Path) -> None:
    for strict, code in ([], 0), (["--strict"], 1):
        ran = cli("-C", store, "validate", *strict, "--format", "junit")
        suites = ET.fromstring(ran.out)  # noqa: S314  # our own document
        assert (ran.code, int(suites.attrib["failures"]) > 0) == (code, bool(code))
        assert int(suites.attrib["tests"]) == len(suites[0])
        assert suites[0][0].attrib["file"] == TONE
    passed = ET.fromstring(cli("-C", store, "verify", "--format", "junit").out)  # noqa: S314  # our own document
    assert (passed.attrib["tests"], passed.attrib["failures"], len(passed[0][0])) == ("1", "0", 0)


def test_markdown_says_the_answer_first(cli: Cli, store: Path) -> None:
    lines = cli("-C", store, "diff", "rubric/tone", "--format", "markdown").out.splitlines()
    assert lines[:5] == [
        "### evalstore diff",
        "",
        "`rubric/tone@1.0.0` \u2192 `rubric/tone@worktree`",
        "",
        "**3 major (2 certain, 1 possible). This needs a major bump: the next version is 2.0.0**",
    ]
    assert lines.count("  </details>") == 3
    assert f"- \u26a0\ufe0f **major** polite also accepts 'thanks' \u2014 `{TONE}:7`" in lines


def test_a_comment_is_never_too_long() -> None:
    rows = tuple(
        Finding("key-unknown", Severity.WARNING, f"{number}.yaml", 1, 1, "", "x" * 500, "y" * 200)
        for number in range(900)
    )
    told = render(Findings(900, rows), "markdown")
    assert len(told) < 65_536
    assert re.search(r"\n\u2026 and [0-9]+ more\.\Z", told)


@pytest.mark.parametrize("format_", FORMATS)
def test_nothing_found_is_a_document_too(format_: str) -> None:
    told = render(Findings(3, ()), format_)
    if format_ in {"sarif", "gitlab"}:
        json.loads(told)
    elif format_ == "junit":
        ET.fromstring(told)  # noqa: S314  # our own document
    else:
        assert "3 files: no findings" in told


FAILURES = [(["diff", "rubric/nobody"], format_) for format_ in (*FORMATS, "text")]
FAILURES += [
    (["-C", "nowhere", "status"], "sarif"),
    (["verify", "rubric/nobody"], "junit"),
    (["diff", "a", "b", "c"], "github"),
]


@pytest.mark.parametrize(("argv", "format_"), FAILURES, ids=str)
def test_a_failure_is_a_sentence_and_no_empty_list(cli: Cli, store: Path, argv: list[str], format_: str) -> None:
    ran = cli(*argv, "--format", format_, cwd=store)
    assert ran.code in {2, 3}
    assert ran.err.startswith("error: ")
    if format_ == "github":
        assert re.fullmatch(r"::error title=evalstore::.+\n", ran.out)
    else:
        assert ran.out == ""


def test_what_stands_in_a_tag_is_shown_at_its_file(cli: Cli, git: Git, store: Path) -> None:
    git("tag", "rubric/tone@9.9.9")
    ran = cli("-C", store, "verify", "--format", "github")
    assert ran.code == 1
    assert f"::error file={TONE},title=error%3A " in ran.out


@pytest.mark.parametrize(
    ("file", "path"),
    [
        ("rubrics/tone.yaml", "rubrics/tone.yaml"),
        ("rubric/tone@1.0.0:rubrics/tone.yaml", "rubrics/tone.yaml"),
        ("evals/rubric/tone@1.0.0:evals/rubrics/tone.yaml", "evals/rubrics/tone.yaml"),
        ("git:0123456789ab:rubrics/tone.yaml", "rubrics/tone.yaml"),
        ("a:b.yaml", "a:b.yaml"),
    ],
)
def test_a_file_of_a_release_is_the_file_on_disk(file: str, path: str) -> None:
    assert strip_revision(file) == path


def test_a_file_is_found_from_where_the_command_runs(cli: Cli, store: Path) -> None:
    for directory, name in (
        (store, "rubrics/tone.yaml"),
        (store / "rubrics", "tone.yaml"),
        (store.parent, "evals/rubrics"),
    ):
        ran = cli("validate", name, "--format", "github", cwd=directory)
        assert f"file={TONE},line=" in ran.out


def test_a_log_takes_no_line_for_a_command(cli: Cli, tmp_path: Path) -> None:
    hostile = "##[error]a ##vso[x]b"
    (tmp_path / "old.yaml").write_text(RUBRIC)
    (tmp_path / "new.yaml").write_text(RUBRIC.replace("please", hostile).replace("{id: polite", '{id: "::error::x"'))
    for format_ in ("text", "json", *FORMATS):
        for argv in (["diff", "old.yaml", "new.yaml"], ["diff", "old.yaml", f"{hostile}.yaml"]):
            ran = cli(*argv, "--format", format_, cwd=tmp_path)
            lines = [
                line for line in (ran.out + ran.err).splitlines() if format_ != "github" or not line.startswith("::")
            ]
            assert not [line for line in lines if re.search(r"##\w*\[", line) or line.strip().startswith("::")]


@pytest.mark.heavy
def test_a_reference_that_moved_is_shown_where_it_stands(cli: Cli, git: Git, store: Path) -> None:
    (store / "datasets").mkdir()
    (store / "datasets/mail.yaml").write_text(
        'id: mail\nversion: "1.0.0"\ndefaults:\n  rubric_ref: rubric/tone@^1\nquestions:\n  - {id: a, input: Hello}\n'
    )
    (store / "rubrics/tone.yaml").write_text(RUBRIC)
    git("add", ".")
    git("commit", "-q", "-m", "Mail")
    assert cli("-C", store, "bump", "dataset/mail").code == 0
    (store / "rubrics/tone.yaml").write_text(RUBRIC.replace("id: calm", "id: quiet").replace("1.0.0", "1.1.0"))
    git("commit", "-q", "-a", "-m", "Quiet")
    assert cli("-C", store, "bump", "rubric/tone").code == 0
    lines = cli("-C", store, "status", "--format", "github").out.splitlines()
    assert any("evals/datasets/mail.yaml,line=4" in line and "rubric/tone@^1 meant 1.0.0" in line for line in lines), (
        lines
    )
    assert len([line for line in lines if not line.startswith("::")]) == 1
    assert "\\n" not in lines[-1]
