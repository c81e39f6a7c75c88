"""Every written check is run once before its entry is called migrated; word edges of ASCII are graded."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalstore.migration.check_trials import try_checks
from evalstore.migration.extraction import ArtifactDraft, LegacyCase
from evalstore.migration.outcome import MigrationOutcome
from evalstore.model import Kind

SUITE = {
    "name": "edges",
    "tests": [
        {"id": "has", "input": "?", "criteria": "c", "assertions": [{"type": "regex", "value": r"\bok\b"}]},
        {
            "id": "lacks",
            "input": "?",
            "criteria": "c",
            "assertions": [{"type": "regex", "value": r"\bno\b", "negate": True}],
        },
    ],
}


def test_a_word_edge_is_migrated_and_graded(cli: Callable[..., Any], git: Callable[..., str], tmp_path: Path) -> None:
    root = tmp_path / "store"
    root.mkdir()
    git("init", "-q", "-b", "main", cwd=root)
    (tmp_path / "EVAL.yaml").write_text(json.dumps(SUITE))
    ran = cli("migrate", tmp_path / "EVAL.yaml", "--into", root, "--strict")
    assert (ran.code, ran.err) == (0, "")
    assert cli("-C", root, "validate").code == 0
    assert cli("-C", root, "bump", "--all").code == 0
    outputs = tmp_path / "outputs.jsonl"
    # A letter beyond ASCII is no letter of a word there, so an edge lies before it.
    texts = {"has": "\u00e9ok\u00e9", "lacks": "none"}
    outputs.write_text("".join(json.dumps({"id": id_, "output": text}) + "\n" for id_, text in texts.items()))
    found = json.loads(cli("-C", root, "score", "dataset/edges@1.0.0", outputs, "--format", "json").out)
    assert (found["score"], found["scored"], found["unscored"]) == (1, 2, 0)


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        ({"kind": "regex", "pattern": "(?:a){e<=1}"}, "cannot be run: the pattern cannot be run in counted steps"),
        ({"kind": "regex", "pattern": "("}, "cannot be run: the pattern does not compile"),
        ({"kind": "json_schema", "schema": {"$ref": "https://example.org/s"}}, "cannot be run"),
    ],
)
def test_what_cannot_be_run_is_lossy(check: dict[str, Any], reason: str) -> None:
    value = {"id": "r", "version": "1.0.0", "checks": [check], "scoring": {"combine": "all_pass"}}
    draft = ArtifactDraft(Kind.RUBRIC, "r", value)
    tried = try_checks(LegacyCase((), {}, question={"id": "a", "input": "?"}, rubric=draft))
    assert tried.outcome is MigrationOutcome.LOSSY
    assert reason in tried.reasons[0]


def test_what_can_be_run_stays_as_it_is() -> None:
    checks = [
        {"kind": "regex", "pattern": r"(?a)\bok\b"},
        {"kind": "must_contain_any", "values": {"from": "must_say"}},
        {"kind": "llm_judge", "judge_prompt_ref": "judge/x@1.0.0"},
    ]
    value = {"id": "r", "version": "1.0.0", "checks": checks, "scoring": {"combine": "all_pass"}}
    case = LegacyCase((), {}, question={"id": "a", "input": "?"}, rubric=ArtifactDraft(Kind.RUBRIC, "r", value))
    assert try_checks(case) is case


def test_a_row_that_cannot_be_graded_is_an_error_and_is_not_released(
    cli: Callable[..., Any], git: Callable[..., str], tmp_path: Path
) -> None:
    for folder in ("rubrics", "datasets"):
        (tmp_path / folder).mkdir()
    git("init", "-q", "-b", "main", cwd=tmp_path)
    rubric = "id: r\nversion: 1.0.0\nchecks: [{kind: regex, pattern: {from: wanted}}]\nscoring: {combine: all_pass}\n"
    (tmp_path / "rubrics/r.yaml").write_text(rubric)
    rows = "- {id: a, input: x, wanted: '(?:a){e<=1}'}\n- {id: b, input: x, wanted: ok}\n"
    head = "id: d\nversion: 1.0.0\ndefaults: {rubric_ref: rubric/r@1.0.0}\nquestions:\n"
    (tmp_path / "datasets/d.yaml").write_text(head + rows)
    found = json.loads(cli("-C", tmp_path, "validate", "--format", "json").out)["findings"]
    assert [(one["rule"], one["severity"], one["line"]) for one in found] == [("check-broken", "error", 5)]
    refused = cli("-C", tmp_path, "bump", "--all")
    assert (refused.code, "datasets/d.yaml:5" in refused.err) == (1, True), refused.err
    assert git("tag", "--list", cwd=tmp_path) == ""
    (tmp_path / "datasets/d.yaml").write_text(head + rows.replace("(?:a){e<=1}", "yes"))
    assert cli("-C", tmp_path, "bump", "--all").code == 0
