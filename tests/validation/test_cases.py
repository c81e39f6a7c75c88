"""Case folders: good files give no finding, broken ones exactly those that stand beside them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from evalstore.documents import read_yaml
from evalstore.lint import VALIDATION_RULES
from evalstore.model import Findings, Severity
from evalstore.report.findings import text
from evalstore.report.text_layout import PAPER

ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests/cases/validation"
ALL = sorted(CASES.iterdir())
SILENT = [case for case in ALL if case.name.startswith("silent-")]
LOUD = [case for case in ALL if case not in SILENT]
STEPS = sorted((ROOT / "sample_repo/history").iterdir())

# Rules that need what no folder of git should hold: links, twins by case, files of no kind or of another tool.
ELSEWHERE = {"link-not-followed", "id-twin", "kind-unknown", "format-foreign", "renamed-from-missing"}

Run = Callable[..., Findings]


@pytest.mark.parametrize("case", SILENT, ids=lambda case: case.name)
@pytest.mark.parametrize("strict", [False, True])
def test_good_files_stay_silent(case: Path, strict: bool, run: Run) -> None:  # noqa: FBT001
    assert read_yaml((case / "expected.yaml").read_bytes(), "expected.yaml").value == []
    found = run(case, strict=strict)
    assert found.findings == ()
    assert found.files > 0


@pytest.mark.parametrize("count", range(1, len(STEPS) + 1))
def test_the_sample_store_is_silent_at_every_step(count: int, tmp_path: Path, run: Run) -> None:
    for step in STEPS[:count]:
        shutil.copytree(step, tmp_path / "files", dirs_exist_ok=True)
    # Outside a store nobody knows the releases: what is left is a note that says so; and six rows are few for a judge.
    assert {finding.rule for finding in run(tmp_path, strict=True).findings} <= {
        "judge-sample-small",
        "references-unchecked",
    }


@pytest.mark.parametrize("case", LOUD, ids=lambda case: case.name)
def test_every_finding_is_found_at_its_place(case: Path, run: Run) -> None:
    expected = read_yaml((case / "expected.yaml").read_bytes(), "expected.yaml").value
    found = [
        {"rule": one.rule, "file": one.file, "line": one.line, "column": one.column, "severity": str(one.severity)}
        for one in run(case).findings
    ]
    assert [{key: one[key] for key in want} for one, want in zip(found, expected, strict=False)] == expected
    assert len(found) == len(expected)


@pytest.mark.parametrize("case", [case for case in LOUD if (case / "said.txt").exists()], ids=lambda case: case.name)
def test_it_is_said_in_these_words(case: Path, run: Run) -> None:
    assert text(run(case), PAPER._replace(whole=True)) + "\n" == (case / "said.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("case", LOUD, ids=lambda case: case.name)
def test_sentences_are_one_safe_line(case: Path, run: Run) -> None:
    for finding in run(case).findings:
        for sentence in (finding.message, finding.hint):
            assert sentence.isprintable() or sentence == ""
            assert not sentence.endswith(".")
        assert finding.message
        assert len(finding.message) < 500


@pytest.mark.heavy
def test_strict_leaves_no_warning(run: Run) -> None:
    for case in LOUD:
        soft, strict = run(case).findings, run(case, strict=True).findings
        assert Severity.WARNING not in {finding.severity for finding in strict}
        assert [(one.rule, one.line) for one in soft] == [(one.rule, one.line) for one in strict]


@pytest.mark.heavy
def test_every_rule_fires_somewhere(run: Run) -> None:
    fired = {finding.rule for case in LOUD for finding in run(case).findings}
    assert fired | ELSEWHERE == set(VALIDATION_RULES)


def test_every_rule_explains_itself() -> None:
    for id_, rule in VALIDATION_RULES.items():
        assert id_ == rule.id
        assert rule.why.endswith(".")
        assert (rule.message, rule.hint) != ("", "")
