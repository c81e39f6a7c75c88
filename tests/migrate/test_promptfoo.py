"""Configurations of promptfoo, whose words dialect D4 of AgentEvals borrows: named as what they are, and never taken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalstore.documents import read_legacy_yaml
from evalstore.migration import MigrationOutcome, migrate

HERE = Path(__file__).resolve()
SAMPLES = HERE.parents[3] / "shared/samples/agentevals/d4"
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
    "a list of its tests": [TEST, TEST | {"providerOutput": "Oslo lies at a fjord"}],
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
    "rows": [TEST],
}


def _write(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1), "utf-8")
    return path


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("format_", [None, "agentevals"])
def test_a_configuration_of_promptfoo_is_refused_as_one(
    name: str, tmp_path: Path, *, named: bool, format_: str | None
) -> None:
    source = _write(tmp_path / "in/promptfooconfig.yaml", CONFIGS[name])
    report = migrate([source if named else source.parent], into=tmp_path / "store", format=format_)
    ((entry,), (read,)) = report.entries, report.sources
    assert entry.outcome is MigrationOutcome.REFUSED
    assert "promptfoo configuration" in entry.reason
    assert "no migration reads" in entry.reason
    assert (read.format, read.dialect, read.target) == (None, None, None)
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("name", SUITES)
def test_a_suite_of_agentevals_stays_one(name: str, tmp_path: Path) -> None:
    report = migrate([_write(tmp_path / "suite.yaml", SUITES[name])], into=tmp_path / "store", dry_run=True)
    assert [source.format for source in report.sources] == ["agentevals"]
    assert MigrationOutcome.REFUSED not in {entry.outcome for entry in report.entries}


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
